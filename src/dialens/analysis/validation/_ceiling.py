"""The human ceiling: how far the mean rating of a unit can be trusted.

No metric can be expected to agree with the mean of a few ratings better than the mean of as many
new ones would. The reliability of the mean is the share of its variance over units that is not
error: ICC(1,k) where every unit had raters of its own, ICC(C,k) where all units had the same, and
what lies between for the designs that crowds leave behind.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import stats

from dialens.base import Estimate
from dialens.statistics import MOST_UNDEFINED, ClusterDraws, Floats
from dialens.statistics.agreement import RatingMatrix, two_way_moments


@dataclass(frozen=True)
class MeanRatings:
    """The ratings of one quality, unit by unit.

    Attributes:
        mean: NaN where a unit was not rated.
        count: How many ratings.
        squares: Their squared deviations from the mean, summed.
        noise: Variance of a mean that is due to raters and chance, averaged over units; None where
            it cannot be known.
        reason: Why it cannot.
    """

    mean: Floats
    count: Floats
    squares: Floats
    noise: float | None
    reason: str | None = None

    @property
    def reliability(self) -> float | None:
        """The share of the variance of the means that is not noise; negative as it is."""
        present = self.count > 0
        if self.noise is None or present.sum() < 2:
            return None
        spread = float(self.mean[present].var(ddof=1))
        return 1 - self.noise / spread if spread > 0 else None


def mean_ratings(ratings: pl.DataFrame, units: int) -> MeanRatings:
    """Means over the ratings of each unit, and how noisy they are.

    Args:
        ratings: Columns unit (number from 0), rater (null where not known), value.
        units: How many units there are.

    Examples:
        >>> table = pl.DataFrame(
        ...     {"unit": [0, 0, 1, 1], "rater": ["a", "b"] * 2, "value": [1.0, 2.0, 4.0, 5.0]}
        ... )
        >>> result = mean_ratings(table, 3)
        >>> result.mean.tolist(), result.reliability
        ([1.5, 4.5, nan], 1.0)
    """
    unit = ratings["unit"].to_numpy()
    value = ratings["value"].to_numpy()
    count = np.bincount(unit, minlength=units).astype(np.float64)
    total = np.bincount(unit, value, minlength=units)
    mean = np.divide(total, count, out=np.full(units, np.nan), where=count > 0)
    apart = (value - mean[unit]) ** 2
    squares: Floats = np.bincount(unit, apart, minlength=units).astype(np.float64)
    noise, reason = _noise(ratings, count, squares)
    return MeanRatings(mean, count, squares, noise, reason)


def _noise(
    ratings: pl.DataFrame, count: Floats, squares: Floats
) -> tuple[float | None, str | None]:
    rated = count[count > 0]
    free = float((rated - 1).sum())
    if free <= 0:
        return None, "one rating a unit: how far raters agree cannot be known"
    within = float(squares.sum()) / free
    plain = within * float((1 / rated).mean())
    rater = ratings["rater"]
    if rater.null_count() or rater.n_unique() < 2 or rater.n_unique() == ratings.height:
        return plain, None
    units = ratings["unit"].cast(pl.String).to_list()
    parts = two_way_moments(RatingMatrix.of(units, rater.to_list(), ratings["value"]))
    raters, rest = float(parts.rater[0]), float(parts.rest[0])
    if not np.isfinite([raters, rest]).all():  # no rater came back: nothing to tell apart
        return plain, None
    return _shared_noise(ratings, rated, raters, rest), None


def _shared_noise(ratings: pl.DataFrame, rated: Floats, raters: float, rest: float) -> float:
    """Noise of the means when raters come back: what all units share does not set them apart.

    With p the share of a rater in a unit's ratings, the raters' part of the noise is their
    variance times Σp² averaged over units, less Σp̄² of the mean shares: nothing for a crossed
    design, 1/k for k raters who never return.
    """
    shares = (
        ratings.group_by("unit", "rater")
        .len("n")
        .with_columns(p=pl.col("n") / pl.col("n").sum().over("unit"))
    )
    units = len(rated)
    within = float((shares["p"] ** 2).sum()) / units
    mean_share = shares.group_by("rater").agg(p=pl.col("p").sum() / units)
    between = float((mean_share["p"] ** 2).sum())
    spread = max(0.0, within - between) * units / max(1, units - 1)
    return max(raters, 0.0) * spread + max(rest, 0.0) * float((1 / rated).mean())


@dataclass(frozen=True)
class Ceiling:
    """Reliability of the mean rating of a quality, and of resamples of it."""

    estimate: Estimate
    replicates: Floats

    @property
    def highest(self) -> float | None:
        """The correlation a perfect metric would have with the mean rating: its square root."""
        value = self.estimate.value
        return float(np.sqrt(value)) if value is not None and value > 0 else None


def ceiling(ratings: MeanRatings, draws: ClusterDraws, *, confidence: float = 0.95) -> Ceiling:
    """The reliability of the mean rating with an interval over clusters.

    In a resample both the variance of the means and the disagreement within units come anew from
    weighted sums; the raters' part of the noise keeps its proportion.
    """
    value = ratings.reliability
    none = np.full(len(draws.counts), np.nan)
    if value is None or ratings.noise is None:
        reason = ratings.reason or "no variance: all units have the same mean"
        return Ceiling(Estimate(reason=reason), none)
    present = ratings.count > 0
    mean = np.where(present, ratings.mean - np.nanmean(ratings.mean), 0.0)
    free = np.where(present, ratings.count - 1, 0.0)
    rows = np.column_stack([present.astype(np.float64), mean, mean**2, ratings.squares, free])
    n, first, second, squares, freedom = draws.sums(rows).T
    with np.errstate(divide="ignore", invalid="ignore"):
        spread = (second - first**2 / n) / (n - 1)
        within = (squares / freedom) / (ratings.squares.sum() / free.sum())
        result = np.where(spread > 0, 1 - ratings.noise * within / spread, np.nan)
    clusters = draws.clusters(present)
    if clusters < 2 or np.isnan(result).mean() > MOST_UNDEFINED:
        return Ceiling(Estimate(value, reason="too few clusters for an interval"), result)
    # On the scale log(1 − reliability), where error is nearly symmetric and 1 is never passed.
    scaled = np.log(np.maximum(1 - result[~np.isnan(result)], 1e-12))
    middle = np.log(max(1 - value, 1e-12))
    reach = float(stats.t.ppf((1 + confidence) / 2, clusters - 1)) * float(scaled.std(ddof=1))
    low, high = 1 - float(np.exp(middle + reach)), 1 - float(np.exp(middle - reach))
    return Ceiling(Estimate(value, low, high, basis="clusters"), result)


def disattenuated(
    pearson: Estimate, replicates: Floats, limit: Ceiling, clusters: int, confidence: float = 0.95
) -> Estimate:
    """A correlation corrected for the attenuation by noisy ratings (Spearman 1904).

    r / √reliability: what would be expected with infinitely many raters. It may pass 1 by chance.
    The interval carries the error of both.

    Examples:
        >>> limit = Ceiling(Estimate(0.64), np.full(9, 0.64))
        >>> round(disattenuated(Estimate(0.4), np.full(9, 0.4), limit, 9).value, 3)
        0.5
    """
    if pearson.value is None:
        return Estimate(reason=pearson.reason)
    highest = limit.highest
    if highest is None:
        reason = limit.estimate.reason or "the ratings are not reliable: nothing to correct with"
        return Estimate(reason=reason)
    value = pearson.value / highest
    if pearson.low is None or clusters < 2:
        return Estimate(value, reason=pearson.reason)
    drawn = replicates / np.sqrt(np.where(limit.replicates > 0, limit.replicates, np.nan))
    if np.isnan(drawn).mean() > MOST_UNDEFINED:
        return Estimate(value, reason="the ratings are too unreliable for an interval")
    error = float(np.nanstd(drawn, ddof=1))
    reach = float(stats.t.ppf((1 + confidence) / 2, clusters - 1)) * error
    return Estimate(value, value - reach, value + reach, basis="clusters")
