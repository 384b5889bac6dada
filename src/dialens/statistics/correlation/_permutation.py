"""Is there a correlation at all? Permutations, with the units counted for what they are worth.

A test by an error that was estimated from the data fails where a value is rare: an empty cell makes
the error vanish. So one variable is dealt anew over the units, which is exact for independent units
of any distribution. Units of one cluster are not independent; if both variables are alike within
clusters, the coefficient scatters more than permutations of units say. How much more follows from
the two variables' own covariances within clusters (Clifford, Richardson & Hémon 1989; Dutilleul
1993, for places on a map): the variance of Σxy under independence is Σ cov(x_i, x_j)·cov(y_i, y_j)
over all pairs of units. That gives the number of independent units that would scatter as much.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from dialens.statistics._bootstrap import Floats, Ints

FEWEST_RARE = 5
"""Units that must differ from the most frequent value, so that there is something to test."""
_LEAST_EFFECT = 0.5
_FEWEST_EFFECTIVE = 3.0
_PERMUTATIONS = 10_000
_PER_TEST = 50
_MOST_DEALT = 100_000_000
_FEWEST_PERMUTATIONS = 2_000
_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class Design:
    """Which units belong together.

    Attributes:
        clusters: Of each unit: its dialogue or context.
        agents: Of each unit, whose it is; every unit its own where agents play no part.
        strata: Within which one variable is dealt anew: the agents for coefficients within agents,
            or else a single one.
    """

    clusters: Ints
    agents: Ints
    strata: Ints

    @property
    def free(self) -> float:
        """Units less the strata's means, plus one: n for a single stratum."""
        return len(self.strata) - len(np.unique(self.strata)) + 1.0


def effective_units(a: Floats, b: Floats, design: Design) -> Floats:
    """How many independent units would let each pair of columns scatter as much as these do.

    Covariances are averaged over four kinds of pairs of units: same cluster and same agent, only
    the one, only the other, neither.

    Args:
        a: Units × columns with mean 0 and standard deviation 1.
        b: The same units × other columns.
        design: Of the units.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> twice = np.repeat(rng.normal(size=(2, 50, 1)), 2, axis=1)
        >>> a, b = (table - table.mean(axis=0) for table in twice)
        >>> clusters = np.repeat(np.arange(50), 2)
        >>> design = Design(clusters, np.arange(100), np.zeros(100, dtype=int))
        >>> round(effective_units(a / a.std(), b / b.std(), design).item())
        50
    """
    n = len(a)
    cells = np.unique(
        np.column_stack([design.clusters, design.agents]), axis=0, return_inverse=True
    )
    groups = [cells[1].ravel(), design.clusters, design.agents]
    sums_a, sums_b = (np.array([_squares(table, group) for group in groups]) for table in (a, b))
    ones = np.array([_squares(np.ones((n, 1)), group)[0] for group in groups])
    pairs = _kinds(ones[:, None], float(n), float(n * n))[:, 0]
    alike_a, alike_b = (_kinds(sums, float(n), 0.0) for sums in (sums_a, sums_b))
    shared = np.einsum("k,ki,kj->ij", 1 / np.where(pairs > 0, pairs, np.inf), alike_a, alike_b)
    size = np.bincount(np.unique(design.strata, return_inverse=True)[1])
    alone = n + float((size[size > 1] / (size[size > 1] - 1)).sum())
    effect = np.maximum((n + shared) / alone, _LEAST_EFFECT)
    result: Floats = np.maximum(1 + (design.free - 1) / effect, _FEWEST_EFFECTIVE)
    return result


def _squares(table: Floats, groups: Ints) -> Floats:
    codes = np.unique(groups, return_inverse=True)[1]
    sums = np.zeros((int(codes.max()) + 1, table.shape[1]))
    np.add.at(sums, codes, table)
    result: Floats = (sums**2).sum(axis=0)
    return result


