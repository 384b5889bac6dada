"""One person's way through a study: found by token, locked, begun, expired, brought back."""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Column, Connection, Row, Select, bindparam, func, insert, select, update

from dialens.studies._waves import FIRST
from dialens.studies.store import _rowset as rowset
from dialens.studies.store._allocation import Places
from dialens.studies.store._deleting import forget_people
from dialens.studies.store._problems import UnknownSession, UnknownStudy
from dialens.studies.store._tables import (
    COMPLETED,
    EXPIRED,
    IDLE,
    LIVE,
    SESSION,
    cells,
    participants,
    sessions,
    studies,
    tokens,
)

_UNDECIDED = timedelta(days=1)


@dataclass(frozen=True)
class Session:
    """Where a participant is.

    Attributes:
        token: What the cookie holds; the database knows its hash only.
        study: The hash of the study's definition.
        participant: The pseudonym.
        rater_kind: `human`, `llm` or `simulated`.
        recruiter: Where the participant came from.
        cell: The condition.
        seed: From which, with the cell, the screens follow.
        attempt: Counts from 1; more where the study lets people start again, or come back.
        index: The screen that is next, from 0.
        state: `live`, `completed`, `expired`, `restarted`, or how else it ended: `screened_out`,
            `failed_comprehension`, `withdrawn`.
        started_at: When it began.
        code: The completion code, once it is over; none where there is none for how it ended.
        language: In which the screens are shown; none for the study's own.
        placed_at: When the participant agreed to take part and got a place; none before that.
        wave: The part of the study that it belongs to, from 1.
        ended_at: When it was completed or left; none while it is under way.
        excluded: Whether the participant is left out of the analysis.
        first_shown: The place of the last screen with a deadline, and when it was first shown.
    """

    token: str
    study: str
    participant: str
    rater_kind: str
    recruiter: str
    cell: str
    seed: int
    attempt: int
    index: int
    state: str
    started_at: datetime
    code: str | None
    language: str | None = None
    placed_at: datetime | None = None
    wave: int = FIRST
    ended_at: datetime | None = None
    excluded: bool = False
    first_shown: tuple[int, datetime] | None = None

    def shown_at(self, index: int) -> datetime | None:
        """When the screen at a place was first shown; none if that is not known."""
        known = self.first_shown
        return known[1] if known is not None and known[0] == index else None


_COLUMNS = (
    sessions,
    studies.c.hash.label("study"),
    studies.c.id.label("study_id"),
    studies.c.resume,
    studies.c.longest_s,
    studies.c.stale_after_s,
    cells.c.name.label("cell"),
    participants.c.pseudonym,
    participants.c.rater_kind,
    participants.c.recruiter,
    participants.c.excluded_at,
)


_EXCLUDED = select(participants.c.id).where(participants.c.excluded_at.is_not(None))

TAKES_PLACE = (
    (
        ((sessions.c.state == LIVE) & sessions.c.placed_at.is_not(None))
        | (sessions.c.state == COMPLETED)
    )
    & (sessions.c.wave == FIRST)
    & sessions.c.participant_id.not_in(_EXCLUDED)
)
"""Sessions that a cell counts: completed, or under way since their participant agreed to it. The
place of somebody who was excluded is open again. Who comes back for a later wave has a place."""

# Statements are made once: in Python, making one takes longer than SQLite takes to run it.
_JOINED: Select[Any] = (
    select(*_COLUMNS)
    .select_from(sessions)
    .join(participants, participants.c.id == sessions.c.participant_id)
    .join(studies, studies.c.id == participants.c.study_id)
    .join(cells, cells.c.id == sessions.c.cell_id)
)
_BY_TOKEN = _JOINED.join(tokens, tokens.c.session_id == sessions.c.id).where(
    tokens.c.hash == bindparam("token")
)
_BY_TOKEN_LOCKED = _BY_TOKEN.with_for_update(of=sessions)


