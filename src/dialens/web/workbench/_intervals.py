"""Means with intervals as rows of a table, each with its place on a common line."""

from collections.abc import Mapping, Sequence
from typing import Any

WIDTH, HEIGHT, MARGIN = 240, 22, 8
"""Of the picture in a row, in its own units."""


def interval_rows(
    rows: Sequence[Mapping[str, Any]],
) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Rows by quality, each with `at`, `from_` and `to`: where its mean and interval are drawn.

    Args:
        rows: With quality, mean, low and high, the latter perhaps missing.

    Examples:
        >>> made = interval_rows([{"quality": "q", "mean": 1.0, "low": 0.0, "high": 2.0}])
        >>> made[0][0], made[0][1][0]["at"], made[0][1][0]["to"]
        ('q', 120.0, 232.0)
    """
    qualities = dict.fromkeys(row["quality"] for row in rows)
    made = []
    for quality in qualities:
        own = [row for row in rows if row["quality"] == quality]
        ends = [row[name] for row in own for name in ("mean", "low", "high")]
        known = [end for end in ends if end is not None]
        low, high = (min(known), max(known)) if known else (0.0, 1.0)
        made.append((quality, [_placed(row, low, high) for row in own]))
    return made


def _placed(row: Mapping[str, Any], low: float, high: float) -> Mapping[str, Any]:
    def place(value: float | None) -> float | None:
        if value is None:
            return None
        share = 0.5 if high == low else (value - low) / (high - low)
        return round(MARGIN + share * (WIDTH - 2 * MARGIN), 1)

    return {
        **row,
        "at": place(row["mean"]),
        "from_": place(row["low"]),
        "to": place(row["high"]),
    }
