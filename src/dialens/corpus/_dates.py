"""Dates as regions write them: which of the three numbers is the day is seen from all of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise

ORDERS = ("dmy", "mdy", "ymd")
_SHUFFLED = 0.25
_TWO_DIGITS = 100


@dataclass(frozen=True, slots=True)
class WrittenDate:
    """The three numbers of a date as they stand, and what stands between them."""

    numbers: tuple[int, int, int]
    separator: str

    def read(self, order: str) -> date | None:
        """The day, if the numbers are one in this order.

        Examples:
            >>> WrittenDate((31, 12, 23), "/").read("dmy").isoformat()
            '2023-12-31'
            >>> WrittenDate((31, 12, 23), "/").read("mdy") is None
            True
        """
        parts = dict(zip(order, self.numbers, strict=True))
        year = parts["y"] + (2000 if parts["y"] < _TWO_DIGITS else 0)
        try:
            return date(year, parts["m"], parts["d"])
        except ValueError:
            return None


def date_order(runs: Sequence[Sequence[WrittenDate]], *, american: bool) -> str:
    """Which of the three numbers is which: `dmy`, `mdy` or `ymd`.

    Every date must be one; time runs one way in a conversation, forwards or newest first; a clock
    with `PM` is American, a date with dots is not; and of what is left, the order in which the
    least time passes, within conversations first.

    Args:
        runs: The dates of each conversation, in the order of the file.
        american: Whether the clock says `AM` or `PM` in capitals.

    Examples:
        >>> dates = [WrittenDate(numbers, "/") for numbers in ((1, 5, 2024), (2, 5, 2024))]
        >>> date_order([dates], american=False), date_order([dates], american=True)
        ('dmy', 'mdy')
    """
    readings = {order: [[one.read(order) for one in run] for run in runs] for order in ORDERS}
    turned = {order: _turned(known) for order, known in readings.items()}
    pairs = sum(max(len(run) - 1, 0) for run in runs)
    if min(turned.values()) > _SHUFFLED * pairs:  # rows in no order say nothing
        turned = dict.fromkeys(ORDERS, 0)
    separators = {one.separator for run in runs for one in run}

    def unlikely(order: str) -> tuple[object, ...]:
        known = [[day for day in run if day is not None] for run in readings[order]]
        every = [day for run in known for day in run]
        missing = sum(map(len, runs)) - len(every)
        odd = order == "mdy" if separators == {"."} else american and order != "mdy"
        return missing, turned[order], odd, sum(map(_passed, known)), _passed(every)

    return min(ORDERS, key=unlikely)


def _turned(runs: Sequence[Sequence[date | None]]) -> int:
    """How often time runs against its direction, which is the same in every conversation."""
    pairs = [(one, other) for run in runs for one, other in pairwise(run) if one and other]
    back = sum(later < earlier for earlier, later in pairs)
    forth = sum(later > earlier for earlier, later in pairs)
    return min(back, forth)


def _passed(days: Sequence[date]) -> int:
    return (max(days) - min(days)).days if days else 0


def days_by_text(dates: Mapping[str, WrittenDate], order: str) -> dict[str, date]:
    """Each written date with its day, without those that are none."""
    read = {text: one.read(order) for text, one in dates.items()}
    return {text: day for text, day in read.items() if day is not None}