def _by_tokens(dialect: str) -> Select[Any]:
    batch = rowset.rowset(dialect, [tokens.c.hash])
    return (
        _JOINED.join(tokens, tokens.c.session_id == sessions.c.id)
        .join(batch, batch.c.hash == tokens.c.hash)
        .add_columns(tokens.c.hash.label("token"))
        .with_for_update(of=sessions, skip_locked=True)
    )


_BY_TOKENS = {name: _by_tokens(name) for name in rowset.DIALECTS}


def token_hash(token: str) -> str:
    """What is kept of a token. It holds 256 random bits, so that a plain hash is enough."""
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def as_session(row: Row[Any], token: str, now: datetime | None = None) -> Session:
    """A row of `find` as callers see it; at a time, one past a limit has expired."""
    over = now is not None and limit_reached(row, now) is not None
    return Session(
        token,
        row.study,
        row.pseudonym,
        row.rater_kind,
        row.recruiter,
        row.cell,
        row.seed,
        row.attempt,
        row.position,
        row.outcome or (EXPIRED if over else row.state),
        row.started_at,
        row.code,
        row.language,
        row.placed_at,
        row.wave,
        row.ended_at,
        row.excluded_at is not None,
        None if row.first_shown_at is None else (row.shown_position, row.first_shown_at),
    )


def find(connection: Connection, token: str, *, lock: bool = False) -> Row[Any]:
    """The session of a token; locked, nobody else can move it until this transaction ends."""
    query = _BY_TOKEN_LOCKED if lock else _BY_TOKEN
    row = connection.execute(query, {"token": token_hash(token)}).one_or_none()
    if row is None:
        raise UnknownSession(
            "This session is not known: the link is old, the browser forgot its cookie, or the "
            "data were deleted. Start again from the study's first page."
        )
    return row


def find_unlocked(connection: Connection, session_tokens: Iterable[str]) -> dict[str, Row[Any]]:
    """The sessions of tokens, locked, by the token's hash; without those that others have locked.

    Taking several locks without waiting for any (`SKIP LOCKED`) cannot deadlock.
    """
    rows = [{"hash": token_hash(token)} for token in session_tokens]
    query = _BY_TOKENS[connection.dialect.name]
    locked = connection.execute(query, rowset.rows_parameter(rows))
    return {row.token: row for row in locked}


def last_attempt(connection: Connection, participant: int) -> Row[Any]:
    """The newest session of a participant, locked."""
    query = (
        _JOINED.where(sessions.c.participant_id == participant)
        .order_by(sessions.c.attempt.desc())
        .limit(1)
        .with_for_update(of=sessions)
    )
    return connection.execute(query).one()


def attempts_of(connection: Connection, participant: str) -> list[Row[Any]]:
    """The sessions of a pseudonym, the newest first."""
    own = _JOINED.where(participants.c.pseudonym == participant)
    return list(connection.execute(own.order_by(sessions.c.attempt.desc())))


def lock_study(connection: Connection, study: str) -> Row[Any]:
    """The study's row; whoever has it locked alone gives out and takes back places."""
    query = select(studies).where(studies.c.hash == study).with_for_update()
    row = connection.execute(query).one_or_none()
    if row is None:
        raise unknown_study(study)
    return row


def find_study(connection: Connection, study: str) -> Row[Any]:
    """The study's row, to be read."""
    row = connection.execute(select(studies).where(studies.c.hash == study)).one_or_none()
    if row is None:
        raise unknown_study(study)
    return row


def study_id(connection: Connection, study: str) -> int:
    """The study's id, without its definition, which may hold megabytes of items."""
    return int(_of_study(connection, study, studies.c.id))


def study_operation(connection: Connection, study: str) -> str:
    """How the study is run now, as JSON, without its definition."""
    return str(_of_study(connection, study, studies.c.operation))


