"""How long what people gave is kept."""

import re
from datetime import UTC, date, datetime, time, timedelta
from typing import Annotated

from pydantic import BeforeValidator

from dialens.studies.design._items import Section

_DAYS = re.compile(r"([1-9]\d{0,4}) days?")
_A_DAY = timedelta(days=1)


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
"""`90 days` after somebody was there last, or `2027-12-31`: until the end of that day, UTC."""


class Retention(Section):
    """How long what people gave is kept; for ever where nothing is said."""

    worker_ids: Term = None
    """Ids at the recruiter, completion codes and payments: so many days after somebody was there
    last (`90 days`), or until the end of a day (`2027-12-31`)."""
    answers: Term = None
    """Everything about a person, in the same way. Their places become free, so end the study
    before."""


def latest(term: str, now: datetime) -> datetime | None:
    """Who was there last at this time or earlier is kept no longer; nobody if none.

    Examples:
        >>> now = datetime(2026, 3, 1, 12, tzinfo=UTC)
        >>> str(latest("10 days", now)), latest("2026-03-01", now), str(latest("2026-02-28", now))
        ('2026-02-19 12:00:00+00:00', None, '2026-02-28 12:00:00+00:00')
    """
    parsed = _parsed(term)
    if isinstance(parsed, timedelta):
        return now - parsed
    assert parsed is not None
    over = datetime.combine(parsed, time(), UTC) + _A_DAY
    return now - _A_DAY if now >= over else None  # who is at it may end what they began
