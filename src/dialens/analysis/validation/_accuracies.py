"""Pairwise accuracies of every metric: of agents, and of the units of one context or dialogue."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from dialens.analysis.validation._units import RatedUnits
from dialens.base import Estimate
from dialens.metrics import MetricCard
from dialens.statistics import ClusterDraws, Floats, Ints
from dialens.statistics.correlation import Pairs, segment_accuracy, system_accuracy

_FEWEST_AGENTS = 3


def accuracy_rows(
    rated: RatedUnits,
    draws: ClusterDraws,
    cards: Mapping[str, MetricCard],
    confidence: float,
    seed: int,
) -> list[dict[str, Any]]:
    """One row a metric and quality, at levels whose units have agents.

    A higher score is taken for better, unless the metric's card says that lower is.
    """
    if rated.agents is None:
        return []
    signs = [-1.0 if cards[name].higher_is_better is False else 1.0 for name in rated.metrics]
    x: Floats = rated.values * np.array(signs)
    y = rated.means()
    systems = _systems(x, y, rated.agents, draws, confidence)
    groups, grouped_by = _groups(rated)
    pairs = Pairs.within(groups, np.random.default_rng(seed))
    rows = []
    for i, metric in enumerate(rated.metrics):
        for j, quality in enumerate(rated.ratings):
            segment = segment_accuracy(
                x[:, i],
                y[:, j],
                pairs,
                rated.clusters,
                by_cluster=grouped_by == rated.clustered_by,
                confidence=confidence,
            )
            system = systems[i][j]
            rows.append(
                {
                    "metric": metric,
                    "quality": quality,
                    "level": rated.level,
                    "reversed": signs[i] < 0,
                    "system_accuracy": system.value,
                    "system_low": system.low,
                    "system_high": system.high,
                    "system_pairs": system.n,
                    "system_reason": system.reason,
                    "segment_accuracy": segment.estimate.value,
                    "segment_low": segment.estimate.low,
                    "segment_high": segment.estimate.high,
                    "segment_pairs": segment.pairs,
                    "segment_groups": segment.groups,
                    "grouped_by": grouped_by,
                    "epsilon": segment.epsilon,
                    "ties": segment.ties,
                    "segment_reason": segment.estimate.reason,
                }
            )
    return rows


def _systems(
    x: Floats, y: Floats, agents: Ints, draws: ClusterDraws, confidence: float
) -> list[list[Estimate]]:
    count = len(np.unique(agents))
    if count >= _FEWEST_AGENTS:
        return system_accuracy(x, y, agents, draws, confidence=confidence)
    few = Estimate(reason=f"only {count} agent{'' if count == 1 else 's'} to put in order")
    return [[few] * y.shape[1] for _ in range(x.shape[1])]


def _groups(rated: RatedUnits) -> tuple[Ints, str]:
    """Units that are compared: of one cluster, or of one agent where every cluster is one unit."""
    if len(np.unique(rated.clusters)) < len(rated.clusters) or rated.agents is None:
        return rated.clusters, rated.clustered_by
    return rated.agents, "agents"