def _of_study(connection: Connection, study: str, column: Column[Any]) -> Any:
    found = connection.execute(select(column).where(studies.c.hash == study)).scalar_one_or_none()
    if found is None:
        raise unknown_study(study)
    return found


def unknown_study(study: str) -> UnknownStudy:
    """The error for a study that is not there."""
    return UnknownStudy(f"The database holds no study {study!r}. Register it by serving it once.")


def places(connection: Connection, study_id: int) -> list[Places]:
    """How far every cell of a study is filled, in the order of the design."""
    taken = (
        select(sessions.c.cell_id, func.count().label("n"))
        .join(cells, cells.c.id == sessions.c.cell_id)
        .where(cells.c.study_id == study_id, TAKES_PLACE)
        .group_by(sessions.c.cell_id)
        .subquery()
    )
    query = (
        select(cells.c.name, cells.c.state, cells.c.target, func.coalesce(taken.c.n, 0))
        .outerjoin(taken, taken.c.cell_id == cells.c.id)
        .where(cells.c.study_id == study_id)
        .order_by(cells.c.place)
    )
    return [Places(*row) for row in connection.execute(query)]


def expire_stale(connection: Connection, study: Row[Any], now: datetime) -> int:
    """End sessions not heard of, or under way, for too long; how many there were.

    Who has not agreed to take part has no place to give back, and is forgotten after a day.
    """
    those = select(cells.c.id).where(cells.c.study_id == study.id)
    live = (sessions.c.state == LIVE) & sessions.c.cell_id.in_(those)
    placed = live & sessions.c.placed_at.is_not(None)
    limits = {IDLE: sessions.c.seen_at < now - timedelta(seconds=study.stale_after_s)}
    if study.longest_s is not None:
        old = sessions.c.placed_at < now - timedelta(seconds=study.longest_s)
        limits = {SESSION: old} | limits
    ended = 0
    for limit, passed in limits.items():
        values = {"state": EXPIRED, "ended_at": now, "reason": limit}
        ended += connection.execute(update(sessions).where(placed, passed).values(values)).rowcount
    undecided = select(sessions.c.participant_id).where(
        live, sessions.c.placed_at.is_(None), sessions.c.seen_at < now - _UNDECIDED
    )
    forget_people(connection, connection.execute(undecided).scalars().all())
    return ended


def has_place(connection: Connection, row: Row[Any]) -> bool:
    """Whether the cell of an expired session has room for it: who was in goes on when paused."""
    return row.wave > FIRST or any(
        cell.cell == row.cell and cell.taken < cell.target
        for cell in places(connection, row.study_id)
    )


def too_old(row: Row[Any], now: datetime) -> bool:
    """Whether a session has been under way for longer than the study allows."""
    limit, since = row.longest_s, row.placed_at
    if limit is None or since is None:
        return False
    return bool(since < now - timedelta(seconds=limit))


def limit_reached(row: Row[Any], now: datetime) -> str | None:
    """The limit that a session under way is past, whether or not anybody has looked since."""
    if row.state != LIVE or row.placed_at is None:
        return None
    if too_old(row, now):
        return SESSION
    return IDLE if row.seen_at < now - timedelta(seconds=row.stale_after_s) else None


def revived(connection: Connection, row: Row[Any], now: datetime) -> bool:
    """Bring an expired session back if its cell still has a place; the study must be locked."""
    if too_old(row, now) or not has_place(connection, row):
        return False
    connection.execute(
        update(sessions)
        .where(sessions.c.id == row.id)
        .values(state=LIVE, ended_at=None, reason=None, seen_at=now)
    )
    return True


def add_token(
    connection: Connection, session: int, token: str, now: datetime, browser: str | None = None
) -> None:
    """Let a token lead to a session, beside those that already do (other tabs, lost answers)."""
    new = {"hash": token_hash(token), "session_id": session, "issued_at": now, "browser": browser}
    connection.execute(insert(tokens).values(new))
