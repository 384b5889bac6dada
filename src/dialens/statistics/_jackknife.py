"""Intervals and tests of any statistic of few or many units, from leaving out one at a time.

Bootstrap p-values and BCa intervals of few units are too small and too narrow, of skewed ones even
with fifty (log-normal values: 15 % false positives with 5 units a side, 7 to 11 % with 50), and no
resampling p falls below one in the number of draws. The jackknife (Tukey 1958) gives a standard
error, and Student's t with it has neither fault where values are symmetric. Where they are not, the
distribution of t leans to one side; Hall's cubic transformation takes the lean out (Hall 1992,
*On the removal of skewness by transformation*; Zhou & Dinh 2005 for two samples). The skewness it
needs is itself underestimated from few units, so that either may be the more careful one: both are
computed, and the wider interval and the larger p are given. `benchmarks/inference.py` prints how
often that errs.
"""

from dataclasses import dataclass
from functools import cached_property
from math import comb
from typing import Final

import numpy as np
from scipy import special

from dialens.statistics._bootstrap import Floats, Ints, Mask
from dialens.statistics._few_units import FEWEST
from dialens.statistics._sign_flips import sign_flip_p

_ROUNDING = 1e-12
_ALIKE: Final = 0.05
"""Units that differ from the rest by less than this share of the largest difference do not count
as different."""
_LEAST_SLOPE: Final = 0.4
"""Of Hall's transformation, which would flatten out: ten standard errors could have p = .1."""


