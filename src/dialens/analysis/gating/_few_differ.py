"""An interval where all but a few dialogues say the same, so that there is no spread to speak of.

Two versions of an agent often give the same reply to most prompts. Student's interval rests on
the few that differ and would be far too narrow; refusing one would leave a gate without an answer.
What the dialogues agree on is taken as the centre, and as many exceptions are allowed on either
side as so few are compatible with (Clopper & Pearson 1934), each as large as the largest seen.
"""

import numpy as np
from scipy import special

from dialens.analysis.comparison import GroupStatistics
from dialens.statistics import FEWEST, Floats, Jackknife

_ALIKE = 0.05
"""Deviations below this share of the largest are none."""


def few_differ(
    own: GroupStatistics,
    other: GroupStatistics | None,
    at: int,
    *,
    paired: bool,
    confidence: float,
) -> tuple[float, float]:
    """The interval of a metric, or of its difference; NaN where it cannot be given."""
    if other is None:
        return _one_side(own, at, confidence)
    if paired:
        return sparse_interval(_only(own.jackknife - other.jackknife, at), confidence)
    low, high = _one_side(own, at, confidence)
    other_low, other_high = _one_side(other, at, confidence)
    return low - other_high, high - other_low


def sparse_interval(values: Floats, confidence: float) -> tuple[float, float]:
    """The interval of a mean of which all but a few values are the same.

    Args:
        values: One a unit; of a statistic that is no mean, its pseudo-values (Tukey 1958).
        confidence: Of the interval.

    Examples:
        Three of twelve are higher by 1. A share of up to .572 might be (Clopper & Pearson for 3 of
        12), and one of up to .265 lower (0 of 12):

        >>> low, high = sparse_interval(np.array([0.0] * 9 + [1.0] * 3), 0.95)
        >>> round(low, 3), round(high, 3)
        (-0.265, 0.572)
    """
    units = len(values)
    if units < FEWEST or np.isnan(values).any():
        return np.nan, np.nan
    centre = float(np.median(values))
    apart = values - centre
    largest = float(np.abs(apart).max())
    if largest == 0:
        return np.nan, np.nan  # nothing was seen of how large an exception is
    below = np.count_nonzero(apart < -_ALIKE * largest)
    above = np.count_nonzero(apart > _ALIKE * largest)
    tail = (1 - confidence) / 2
    fewer, more = (
        float(special.betaincinv(count + 1, units - count, 1 - tail)) if count < units else 1.0
        for count in (below, above)
    )
    return centre - fewer * largest, centre + more * largest


def _one_side(side: GroupStatistics, at: int, confidence: float) -> tuple[float, float]:
    found = side.compared(None, paired=False, confidence=confidence)
    low, high = float(found.low[at]), float(found.high[at])
    if np.isnan(low):
        return sparse_interval(_only(side.jackknife, at), confidence)
    return low, high


def _only(jackknife: Jackknife, at: int) -> Floats:
    """The pseudo-values of one statistic."""
    units = jackknife.units
    values: Floats = units * jackknife.value[at] - (units - 1) * jackknife.left_out[at]
    return np.round(values, 9)
