"""Correlations of many columns with many others, where units come in clusters and from agents.

Answers to one context, or turns of one dialogue, are more alike than strangers: an interval that
takes them for independent is too narrow. So whole clusters are drawn with replacement for Pearson's
coefficient, from weighted sums of products, so that a resample is one row of a matrix product. The
errors of Spearman's and Kendall's come from the influence of each cluster (the infinitesimal
jackknife). No error is taken for smaller than that of as many independent units: where a value is
rare, resamples that miss it say nothing about error. P-values come from permutations.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

from dialens.base import Estimate
from dialens.statistics._bootstrap import MOST_UNDEFINED, ClusterDraws, Floats, Ints, Mask
from dialens.statistics.correlation._kendall import kendall, kendall_null
from dialens.statistics.correlation._permutation import (
    FEWEST_RARE,
    Design,
    effective_units,
    from_independent,
    permutation_count,
    permuted_p,
    rare,
)
from dialens.statistics.correlation._spearman import spearman_errors, stratum_ranks

COEFFICIENTS = ("pearson", "spearman", "kendall")
FEWEST_UNITS = 3
FEWEST_CLUSTERS = 8
FEWEST_PERMUTED = 5
"""Fewer units have so few orders that no p-value could be below .05."""
PERFECT = 1 - 1e-12
"""A coefficient from here on is 1 but for rounding: Fisher's scale has no place for it."""
_FLAT = 1e-12


@dataclass(frozen=True)
class Correlations:
    """Every column of x with every column of y.

    Attributes:
        n: Units with both values.
        n_clusters: Clusters those belong to.
        effective: How many independent units would scatter as much (Pearson's coefficient).
        estimates: By coefficient, one an (x, y) pair.
        least_p: The least p-value that Pearson's permutations could give; a p-value that is no
            greater is to be read as "at most".
        replicates: Pearson's coefficient in every resample: resamples × x × y.
    """

    n: Ints
    n_clusters: Ints
    effective: Floats
    estimates: Mapping[str, list[list[Estimate]]]
    least_p: Floats
    replicates: Floats


@dataclass(frozen=True)
class _Found:
    """What the units say of every pair of columns, by coefficient."""

    value: Mapping[str, Floats]
    error: Mapping[str, Floats]
    least_error: Mapping[str, Floats]
    p: Mapping[str, Floats]
    effective: Floats

    @classmethod
    def nothing(cls, shape: tuple[int, int]) -> "_Found":
        def tables() -> dict[str, Floats]:
            return {name: np.full(shape, np.nan) for name in COEFFICIENTS}

        return cls(tables(), tables(), tables(), tables(), np.full(shape, np.nan))


