"""How long what people gave is kept."""

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated

from pydantic import BeforeValidator

from dialens.studies.design._items import Section

_DAYS = re.compile(r"([1-9]\d{0,4}) days?")
_A_DAY = timedelta(days=1)
SPARED = timedelta(days=1)
"""How long after they were there last people who are under way are spared, where a day is said."""


def _term(value: object) -> object:
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    if value is None or (isinstance(value, str) and _parsed(value) is not None):
        return value
    raise ValueError(
        f"takes a number of days (`90 days`) or a date (`2027-12-31`); seen: {value!r}"
    )


def _parsed(term: str) -> timedelta | date | None:
    days = _DAYS.fullmatch(term.strip())
    if days:
        return timedelta(days=int(days[1]))
    try:
        return date.fromisoformat(term.strip())
    except ValueError:
        return None


Term = Annotated[str | None, BeforeValidator(_term, json_schema_input_type=str | None)]
"""`90 days` after somebody was there last, or `2027-12-31`: until the end of that day, UTC, and for
whoever is under way then until a day after they were there last."""


class Retention(Section):
    """How long what people gave is kept; for ever where nothing is said."""

    worker_ids: Term = None
    """Ids at the recruiter, completion codes and payments: so many days after somebody was there
    last (`90 days`), or until the end of a day (`2027-12-31`), UTC; whoever is under way then is
    spared until a day after they were there last."""
    answers: Term = None
    """Everything about a person, in the same way. Their places become free, so end the study
    before."""


@dataclass(frozen=True)
class Limit:
    """Who was there last at these times or earlier is kept no longer.

    Attributes:
        seen: For people who are not under way.
        under_way: For those who have begun and not ended: they may end what they began.
    """

    seen: datetime
    under_way: datetime


def limit(term: str, now: datetime) -> Limit | None:
    """Whose time is over; nobody's if none.

    A day is over for everybody at its end, but whoever is under way has a day from when they were
    there last.

    Examples:
        >>> now = datetime(2026, 3, 1, 12, tzinfo=UTC)
        >>> str(limit("10 days", now).seen), limit("2026-03-01", now)
        ('2026-02-19 12:00:00+00:00', None)
        >>> over = limit("2026-02-28", now)
        >>> str(over.seen), str(over.under_way)
        ('2026-03-01 12:00:00+00:00', '2026-02-28 12:00:00+00:00')
    """
    parsed = _parsed(term)
    if isinstance(parsed, timedelta):
        return Limit(now - parsed, now - parsed)
    assert parsed is not None
    over = datetime.combine(parsed, time(), UTC) + _A_DAY
    return Limit(now, now - SPARED) if now >= over else None
