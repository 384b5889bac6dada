"""Correlation of two columns given a third, with an interval over clusters.

What is left of an agreement once length is known, for instance: a metric that only counts words
has nothing left.
"""

import numpy as np
from scipy import stats

from dialens.statistics._bootstrap import Floats
from dialens.statistics.correlation._correlation import (
    FEWEST_CLUSTERS,
    ClusterDraws,
    Estimate,
    Mask,
    pearson_replicates,
    standard_scores,
)

_FEWEST_UNITS = 5
_MOST_UNDEFINED = 0.05
_FLAT = 1e-9


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
        confidence: Of the interval.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> given, x = rng.normal(size=(2, 40))
        >>> draws = ClusterDraws(np.arange(40), 200, rng)
        >>> partial_correlation(x + given, given - x, given, draws).value
        -1.0
    """
    table = np.column_stack([x, y, given])
    there: Mask = np.isfinite(x) & np.isfinite(y) & np.isfinite(given)
    n, n_clusters = int(there.sum()), draws.clusters(there)
    if n < _FEWEST_UNITS:
        return Estimate(reason=f"only {n} unit{'' if n == 1 else 's'} with all three values")
    scores = standard_scores(table[there])
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
        drawn = _given(pearson_replicates(scores, scores, there, draws))
        known = drawn[np.isfinite(drawn)]
        if len(known) < (1 - _MOST_UNDEFINED) * len(drawn):
            share = 1 - len(known) / len(drawn)
            return Estimate(value, reason=f"not defined in {share:.0%} of the resamples")
        error = float(np.arctanh(np.clip(known, -1 + _FLAT, 1 - _FLAT)).std(ddof=1))
    centre = np.arctanh(value)
    reach = float(stats.t.ppf((1 + confidence) / 2, freedom)) * error
    p = 2 * float(stats.t.sf(abs(centre) / error, freedom)) if error > 0 else 0.0
    return Estimate(value, float(np.tanh(centre - reach)), float(np.tanh(centre + reach)), p, basis)


def _given(r: Floats) -> Floats:
    """Partial coefficients from matrices of plain ones: x, y, given; NaN where none is defined."""
    left = (1 - r[:, 0, 2] ** 2) * (1 - r[:, 1, 2] ** 2)
    flat = ~np.isfinite(left) | (left < _FLAT**2) | (np.diagonal(r, axis1=1, axis2=2) < 0.5).any(1)
    cross = r[:, 0, 1] - r[:, 0, 2] * r[:, 1, 2]
    made: Floats = np.divide(
        cross, np.sqrt(np.where(flat, 1.0, left)), out=np.full(len(r), np.nan), where=~flat
    )
    return np.clip(made, -1.0, 1.0)
