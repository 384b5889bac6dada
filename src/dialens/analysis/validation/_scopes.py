"""Correlations in every scope: within agents, over all units, and between agents."""

from typing import Any

import numpy as np

from dialens.statistics import ClusterDraws, Floats, Ints
from dialens.statistics.correlation import Correlations, correlate

POOLED, WITHIN, BETWEEN = "pooled", "within", "between"
_FEWEST_FREE = 10


def several_agents(agents: Ints | None) -> Ints | None:
    """Whose each unit is, where there are several agents and enough units of each to look within.

    One agent has nothing to be told from; with hardly more units than agents nothing is left once
    their means are taken out.
    """
    if agents is None:
        return None
    count = len(np.unique(agents))
    return agents if count > 1 and len(agents) - count >= _FEWEST_FREE else None


def correlations_by_scope(
    x: Floats,
    y: Floats,
    draws: ClusterDraws,
    agents: Ints | None,
    *,
    confidence: float = 0.95,
    seed: int = 0,
    permutations: int | None = None,
) -> dict[str, Correlations]:
    """Every column of x with every column of y by scope, the headline's first.

    Args:
        x: Units × metrics, NaN where one is missing.
        y: Units × qualities, likewise.
        draws: Of the clusters of the units.
        agents: Whose each unit is; None where units are agents themselves.
        confidence: Confidence level of the intervals.
        seed: Random seed.
        permutations: How many p-values rest on; as many as `correlate` takes if None.
    """
    options: dict[str, Any] = {"confidence": confidence, "seed": seed, "permutations": permutations}
    several = several_agents(agents)
    found = {}
    if several is not None:
        found[WITHIN] = correlate(x, y, draws, agents=several, within=True, **options)
    found[POOLED] = correlate(x, y, draws, agents=several, **options)
    if several is not None:
        x_means, y_means = (_agent_means(table, several) for table in (x, y))
        own = ClusterDraws.of(
            np.arange(len(x_means)), len(draws.counts), np.random.default_rng(seed)
        )
        found[BETWEEN] = correlate(x_means, y_means, own, **options)
    return found


def _agent_means(table: Floats, agents: Ints) -> Floats:
    """Means of the units that have a value, one row an agent; NaN where none has."""
    codes = np.unique(agents, return_inverse=True)[1]
    present = np.isfinite(table)
    sums, counts = np.zeros((2, int(codes.max()) + 1, table.shape[1]))
    np.add.at(sums, codes, np.where(present, table, 0.0))
    np.add.at(counts, codes, present)
    return np.divide(sums, counts, out=np.full_like(sums, np.nan), where=counts > 0)
