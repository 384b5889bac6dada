"""Answers come in: each screen once, whatever the network and the participant do.

The first answer to a screen counts. A double click, a reload, a retry after a lost response or a
second tab finds the screen submitted and is told where the participant is.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, bindparam, insert, select, update
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

from dialens.errors import DialensError
from dialens.studies.store.activity import Event, Received, Viewing, check_name, viewing
from dialens.studies.store.arrivals import over
from dialens.studies.store.problems import EventError
from dialens.studies.store.session import find, lock_study, revived
from dialens.studies.store.tables import (
    COMPLETED,
    EXPIRED,
    LIVE,
    answers,
    events,
    sessions,
    submissions,
)
from dialens.studies.types import Field, Screen

STORED, REPEATED, ANSWERED_BEFORE, ELSEWHERE = "stored", "repeated", "answered_before", "elsewhere"

_MOST_EVENTS = 1_000
_LONGEST_ID = 200

_ADD_SUBMISSION = insert(submissions)
_ADD_ANSWER = insert(answers)
_ADD_EVENT = {
    "sqlite": sqlite_insert(events).on_conflict_do_nothing(),
    "postgresql": postgresql_insert(events).on_conflict_do_nothing(),
}
_ADVANCE = (
    update(sessions)
    .where(sessions.c.id == bindparam("session"))
    .values(position=bindparam("next"), reached_at=bindparam("now"), seen_at=bindparam("now"))
)
_EVENTS_OF_SCREEN = select(events).where(
    events.c.session_id == bindparam("session"), events.c.screen == bindparam("of_screen")
)
_FIELD = tuple(one.name for one in fields(Field))


@dataclass(frozen=True)
class Submission:
    """What a participant gave on a screen, and what had been on it.

    Attributes:
        screen: As it was presented.
        index: Its place in the plan, from 0.
        answers: Values by field, as instruments accepted them; none for those left out.
        key: Made up by the page, the same when it tries again.
        shown_at: When it came up, by the client's clock; none if the client does not say.
        submitted_at: When it was submitted, by the client's clock.
        events: What happened on the page and was not sent before.
    """

    screen: Screen
    index: int
    answers: Mapping[str, Any]
    key: str
    shown_at: datetime | None = None
    submitted_at: datetime | None = None
    events: Sequence[Event] = field(default=())


@dataclass(frozen=True)
class Receipt:
    """What became of a submission. Whatever it was, the participant goes on at `index`.

    Attributes:
        index: The screen that is next.
        outcome: `stored`; `repeated` if this very submission is stored already; `answered_before`
            if the screen was submitted from another page, whose answer counts; `elsewhere` if the
            participant is not at this screen.
    """

    index: int
    outcome: str

    @property
    def acknowledged(self) -> bool:
        """Whether an answer to the screen is stored."""
        return self.outcome != ELSEWHERE


class SessionExpired(Exception):
    """The session has expired; the transaction has to be done anew, with the study locked."""


def submit(
    connection: Connection, token: str, given: Submission, now: datetime, *, expired: bool
) -> Receipt:
    """Store a screen's answers and go on to the next; the transaction's end is the promise.

    Args:
        connection: Of the transaction.
        token: Of the session.
        given: The answers.
        now: The time.
        expired: Whether the session is known to have expired, and may have to be brought back.
    """
    check_name("key", given.key)
    _check_fields(given)
    row = _writable(connection, token, now, expired=expired)
    if row.state == COMPLETED or given.index != row.position:
        return _not_now(connection, row, given, now)
    viewed = _viewed(connection, row, given, now)
    screen = {
        "session_id": row.id,
        "screen": given.screen.id,
        "position": given.index,
        "kind": given.screen.kind,
        "key": given.key,
        "presented": to_json(given.screen.state),
        "shown_at": given.shown_at,
        "submitted_at": given.submitted_at,
        "displayed_at": None if viewed is None else viewed.displayed_at,
        "received_at": now,
        "active_ms": None if viewed is None else viewed.active_ms,
    }
    connection.execute(_ADD_SUBMISSION, screen)
    rows = _answer_rows(row.id, given)
    if rows:
        connection.execute(_ADD_ANSWER, rows)
    add_events(connection, row.id, given.screen.id, given.events, now)
    connection.execute(_ADVANCE, {"session": row.id, "next": given.index + 1, "now": now})
    return Receipt(given.index + 1, STORED)


def log(
    connection: Connection, token: str, screen: str, seen: Sequence[Event], now: datetime
) -> None:
    """Append events that a page sends between submissions; shows that somebody is there."""
    row = find(connection, token)
    add_events(connection, row.id, screen, seen, now)
    connection.execute(
        update(sessions)
        .where(sessions.c.id == row.id, sessions.c.state == LIVE)
        .values(seen_at=now)
    )


def add_events(
    connection: Connection, session: int, screen: str, seen: Sequence[Event], now: datetime
) -> None:
    """Append events; those that are there already stay as they are."""
    if not seen:
        return
    if len(seen) > _MOST_EVENTS or len(screen) > _LONGEST_ID or "\0" in screen:
        raise EventError(
            f"A page sends at most {_MOST_EVENTS:,} events at once, of a screen with a name of at "
            f"most {_LONGEST_ID} characters; seen: {len(seen):,} of {screen[:80]!r}."
        )
    rows = [
        {
            "session_id": session,
            "page": event.page,
            "serial": event.serial,
            "screen": screen,
            "kind": event.kind,
            "field": event.field,
            "client_at": event.at,
            "server_at": now,
            "detail": to_json(event.detail) if event.detail else None,
        }
        for event in seen
    ]
    connection.execute(_ADD_EVENT[connection.dialect.name], rows)


def to_json(value: Any) -> str:
    r"""JSON in ASCII: neither a null character nor half a surrogate pair troubles a database.

    Examples:
        >>> to_json({"a": "é\x00"})
        '{"a":"\\u00e9\\u0000"}'
    """
    try:
        return json.dumps(value, separators=(",", ":"), allow_nan=False, default=_plain)
    except (TypeError, ValueError) as error:
        raise DialensError(f"An answer cannot be stored as JSON: {error}.") from error


def _plain(value: object) -> dict[Any, Any]:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} is not JSON")


def _writable(connection: Connection, token: str, now: datetime, *, expired: bool) -> Row[Any]:
    """The session, locked; one that has expired is brought back if the policy and space allow."""
    if expired:
        # Places are given out under the study's lock, which comes before a session's: with one
        # order of locks nobody waits for somebody who waits for them.
        lock_study(connection, find(connection, token).study)
    row = find(connection, token, lock=True)
    if row.state == EXPIRED:
        if row.resume != "resume":
            raise over(row)
        if not expired:
            raise SessionExpired
        if not revived(connection, row, now):
            raise over(row)
    elif row.state not in (LIVE, COMPLETED):
        raise over(row)
    return row


def _not_now(connection: Connection, row: Row[Any], given: Submission, now: datetime) -> Receipt:
    query = select(submissions.c.key).where(
        submissions.c.session_id == row.id, submissions.c.screen == given.screen.id
    )
    key = connection.execute(query).scalar_one_or_none()
    if key is None:
        return Receipt(row.position, ELSEWHERE)
    add_events(connection, row.id, given.screen.id, given.events, now)
    return Receipt(row.position, REPEATED if key == given.key else ANSWERED_BEFORE)


def _viewed(
    connection: Connection, row: Row[Any], given: Submission, now: datetime
) -> Viewing | None:
    if given.shown_at is None or given.submitted_at is None:
        return None
    screen = {"session": row.id, "of_screen": given.screen.id}
    told = {
        (one.page, one.serial): Received(
            Event(one.kind, one.client_at, one.page, one.serial), one.server_at
        )
        for one in connection.execute(_EVENTS_OF_SCREEN, screen)
    }
    for event in given.events:
        told.setdefault((event.page, event.serial), Received(event, now))
    page = given.events[-1].page if given.events else given.key
    return viewing(
        list(told.values()),
        page=page,
        shown_at=given.shown_at,
        submitted_at=given.submitted_at,
        reached_at=row.reached_at,
        received_at=now,
    )


def _check_fields(given: Submission) -> None:
    known = {one.name for one in given.screen.fields}
    strange = sorted(set(given.answers) - known)
    if strange:
        raise DialensError(
            f"Screen {given.screen.id} has no field {strange[0]!r}; it has "
            f"{', '.join(sorted(known)) or 'none'}."
        )


def _answer_rows(session: int, given: Submission) -> list[dict[str, Any]]:
    return [
        {
            "session_id": session,
            "screen": given.screen.id,
            "field": one.name,
            "place": place,
            "instrument": one.instrument,
            "quality": one.quality,
            "item": one.item,
            "response": one.response,
            "asked": to_json({name: getattr(one, name) for name in _FIELD}),
            "value": to_json(given.answers.get(one.name)),
        }
        for place, one in enumerate(given.screen.fields)
    ]
