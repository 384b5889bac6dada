"""How long a screen was looked at: the time it was visible, by the client's own clock.

A client's clock may be hours wrong and the network slow, so times of different clocks are never
subtracted. Lengths come from the clock of one page, `hidden` to `visible` left out. To see that a
reload or a second tab counts no second twice, a page's times are first moved to the server's
clock, by the smallest difference seen (the message that was fastest on its way). And nobody can
have looked at a screen for longer than the server knows them to be there.
"""

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from dialens.studies.store._problems import EventError

EVENT_KINDS = (
    "shown",
    "first_input",
    "change",
    "blur",
    "focus",
    "hidden",
    "visible",
    "submitted",
    "refused",
)
"""`blur` and `focus` are the window's, `hidden` and `visible` the tab's: only these stop time.
`refused` says why an answer is missing that a rater in process gave twice."""

_NAME = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_MOST_SERIAL = 2**31 - 1
_MOST_DETAIL = 4_000
_ZERO = timedelta()

Interval = tuple[datetime, datetime]


@dataclass(frozen=True)
class Event:
    """Something that happened on a page.

    Attributes:
        kind: One of `EVENT_KINDS`.
        at: When, by the client's clock.
        page: A name the client made up when it loaded the page; tells tabs and reloads apart.
        serial: Counts the events of a page, so that one that is sent twice is kept once.
        field: The field it happened to.
        detail: Whatever else is known, as JSON.
    """

    kind: str
    at: datetime
    page: str
    serial: int
    field: str | None = None
    detail: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.kind not in EVENT_KINDS:
            raise EventError(f"An event is one of {', '.join(EVENT_KINDS)}; seen: {self.kind!r}.")
        check_name("page", self.page)
        if not 0 <= self.serial <= _MOST_SERIAL:
            raise EventError(f"An event's serial is a number from 0; seen: {self.serial!r}.")
        if self.at.tzinfo is None:
            raise EventError(f"An event's time needs a time zone; seen: {self.at.isoformat()}.")
        if self.field is not None and (len(self.field) > 200 or "\0" in self.field):
            raise EventError("An event's field is a name of at most 200 characters.")
        if len(json.dumps(self.detail)) > _MOST_DETAIL:
            raise EventError(f"An event's detail has at most {_MOST_DETAIL:,} characters.")


@dataclass(frozen=True)
class Received:
    """An event and when it reached the server."""

    event: Event
    server_at: datetime


@dataclass(frozen=True)
class Viewing:
    """When a screen first came up, by the server's clock, and how long it was visible."""

    displayed_at: datetime
    active_ms: int


def check_name(what: str, name: str) -> None:
    """Refuse a name that no page of ours makes up.

    Examples:
        >>> check_name("page", "k3-x9")
        >>> check_name("page", "a b")
        Traceback (most recent call last):
            ...
        dialens.studies.store._problems.EventError: A page is 1 to 64 letters, ...
    """
    if not _NAME.fullmatch(name):
        raise EventError(
            f"A {what} is 1 to 64 letters, digits or one of _.:-; seen: {name[:80]!r}."
        )


def viewing(
    events: Sequence[Received],
    *,
    page: str | None,
    shown_at: datetime,
    submitted_at: datetime,
    reached_at: datetime,
    received_at: datetime,
) -> Viewing:
    """The time a screen was visible, over all pages on which it came up.

    Args:
        events: Those of this screen.
        page: The one that submitted; none where events are not known.
        shown_at: When the submitting page came up, by the client's clock.
        submitted_at: When it was submitted, by the client's clock.
        reached_at: When the server came to expect this screen.
        received_at: When the submission reached the server.

    Examples:
        >>> from datetime import UTC
        >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
        >>> second = timedelta(seconds=1)
        >>> away = [
        ...     Event("hidden", noon + 4 * second, "t", 1),
        ...     Event("visible", noon + 9 * second, "t", 2),
        ... ]
        >>> there = noon + 12 * second
        >>> viewing(
        ...     [Received(event, there) for event in away],
        ...     page="t",
        ...     shown_at=noon,
        ...     submitted_at=there,
        ...     reached_at=noon,
        ...     received_at=there,
        ... ).active_ms
        7000
    """
    pages: dict[str | None, list[Received]] = {page: []}
    for one in events:
        pages.setdefault(one.event.page, []).append(one)
    stretches: list[Interval] = []
    for name, seen in pages.items():
        seen.sort(key=lambda one: one.event.serial)
        delays = [one.server_at - one.event.at for one in seen]
        if name == page:
            start, end = shown_at, submitted_at
            delays.append(received_at - submitted_at)
        else:
            start, end = seen[0].event.at, seen[-1].event.at
        shift = min(delays)
        stretches += [(a + shift, b + shift) for a, b in _visible(seen, start, end)]
        if name == page:
            stretches.append((shown_at + shift, shown_at + shift))
    # What lies before the screen was due or after it was submitted is the clock's fault.
    within = [
        (min(max(a, reached_at), received_at), min(max(b, reached_at), received_at))
        for a, b in stretches
    ]
    active = min(_together(stretches), received_at - reached_at)
    first = min(a for a, _ in within)
    return Viewing(first, max(active, _ZERO) // timedelta(milliseconds=1))


def _visible(events: Iterable[Received], start: datetime, end: datetime) -> list[Interval]:
    """Stretches between `hidden` and `visible`; a clock set back makes none of negative length."""
    stretches: list[Interval] = []
    since: datetime | None = start
    for one in events:
        at = min(max(one.event.at, start), end)
        if one.event.kind == "hidden" and since is not None:
            stretches.append((since, max(at, since)))
            since = None
        elif one.event.kind == "visible" and since is None:
            since = at
    if since is not None:
        stretches.append((since, max(end, since)))
    return stretches


def _together(stretches: Iterable[Interval]) -> timedelta:
    """The length of the union."""
    total, reached = _ZERO, None
    for start, end in sorted(stretches):
        if reached is None or start > reached:
            total += end - start
            reached = end
        elif end > reached:
            total += end - reached
            reached = end
    return total