def _kinds(sums: Floats, own: float, total: float) -> Floats:
    """Sums over ordered pairs of units by kind, from those over cells, clusters and agents."""
    cell, cluster, agent = sums
    return np.array([cell - own, cluster - cell, agent - cell, total - cluster - agent + cell])


def rare(values: Floats) -> int:
    """How many units differ from the most frequent value.

    Examples:
        >>> rare(np.array([0.0, 0, 0, 1, 2]))
        2
    """
    return len(values) - int(np.unique(values, return_counts=True)[1].max())


def permutation_count(n: int, tests: int) -> int:
    """More for a large family, whose correction asks for small p; fewer for very many units.

    Examples:
        >>> permutation_count(300, 20), permutation_count(300, 1_000)
        (10000, 50000)
    """
    wanted = max(_PERMUTATIONS, _PER_TEST * tests)
    return max(_FEWEST_PERMUTATIONS, min(wanted, _MOST_DEALT // max(1, n)))


def permuted_p(
    pairs: list[tuple[Floats, Floats, Floats]], design: Design, rng: np.random.Generator, count: int
) -> list[tuple[Floats, Floats]]:
    """Two-sided p-values of coefficients of standardised columns, and the least they can be.

    A coefficient is first turned into that of as many units as there are with the same t as it has
    on the effective number of units; how often permutations reach it is read as a t of all units,
    whose p is taken with the effective degrees of freedom. Where units are independent all that
    changes nothing and the p-value is that of the permutations.

    Args:
        pairs: Columns a, columns b and effective units of each kind of coefficient; all are dealt
            by the same permutations.
        design: Of the units.
        rng: Source of the permutations.
        count: How many permutations.
    """
    n, free = len(design.strata), design.free
    wanted = [_threshold(a.T @ b / n, effective, free) for a, b, effective in pairs]
    reached = [np.zeros(threshold.shape) for threshold in wanted]
    widest = sum(b.shape[1] for _, b, _ in pairs)
    step = max(1, _AT_ONCE // (n * widest))
    for start in range(0, count, step):
        dealt = _dealt(design.strata, min(step, count - start), rng)
        for (a, b, _), threshold, found in zip(pairs, wanted, reached, strict=True):
            drawn = np.abs(np.matmul(a.T, b[dealt])) / n
            found += (drawn >= threshold - 1e-12).sum(axis=0)
    return [
        (
            from_independent((found + 1) / (count + 1), effective, free),
            from_independent(np.full(found.shape, 1 / (count + 1)), effective, free),
        )
        for (_, _, effective), found in zip(pairs, reached, strict=True)
    ]


def _threshold(r: Floats, effective: Floats, free: float) -> Floats:
    size = np.minimum(np.abs(r), 1 - 1e-12)
    t = size * np.sqrt((effective - 2) / (1 - size**2))
    result: Floats = t / np.sqrt(max(free - 2, 1.0) + t**2)
    return result


def from_independent(p: Floats, effective: Floats, free: float) -> Floats:
    """A p-value that holds for so many independent units, with fewer degrees of freedom.

    Examples:
        >>> from_independent(np.array([0.03, 0.03]), np.array([50.0, 10.0]), 50.0).round(4).tolist()
        [0.03, 0.0557]
    """
    freedom = max(free - 2, 1.0)
    t = stats.t.isf(p / 2, freedom)
    result: Floats = np.where(
        np.abs(effective - free) < 1e-9, p, 2 * stats.t.sf(t, np.maximum(effective - 2, 1.0))
    )
    return result


def _dealt(strata: Ints, count: int, rng: np.random.Generator) -> Ints:
    """Units in a new order within their strata, `count` times."""
    result = np.empty((count, len(strata)), dtype=np.int64)
    for stratum in np.unique(strata):
        members = np.flatnonzero(strata == stratum)
        result[:, members] = rng.permuted(np.tile(members, (count, 1)), axis=1)
    return result
