"""Intervals of agreement by leaving out items, raters, and both in turn.

Items and raters are both drawn from many, and few of either make an interval uncertain. The
variance of a statistic is that over items plus that over raters, minus what both hold of the
single ratings, which would count twice (Cameron, Gelbach & Miller 2011 for regressions; Owen
2007). Each comes from the jackknife: items left out in turn, raters left out in turn, and the
difference that leaving out both makes. Degrees of freedom are Satterthwaite's. Coefficients that
are corrected for chance come out too low with few raters, so for them nothing is taken off: with
8 raters and 50 items intervals hold the true value in 93 to 96 % rather than 91 %.

Coefficients of agreement crowd below 1: intervals are taken on the scale −log(1 − x), shares on
that of log odds, so that no end passes 1. Perfect agreement shows no spread and gets no interval.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import special

from dialens.base import Estimate
from dialens.statistics.agreement._matrix import ONCE, Floats, Weights

FEWEST_ITEMS = 5
FEWEST_RATERS = 3
_MOST_LEFT_OUT = 200
_MOST_OF_BOTH = 20
_ROUNDING = 1e-9

Statistics = Callable[[Weights], Mapping[str, Floats]]
"""Every statistic of a table as a function of how often items and raters count."""


@dataclass(frozen=True)
class Spread:
    """The variance of one statistic over items, over raters, and over the ratings of both.

    Attributes:
        estimate: The statistic.
        items: Variance over items; None where there are too few.
        raters: Variance over raters; None where there are too few or they are not known.
        ratings: The part that both hold.
        n: Groups of items left out.
        k: Groups of raters left out.
        share: Whether the statistic is a share, 0 to 1, rather than a coefficient.
        why: Why a variance is None, by `items` and `raters`.
    """

    estimate: float
    items: float | None
    raters: float | None
    ratings: float
    n: int
    k: int
    share: bool
    why: Mapping[str, str]

    def over(self, what: str, confidence: float = 0.95) -> Estimate:
        """The interval over `items`, `raters` or `both`."""
        if np.isnan(self.estimate):
            return Estimate(reason="the statistic itself is not defined")
        names = ("items", "raters") if what == "both" else (what,)
        for name in names:
            if self._variance(name) is None:
                return Estimate(self.estimate, reason=self.why[name])
        if 1 - self.estimate < _ROUNDING:
            reason = "agreement is perfect: how far it spreads cannot be seen"
            return Estimate(self.estimate, reason=reason)
        variance, freedom = self._pooled(what)
        if variance <= _ROUNDING**2:
            return Estimate(self.estimate, reason=f"it is the same without any of the {names[0]}")
        low, high = self._ends(float(np.sqrt(variance)), freedom, confidence)
        return Estimate(self.estimate, low, high)

    def _variance(self, name: str) -> float | None:
        return self.items if name == "items" else self.raters

    def _pooled(self, what: str) -> tuple[float, float]:
        """Variance and degrees of freedom."""
        items, raters = self.items or 0.0, self.raters or 0.0
        if what == "items":
            return items, self.n - 1.0
        if what == "raters":
            return raters, self.k - 1.0
        shared = self.ratings if self.share else 0.0
        variance = max(items + raters - shared, items, raters)
        squares = items**2 / (self.n - 1) + raters**2 / (self.k - 1)
        freedom = variance**2 / squares if squares > 0 else 1.0
        return variance, min(max(freedom, min(self.n, self.k) - 1.0), self.n + self.k - 2.0)

    def _ends(self, error: float, freedom: float, confidence: float) -> tuple[float, float]:
        x = self.estimate
        t = float(special.stdtrit(freedom, (1 + confidence) / 2))
        if self.share:
            inner = min(max(x, _ROUNDING), 1 - _ROUNDING)
            reach = t * error / (inner * (1 - inner))
            middle = float(special.logit(inner))
            return float(special.expit(middle - reach)), float(special.expit(middle + reach))
        reach = t * error / (1 - x)
        return float(1 - (1 - x) * np.exp(min(reach, 700))), float(1 - (1 - x) * np.exp(-reach))


def spreads(
    statistics: Statistics, items: int, raters: int, *, shares: tuple[str, ...] = ()
) -> dict[str, Spread]:
    """How far every statistic spreads, from the same leaving out.

    Args:
        statistics: What is computed from weights.
        items: How many items there are.
        raters: How many raters there are; 0 where they are not known.
        shares: Which statistics are shares rather than coefficients.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> from dialens.statistics.agreement._categories import ValueCounts
        >>> from dialens.statistics.agreement._matrix import RatingMatrix
        >>> said = (rng.normal(size=(40, 1)) + rng.normal(size=(40, 6)) > 0).astype(float)
        >>> counts = ValueCounts.of(RatingMatrix.of_array(said))
        >>> found = spreads(lambda w: counts.of_all(["fleiss_kappa"], w), 40, 6)["fleiss_kappa"]
        >>> over = found.over("both")
        >>> bool(over.low < 1 / 3 < over.high)  # two of three signs of correlation ½ agree
        True
    """
    estimates = statistics(ONCE)
    why: dict[str, str] = {}
    if items < FEWEST_ITEMS:
        why["items"] = f"{items} items are too few for an interval (at least {FEWEST_ITEMS})"
    if raters == 0:
        why["raters"] = "raters are not known"
    elif raters < FEWEST_RATERS:
        why["raters"] = f"{raters} raters are too few for an interval (at least {FEWEST_RATERS})"
    n, k = min(items, _MOST_LEFT_OUT), min(raters, _MOST_LEFT_OUT)
    without_items = without_raters = None
    if "items" not in why:
        without_items = statistics(Weights(items=_left_out(items, n)))
    if "raters" not in why:
        without_raters = statistics(Weights(raters=_left_out(raters, k)))
    both = _of_both(statistics, items, raters) if not why else {}
    found = {}
    for name, estimate in estimates.items():
        undefined = dict(why)
        variances = []
        for what, left in (("items", without_items), ("raters", without_raters)):
            variance = None if left is None else _variance(left[name])
            if left is not None and variance is None:
                undefined[what] = f"it is not defined without some of the {what}"
            variances.append(variance)
        found[name] = Spread(
            float(estimate[0]),
            variances[0],
            variances[1],
            both.get(name, 0.0),
            n,
            k,
            name in shares,
            undefined,
        )
    return found


def _variance(left: Floats) -> float | None:
    """Of the jackknife; None where a value without one of them is not defined."""
    if np.isnan(left).any():
        return None
    size = len(left)
    return float((size - 1) / size * ((left - left.mean()) ** 2).sum())


def _left_out(size: int, groups: int) -> Floats:
    """Weights without each in turn; of many, without one of the groups in turn."""
    weights = np.ones((size, groups))
    weights[np.arange(size), np.arange(size) % groups] = 0
    return weights


def _of_both(statistics: Statistics, items: int, raters: int) -> dict[str, float]:
    """What leaving out items and raters together changes beyond leaving out each.

    Of a mean over a full table this is the variance of the single ratings; where every item has
    raters of its own, it is the variance over raters, which the items then hold already.
    """
    n, k = min(items, _MOST_OF_BOTH), min(raters, _MOST_OF_BOTH)
    of_items, of_raters = _left_out(items, n), _left_out(raters, k)
    weights = Weights(np.repeat(of_items, k, axis=1), np.tile(of_raters, (1, n)))
    apart = statistics(weights)
    only_items = statistics(Weights(items=of_items))
    only_raters = statistics(Weights(raters=of_raters))
    whole = statistics(ONCE)
    found = {}
    for name, values in apart.items():
        square = values.reshape(n, k) - only_items[name][:, None] - only_raters[name] + whole[name]
        found[name] = float((n - 1) * (k - 1) / (n * k) * np.nansum(square**2))
    return found
