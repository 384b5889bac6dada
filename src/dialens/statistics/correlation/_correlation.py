"""Correlations of many columns with many others, and their error where units come in clusters.

Answers to one context, or turns of one dialogue, are more alike than strangers: an interval that
takes them for independent is too narrow. So whole clusters are drawn with replacement. Pearson's
coefficient comes from weighted sums of products, so that a resample is one row of a matrix
product. Spearman's needs new ranks in every resample, but no new sorting: with the units in order
of their values, the rank of each is a cumulative sum of how often its forerunners were drawn.
Kendall's is a U-statistic; its error comes from the influence of each cluster (the infinitesimal
jackknife), which needs no resamples at all.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

from dialens.base import Estimate
from dialens.statistics._bootstrap import MOST_UNDEFINED, ClusterDraws, Floats, Ints, Mask
from dialens.statistics.correlation._kendall import kendall

COEFFICIENTS = ("pearson", "spearman", "kendall")
FEWEST_UNITS = 3
FEWEST_CLUSTERS = 8
_FLAT = 1e-12
_NEARLY_FLAT = 1e-9
_FEWEST_FOR_PARTIAL = 5


@dataclass(frozen=True)
class Correlations:
    """Every column of x with every column of y.

    Attributes:
        n: Units with both values.
        n_clusters: Clusters those belong to.
        estimates: By coefficient, one an (x, y) pair.
        replicates: Pearson's coefficient in every resample: resamples × x × y.
    """

    n: Ints
    n_clusters: Ints
    estimates: Mapping[str, list[list[Estimate]]]
    replicates: Floats


def correlate(
    x: Floats, y: Floats, draws: ClusterDraws, *, confidence: float = 0.95
) -> Correlations:
    """Pearson's, Spearman's and Kendall's coefficients of all columns, NaN where one is missing.

    Intervals are symmetric on Fisher's scale, atanh r ± t·se, with t on clusters − 1 degrees of
    freedom; the p-value belongs to the same interval.

    Args:
        x: Units × metrics.
        y: Units × qualities.
        draws: Of the clusters of the units.
        confidence: Confidence level of the intervals.

    Examples:
        >>> x, y = np.arange(9.0)[:, None], np.array([[0.0, 2, 1, 4, 3, 6, 5, 8, 7]]).T
        >>> result = correlate(x, y, ClusterDraws.of(np.arange(9), 500, np.random.default_rng(0)))
        >>> result.n.item(), round(result.estimates["spearman"][0][0].value, 3)
        (9, 0.933)
    """
    shape = (x.shape[1], y.shape[1])
    resamples = len(draws.counts)
    values = {name: np.full(shape, np.nan) for name in COEFFICIENTS}
    errors = {name: np.full(shape, np.nan) for name in COEFFICIENTS}
    pearson = np.full((resamples, *shape), np.nan)
    spearman = np.full((resamples, *shape), np.nan)
    n = np.zeros(shape, dtype=np.int64)
    n_clusters = np.zeros(shape, dtype=np.int64)
    for present, rows, columns in _by_pattern(x, y):
        at = np.ix_(rows, columns)
        n[at] = int(present.sum())
        n_clusters[at] = draws.clusters(present)
        if n[at].flat[0] < FEWEST_UNITS:
            continue
        a, b = standard_scores(x[present][:, rows]), standard_scores(y[present][:, columns])
        values["pearson"][at] = _products(a, b)
        values["spearman"][at] = _products(_ranked(a), _ranked(b))
        everyone = np.ix_(np.arange(resamples), rows, columns)
        pearson[everyone] = pearson_replicates(a, b, present, draws)
        spearman[everyone] = _spearman_replicates(a, b, present, draws)
        for i, row in enumerate(rows):
            for j, column in enumerate(columns):
                tau, error = kendall(a[:, i], b[:, j], draws.place[present])
                values["kendall"][row, column], errors["kendall"][row, column] = tau, error
    undefined = {}
    for name, drawn in (("pearson", pearson), ("spearman", spearman)):
        errors[name], undefined[name] = _fisher_errors(drawn)
    undefined["kendall"] = np.zeros(shape)
    estimates = {
        name: [
            [
                _estimate(
                    name,
                    values[name][i, j],
                    errors[name][i, j],
                    int(n[i, j]),
                    int(n_clusters[i, j]),
                    undefined[name][i, j],
                    own=draws.own,
                    confidence=confidence,
                )
                for j in range(shape[1])
            ]
            for i in range(shape[0])
        ]
        for name in COEFFICIENTS
    }
    return Correlations(n, n_clusters, estimates, pearson)


def _by_pattern(x: Floats, y: Floats) -> Iterator[tuple[Mask, Ints, Ints]]:
    """Columns that are missing for the same units, taken together."""

    def patterns(table: Floats) -> dict[bytes, list[int]]:
        result: dict[bytes, list[int]] = {}
        for column in range(table.shape[1]):
            result.setdefault(np.isfinite(table[:, column]).tobytes(), []).append(column)
        return result

    for rows in patterns(x).values():
        for columns in patterns(y).values():
            present = np.isfinite(x[:, rows[0]]) & np.isfinite(y[:, columns[0]])
            yield present, np.array(rows, dtype=np.int64), np.array(columns, dtype=np.int64)


def standard_scores(table: Floats) -> Floats:
    """Mean 0 and standard deviation 1; a constant column becomes zeros."""
    spread = table.std(axis=0)
    centre = table.mean(axis=0)
    flat = spread <= _FLAT * np.maximum(1.0, np.abs(centre))
    result: Floats = np.where(flat, 0.0, (table - centre) / np.where(flat, 1.0, spread))
    return result


def _ranked(table: Floats) -> Floats:
    return standard_scores(stats.rankdata(table, axis=0))


def _products(a: Floats, b: Floats) -> Floats:
    """Correlations of standardised columns; NaN for constant ones."""
    result = (a.T @ b) / len(a)
    result[~a.any(axis=0)] = np.nan
    result[:, ~b.any(axis=0)] = np.nan
    return np.clip(result, -1.0, 1.0)


def pearson_replicates(a: Floats, b: Floats, present: Mask, draws: ClusterDraws) -> Floats:
    """Pearson's coefficient of standardised columns in every resample, from weighted sums.

    Args:
        a: Units with all values × columns.
        b: The same units × other columns.
        present: Which of all units those are.
        draws: Of the clusters of all units.
    """
    rows, columns = a.shape[1], b.shape[1]
    both = (a[:, :, None] * b[:, None, :]).reshape(len(a), -1)
    packed = np.zeros((len(present), 1 + 2 * rows + 2 * columns + rows * columns))
    packed[present] = np.hstack([np.ones((len(a), 1)), a, a * a, b, b * b, both])
    sums = draws.sums(packed)
    n, rest = sums[:, :1], sums[:, 1:]
    sa, saa, sb, sbb, sab = np.split(rest, np.cumsum([rows, rows, columns, columns]), axis=1)
    spread_a, spread_b = n * saa - sa**2, n * sbb - sb**2
    for spread, squares in ((spread_a, n * saa), (spread_b, n * sbb)):
        spread[spread <= 1e-10 * np.maximum(squares, _FLAT)] = np.nan
    cross = n[:, :, None] * sab.reshape(-1, rows, columns) - sa[:, :, None] * sb[:, None, :]
    result: Floats = cross / np.sqrt(spread_a[:, :, None] * spread_b[:, None, :])
    return np.clip(result, -1.0, 1.0)


@dataclass(frozen=True)
class _Order:
    """A column in order: which units, and where each group of equal values ends."""

    order: Ints
    ends: Ints
    group: Ints

    @classmethod
    def of(cls, column: Floats) -> "_Order":
        order = np.argsort(column, kind="stable")
        new = np.diff(column[order]) > 0
        ends = np.append(np.flatnonzero(new), len(column) - 1)
        group = np.empty(len(column), dtype=np.int64)
        group[order] = np.concatenate([[0], np.cumsum(new)])
        return cls(order, ends, group)

    def ranks(self, weights: Floats) -> tuple[Floats, Floats]:
        """Mid-ranks of the units drawn, less their mean, and the sum of their squares."""
        upto = np.cumsum(weights[:, self.order], axis=1)[:, self.ends]
        below = np.hstack([np.zeros((len(upto), 1)), upto[:, :-1]])
        middle = (below + upto - upto[:, -1:]) / 2
        squares = ((upto - below) * middle**2).sum(axis=1)
        return middle[:, self.group], squares


def _spearman_replicates(a: Floats, b: Floats, present: Mask, draws: ClusterDraws) -> Floats:
    result = np.full((len(draws.counts), a.shape[1], b.shape[1]), np.nan)
    orders_a = [_Order.of(column) for column in a.T]
    orders_b = [_Order.of(column) for column in b.T]
    for part, everyone in draws.blocks():
        weights = everyone[:, present]
        others = [order.ranks(weights) for order in orders_b]
        for i, order in enumerate(orders_a):
            ranks, squares = order.ranks(weights)
            weighted = ranks * weights
            for j, (other, other_squares) in enumerate(others):
                spread = np.sqrt(squares * other_squares)
                cross = np.einsum("bi,bi->b", weighted, other)
                result[part, i, j] = np.divide(
                    cross, spread, out=np.full_like(cross, np.nan), where=spread > 0
                )
    np.clip(result, -1.0, 1.0, out=result)
    return result


def _fisher_errors(replicates: Floats) -> tuple[Floats, Floats]:
    """Standard deviations of atanh r over the resamples, and the share without a value."""
    missing = np.isnan(replicates)
    scaled = np.arctanh(np.clip(replicates, -1 + 1e-9, 1 - 1e-9))
    present = np.maximum((~missing).sum(axis=0), 1)
    mean = np.where(missing, 0.0, scaled).sum(axis=0) / present
    squares = np.where(missing, 0.0, (scaled - mean) ** 2).sum(axis=0)
    return np.sqrt(squares / np.maximum(present - 1, 1)), missing.mean(axis=0)


def _estimate(
    name: str,
    value: float,
    error: float,
    n: int,
    n_clusters: int,
    undefined: float,
    *,
    own: bool,
    confidence: float,
) -> Estimate:
    if n < FEWEST_UNITS:
        few = f"only {n} unit{'' if n == 1 else 's'} with both values"
        return Estimate(reason=few if n else "no unit has a value")
    if np.isnan(value):
        return Estimate(reason="no variance: all units have the same value")
    value = float(value)
    basis, freedom = "clusters", float(n_clusters - 1)
    if n_clusters < FEWEST_CLUSTERS:
        if not own:
            return Estimate(value, reason=f"only {n_clusters} clusters: too few for an interval")
        basis, freedom, error = "normal", float("inf"), _normal_error(name, n)
    elif undefined > MOST_UNDEFINED:
        return Estimate(value, reason=f"not defined in {undefined:.0%} of the resamples")
    if abs(value) >= 1 - 1e-12:
        return Estimate(value, reason="a perfect correlation has no interval")
    if not np.isfinite(error):
        return Estimate(value, reason=f"only {n} units: too few for an interval")
    return _on_fisher_scale(value, error, freedom, basis, confidence)


def _on_fisher_scale(
    value: float, error: float, freedom: float, basis: str, confidence: float
) -> Estimate:
    """The interval atanh r ± t·error and its p-value, back on the scale of r."""
    z = np.arctanh(value)
    reach = float(stats.t.ppf((1 + confidence) / 2, freedom)) * error
    p = 2 * float(stats.t.sf(abs(z) / error, freedom)) if error > 0 else 0.0
    return Estimate(value, float(np.tanh(z - reach)), float(np.tanh(z + reach)), p, basis=basis)


def _normal_error(name: str, n: int) -> float:
    """Standard error of atanh r for independent units (Fieller, Hartley & Pearson 1957)."""
    numerator, lost = {"pearson": (1.0, 3), "spearman": (1.06, 3), "kendall": (0.437, 4)}[name]
    return float(np.sqrt(numerator / (n - lost))) if n > lost else float("nan")


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
    return _on_fisher_scale(value, error, freedom, basis, confidence)


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
