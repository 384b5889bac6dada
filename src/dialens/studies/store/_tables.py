"""The tables of a study's database, in SQLAlchemy Core; `migrations` brings a database up to them.

Answers and events are only ever added. A session holds nothing but its cell, its seed and how far
the participant is: the screens follow from those (`studies.plan`), so a restart loses nothing.
"""

from datetime import UTC, datetime, timedelta

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
)
from sqlalchemy.types import TypeDecorator

from dialens.studies._exchange import EXCHANGE_STATES

LIVE, COMPLETED, EXPIRED, RESTARTED = "live", "completed", "expired", "restarted"
SESSION_STATES = (LIVE, COMPLETED, EXPIRED, RESTARTED)
IDLE, SESSION = "idle", "session"
"""The limits of a participation: without a sign of life, and from consent to the last screen."""
OPEN, PAUSED, CLOSED = "open", "paused", "closed"
CELL_STATES = (OPEN, PAUSED, CLOSED)
CHANGED_BY = ("dashboard", "api", "file", "command")
PAYING, PAID, LOST = "paying", "paid", "lost"
PAYMENT_STATES = (PAYING, PAID, LOST)
LONGEST_NAME = 80
RESUME_POLICIES = ("resume", "restart", "block")

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(time: datetime | None) -> int | None:
    """A point in time as tables hold it: microseconds since 1970 UTC.

    Examples:
        >>> microseconds(datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC))
        1000000
    """
    if time is None:
        return None
    if time.tzinfo is None:
        raise ValueError(f"{time!r} has no time zone; give times in UTC.")
    return (time - _EPOCH) // _MICROSECOND


class Moment(TypeDecorator[datetime]):
    """A point in time as microseconds since 1970 UTC: the same, exactly, in every database."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        """From a time with its zone."""
        return microseconds(value)

    def process_result_value(self, value: int | None, dialect: Dialect) -> datetime | None:
        """To a time in UTC."""
        return None if value is None else _EPOCH + timedelta(microseconds=value)


metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)


def one_of(column: str, values: tuple[str, ...]) -> CheckConstraint:
    """The constraint that a column holds one of some words."""
    listed = ", ".join(f"'{value}'" for value in values)
    return CheckConstraint(f"{column} IN ({listed})", name=column)


settings = Table(
    "settings",
    metadata,
    Column("name", String(64), primary_key=True),
    Column("value", Text, nullable=False),
)

studies = Table(
    "studies",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("hash", String(128), nullable=False, unique=True),
    Column("name", String(200), nullable=False),
    Column("version", String(64), nullable=False),
    Column("definition", Text, nullable=False),
    Column("resume", String(16), nullable=False),
    Column("stale_after_s", Float, nullable=False),
    Column("longest_s", Float),
    Column("registered_at", Moment, nullable=False),
    Column("operation", Text, nullable=False, server_default="{}"),
    Column("file_operation", Text, nullable=False, server_default="{}"),
    UniqueConstraint("name", "version"),
    one_of("resume", RESUME_POLICIES),
)

"""`operation` is how a study is run now, `file_operation` what its file said when last read."""

cells = Table(
    "cells",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("study_id", ForeignKey(studies.c.id), nullable=False),
    Column("name", String(400), nullable=False),
    Column("place", Integer, nullable=False),
    Column("target", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    UniqueConstraint("study_id", "name"),
    one_of("state", CELL_STATES),
)

participants = Table(
    "participants",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("study_id", ForeignKey(studies.c.id), nullable=False),
    Column("pseudonym", String(32), nullable=False, unique=True),
    Column("recruiter", String(64), nullable=False),
    Column("rater_kind", String(16), nullable=False),
    Column("worker_sealed", LargeBinary),
    Column("worker_mark", String(64)),
    Column("arrived_at", Moment, nullable=False),
    Column("excluded_at", Moment, index=True),
    Column("excluded_why", Text),
    Column("paid_at", Moment),
    UniqueConstraint("study_id", "recruiter", "worker_mark"),
)
"""Who is excluded stays, with the reason, but takes no place."""

sessions = Table(
    "sessions",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("participant_id", ForeignKey(participants.c.id), nullable=False, index=True),
    Column("cell_id", ForeignKey(cells.c.id), nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("seed", BigInteger, nullable=False),
    Column("position", Integer, nullable=False),
    Column("state", String(16), nullable=False),
    Column("started_at", Moment, nullable=False),
    Column("reached_at", Moment, nullable=False),
    Column("seen_at", Moment, nullable=False),
    Column("ended_at", Moment),
    Column("code", String(64), index=True),
    Column("language", String(35)),
    Column("placed_at", Moment),
    Column("outcome", String(32)),
    Column("reason", String(200)),
    Column("wave", Integer, nullable=False, server_default="1"),
    Column("secret_mark", String(64)),
    Column("shown_position", Integer),
    Column("first_shown_at", Moment),
    UniqueConstraint("participant_id", "attempt"),
    Index(None, "cell_id", "state"),
    one_of("state", SESSION_STATES),
)

"""`placed_at`: when the participant agreed to take part and got a place; none before that.

