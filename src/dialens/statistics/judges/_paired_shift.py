"""How far a mean moved between two occasions, exact whatever the distribution of ratings.

If nothing changed, the two occasions of an item could be exchanged, so that its difference is as
likely to have the other sign. Testing every shift by these exchanges gives an interval whose ends
are quantiles of the means of random subsets (Hartigan 1969, "Using subsample values as typical
values"). It errs in no more than 5 % of the cases, however few steps a scale has and however few of
the ratings change (`benchmarks/judge_drift.py`).
"""

import numpy as np

from dialens.base import Estimate
from dialens.statistics._bootstrap import Floats
from dialens.statistics._few_units import FEWEST

_MOST_ENUMERATED = 13
_SUBSETS = 4_999
_AT_ONCE = 2**22
_ROUNDING = 1e-12


def paired_shift(differences: Floats, *, confidence: float = 0.95, seed: int = 0) -> Estimate:
    """The mean of paired differences, with interval and two-sided p.

    Args:
        differences: One a unit (an item, say), the later value less the earlier.
        confidence: Of the interval.
        seed: Of the subsets, where there are too many to take all.

    Examples:
        >>> found = paired_shift(np.array([1.0, 1, 1, 1, 0, 1, 2, 1]))
        >>> found.value, found.low, found.high, found.p
        (1.0, 0.5, 1.5, 0.015625)
        >>> paired_shift(np.zeros(20)).reason
        'nothing changed'
    """
    n = len(differences)
    if not n:
        return Estimate(n=0, reason="nothing was judged on both occasions")
    mean = float(np.mean(differences))
    if not np.any(np.abs(differences) > _ROUNDING):
        return Estimate(0.0, n=n, reason="nothing changed")
    if n < FEWEST:
        return Estimate(mean, n=n, reason=f"fewer than {FEWEST} units have no interval")
    means = np.sort(_subset_means(np.asarray(differences, np.float64), seed))
    total = len(means) + 1  # and the differences as they are
    last = max(int((1 - confidence) / 2 * total), 1)
    low, high = float(means[last - 1]), float(means[-last])
    below = 1 + int(np.searchsorted(means, _ROUNDING, "right"))
    above = 1 + len(means) - int(np.searchsorted(means, -_ROUNDING, "left"))
    p = min(1.0, 2 * min(below, above) / total)
    return Estimate(mean, low, high, p, n=n, basis="exchanges")


def _subset_means(values: Floats, seed: int) -> Floats:
    """Means of all subsets but the empty one, or of a random sample of them."""
    n = len(values)
    if n <= _MOST_ENUMERATED:
        chosen = (np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1
        return np.asarray(chosen @ values / chosen.sum(axis=1), np.float64)
    generator = np.random.default_rng(seed)
    parts: list[Floats] = []
    rows = max(1, min(_SUBSETS, _AT_ONCE // n))
    while (left := _SUBSETS - sum(map(len, parts))) > 0:
        bits = generator.integers(0, 256, (min(rows, left), -(-n // 8)), np.uint8)
        chosen = np.unpackbits(bits, axis=1, count=n).astype(np.float64)
        size = chosen.sum(axis=1)
        kept = size > 0
        parts.append((chosen[kept] @ values) / size[kept])
    return np.concatenate(parts)
