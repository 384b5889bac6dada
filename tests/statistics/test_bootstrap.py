"""Resampling from sums, against scipy's bootstrap of the same numbers."""

import numpy as np
import pytest
from scipy import stats

from dialens.statistics import (
    ClusterDraws,
    Resampled,
    cluster_sums,
    coarsened,
    left_out_sums,
    resampled_sums,
)
from dialens.statistics._bootstrap import cluster_counts


def mean_of(sums: np.ndarray) -> np.ndarray:
    return sums[:, 0] / sums[:, 1]


def resampled_mean(values: np.ndarray, resamples: int, seed: int) -> Resampled:
    clusters = np.column_stack([values, np.ones_like(values)])
    left = mean_of(left_out_sums(clusters))
    drawn = mean_of(resampled_sums(clusters, resamples, np.random.default_rng(seed)))
    return Resampled(float(values.mean()), drawn, left.mean() - left)


@pytest.mark.parametrize("shape", ["normal", "exponential"])
def test_bca_interval_of_a_mean_is_scipys(shape: str) -> None:
    values = getattr(np.random.default_rng(4), shape)(size=40)
    low, high = resampled_mean(values, 20_000, seed=1).interval(0.95)
    theirs = stats.bootstrap(
        (values,), np.mean, n_resamples=20_000, method="BCa", rng=np.random.default_rng(2)
    ).confidence_interval
    width = theirs.high - theirs.low
    assert low == pytest.approx(theirs.low, abs=0.03 * width)
    assert high == pytest.approx(theirs.high, abs=0.03 * width)


def test_p_is_where_the_interval_touches_zero() -> None:
    values = np.random.default_rng(5).exponential(size=60)
    values += 2 * values.std() / np.sqrt(60) - values.mean()  # two standard errors above zero
    drawn = resampled_mean(values, 40_000, seed=1)
    p = drawn.two_sided_p()
    assert 0.0005 < p < 0.2
    low, _ = drawn.interval(1 - p)
    assert low == pytest.approx(0, abs=0.005)


def test_p_is_uniform_when_nothing_differs() -> None:
    rng = np.random.default_rng(6)
    found = [
        resampled_mean(rng.normal(size=50), 400, seed=i).two_sided_p() < 0.1 for i in range(400)
    ]
    assert stats.binomtest(sum(found), len(found), 0.1).pvalue > 0.001


def test_two_that_never_differ() -> None:
    same = Resampled(0.0, np.zeros(100), np.zeros(5))
    assert same.two_sided_p() == 1.0
    assert same.interval(0.95) == (0.0, 0.0)


def test_random_blocks_keep_the_variance() -> None:
    """20,000 dialogues in 5,000 blocks: the standard error of the mean stays s / √n."""
    rng = np.random.default_rng(7)
    values = rng.exponential(size=20_000)
    blocks = coarsened(np.arange(20_000), rng)
    assert len(np.unique(blocks)) == 5_000
    rows = np.column_stack([values, np.ones_like(values)])
    drawn = mean_of(resampled_sums(cluster_sums(rows, blocks), 4_000, rng))
    assert drawn.std() == pytest.approx(values.std() / np.sqrt(20_000), rel=0.05)


def test_few_clusters_are_left_as_they_are() -> None:
    assert coarsened(np.array([9, 3, 9]), np.random.default_rng(0)).tolist() == [1, 0, 1]


def test_draws_do_not_depend_on_where_blocks_end(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = cluster_counts(7, 50, np.random.default_rng(3))
    monkeypatch.setattr("dialens.statistics._bootstrap._CELLS_AT_ONCE", 20)
    np.testing.assert_array_equal(whole, cluster_counts(7, 50, np.random.default_rng(3)))


def test_sums_of_draws_are_sums_of_the_units_drawn() -> None:
    rng = np.random.default_rng(1)
    clusters, rows = rng.integers(0, 6, 40), rng.normal(size=(40, 3))
    draws = ClusterDraws.of(clusters, 20, rng)
    by_hand = [
        (draws.counts[number][draws.place][:, None] * rows).sum(axis=0) for number in range(20)
    ]
    np.testing.assert_allclose(draws.sums(rows), by_hand)
    assert not draws.own


def test_strata_keep_their_sizes() -> None:
    strata = np.array([0, 1, 0, 1, 1])
    draws = ClusterDraws.within(strata, 30, np.random.default_rng(0))
    assert (draws.counts[:, strata == 0].sum(axis=1) == 2).all()
    assert (draws.counts[:, strata == 1].sum(axis=1) == 3).all()


def test_nothing_can_be_drawn_from_no_cluster() -> None:
    assert cluster_counts(0, 5, np.random.default_rng(0)).shape == (5, 0)
