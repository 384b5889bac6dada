"""Conversations come in: each message once, each answered once, whatever the network does.

A message is on disk before an agent is asked, and a reply before anybody hears that it is whole.
The server that asks an agent holds the exchange for a few seconds at a time; if it dies, whoever
looks next takes over and asks again.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import polars as pl
from sqlalchemy import Connection, Row, insert, select, update

from dialens.studies._exchange import ANSWERED, FAILED, GIVEN_UP, WAITING, Exchange, is_over
from dialens.studies.store import _talk_frames as talk_frames
from dialens.studies.store._arrivals import over
from dialens.studies.store._database import Database
from dialens.studies.store._session import find
from dialens.studies.store._submission import ANSWERED_BEFORE, ELSEWHERE, REPEATED, STORED
from dialens.studies.store._tables import COMPLETED, LIVE, sessions
from dialens.studies.store._talk_tables import exchanges, failures

HELD_S = 6.0
"""Seconds for which a server holds what it asks, unless it says that it goes on."""


@dataclass(frozen=True)
class Message:
    """What a participant says.

    Attributes:
        talk: The conversation: the id of its screen.
        index: Of that screen.
        number: Of the exchange, from 1.
        text: What was written.
        key: Made up by the page, the same when it sends the message again.
        system: Whom it is said to, as in a corpus.
        agent: Whom it is said to.
        wanted: Exchanges of the conversation.
    """

    talk: str
    index: int
    number: int
    text: str
    key: str
    system: str
    agent: str
    wanted: int


@dataclass(frozen=True)
class Held:
    """An exchange whose agent is to be asked, by whoever holds it and nobody else.

    Attributes:
        session: Its row.
        server: Who holds it.
        exchange: The message.
        before: What was said before, in this conversation.
    """

    session: int
    server: str
    exchange: Exchange
    before: tuple[Exchange, ...]


@dataclass(frozen=True)
class Given:
    """What an agent answered.

    Attributes:
        text: The reply.
        seconds: From the question to the last piece.
        requests: That were made.
        tokens_in: Read by the model.
        tokens_out: Written by the model.
        cost: Of the reply.
    """

    text: str
    seconds: float
    requests: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None


@dataclass(frozen=True)
class Failure:
    """How an agent failed.

    Attributes:
        reason: A word for tables.
        told: What went wrong, for the researcher.
        seconds: From the question to the failure.
        final: Whether the conversation ends with it.
    """

    reason: str
    told: str
    seconds: float
    final: bool


@dataclass(frozen=True)
class Talking:
    """Keeps conversations in a study's database (`Store.database`).

    Each method is one transaction and safe under many processes. What returns is on disk.
    """

    database: Database

    def exchanges(self, token: str) -> tuple[Exchange, ...]:
        """Everything said in a session, in order."""
        with self.database.reading() as connection:
            return _said(connection, find(connection, token).id)

    def say(
        self, token: str, message: Message, *, server: str, now: datetime
    ) -> tuple[str, Held | None]:
        """Store a message, and hold it so that its agent can be asked.

        Returns:
            `stored`, with what is held; `repeated` if this very message is there already;
            `answered_before` if another page sent one in its place, which counts; `elsewhere` if
            the conversation is not at this point.

        Raises:
            SessionOver: The session expired or was begun anew, so nothing was stored.
        """
        with self.database.writing() as connection:
            row = find(connection, token, lock=True)
            if row.state not in (LIVE, COMPLETED):
                raise over(row)
            said = _said(connection, row.id, message.talk)
            known = next((one for one in said if one.number == message.number), None)
            if known is not None:
                return (REPEATED if known.key == message.key else ANSWERED_BEFORE), None
            here = row.state == LIVE and row.position == message.index
            open_ = message.number == len(said) + 1 and not is_over(said, message.wanted)
            if not here or not open_ or any(one.state != ANSWERED for one in said):
                return ELSEWHERE, None
            made = Exchange(
                message.talk, message.number, message.key, clean(message.text), now, tries=1
            )
            connection.execute(
                insert(exchanges).values(
                    session_id=row.id,
                    talk=made.talk,
                    number=made.number,
                    system=message.system,
                    agent=message.agent,
                    key=made.key,
                    said=made.said,
                    said_at=now,
                    state=WAITING,
                    tries=1,
                    server=server,
                    held_until=now + timedelta(seconds=HELD_S),
                )
            )
            connection.execute(update(sessions).where(sessions.c.id == row.id).values(seen_at=now))
            return STORED, Held(row.id, server, made, said)

    def take(
        self, token: str, talk: str, number: int, *, server: str, now: datetime, again: bool = False
    ) -> Held | None:
        """Hold an exchange that nobody holds any more, or that failed and is to be tried again.

        None if there is nothing to do: it is answered, given up, or somebody is at it.
        """
        with self.database.writing() as connection:
            row = find(connection, token, lock=True)
            said = _said(connection, row.id, talk)
            known = next((one for one in said if one.number == number), None)
            if known is None or row.state != LIVE:
                return None
            left = _held_until(connection, row.id, talk, number)
            lapsed = known.state == WAITING and (left is None or left <= now)
            if not lapsed and not (again and known.state == FAILED):
                return None
            made = Exchange(
                talk, number, known.key, known.said, known.said_at, tries=known.tries + 1
            )
            connection.execute(
                update(exchanges)
                .where(_this(row.id, talk, number))
                .values(
                    state=WAITING,
                    tries=made.tries,
                    server=server,
                    held_until=now + timedelta(seconds=HELD_S),
                )
            )
            connection.execute(update(sessions).where(sessions.c.id == row.id).values(seen_at=now))
            return Held(row.id, server, made, tuple(one for one in said if one.number < number))

    def answered(self, held: Held, given: Given, *, now: datetime) -> bool:
        """Store a reply; whether it counts, which it does unless somebody took over."""
        values = {
            "state": ANSWERED,
            "reply": clean(given.text),
            "replied_at": now,
            "seconds": given.seconds,
            "requests": given.requests,
            "tokens_in": given.tokens_in,
            "tokens_out": given.tokens_out,
            "cost": given.cost,
        }
        with self.database.writing() as connection:
            return _finished(connection, held, values)

    def failed(self, held: Held, failure: Failure, *, now: datetime) -> bool:
        """Store a failure; whether it counts."""
        state = GIVEN_UP if failure.final else FAILED
        values = {"state": state, "reason": failure.reason, "replied_at": now}
        with self.database.writing() as connection:
            if not _finished(connection, held, values):
                return False
            one = held.exchange
            connection.execute(
                insert(failures).values(
                    session_id=held.session,
                    talk=one.talk,
                    number=one.number,
                    attempt=one.tries,
                    reason=failure.reason,
                    told=clean(failure.told),
                    seconds=failure.seconds,
                    failed_at=now,
                )
            )
            return True

    def hold_on(self, server: str, *, now: datetime) -> None:
        """Say that a server still asks what it holds."""
        self._hold(server, now + timedelta(seconds=HELD_S))

    def let_go(self, server: str, *, now: datetime) -> None:
        """Let others ask what a server held: it stops."""
        self._hold(server, now)

    def _hold(self, server: str, until: datetime) -> None:
        mine = (exchanges.c.server == server) & (exchanges.c.state == WAITING)
        with self.database.writing() as connection:
            connection.execute(update(exchanges).where(mine).values(held_until=until))

    def exchanges_frame(self, study: str) -> pl.DataFrame:
        """Every message and reply of a study (`talk_frames.EXCHANGES`)."""
        with self.database.reading() as connection:
            return talk_frames.exchanges_frame(connection, study)

    def failures_frame(self, study: str) -> pl.DataFrame:
        """Every failure of an agent in a study (`talk_frames.FAILURES`)."""
        with self.database.reading() as connection:
            return talk_frames.failures_frame(connection, study)


def clean(text: str) -> str:
    r"""Text that every database and file can hold: no null characters, no halves of characters.

    Examples:
        >>> clean("a\x00b\ud83d")
        'ab?'
    """
    return text.replace("\0", "").encode("utf-8", "replace").decode("utf-8")


def _this(session: int, talk: str, number: int) -> Any:
    return (
        (exchanges.c.session_id == session)
        & (exchanges.c.talk == talk)
        & (exchanges.c.number == number)
    )


def _said(connection: Connection, session: int, talk: str | None = None) -> tuple[Exchange, ...]:
    query = select(exchanges).where(exchanges.c.session_id == session)
    if talk is not None:
        query = query.where(exchanges.c.talk == talk)
    rows = connection.execute(query.order_by(exchanges.c.talk, exchanges.c.number))
    return tuple(_exchange(row) for row in rows)


def _exchange(row: Row[Any]) -> Exchange:
    return Exchange(
        row.talk,
        row.number,
        row.key,
        row.said,
        row.said_at,
        row.state,
        row.tries,
        row.reply,
        row.replied_at,
        row.reason,
        row.seconds,
        row.requests,
        row.tokens_in,
        row.tokens_out,
        row.cost,
    )


def _held_until(connection: Connection, session: int, talk: str, number: int) -> datetime | None:
    query = select(exchanges.c.held_until).where(_this(session, talk, number))
    found: datetime | None = connection.execute(query).scalar_one()
    return found


def _finished(connection: Connection, held: Held, values: dict[str, Any]) -> bool:
    one = held.exchange
    mine = (
        _this(held.session, one.talk, one.number)
        & (exchanges.c.state == WAITING)
        & (exchanges.c.server == held.server)
        & (exchanges.c.tries == one.tries)
    )
    done = connection.execute(update(exchanges).where(mine).values(server=None, **values))
    return bool(done.rowcount)