`outcome` is set where an expired session did not end by a time limit: the participant was screened
out, failed the comprehension questions, or withdrew. `reason` is the rule that screened somebody
out, or the limit by which a session expired. `wave` is the part of the study that it belongs to,
from 1; attempts are counted through all waves. `secret_mark` is a mark of what only who began it
can know (`_entry`), `first_shown_at` when the screen at `shown_position` was first sent: the last
one that has a deadline.
"""

departures = Table(
    "departures",
    metadata,
    Column("study_id", ForeignKey(studies.c.id), primary_key=True),
    Column("outcome", String(32), primary_key=True),
    Column("n", Integer, nullable=False),
)
"""How many left and had everything about them deleted, which leaves nothing else to count."""

tokens = Table(
    "tokens",
    metadata,
    Column("hash", String(64), primary_key=True),
    Column("session_id", ForeignKey(sessions.c.id), nullable=False, index=True),
    Column("issued_at", Moment, nullable=False),
    Column("browser", String(64)),
)
"""`browser` is a hash of the random name that the server gave the browser; none for programs."""

submissions = Table(
    "submissions",
    metadata,
    Column("session_id", ForeignKey(sessions.c.id), primary_key=True),
    Column("screen", String(200), primary_key=True),
    Column("position", Integer, nullable=False),
    Column("kind", String(32), nullable=False),
    Column("key", String(64), nullable=False),
    Column("presented", Text, nullable=False),
    Column("shown_at", Moment),
    Column("submitted_at", Moment),
    Column("displayed_at", Moment),
    Column("received_at", Moment, nullable=False),
    Column("active_ms", BigInteger),
    Column("paradata", Text),
    Column("late", Float),
    UniqueConstraint("session_id", "position"),
)
"""`shown_at` and `submitted_at` are what the client's clock said, the others are the server's.

`late` are the seconds after the screen's deadline, by the server's clock.