@dataclass(frozen=True)
class Jackknife:
    """Statistics of some units, and what they come to without each unit in turn.

    Attributes:
        value: One a statistic.
        left_out: Statistics × units; NaN where a statistic is not defined without the unit.
        alone: What they come to of each unit by itself, NaN where nothing. Units that have no value
            and change none when they are left out are none to the statistic.
        size: How large the numbers are that `value` was computed from, to tell rounding from
            difference.

    Examples:
        >>> x = np.array([1.0, 2, 4, 3, 5, 9])
        >>> mean = Jackknife.of(x.mean(), (x.sum() - x) / 5, x)
        >>> round(float(mean.error), 4), round(float(x.std(ddof=1) / np.sqrt(6)), 4)
        (1.1547, 1.1547)
        >>> float(mean.varying), float(abs(mean.bias).round(9))
        (6.0, 0.0)
    """

    value: Floats
    left_out: Floats
    alone: Floats
    size: Floats

    @classmethod
    def of(cls, value: Floats | float, left_out: Floats, alone: Floats) -> "Jackknife":
        """Statistics as they are, none of them a difference of two."""
        values = np.asarray(value, dtype=np.float64)
        return cls(values, left_out, alone, np.abs(values))

    def __sub__(self, other: "Jackknife") -> "Jackknife":
        """The difference of two statistics of the same units: a paired comparison."""
        return Jackknife(
            self.value - other.value,
            self.left_out - other.left_out,
            self.alone - other.alone,
            np.maximum(self.size, other.size),
        )

    def times(self, factor: Floats) -> "Jackknife":
        """The statistics multiplied, each by a factor of its own."""
        by = np.asarray(factor, dtype=np.float64)
        return Jackknife(
            self.value * by,
            self.left_out * by[..., None],
            self.alone * by[..., None],
            self.size * np.abs(by),
        )

    @property
    def units(self) -> int:
        """How many units there are."""
        return int(self.left_out.shape[-1])

    @cached_property
    def pulls(self) -> Floats:
        """How much each unit moves the statistic: the mean of what is left out minus each."""
        pulls: Floats = self.left_out.mean(axis=-1, keepdims=True) - self.left_out
        return pulls

    @cached_property
    def variance(self) -> Floats:
        """The square of the standard error."""
        squares: Floats = np.square(self.pulls).sum(axis=-1)
        return squares * (self.counting - 1) / self.counting

    @property
    def error(self) -> Floats:
        """The standard error."""
        return np.sqrt(self.variance)

    @property
    def third_cumulant(self) -> Floats:
        """Of the statistic; for a mean Fisher's k-statistic of the values by their number squared.

        Cubes of the pulls estimate it as their squares do the variance.
        """
        n = self.counting
        cubes: Floats = np.power(self.pulls, 3).sum(axis=-1)
        return cubes * (n - 1) ** 2 / (n * np.maximum(n - 2, 1))

    @property
    def bias(self) -> Floats:
        """How far the statistic lies off for having few units (Quenouille 1956); 0 for a mean."""
        apart: Floats = (self.left_out - self.value[..., None]).sum(axis=-1)
        bias = apart * (self.counting - 1) / self.counting
        return np.where(np.abs(bias) <= _ROUNDING * self.units * self.size, 0.0, bias)

    @cached_property
    def counting(self) -> Ints:
        """How many units have a part in a statistic.

        A dialogue without an emotion word has none in the share of joy among such words.
        """
        still = np.abs(self.left_out - self.value[..., None]) <= self._rounding
        idle = np.count_nonzero(still & np.isnan(self.alone), axis=-1)
        counting: Ints = np.maximum(self.units - idle, 1).astype(np.int64)
        return counting

    @cached_property
    def varying(self) -> Ints:
        """How many units tell something: all that count, if values are spread out.

        Where half or more pull alike (a metric that is 0 in most dialogues), only those that pull
        otherwise: from them alone the standard error comes. 0 where any cannot be left out.
        """
        n = self.units
        middle = np.partition(self.left_out, (n - 1) // 2, axis=-1)[..., (n - 1) // 2, None]
        apart = np.abs(self.left_out - middle)
        bound = np.maximum(_ALIKE * apart.max(axis=-1, keepdims=True), self._rounding)
        alike = np.count_nonzero(apart <= bound, axis=-1)
        varying = np.where(2 * alike >= n, n - alike, n)
        undefined = np.isnan(self.left_out).any(axis=-1)
        return np.where(undefined, 0, np.minimum(varying, self.counting)).astype(np.int64)

    @property
    def constant(self) -> Mask:
        """Where the statistic is the same whichever unit is left out."""
        spread: Floats = np.ptp(self.left_out, axis=-1)
        return spread <= _ROUNDING * self.size

    @property
    def _rounding(self) -> Floats:
        return _ROUNDING * self.size[..., None]


@dataclass(frozen=True)
class TInference:
    """What `skewed_t` gives, one entry a statistic; NaN where there is none.

    Attributes:
        error: The standard error.
        low: Low end of the interval.
        high: High end.
        p: Two-sided, of no difference from zero.
        constant: Where all units of each side say exactly the same and the sides differ: there is
            no error, and p is that of exchanging units.
        flipped: Where pairs nearly all differ by the same amount: there is no error, and p is that
            of flipping signs.
    """

    error: Floats
    low: Floats
    high: Floats
    p: Floats
    constant: Mask
    flipped: Mask


def skewed_t(
    first: Jackknife,
    second: Jackknife | None = None,
    *,
    error: Floats | None = None,
    paired: bool = False,
    confidence: float = 0.95,
) -> TInference:
    """Interval and p of statistics, or of their differences between two sets of units.

    Nothing is given with fewer than six units a side, nor where fewer than six units tell
    something. Where that many do but on one side alone fewer, both sides share one variance, since
    that of a side in which hardly anything happened is too small. An interval also holds what the
    estimate without its bias allows.

    Args:
        first: The statistics; for a paired comparison the difference of two (`a - b`).
        second: The same of other units, to be taken off the first.
        error: Standard errors to use instead of the jackknife's, for statistics in steps (ranks),
            which the jackknife cannot judge; NaN leaves it to the jackknife.
        paired: Whether `first` is the difference of two: where too few units tell of a spread,
            signs are flipped.
        confidence: Of the interval.

    Examples:
        Without skewness it is the t test:

        >>> x = np.array([-3.0, -2, -1, 0, 1, 2, 3]) + 1
        >>> t = skewed_t(Jackknife.of(x.mean(), (x.sum() - x) / 6, x))
        >>> round(float(t.p), 4), round(float(t.low), 3), round(float(t.high), 3)
        (0.2666, -0.998, 2.998)
        >>> from scipy import stats
        >>> round(float(stats.ttest_1samp(x, 0).pvalue), 4)
        0.2666
    """
    sides = [first] if second is None else [first, second]
    value = first.value if second is None else first.value - second.value
    bias = first.bias if second is None else first.bias - second.bias
    variance, third, freedom = _moments(first, second)
    varying = sum(side.varying for side in sides)
    if error is not None:
        stepped = ~np.isnan(error)
        fewest = np.min([side.units for side in sides]) - 1
        variance = np.where(stepped, np.square(error), variance)
        third, bias = np.where(stepped, 0.0, third), np.where(stepped, 0.0, bias)
        freedom = np.where(stepped, fewest, freedom)
        varying = np.where(stepped & (error > 0), FEWEST, varying)
    spread = np.sqrt(variance)
    rounding = _ROUNDING * np.max([side.size for side in sides], axis=0)
    enough = (varying >= FEWEST) & (spread > rounding)
    units = min(side.units for side in sides)
    enough &= units >= FEWEST
    fixed = np.all([side.constant for side in sides], axis=0)
    constant = fixed & (np.abs(value) > rounding) & (units >= FEWEST) & ~np.isnan(value)
    if error is not None:
        constant &= np.isnan(error)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        skew = third / spread**3
        far: Floats = np.asarray(special.stdtrit(freedom, (1 + confidence) / 2), np.float64)
        below = spread * np.maximum(far, _unbent(far, skew))
        above = spread * np.maximum(far, -_unbent(-far, skew))
        low = np.minimum(value, value - bias) - below
        high = np.maximum(value, value - bias) + above
        near = np.where(np.abs(value - bias) < np.abs(value), value - bias, value)
        near = np.where(value * (value - bias) <= 0, 0.0, near)
        t = near / spread
        p = 2 * special.stdtr(freedom, -np.minimum(np.abs(t), np.abs(_bent(t, skew))))
    p = np.where(near == 0, 1.0, p)
    exchange = _smallest_p([side.units for side in sides])
    p = np.where(constant, exchange, np.where(enough, p, np.nan))
    flipped = np.isnan(p) & (paired and second is None and units >= FEWEST)
    if flipped.any():
        p = np.where(flipped, _flipped(first), p)
        flipped &= ~np.isnan(p)
    return TInference(
        error=np.where(enough, spread, np.nan),
        low=np.where(enough, low, np.nan),
        high=np.where(enough, high, np.nan),
        p=p,
        constant=constant,
        flipped=flipped,
    )


def _flipped(differences: Jackknife) -> Floats:
    """P-values of flipping signs; NaN where fewer than six units differ from zero.

    A statistic that is no mean has its pseudo-values in the place of differences (Tukey 1958).
    """
    n = differences.units
    values = n * differences.value[..., None] - (n - 1) * differences.left_out
    rounding = n * _ROUNDING * differences.size[..., None]
    values = np.where(np.abs(values) <= rounding, 0.0, values)
    found: Floats = np.full(differences.value.shape, np.nan)
    for place in np.ndindex(found.shape):
        own = values[place]
        if np.isfinite(own).all() and np.count_nonzero(own) >= FEWEST:
            found[place] = sign_flip_p(own)
    return found


def _moments(first: Jackknife, second: Jackknife | None) -> tuple[Floats, Floats, Floats]:
    """Variance and third cumulant of the statistics or of their difference, degrees of freedom."""
    if second is None:
        return first.variance, first.third_cumulant, np.maximum(first.counting - 1.0, 1.0)
    n, m = first.counting, second.counting
    own, other = first.variance, second.variance
    third, third_other = first.third_cumulant, second.third_cumulant
    free, free_other = np.maximum(n - 1.0, 1.0), np.maximum(m - 1.0, 1.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        welch = np.square(own + other) / (own**2 / free + other**2 / free_other)
    unit_variance = (own * n * (n - 1) + other * m * (m - 1)) / np.maximum(n + m - 2, 1)
    unit_third = (third * n**3.0 + third_other * m**3.0) / (n + m)
    shared = np.minimum(first.varying, second.varying) < FEWEST
    return (
        np.where(shared, unit_variance * (1 / n + 1 / m), own + other),
        np.where(shared, unit_third * (1 / n**2.0 - 1 / m**2.0), third - third_other),
        np.where(shared, free + free_other, welch),
    )


def _bent(t: Floats, skew: Floats) -> Floats:
    """Hall's transformation of t, on a straight line from where its slope is the least allowed."""
    turn = _turn(skew)
    beyond = skew * t < skew * turn
    inside = np.where(beyond, turn, t)
    curved = inside + skew / 6 + skew * inside**2 / 3 + skew**2 * inside**3 / 27
    bent: Floats = curved + np.where(beyond, _LEAST_SLOPE * (t - inside), 0.0)
    return bent


def _unbent(y: Floats, skew: Floats) -> Floats:
    """The inverse of `_bent`."""
    flat = np.abs(skew) < 1e-6
    safe = np.where(flat, 1.0, skew)
    curved = 3 / safe * (np.cbrt(1 + safe * (y - safe / 6)) - 1)
    turn = _turn(safe)
    at_turn = _bent(turn, safe)
    straight = turn + (y - at_turn) / _LEAST_SLOPE
    return np.where(flat, y, np.where(safe * y < safe * at_turn, straight, curved))


def _turn(skew: Floats) -> Floats:
    """Where the slope of Hall's transformation, (1 + skew t / 3)², is the least allowed."""
    with np.errstate(divide="ignore"):
        turn: Floats = np.where(skew == 0, -np.inf, 3 * (np.sqrt(_LEAST_SLOPE) - 1) / skew)
    return turn


def _smallest_p(counts: list[int]) -> float:
    """What exchanging units could show at best, for units that all say exactly the same."""
    ways = 2 ** counts[0] if len(counts) == 1 else comb(sum(counts), counts[0])
    return 2 / ways


def hedges_g(first: Jackknife, second: Jackknife) -> Floats:
    """Differences by the pooled standard deviation of single units (Hedges 1981).

    The standard deviation of a unit is the jackknife's error times √n: for a mean that of the
    values, for a pooled share that of what dialogues contribute. NaN where nothing varies.

    Examples:
        >>> x, y = np.array([2.0, 4, 6, 8]), np.array([1.0, 3, 5, 7])
        >>> sides = [Jackknife.of(v.mean(), (v.sum() - v) / 3, v) for v in (x, y)]
        >>> round(float(hedges_g(*sides)), 4), round(1 / 2.58199 * (1 - 3 / 23), 4)
        (0.3368, 0.3368)
    """
    n, m = first.counting, second.counting
    freedom = np.maximum(n + m - 2, 1)
    squares = first.variance * n * (n - 1) + second.variance * m * (m - 1)
    size = np.maximum(first.size, second.size)
    with np.errstate(divide="ignore", invalid="ignore"):
        deviation = np.sqrt(squares / freedom)
        g = (first.value - second.value) / deviation * (1 - 3 / (4 * freedom - 1))
    return np.where(deviation > _ROUNDING * size, g, np.nan)
