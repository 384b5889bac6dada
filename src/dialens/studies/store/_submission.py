"""What a participant hands in, and what they are told of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from dialens.base import DialensError
from dialens.studies._types import Screen
from dialens.studies.store._activity import Event, check_name
from dialens.studies.store._problems import EventError

STORED, REPEATED, ANSWERED_BEFORE, ELSEWHERE = "stored", "repeated", "answered_before", "elsewhere"

_MOST_EVENTS = 1_000
_LONGEST_ID = 200


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


def check_submission(given: Submission) -> None:
    """Refuse what no page of ours sends; the database need not be asked."""
    check_name("key", given.key)
    check_events(given.screen.id, given.events)
    known = {one.name for one in given.screen.fields}
    strange = sorted(set(given.answers) - known)
    if strange:
        raise DialensError(
            f"Screen {given.screen.id} has no field {strange[0]!r}; it has "
            f"{', '.join(sorted(known)) or 'none'}."
        )


def check_events(screen: str, seen: Sequence[Event]) -> None:
    """Refuse too many events, or a screen that cannot be one."""
    if seen and (len(seen) > _MOST_EVENTS or len(screen) > _LONGEST_ID or "\0" in screen):
        raise EventError(
            f"A page sends at most {_MOST_EVENTS:,} events at once, of a screen with a name of at "
            f"most {_LONGEST_ID} characters; seen: {len(seen):,} of {screen[:80]!r}."
        )
