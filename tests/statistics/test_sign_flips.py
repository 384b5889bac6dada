"""Flipping signs of differences, against scipy's permutations and by its own promise."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from dialens.statistics._sign_flips import sign_flip_p


@pytest.mark.parametrize("seed", range(6))
def test_all_flips_are_those_of_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    pairs = rng.integers(6, 12)
    differences = rng.choice([0.5, 0.5, 0.51, 4.0], pairs) * rng.choice([-1, 1, 1, 1], pairs)
    expected = stats.permutation_test(
        (differences, np.zeros(pairs)),
        lambda a, b, axis: np.sum(a - b, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=10_000,  # more than there are, so that all are tried
    ).pvalue
    assert sign_flip_p(differences) == pytest.approx(expected)


def test_many_pairs_come_near_to_scipys_draws() -> None:
    rng = np.random.default_rng(3)
    differences = rng.lognormal(0, 1, 40) * rng.choice([-1, 1, 1], 40)
    expected = stats.permutation_test(
        (differences, np.zeros(40)),
        lambda a, b, axis: np.sum(a - b, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=20_000,
        rng=rng,
    ).pvalue
    assert sign_flip_p(differences) == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize("sizes", [[1.0] * 9, [0.01] * 7 + [1.0, 3.0], list(range(1, 10))])
def test_of_all_signs_no_more_than_a_share_is_called_different(sizes: list[float]) -> None:
    found = [sign_flip_p(np.array(signs) * sizes) for signs in product((-1, 1), repeat=9)]
    for level in (0.01, 0.05, 0.2):
        assert np.mean(np.array(found) <= level) <= level
