"""Intervals that hold at all times at once."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialens.statistics import gains, mixture_size, sequence_reach

ONE, DIFFERENCE = np.array([1.0]), np.array([1.0, -1.0])


def published(t: float, deviation: float, rho: float, alpha: float) -> float:
    """Waudby-Smith et al. (2024), Theorem 2.2, as it is printed."""
    inner = 2 * (t * rho**2 + 1) / (t**2 * rho**2)
    return deviation * math.sqrt(inner * math.log(math.sqrt(t * rho**2 + 1) / alpha))


@given(
    t=st.floats(1e5, 1e9),
    deviation=st.floats(0.01, 100),
    planned=st.floats(10, 1e5),
    confidence=st.sampled_from([0.8, 0.95, 0.99]),
)
def test_of_one_mean_it_is_the_published_formula(
    t: float, deviation: float, planned: float, confidence: float
) -> None:
    rho = math.sqrt(mixture_size(confidence) / planned)
    reach = sequence_reach(
        ONE, np.array([t]), np.array([deviation**2]), planned=planned, confidence=confidence
    )
    known = published(t, deviation, rho, 1 - confidence)
    assert float(reach) == pytest.approx(known, rel=1e-3)  # Student's t with many degrees


def test_it_is_narrowest_where_it_was_planned() -> None:
    at = [
        float(sequence_reach(ONE, np.array([2e5]), np.array([1.0]), planned=planned))
        for planned in (2e4, 2e5, 2e6)
    ]
    assert min(at) == at[1]


def test_few_observations_have_students_tail() -> None:
    few = np.array([10, 10])
    reach = float(sequence_reach(DIFFERENCE, few, np.ones(2), planned=100))
    ordinary = math.sqrt(2 / 10) * 2.10  # t with 18 degrees
    assert 1.5 * ordinary < reach < 3 * ordinary
    t = 20 * mixture_size() / 100
    edge = math.sqrt((1 + 1 / t) * (math.log1p(t) + 2 * math.log(20)))
    assert reach > math.sqrt(2 / 10) * edge


def test_only_the_arms_of_a_contrast_count() -> None:
    n, variance = np.array([20, 20, 3]), np.array([1.0, 1.0, 50.0])
    with_third = sequence_reach(np.array([1.0, -1.0, 0.0]), n, variance, planned=100)
    alone = sequence_reach(DIFFERENCE, n[:2], variance[:2], planned=100)
    assert float(with_third) == pytest.approx(float(alone))


def test_the_next_one_goes_where_most_is_gained() -> None:
    n, variance = np.array([10.0, 10.0]), np.array([9.0, 1.0])
    for _ in range(400):
        n[int(gains(DIFFERENCE[None], n, variance).argmax())] += 1
    assert n[0] / n[1] == pytest.approx(3, rel=0.05)  # Neyman: as the standard deviations
    silent = gains(DIFFERENCE[None], np.array([10, 60]), np.array([0.0, 1.0]))
    assert silent.argmax() == 0  # an arm whose values are all the same is not forgotten


@pytest.mark.slow
def test_looking_after_everybody_misses_in_fewer_than_one_of_twenty_studies() -> None:
    rng, runs, most = np.random.default_rng(0), 1000, 120
    values = np.clip(np.round(3.6 + rng.normal(0, 1.2, (runs, 2, most))), 1, 5)
    ours, ordinary = np.zeros(runs, dtype=bool), np.zeros(runs, dtype=bool)
    for n in range(10, most + 1):
        seen = values[..., :n]
        gap = np.abs(seen.mean(axis=2) @ DIFFERENCE)
        variance = seen.var(axis=2, ddof=1)
        counts = np.full((runs, 2), n)
        ours |= gap > sequence_reach(DIFFERENCE, counts, variance, planned=100)
        ordinary |= gap > 1.97 * np.sqrt((variance / n).sum(axis=1))
    assert ours.mean() < 0.05
    assert ordinary.mean() > 0.2
