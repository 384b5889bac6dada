"""What the index answers with: a page of a table, and how the values of a column are spread."""

import json
from dataclasses import dataclass
from typing import Any

from dialens.base import DialensError


@dataclass(frozen=True)
class TablePage:
    """Some rows of a view.

    Attributes:
        rows: Each with its number (`id`), its names, the values of the columns, and its text.
        total: How many rows the view has in all.
        after: Where the next page begins; None at the end.
    """

    rows: list[dict[str, Any]]
    total: int
    after: str | None


@dataclass(frozen=True)
class Histogram:
    """How the values of a column are spread in a view.

    Attributes:
        low: The lowest value.
        high: The highest.
        counts: Rows in intervals of equal width between them.
        missing: Rows without a value.
        mean: Of all values.
    """

    low: float
    high: float
    counts: list[int]
    missing: int
    mean: float


def cursor(number: int, value: float | str | None) -> str:
    """Where a page ends: the number of its last row, and what that was sorted by."""
    return json.dumps([number, value])


def place_of(after: str | None) -> tuple[float | str | None, int]:
    """What a cursor says; before all rows if there is none.

    Raises:
        DialensError: It is none of ours.
    """
    if after is None:
        return None, -1
    try:
        number, value = json.loads(after)
        return value, int(number)
    except (ValueError, TypeError, RecursionError) as error:
        raise DialensError("This place in the table is not known. Load the page again.") from error
