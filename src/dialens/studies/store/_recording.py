"""What is written of a submission: its screen, its answers, its events, and one step onward.

One statement a table, for one submission as for many.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select, update

from dialens.base import DialensError
from dialens.studies._types import Field
from dialens.studies.store import _rowset as rowset
from dialens.studies.store._activity import Event, Received, Viewing, viewing
from dialens.studies.store._rowset import DIALECTS
from dialens.studies.store._submission import Submission
from dialens.studies.store._tables import answers, events, microseconds, sessions, submissions

_FIELD = tuple(one.name for one in fields(Field))

_ADD_SUBMISSIONS = {name: rowset.adding(name, submissions) for name in DIALECTS}
_ADD_ANSWERS = {name: rowset.adding(name, answers) for name in DIALECTS}
_ADD_EVENTS = {name: rowset.adding(name, events, once=True) for name in DIALECTS}


def _advance(dialect: str) -> Any:
    columns = (sessions.c.id, sessions.c.position, sessions.c.reached_at)
    given = rowset.rowset(dialect, columns)
    values = {
        "position": given.c.position,
        "reached_at": given.c.reached_at,
        "seen_at": given.c.reached_at,
    }
    return update(sessions).where(sessions.c.id == given.c.id).values(values)


def _events_of_screens(dialect: str) -> Any:
    given = rowset.rowset(dialect, (events.c.session_id, events.c.screen))
    same = (events.c.session_id == given.c.session_id) & (events.c.screen == given.c.screen)
    return select(events).join_from(given, events, same)


_ADVANCE = {name: _advance(name) for name in DIALECTS}
_EVENTS_OF_SCREENS = {name: _events_of_screens(name) for name in DIALECTS}


@dataclass(frozen=True)
class Accepted:
    """A submission that counts: the session, locked, is at its screen.

    Attributes:
        session: As `session.find` gives it.
        given: The answers.
        now: When they came.
    """

    session: Row[Any]
    given: Submission
    now: datetime


def record(connection: Connection, accepted: Sequence[Accepted]) -> None:
    """Write submissions down, each of another session, and let their sessions go on."""
    told = _events_before(connection, accepted)
    screens, given, seen, places = [], [], [], []
    for one in accepted:
        session, screen = one.session.id, one.given.screen.id
        screens.append(_screen_row(one, _viewed(one, told.get((session, screen), ()))))
        given += _answer_rows(session, one.given)
        seen += _event_rows(session, screen, one.given.events, one.now)
        reached = {"position": one.given.index + 1, "reached_at": microseconds(one.now)}
        places.append({"id": session, **reached})
    rowset.add(connection, _ADD_SUBMISSIONS, screens)
    rowset.add(connection, _ADD_ANSWERS, given)
    rowset.add(connection, _ADD_EVENTS, seen)
    rowset.add(connection, _ADVANCE, places)


def add_events(
    connection: Connection, session: int, screen: str, seen: Sequence[Event], now: datetime
) -> None:
    """Append events; those that are there already stay as they are."""
    rowset.add(connection, _ADD_EVENTS, _event_rows(session, screen, seen, now))


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


def _events_before(
    connection: Connection, accepted: Sequence[Accepted]
) -> dict[tuple[int, str], list[Received]]:
    """What pages sent of these screens before they were submitted."""
    wanted = [
        {"session_id": one.session.id, "screen": one.given.screen.id}
        for one in accepted
        if _timed(one.given)
    ]
    told: dict[tuple[int, str], list[Received]] = {}
    if wanted:
        query = _EVENTS_OF_SCREENS[connection.dialect.name]
        for one in connection.execute(query, rowset.given_rows(wanted)):
            event = Event(one.kind, one.client_at, one.page, one.serial)
            told.setdefault((one.session_id, one.screen), []).append(Received(event, one.server_at))
    return told


def _timed(given: Submission) -> bool:
    return given.shown_at is not None and given.submitted_at is not None


def _viewed(one: Accepted, before: Iterable[Received]) -> Viewing | None:
    given = one.given
    if given.shown_at is None or given.submitted_at is None:
        return None
    told = {(seen.event.page, seen.event.serial): seen for seen in before}
    for event in given.events:
        told.setdefault((event.page, event.serial), Received(event, one.now))
    return viewing(
        list(told.values()),
        page=given.events[-1].page if given.events else given.key,
        shown_at=given.shown_at,
        submitted_at=given.submitted_at,
        reached_at=one.session.reached_at,
        received_at=one.now,
    )


def _screen_row(one: Accepted, viewed: Viewing | None) -> dict[str, Any]:
    given = one.given
    return {
        "session_id": one.session.id,
        "screen": given.screen.id,
        "position": given.index,
        "kind": given.screen.kind,
        "key": given.key,
        "presented": to_json(given.screen.state),
        "shown_at": microseconds(given.shown_at),
        "submitted_at": microseconds(given.submitted_at),
        "displayed_at": None if viewed is None else microseconds(viewed.displayed_at),
        "received_at": microseconds(one.now),
        "active_ms": None if viewed is None else viewed.active_ms,
    }


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


def _event_rows(
    session: int, screen: str, seen: Sequence[Event], now: datetime
) -> list[dict[str, Any]]:
    return [
        {
            "session_id": session,
            "page": event.page,
            "serial": event.serial,
            "screen": screen,
            "kind": event.kind,
            "field": event.field,
            "client_at": microseconds(event.at),
            "server_at": microseconds(now),
            "detail": to_json(event.detail) if event.detail else None,
        }
        for event in seen
    ]