def correlate(
    x: Floats,
    y: Floats,
    draws: ClusterDraws,
    *,
    agents: Ints | None = None,
    within: bool = False,
    confidence: float = 0.95,
    seed: int = 0,
    permutations: int | None = None,
) -> Correlations:
    """Pearson's, Spearman's and Kendall's coefficients of all columns, NaN where one is missing.

    Intervals are symmetric on Fisher's scale: atanh r ± t·se with t on clusters − 1 degrees of
    freedom, or what as many independent units would give, if that is wider. P-values are of
    permutations (for Kendall's coefficient of the normal distribution that they have), with units
    counted as `effective_units` does.

    Args:
        x: Units × metrics.
        y: Units × qualities.
        draws: Of the clusters of the units.
        agents: Whose each unit is. Pooled coefficients are then tested with agents as a sample.
        within: Whether agents' means are taken out of Pearson's coefficient, and units ranked and
            paired only with those of the same agent for the other two.
        confidence: Confidence level of the intervals.
        seed: Random seed of the permutations.
        permutations: How many; by default ten thousand, more for many columns.

    Examples:
        >>> x, y = np.arange(9.0)[:, None], np.array([[0.0, 2, 1, 4, 3, 6, 5, 8, 7]]).T
        >>> result = correlate(x, y, ClusterDraws.of(np.arange(9), 500, np.random.default_rng(0)))
        >>> result.n.item(), round(result.estimates["spearman"][0][0].value, 3)
        (9, 0.933)
        >>> agents = np.arange(9) % 3
        >>> draws = ClusterDraws.of(np.arange(9), 500, np.random.default_rng(0))
        >>> apart = correlate(x + 100 * agents[:, None], y, draws, agents=agents, within=True)
        >>> round(apart.estimates["pearson"][0][0].value, 2)
        0.93
    """
    shape = (x.shape[1], y.shape[1])
    found = _Found.nothing(shape)
    replicates = np.full((len(draws.counts), *shape), np.nan)
    n, n_clusters, scarce = (np.zeros(shape, dtype=np.int64) for _ in range(3))
    least = np.full(shape, np.nan)
    rng = np.random.default_rng(seed)
    for present, rows, columns in _by_pattern(x, y):
        at = np.ix_(rows, columns)
        n[at] = int(present.sum())
        n_clusters[at] = draws.clusters(present)
        if n[at].flat[0] < FEWEST_UNITS:
            continue
        design = _design(present, draws, agents, within=within)
        raw_x, raw_y = x[present][:, rows], y[present][:, columns]
        scarce[at] = np.minimum.outer(*([rare(column) for column in t.T] for t in (raw_x, raw_y)))
        a, b = (standard_scores(centred(table, design.strata)) for table in (raw_x, raw_y))
        count = permutations or permutation_count(len(a), n.size)
        least[at] = _fill(found, at, (raw_x, raw_y, a, b), design, rng, count)
        everyone = np.ix_(np.arange(len(replicates)), rows, columns)
        replicates[everyone] = pearson_replicates(a, b, present, draws)
    found.error["pearson"][:], undefined = _fisher_errors(replicates)
    estimates = {
        name: [
            [
                _estimate(
                    _Pair(name, found, i, j),
                    int(n[i, j]),
                    int(n_clusters[i, j]),
                    int(scarce[i, j]),
                    undefined[i, j] if name == "pearson" else 0.0,
                    own=draws.own,
                    confidence=confidence,
                )
                for j in range(shape[1])
            ]
            for i in range(shape[0])
        ]
        for name in COEFFICIENTS
    }
    return Correlations(n, n_clusters, found.effective, estimates, least, replicates)


def _design(present: Mask, draws: ClusterDraws, agents: Ints | None, *, within: bool) -> Design:
    units = np.arange(int(present.sum()))
    whose = units if agents is None else agents[present]
    strata = whose if within and agents is not None else np.zeros(len(units), dtype=np.int64)
    return Design(draws.place[present], whose, strata)


def _fill(
    found: _Found,
    at: tuple[Ints, ...],
    tables: tuple[Floats, Floats, Floats, Floats],
    design: Design,
    rng: np.random.Generator,
    permutations: int,
) -> Floats:
    """Write what the units say of some pairs of columns; gives Pearson's least p-values."""
    raw_x, raw_y, a, b = tables
    ranks_a, ranks_b = (
        standard_scores(stratum_ranks(table, design.strata)) for table in (raw_x, raw_y)
    )
    worth, worth_of_ranks = (
        effective_units(*pair, design) for pair in ((a, b), (ranks_a, ranks_b))
    )
    (p, least), (p_of_ranks, _) = permuted_p(
        [(a, b, worth), (ranks_a, ranks_b, worth_of_ranks)], design, rng, permutations
    )
    shape = worth.shape
    tau, error, floor = (np.full(shape, np.nan) for _ in range(3))
    for i in range(shape[0]):
        for j in range(shape[1]):
            pair = raw_x[:, i], raw_y[:, j]
            tau[i, j], error[i, j] = kendall(*pair, design.clusters, design.strata)
            apart = kendall_null(*pair, design.strata)
            floor[i, j] = apart * np.sqrt(design.free / worth_of_ranks[i, j])
    ranked = spearman_errors(raw_x, raw_y, design.strata, design.clusters)
    normal_p = 2 * stats.norm.sf(np.abs(tau) / floor)
    normal_p = from_independent(normal_p, worth_of_ranks, design.free)
    # Of atanh r for independent units (Fieller, Hartley & Pearson 1957).
    floors = [_root(1.0, worth - 3), _root(1.06, worth_of_ranks - 3), floor]
    for name, value, spread, p_value, least_error in zip(
        COEFFICIENTS,
        (_products(a, b), _products(ranks_a, ranks_b), tau),
        (np.full(shape, np.nan), ranked, error),
        (p, p_of_ranks, normal_p),
        floors,
        strict=True,
    ):
        found.value[name][at], found.error[name][at] = value, spread
        found.p[name][at], found.least_error[name][at] = p_value, least_error
    found.effective[at] = worth
    return least


