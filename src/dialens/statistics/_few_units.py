"""Differences between few dialogues: Student's t on the jackknife instead of the bootstrap.

Bootstrap p-values of a handful of units are far too small (five dialogues: 16 % false positives at
.05), since so few units cannot be drawn in enough ways. The jackknife (Tukey 1958) gives any
statistic a standard error from leaving out one unit at a time; for a mean it is the ordinary t
test, paired or Welch's. `benchmarks/inference.py` prints the rates of false positives.
"""

from collections.abc import Sequence
from math import comb
from typing import Any, Final

import numpy as np
import polars as pl
from scipy import special

from dialens.statistics._bootstrap import Floats

FEW: Final = 20
"""With fewer units than these on a side, t takes the place of the bootstrap."""
FEWEST: Final = 6
"""With fewer units than these on a side, nothing is tested."""
T: Final = "t"
BOOTSTRAP: Final = "bootstrap"
TOO_FEW: Final = f"fewer than {FEWEST} dialogs or contexts to test"

_ROUNDING = 1e-12


def units(sides: Sequence[Floats]) -> int:
    """How many units the smaller side has, of those without which the statistic is defined."""
    return min(int(np.count_nonzero(~np.isnan(pulls))) for pulls in sides)


def jackknife_t(
    a: Any, b: Any, sides: Sequence[Floats], *, confidence: float = 0.95
) -> tuple[Any, Any, Any]:
    """Interval and two-sided p of a difference.

    Args:
        a: The first value, or an array of them.
        b: The second.
        sides: How much each unit pulls at the difference (the mean of the leave-one-out values
            minus each of them), along the last axis: one array where units are paired, one a side
            where they are not.
        confidence: Of the interval.

    Returns:
        Low, high and p.

    Examples:
        >>> x, y = np.array([[1.0, 2, 4, 3, 5, 8], [2.0, 1, 0, 2, 1, 3]])
        >>> pulls = ((x - y) - (x - y).mean()) / 5
        >>> low, high, p = jackknife_t(x.mean(), y.mean(), [pulls])
        >>> round(float(low), 3), round(float(high), 3), round(float(p), 4)
        (-0.12, 4.787, 0.0583)
        >>> from scipy import stats
        >>> round(float(stats.ttest_rel(x, y).pvalue), 4)
        0.0583
    """
    gap = np.subtract(a, b)
    counts = [pulls.shape[-1] for pulls in sides]
    variances = [
        (count - 1) / count * np.square(pulls).sum(axis=-1)
        for count, pulls in zip(counts, sides, strict=True)
    ]
    error = np.sqrt(sum(variances))
    rounding = _ROUNDING * np.maximum(np.abs(a), np.abs(b))
    constant = error <= rounding
    with np.errstate(divide="ignore", invalid="ignore"):
        squares = sum(v**2 / (n - 1) for v, n in zip(variances, counts, strict=True))
        freedom = np.where(constant, 1.0, error**4 / squares)
        p = 2 * special.stdtr(freedom, -np.abs(gap / error))
    reach = np.where(constant, 0.0, error * special.stdtrit(freedom, (1 + confidence) / 2))
    same = np.where(np.abs(gap) <= rounding, 1.0, _smallest_p(counts))
    return gap - reach, gap + reach, np.where(constant, same, p)


def _smallest_p(counts: Sequence[int]) -> float:
    """What exchanging units could show at best, for units that all say exactly the same."""
    ways = 2.0 ** counts[0] if len(counts) == 1 else comb(sum(counts), counts[0])
    return 2 / ways


def few_units_note(table: pl.DataFrame) -> str:
    """What a comparison of few units must say of itself; empty if there are enough.

    Examples:
        >>> few_units_note(pl.DataFrame({"test": [T, T, None], "reason": [None, None, TOO_FEW]}))
        '2 of 3 rows rest on fewer than 20 dialogues (or shared contexts): t test instead of the \
bootstrap. 1 rests on fewer than 6 and is not tested.'
    """
    few = table.filter(pl.col("test") == T).height
    fewest = table.filter(pl.col("reason") == TOO_FEW).height
    said = []
    if few:
        said.append(
            f"{few:,} of {table.height:,} rows rest on fewer than {FEW} dialogues (or shared "
            "contexts): t test instead of the bootstrap."
        )
    if fewest:
        rest = "rests" if fewest == 1 else "rest"
        are = "is" if fewest == 1 else "are"
        said.append(f"{fewest:,} {rest} on fewer than {FEWEST} and {are} not tested.")
    return " ".join(said)
