"""What a participant hands in, and what is written of it: screen, answers, events, one step onward.

One statement a table, for one submission as for many.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

from sqlalchemy import Connection, Row, select, update

from dialens.base import DialensError
from dialens.studies._paradata import Paradata
from dialens.studies._types import Field, Screen
from dialens.studies.store import _rowset as rowset
from dialens.studies.store._activity import Event, Received, Viewing, check_name, viewing
from dialens.studies.store._problems import EventError
from dialens.studies.store._rowset import DIALECTS
from dialens.studies.store._tables import (
    EXPIRED,
    answers,
    events,
    microseconds,
    sessions,
    submissions,
)

STORED, REPEATED, ANSWERED_BEFORE, ELSEWHERE = "stored", "repeated", "answered_before", "elsewhere"

SLACK_S = 5.0
"""Seconds after a deadline in which an answer is in time still: pages and answers travel."""

_MOST_EVENTS = 1_000
_LONGEST_ID = 200


@dataclass(frozen=True)
class Ending:
    """How a session ends before its last screen.

    Attributes:
        outcome: `screened_out`, `failed_comprehension` or `withdrawn`.
        reason: Which rule screened somebody out; none where the outcome says it all.
        code: The completion code for this outcome; none if there is none.
    """

    outcome: str
    reason: str | None = None
    code: str | None = None


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
        skip: How many of the next screens are passed over, since they are for others.
        ends: How the session ends with it; none if the participant goes on.
        paradata: How the screen was answered; none if the client does not say.
    """

    screen: Screen
    index: int
    answers: Mapping[str, Any]
    key: str
    shown_at: datetime | None = None
    submitted_at: datetime | None = None
    events: Sequence[Event] = field(default=())
    skip: int = 0
    ends: Ending | None = None
    paradata: Paradata | None = None

    @property
    def following(self) -> int:
        """The place of the screen that is next."""
        return self.index + 1 + self.skip


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


def check_submission(submission: Submission) -> None:
    """Refuse what no page of ours sends; the database need not be asked."""
    check_name("key", submission.key)
    check_events(submission.screen.id, submission.events)
    known = {asked.name for asked in submission.screen.fields}
    unknown = sorted(set(submission.answers) - known)
    if unknown:
        raise DialensError(
            f"Screen {submission.screen.id} has no field {unknown[0]!r}; it has "
            f"{', '.join(sorted(known)) or 'none'}."
        )


def check_events(screen: str, seen: Sequence[Event]) -> None:
    """Refuse too many events, or a screen that cannot be one."""
    if seen and (len(seen) > _MOST_EVENTS or len(screen) > _LONGEST_ID or "\0" in screen):
        raise EventError(
            f"A page sends at most {_MOST_EVENTS:,} events at once, of a screen with a name of at "
            f"most {_LONGEST_ID} characters; seen: {len(seen):,} of {screen[:80]!r}."
        )


_FIELD = tuple(name.name for name in fields(Field))

_ADD_SUBMISSIONS = {name: rowset.adding(name, submissions) for name in DIALECTS}
_ADD_ANSWERS = {name: rowset.adding(name, answers) for name in DIALECTS}
_ADD_EVENTS = {name: rowset.adding(name, events, skip_existing=True) for name in DIALECTS}


def _advance(dialect: str) -> Any:
    columns = (sessions.c.id, sessions.c.position, sessions.c.reached_at)
    batch = rowset.rowset(dialect, columns)
    values = {
        "position": batch.c.position,
        "reached_at": batch.c.reached_at,
        "seen_at": batch.c.reached_at,
    }
    return update(sessions).where(sessions.c.id == batch.c.id).values(values)


def _events_of_screens(dialect: str) -> Any:
    batch = rowset.rowset(dialect, (events.c.session_id, events.c.screen))
    same = (events.c.session_id == batch.c.session_id) & (events.c.screen == batch.c.screen)
    return select(events).join_from(batch, events, same)


_ADVANCE = {name: _advance(name) for name in DIALECTS}
_EVENTS_OF_SCREENS = {name: _events_of_screens(name) for name in DIALECTS}


@dataclass(frozen=True)
class Accepted:
    """A submission that counts: the session, locked, is at its screen.

    Attributes:
        session: As `session.find` gives it.
        submission: The answers.
        now: When they came.
    """

    session: Row[Any]
    submission: Submission
    now: datetime


