"""Two metrics against one human judgement: do their correlations differ?

Both correlations come from the same units and share the judgement, so they depend on each other.
Williams' t (1959) is the test Steiger (1980) recommends; Steiger's own z works on Fisher's scale.
Both take units for independent. Where units share contexts, the difference is bootstrapped over
clusters, with an error no smaller than the jackknife's, and that p-value is the one to be
corrected and reported.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from dialens.statistics._bootstrap import ClusterDraws, Floats, Mask
from dialens.statistics.correlation._correlation import (
    FEWEST_CLUSTERS,
    FEWEST_UNITS,
    PERFECT,
    pearson_replicates,
    standard_scores,
)
from dialens.statistics.correlation._permutation import FEWEST_RARE, rare


@dataclass(frozen=True)
class DependentTest:
    """A test statistic and its two-sided p-value."""

    statistic: float
    p: float


def williams(r_a: float, r_b: float, r_ab: float, n: int) -> DependentTest:
    """Williams' t for two correlations that share a variable, on n − 3 degrees of freedom.

    Args:
        r_a: Of the first variable with the shared one.
        r_b: Of the second with the shared one.
        r_ab: Of the first with the second.
        n: Units.

    Examples:
        >>> test = williams(0.3, 0.4, 0.5, 100)  # Silver, Hittner & May 2006
        >>> round(test.statistic, 4), round(test.p, 4)
        (-1.0767, 0.2843)
    """
    determinant = 1 + 2 * r_a * r_b * r_ab - r_a**2 - r_b**2 - r_ab**2
    mean = (r_a + r_b) / 2
    below = 2 * (n - 1) / (n - 3) * determinant + mean**2 * (1 - r_ab) ** 3
    if below <= 0:
        return DependentTest(float("nan"), float("nan"))
    t = float((r_a - r_b) * np.sqrt((n - 1) * (1 + r_ab) / below))
    return DependentTest(t, 2 * float(stats.t.sf(abs(t), n - 3)))


def steiger(r_a: float, r_b: float, r_ab: float, n: int) -> DependentTest:
    """Steiger's z (1980, equation 14): Dunn and Clark's with the two correlations averaged.

    Arguments as for `williams`. A perfect correlation has no place on Fisher's scale, so no z.

    Examples:
        >>> round(steiger(0.4, 0.5, 0.1, 103).statistic, 7)  # Steiger 1980, p. 249, unrounded
        -0.8887185
    """
    if max(abs(r_a), abs(r_b)) >= PERFECT:
        return DependentTest(float("nan"), float("nan"))
    square = ((r_a + r_b) / 2) ** 2
    shared = r_ab * (1 - 2 * square) - square * (1 - 2 * square - r_ab**2) / 2
    covariance = shared / (1 - square) ** 2
    if covariance >= 1:
        return DependentTest(float("nan"), float("nan"))
    z = float((np.arctanh(r_a) - np.arctanh(r_b)) * np.sqrt((n - 3) / (2 - 2 * covariance)))
    return DependentTest(z, 2 * float(stats.norm.sf(abs(z))))


@dataclass(frozen=True)
class Difference:
    """How much more strongly a correlates with the judgement than b, whatever the signs.

    Attributes:
        n: Units on which both metrics and the judgement are known.
        n_clusters: Clusters they belong to.
        r_a: Pearson's coefficient of a with the judgement, with its sign.
        r_b: The same of b.
        r_ab: Of a with b.
        difference: |r_a| − |r_b|.
        low: End of its interval over clusters.
        high: Its other end.
        p: Two-sided, from the same resamples.
        williams: Of the correlations with b turned so that both have one sign.
        steiger: The same.
        reason: Why something is missing.
    """

    n: int
    n_clusters: int = 0
    r_a: float | None = None
    r_b: float | None = None
    r_ab: float | None = None
    difference: float | None = None
    low: float | None = None
    high: float | None = None
    p: float | None = None
    williams: DependentTest | None = None
    steiger: DependentTest | None = None
    reason: str | None = None


def correlation_difference(
    a: Floats,
    b: Floats,
    y: Floats,
    draws: ClusterDraws,
    *,
    confidence: float = 0.95,
    replicates: Floats | None = None,
) -> Difference:
    """Compare two metrics on the units that have both; NaN marks what is missing.

    A metric that falls as quality rises can be as good a measure as one that rises with it, so
    strengths are compared: each metric is turned to the sign it has over all units, and keeps
    that turn in every resample.

    Args:
        a: Values of a metric.
        b: Values of another.
        y: The mean rating.
        draws: Of the clusters of the units.
        confidence: Confidence level of the intervals.
        replicates: Both correlations in every resample, where they are known already.

    Examples:
        >>> rng = np.random.default_rng(1)
        >>> y = rng.normal(size=200)
        >>> near, far = y + rng.normal(size=200), -y + 3 * rng.normal(size=200)
        >>> draws = ClusterDraws.of(np.arange(200), 400, rng)
        >>> result = correlation_difference(near, far, y, draws)
        >>> result.r_a > 0 > result.r_b, result.difference > 0, result.low > 0
        (True, True, True)
    """
    present = np.isfinite(a) & np.isfinite(b) & np.isfinite(y)
    n = int(present.sum())
    if n <= FEWEST_UNITS:
        return Difference(n, reason=f"only {n} units with all three values")
    clusters = draws.clusters(present)
    pair = standard_scores(np.column_stack([a[present], b[present]]))
    judged = standard_scores(y[present][:, None])
    if not (pair.any(axis=0).all() and judged.any()):
        return Difference(n, clusters, reason="no variance: all units have the same value")
    first, second = (float(r) for r in pair.T @ judged[:, 0] / n)
    r_ab = float(pair[:, 0] @ pair[:, 1] / n)
    sign_a, sign_b = (1.0 if r >= 0 else -1.0 for r in (first, second))
    gap = abs(first) - abs(second)
    turned = (abs(first), abs(second), r_ab * sign_a * sign_b, n)
    w, z = williams(*turned), steiger(*turned)
    known = Difference(n, clusters, first, second, r_ab, gap, williams=w, steiger=z)
    scarce = min(rare(column) for column in (a[present], b[present], y[present]))
    if scarce < min(FEWEST_RARE, n / 2):
        return _without(known, f"all but {scarce} of {n:,} units share a value: no test")
    if clusters < FEWEST_CLUSTERS:
        return _without(known, f"only {clusters} clusters: too few for an interval")
    if replicates is None:
        replicates = pearson_replicates(pair, judged, present, draws)[:, :, 0]
    drawn = replicates[:, 0] * sign_a - replicates[:, 1] * sign_b
    drawn = drawn[~np.isnan(drawn)]
    error = float(drawn.std(ddof=1)) if len(drawn) > 1 else 0.0
    # Values with long tails: a resample without the largest looks surer than it is.
    signs = np.array([sign_a, -sign_b])
    error = max(error, _jackknife_error(pair, judged, present, draws, signs))
    if error <= 1e-9:
        return _without(known, "the two order the units in the same way")
    # Resamples that miss a rare value say nothing about error: see `correlate`.
    if np.isfinite(w.statistic) and w.statistic:
        error = max(error, abs(gap / w.statistic))
    reach = float(stats.t.ppf((1 + confidence) / 2, clusters - 1)) * error
    p = 2 * float(stats.t.sf(abs(gap) / error, clusters - 1))
    return Difference(n, clusters, first, second, r_ab, gap, gap - reach, gap + reach, p, w, z)


def _jackknife_error(
    pair: Floats, judged: Floats, present: Mask, draws: ClusterDraws, signs: Floats
) -> float:
    """The standard error from leaving out one cluster at a time; 0 where it is not defined."""
    groups = draws.counts.shape[1]
    each_left_out = ClusterDraws(
        draws.place, 1 - np.eye(groups, dtype=draws.counts.dtype), draws.own
    )
    left = pearson_replicates(pair, judged, present, each_left_out)[:, :, 0] @ signs
    if np.isnan(left).any():
        return 0.0
    return float(np.sqrt((groups - 1) / groups * ((left - left.mean()) ** 2).sum()))


def _without(known: Difference, reason: str) -> Difference:
    return Difference(**{**vars(known), "reason": reason})
