"""A test of pairs by flipping signs, where nearly all pairs differ by the same amount.

Were two agents the same, either of a pair could have given either answer, so that each difference
could as well have the other sign (Fisher 1935, *The Design of Experiments*, §21). That needs no
spread to estimate an error from. It is a test of whether agents can be told apart, not of a mean:
what a rare large exception would do to the mean, pairs that all say the same do not tell.
"""

from itertools import product
from typing import Final

import numpy as np
from scipy import special

from dialens.statistics._bootstrap import Floats

_FLIPPED: Final = 12
"""Differences, the largest, whose signs are flipped in all ways; the sum of the rest is normal."""
_SIGNS: Final = np.array(list(product((-1.0, 1.0), repeat=_FLIPPED)))
_ROUNDING: Final = 1e-9


def sign_flip_p(differences: Floats) -> float:
    """The two-sided p of a sum of differences.

    Args:
        differences: One a pair; those of 0 tell nothing.

    Examples:
        Of the 256 ways to sign eight differences, two are as extreme as all of one sign:

        >>> sign_flip_p(np.array([0.5] * 8)) == 2 / 256
        True
        >>> sign_flip_p(np.array([0.0, 0.0, 1.0, 1.0, -1.0]))
        1.0
    """
    sizes = np.sort(np.abs(differences))[::-1]
    total = abs(float(np.sum(differences)))
    first = np.zeros(_FLIPPED)
    first[: len(sizes)] = sizes[:_FLIPPED]
    sums = _SIGNS @ first
    spread = float(np.sqrt(np.square(sizes[_FLIPPED:]).sum()))
    if spread <= _ROUNDING * float(sizes.max(initial=0.0)):
        reached = np.abs(sums) >= total - _ROUNDING * float(sizes.sum())
        return float(reached.mean())
    beyond = special.ndtr((sums - total) / spread) + special.ndtr((-sums - total) / spread)
    return min(1.0, float(beyond.mean()))
