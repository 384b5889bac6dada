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
from scipy import special

from dialens.statistics._bootstrap import Floats

FEWEST: Final = 6
"""With fewer units than these on a side nothing is tested: signs of five cannot reach p < .05."""

_ROUNDING = 1e-12


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
    ways = 2 ** counts[0] if len(counts) == 1 else comb(sum(counts), counts[0])
    return 2 / ways  # of whole numbers, which never overflow
