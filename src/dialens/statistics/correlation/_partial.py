"""A correlation given a third column."""

import numpy as np
from scipy import stats

from dialens.base import Estimate
from dialens.statistics._bootstrap import MOST_UNDEFINED, ClusterDraws, Floats, Mask
from dialens.statistics.correlation._correlation import (
    FEWEST_CLUSTERS,
    pearson_replicates,
    standard_scores,
)

_NEARLY_FLAT = 1e-9
_FEWEST_FOR_PARTIAL = 5


def partial_correlation(
    x: Floats, y: Floats, given: Floats, draws: ClusterDraws, *, confidence: float = 0.95
) -> Estimate:
    """Pearson's coefficient of what straight lines in `given` leave of `x` and of `y`.

    From the three plain coefficients, (r_xy − r_xg·r_yg) / √((1 − r_xg²)(1 − r_yg²)), in the data
    and in every resample; the interval is symmetric on Fisher's scale, with t on clusters − 2
    degrees of freedom.

    Args:
        x: Units; NaN where missing, here and below.
        y: Units.
        given: Units.
        draws: Of the clusters of the units.
        confidence: Confidence level of the intervals.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> given, x = rng.normal(size=(2, 40))
        >>> draws = ClusterDraws.of(np.arange(40), 200, rng)
        >>> partial_correlation(x + given, given - x, given, draws).value
        -1.0
    """
    table = np.column_stack([x, y, given])
    present: Mask = np.isfinite(x) & np.isfinite(y) & np.isfinite(given)
    n, n_clusters = int(present.sum()), draws.clusters(present)
    if n < _FEWEST_FOR_PARTIAL:
        return Estimate(reason=f"only {n} unit{'' if n == 1 else 's'} with all three values")
    scores = standard_scores(table[present])
    plain = scores.T @ scores / n
    value = float(_given(plain[None])[0])
    if np.isnan(value):
        flat = not scores.any(axis=0).all()
        why = "no variance" if flat else "nothing is left once the third column is known"
        return Estimate(reason=why)
    value = round(value, 12)
    if abs(value) >= 1:
        return Estimate(value, reason="a perfect correlation has no interval")
    basis, freedom = "clusters", float(n_clusters - 2)
    if n_clusters < FEWEST_CLUSTERS:
        if not draws.own:
            return Estimate(value, reason=f"only {n_clusters} clusters: too few for an interval")
        basis, freedom, error = "normal", float("inf"), 1 / np.sqrt(n - 4)
    else:
        drawn = _given(pearson_replicates(scores, scores, present, draws))
        known = drawn[np.isfinite(drawn)]
        if len(known) < (1 - MOST_UNDEFINED) * len(drawn):
            share = 1 - len(known) / len(drawn)
            return Estimate(value, reason=f"not defined in {share:.0%} of the resamples")
        error = float(np.arctanh(np.clip(known, -1 + _NEARLY_FLAT, 1 - _NEARLY_FLAT)).std(ddof=1))
    # Resamples that miss a rare value say nothing about error: see `correlate`.
    error = max(error, 1 / np.sqrt(n - 4))
    z = np.arctanh(value)
    reach = float(stats.t.ppf((1 + confidence) / 2, freedom)) * error
    p = 2 * float(stats.t.sf(abs(z) / error, freedom))
    return Estimate(value, float(np.tanh(z - reach)), float(np.tanh(z + reach)), p, basis=basis)


def _given(r: Floats) -> Floats:
    """Partial coefficients from matrices of plain ones: x, y, given; NaN where none is defined."""
    left = (1 - r[:, 0, 2] ** 2) * (1 - r[:, 1, 2] ** 2)
    flat = (
        ~np.isfinite(left)
        | (left < _NEARLY_FLAT**2)
        | (np.diagonal(r, axis1=1, axis2=2) < 0.5).any(1)
    )
    cross = r[:, 0, 1] - r[:, 0, 2] * r[:, 1, 2]
    result: Floats = np.divide(
        cross, np.sqrt(np.where(flat, 1.0, left)), out=np.full(len(r), np.nan), where=~flat
    )
    return np.clip(result, -1.0, 1.0)