def _root(numerator: float, below: Floats) -> Floats:
    result: Floats = np.sqrt(numerator / np.where(below > 0, below, np.nan))
    return result


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


def centred(table: Floats, strata: Ints) -> Floats:
    """Columns less their means within strata; nothing that is missing counts.

    Examples:
        >>> centred(np.array([[1.0], [3.0], [9.0]]), np.array([0, 0, 1]))[:, 0].tolist()
        [-1.0, 1.0, 0.0]
    """
    codes = np.unique(strata, return_inverse=True)[1]
    present = np.isfinite(table)
    sums, counts = np.zeros((2, int(codes.max(initial=0)) + 1, table.shape[1]))
    np.add.at(sums, codes, np.where(present, table, 0.0))
    np.add.at(counts, codes, present)
    result: Floats = table - (sums / np.maximum(counts, 1))[codes]
    return result


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


def _fisher_errors(replicates: Floats) -> tuple[Floats, Floats]:
    """Standard deviations of atanh r over the resamples, and the share without a value."""
    missing = np.isnan(replicates)
    scaled = np.arctanh(np.clip(replicates, -1 + 1e-9, 1 - 1e-9))
    present = np.maximum((~missing).sum(axis=0), 1)
    mean = np.where(missing, 0.0, scaled).sum(axis=0) / present
    squares = np.where(missing, 0.0, (scaled - mean) ** 2).sum(axis=0)
    return np.sqrt(squares / np.maximum(present - 1, 1)), missing.mean(axis=0)


@dataclass(frozen=True)
class _Pair:
    """One coefficient of one pair of columns."""

    name: str
    found: _Found
    row: int
    column: int

    @property
    def value(self) -> float:
        return float(self.found.value[self.name][self.row, self.column])

    @property
    def error(self) -> float:
        return float(self.found.error[self.name][self.row, self.column])

    @property
    def p(self) -> float:
        return float(self.found.p[self.name][self.row, self.column])

    @property
    def least_error(self) -> float:
        return float(self.found.least_error[self.name][self.row, self.column])


def _estimate(
    pair: _Pair,
    n: int,
    n_clusters: int,
    scarce: int,
    undefined: float,
    *,
    own: bool,
    confidence: float,
) -> Estimate:
    value = pair.value
    if n < FEWEST_UNITS:
        few = f"only {n} unit{'' if n == 1 else 's'} with both values"
        return Estimate(reason=few if n else "no unit has a value")
    if np.isnan(value):
        return Estimate(reason="no variance: all units have the same value")
    if scarce < min(FEWEST_RARE, n / 2):
        return Estimate(value, reason=f"all but {scarce} of {n:,} units share a value: no test")
    if n_clusters < FEWEST_CLUSTERS and not own:
        return Estimate(value, reason=f"only {n_clusters} clusters: too few for an interval")
    if undefined > MOST_UNDEFINED and n_clusters >= FEWEST_CLUSTERS:
        missing = f"not defined in {undefined:.0%} of the resamples"
        return Estimate(value, p=pair.p, reason=missing)
    p = pair.p if n >= FEWEST_PERMUTED and np.isfinite(pair.p) else None
    if abs(value) >= PERFECT:
        return Estimate(value, p=p, reason="a perfect correlation has no interval")
    reach = float(stats.norm.ppf((1 + confidence) / 2)) * pair.least_error
    if not np.isfinite(reach):
        return Estimate(value, p=p, reason=f"only {n} units: too few for an interval")
    basis = "normal"
    if n_clusters >= FEWEST_CLUSTERS and np.isfinite(pair.error):
        t = float(stats.t.ppf((1 + confidence) / 2, n_clusters - 1))
        basis, reach = "clusters", max(reach, t * pair.error)
    z = np.arctanh(value)
    ends = float(np.tanh(z - reach)), float(np.tanh(z + reach))
    why = None if p is not None else f"only {n} units: too few for a test"
    return Estimate(value, *ends, p, basis=basis, reason=why)