def record(connection: Connection, accepted: Sequence[Accepted]) -> None:
    """Write submissions down, each of another session, and let their sessions go on."""
    earlier = _events_before(connection, accepted)
    screen_rows, answer_rows, event_rows, steps = [], [], [], []
    for entry in accepted:
        session, submission = entry.session.id, entry.submission
        screen = submission.screen.id
        viewed = _viewed(entry, earlier.get((session, screen), ()))
        screen_rows.append(_screen_row(entry, viewed))
        answer_rows += _answer_rows(session, submission)
        event_rows += _event_rows(session, screen, submission.events, entry.now)
        reached = {"position": submission.following, "reached_at": microseconds(entry.now)}
        steps.append({"id": session, **reached})
    rowset.add(connection, _ADD_SUBMISSIONS, screen_rows)
    rowset.add(connection, _ADD_ANSWERS, answer_rows)
    rowset.add(connection, _ADD_EVENTS, event_rows)
    rowset.add(connection, _ADVANCE, steps)
    for entry in accepted:
        if entry.submission.ends is not None:
            end(connection, entry.session.id, entry.submission.ends, entry.now)


def end(connection: Connection, session: int, ending: Ending, now: datetime) -> None:
    """End a session, locked, before its last screen; its place is free again."""
    ended = {"state": EXPIRED, "ended_at": now, "seen_at": now}
    how = {"outcome": ending.outcome, "reason": ending.reason, "code": ending.code}
    connection.execute(update(sessions).where(sessions.c.id == session).values(ended | how))


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
        {"session_id": entry.session.id, "screen": entry.submission.screen.id}
        for entry in accepted
        if _timed(entry.submission)
    ]
    earlier: dict[tuple[int, str], list[Received]] = {}
    if wanted:
        query = _EVENTS_OF_SCREENS[connection.dialect.name]
        for row in connection.execute(query, rowset.rows_parameter(wanted)):
            event = Received(Event(row.kind, row.client_at, row.page, row.serial), row.server_at)
            earlier.setdefault((row.session_id, row.screen), []).append(event)
    return earlier


def _timed(submission: Submission) -> bool:
    return submission.shown_at is not None and submission.submitted_at is not None


def _viewed(entry: Accepted, before: Iterable[Received]) -> Viewing | None:
    submission = entry.submission
    if submission.shown_at is None or submission.submitted_at is None:
        return None
    events_seen = {(seen.event.page, seen.event.serial): seen for seen in before}
    for event in submission.events:
        events_seen.setdefault((event.page, event.serial), Received(event, entry.now))
    return viewing(
        list(events_seen.values()),
        page=submission.events[-1].page if submission.events else submission.key,
        shown_at=submission.shown_at,
        submitted_at=submission.submitted_at,
        reached_at=entry.session.reached_at,
        received_at=entry.now,
    )


def _screen_row(entry: Accepted, viewed: Viewing | None) -> dict[str, Any]:
    submission = entry.submission
    return {
        "session_id": entry.session.id,
        "screen": submission.screen.id,
        "position": submission.index,
        "kind": submission.screen.kind,
        "key": submission.key,
        "presented": to_json(submission.screen.state),
        "shown_at": microseconds(submission.shown_at),
        "submitted_at": microseconds(submission.submitted_at),
        "displayed_at": None if viewed is None else microseconds(viewed.displayed_at),
        "received_at": microseconds(entry.now),
        "active_ms": None if viewed is None else viewed.active_ms,
        "paradata": _paradata(submission),
        "late": _late(entry),
    }


def _late(entry: Accepted) -> float | None:
    """Seconds after the deadline, 0 if in time; none without one, or if nobody saw the screen.

    The deadline runs from when the server first sent the screen, whatever the page's clock or
    another browser says.
    """
    limit, row = entry.submission.screen.deadline_s, entry.session
    if limit is None or row.first_shown_at is None or row.shown_position != entry.submission.index:
        return None
    over = (entry.now - row.first_shown_at).total_seconds() - limit
    return round(over, 3) if over > SLACK_S else 0.0


def _paradata(submission: Submission) -> str | None:
    said = submission.paradata
    return None if said is None else said.model_dump_json(exclude_none=True)


def _answer_rows(session: int, submission: Submission) -> list[dict[str, Any]]:
    return [
        {
            "session_id": session,
            "screen": submission.screen.id,
            "field": asked.name,
            "place": place,
            "instrument": asked.instrument,
            "quality": asked.quality,
            "item": asked.item,
            "response": asked.response,
            "asked": to_json({name: getattr(asked, name) for name in _FIELD}),
            "value": to_json(submission.answers.get(asked.name)),
        }
        for place, asked in enumerate(submission.screen.fields)
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
