"""Agreement of raters with themselves: the same rater judges the same thing on two occasions.

Pairs of a rater and an item are the units, occasions the columns: ICC(A,1), the two-way random
form for absolute agreement of single ratings (McGraw & Wong 1996), so that a shift of everybody
between occasions counts as disagreement. Pairs of one rater, and pairs about one item, are alike,
and the F interval, which takes pairs for independent, is too narrow: intervals leave out raters
and items in turn (`statistics.agreement._jackknife`).
"""

from dataclasses import dataclass

import numpy as np

from dialens.base import Estimate
from dialens.statistics._bootstrap import Floats, Ints
from dialens.statistics.agreement._jackknife import spreads
from dialens.statistics.agreement._matrix import Weights

ICC, SAME = "ICC(A,1)", "same"
"""Absolute agreement of ratings; the share of answers that are the same."""


@dataclass(frozen=True)
class Occasions:
    """What raters said of things on two occasions.

    Attributes:
        first: The first time.
        second: The second time.
        rater: Who, as places from 0.
        item: Of what, as places from 0.

    Examples:
        >>> first, second = np.array([9.0, 6, 8, 7, 10, 6]), np.array([2.0, 1, 4, 1, 5, 2])
        >>> pairs = Occasions(first, second, np.arange(6), np.arange(6))
        >>> from dialens.statistics.agreement._intraclass import icc
        >>> from dialens.statistics.agreement._matrix import RatingMatrix
        >>> by_variance = icc(RatingMatrix.of_array(np.column_stack([first, second])))
        >>> [round(x, 4) for x in (pairs.icc().item(), by_variance["ICC(2,1)"].value)]
        [0.1257, 0.1257]
    """

    first: Floats
    second: Floats
    rater: Ints
    item: Ints

    def icc(self, weights: Weights | None = None) -> Floats:
        """ICC(A,1), once for each resample; NaN where nothing varies.

        From the mean squares of pairs, occasions and the rest, with two occasions: twice the
        covariance by the variances, the square of the shift, and the rest's part in that.
        """
        w = self._weights(weights)
        n = w.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            x, y = (self._mean(part, w, n) for part in (self.first, self.second))
            a, b = self.first[:, None] - x, self.second[:, None] - y
            among, between = (w * (a**2 + b**2)).sum(axis=0), (w * a * b).sum(axis=0)
            variances, covariance = among / (n - 1), between / (n - 1)
            rest = variances - 2 * covariance
            whole = variances + (x - y) ** 2 - rest / n
            return np.where(whole > 0, 2 * covariance / whole, np.nan)

    def same(self, weights: Weights | None = None) -> Floats:
        """The share of pairs with the same answer twice, once for each resample."""
        w = self._weights(weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            return self._mean((self.first == self.second).astype(np.float64), w, w.sum(axis=0))

    def estimate(self, statistic: str, *, confidence: float = 0.95) -> Estimate:
        """A statistic with an interval over raters and items, or why it has none.

        Args:
            statistic: `ICC` or `SAME`.
            confidence: Of the interval.
        """
        if not len(self.first):
            return Estimate(reason="nobody judged anything twice")
        chosen = self.icc if statistic == ICC else self.same
        found = spreads(
            lambda weights: {statistic: chosen(weights)},
            int(self.item.max()) + 1,
            int(self.rater.max()) + 1,
            shares=(SAME,),
        )[statistic]
        return found.over("both", confidence)

    def _weights(self, weights: Weights | None) -> Floats:
        """How often each pair counts in each resample."""
        chosen = weights or Weights()
        counts = np.ones((len(self.first), chosen.resamples))
        if chosen.items is not None:
            counts = counts * chosen.items[self.item]
        if chosen.raters is not None:
            counts = counts * chosen.raters[self.rater]
        return counts

    @staticmethod
    def _mean(values: Floats, weights: Floats, n: Floats) -> Floats:
        mean: Floats = (weights * values[:, None]).sum(axis=0) / n
        return mean
