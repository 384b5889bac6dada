"""Pairwise accuracies against mt-metrics-eval's examples, and by hand; the best of many."""

import numpy as np
import pytest

from dialens.statistics import ClusterDraws
from dialens.statistics.correlation import (
    Pairs,
    chosen_elsewhere,
    segment_accuracy,
    system_accuracy,
)

NONE = np.nan


def accuracy(metric: list[list[float]], people: list[list[float]]) -> tuple[float, float]:
    groups = np.repeat(np.arange(len(metric)), len(metric[0]))
    pairs = Pairs.within(groups, np.random.default_rng(0))
    made = segment_accuracy(
        np.ravel(metric).astype(float),
        np.ravel(people).astype(float),
        pairs,
        groups,
        by_cluster=True,
    )
    assert made.estimate.value is not None
    assert made.epsilon is not None
    return made.estimate.value, made.epsilon


@pytest.mark.parametrize(
    ("metric", "people", "best", "epsilon"),
    [
        ([[0, 2, 6, 8]], [[1, 2, 3, 4]], 1.0, 0),
        ([[0, 2, 6, 8]], [[1, 1, 1, 4]], 4 / 6, 4),
        (
            [
                [0, 5, 2, 3, 2],
                [NONE, 2, 1, 5, 3],
                [9, 1, 5, 3, 8],
                [9, 3, 4, 4, 1],
                [NONE, NONE, NONE, NONE, NONE],
            ],
            [
                [1, 5, 2, 1, 1],
                [4, 2, 2, 1, 4],
                [5, 9, 2, 8, 7],
                [7, 6, NONE, 3, 2],
                [NONE, NONE, NONE, NONE, NONE],
            ],
            0.4916666666666668,
            1,
        ),
    ],
)
def test_tie_calibration_is_that_of_the_shared_tasks(metric, people, best, epsilon) -> None:
    """google-research/mt-metrics-eval, tau_optimization_test.py: acc_23, its best and threshold."""
    found, threshold = accuracy(metric, people)
    assert found == pytest.approx(best)
    assert threshold == epsilon


def test_ties_of_people_and_of_the_metric_count() -> None:
    """Pairs by hand: both tied, tied by people only, by the metric only, same order."""
    value, epsilon = accuracy([[1, 1], [1, 2], [1, 1], [1, 2]], [[3, 3], [3, 3], [3, 4], [3, 4]])
    assert (value, epsilon) == (0.5, 0)


def test_an_interval_over_clusters_holds_the_accuracy() -> None:
    rng = np.random.default_rng(1)
    held = 0
    for _ in range(100):
        groups = np.repeat(np.arange(40), 4)
        truth = rng.normal(size=160)
        metric, people = truth + rng.normal(size=(2, 160))
        pairs = Pairs.within(groups, rng)
        made = segment_accuracy(metric, people, pairs, groups, by_cluster=True).estimate
        # Signs of two normals with r = .5 agree in 1/2 + arcsin(.5)/π of cases: two in three.
        held += made.low <= 2 / 3 <= made.high
    assert held >= 88


def test_systems_by_hand() -> None:
    """Four agents; people order them 0 < 1 < 2 < 3, the metric swaps the middle two."""
    agents = np.tile(np.arange(4), 15)
    people = agents[:, None].astype(float)
    metric = np.array([0.0, 2, 1, 3])[agents][:, None]
    draws = ClusterDraws.of(np.repeat(np.arange(15), 4), 100, np.random.default_rng(0))
    one = system_accuracy(metric, people, agents, draws)[0][0]
    assert (one.value, one.n) == (5 / 6, 6)
    assert (one.low, one.high) == (5 / 6, 5 / 6)


def test_the_best_of_many_keeps_what_is_real() -> None:
    rng = np.random.default_rng(2)
    y = rng.normal(size=400)
    noise = rng.normal(size=(400, 30))
    clusters = np.arange(400) // 4
    real = np.column_stack([noise, y + rng.normal(size=400)])
    noise[:5, 3] = np.nan
    assert abs(chosen_elsewhere(noise, y, clusters)) < 0.06
    assert chosen_elsewhere(real, y, clusters) == pytest.approx(np.sqrt(0.5), abs=0.06)