`paradata` is JSON (`dialens.studies.Paradata`); none where the page had no script.
"""

answers = Table(
    "answers",
    metadata,
    Column("session_id", ForeignKey(sessions.c.id), primary_key=True),
    Column("screen", String(200), primary_key=True),
    Column("field", String(200), primary_key=True),
    Column("place", Integer, nullable=False),
    Column("instrument", String(64), nullable=False),
    Column("quality", Text),
    Column("item", Text),
    Column("response", Text),
    Column("asked", Text, nullable=False),
    Column("value", Text, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("session_id", ForeignKey(sessions.c.id), primary_key=True),
    Column("page", String(64), primary_key=True),
    Column("serial", Integer, primary_key=True),
    Column("screen", String(200), nullable=False),
    Column("kind", String(32), nullable=False),
    Column("field", String(200)),
    Column("client_at", Moment, nullable=False),
    Column("server_at", Moment, nullable=False),
    Column("detail", Text),
)

exchanges = Table(
    "exchanges",
    metadata,
    Column("session_id", ForeignKey(sessions.c.id), primary_key=True),
    Column("talk", String(200), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("system", String(200), nullable=False),
    Column("agent", String(200), nullable=False),
    Column("key", String(64), nullable=False),
    Column("said", Text, nullable=False),
    Column("said_at", Moment, nullable=False),
    Column("state", String(16), nullable=False),
    Column("tries", Integer, nullable=False),
    Column("server", String(64)),
    Column("held_until", Moment),
    Column("reply", Text),
    Column("replied_at", Moment),
    Column("reason", String(32)),
    Column("seconds", Float),
    Column("requests", Integer),
    Column("tokens_in", Integer),
    Column("tokens_out", Integer),
    Column("cost", Float),
    Column("shown_at", Moment),
    Column("due_at", Moment),
    Column("finish", String(32)),
    Column("ended", String(16)),
    Index(None, "server", "state"),
    one_of("state", EXCHANGE_STATES),
)
"""Messages with their replies. `server` has the lease on asking the agent until `held_until`.

`shown_at` is from when on participants see the whole reply; `due_at` is when the pace of the study
shows it, none where replies are shown as they come. `finish` says why a reply ended in the middle,
none if it is whole. `ended` stands with the exchange that a
conversation ended with, and says how.
"""

failures = Table(
    "failures",
    metadata,
    Column("session_id", ForeignKey(sessions.c.id), primary_key=True),
    Column("talk", String(200), primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("attempt", Integer, primary_key=True),
    Column("reason", String(32), nullable=False),
    Column("told", Text, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("failed_at", Moment, nullable=False),
)

mistakes = Table(
    "mistakes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("network", String(64), nullable=False, index=True),
    Column("at", Moment, nullable=False, index=True),
)
"""Wrong passwords of the last minutes; `network` is a mark of where they came from."""

changes = Table(
    "changes",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("study_id", ForeignKey(studies.c.id), nullable=False, index=True),
    Column("at", Moment, nullable=False),
    Column("made_by", String(16), nullable=False),
    Column("who", String(LONGEST_NAME)),
    Column("what", String(500), nullable=False),
    Column("participant", String(32), index=True),
    Column("before", Text),
    Column("after", Text),
    Column("why", Text),
    one_of("made_by", CHANGED_BY),
)
"""What researchers changed while a study ran; `before` and `after` are JSON.

`made_by` is the way by which it was changed, `who` the name that somebody gave at the login.
"""

payments = Table(
    "payments",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("study_id", ForeignKey(studies.c.id), nullable=False, index=True),
    Column("recruiter", String(64), nullable=False),
    Column("work", String(200), nullable=False),
    Column("cents", Integer, nullable=False),
    Column("participant", String(32), index=True),
    Column("state", String(16), nullable=False),
    Column("begun_at", Moment, nullable=False),
    Column("who", String(LONGEST_NAME)),
    UniqueConstraint("recruiter", "work", "cents"),
    one_of("state", PAYMENT_STATES),
)
"""Bonuses, each written down before the platform is asked to pay it.

There is one row at most for an amount and a piece of work, so that two people who pay at the same
time, or one who tries again after an answer was lost, cannot pay it twice.
"""

exports = Table(
    "exports",
    metadata,
    Column("id", Integer, primary_key=True),
    Column("study_id", ForeignKey(studies.c.id), nullable=False, index=True),
    Column("at", Moment, nullable=False),
    Column("made_by", String(16), nullable=False),
    Column("who", String(LONGEST_NAME)),
    Column("kind", String(16), nullable=False),
    Column("place", Text),
    Column("sha256", String(64), nullable=False),
    Column("people", Integer, nullable=False),
    Column("recalled", Text, nullable=False, server_default="[]"),
)
"""What left the database, and where it was put; without a place it went to a browser.

`recalled` is JSON: pseudonyms of people who were deleted since, and are still to be taken out.
"""
