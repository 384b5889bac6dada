import numpy as np
import pytest
from scipy import stats

from dialens.statistics._bootstrap import percentile_estimate
from dialens.statistics._coefficients import (
    area_under_curve,
    partial_pearson,
    pearson,
    ranks,
    spearman,
    spearman_rows,
)


@pytest.fixture
def columns() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    x, given = rng.normal(size=(2, 60)).round(1)
    return x + given, x - 0.5 * given + rng.normal(size=60), given


def test_as_scipy_computes_them(columns: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    x, y, _ = columns
    assert pearson(x, y) == pytest.approx(stats.pearsonr(x, y).statistic)
    assert spearman(x, y) == pytest.approx(stats.spearmanr(x, y).statistic)
    np.testing.assert_array_equal(ranks(x), stats.rankdata(x))
    truth = y > 0
    wins = stats.mannwhitneyu(x[truth], x[~truth]).statistic
    assert area_under_curve(x, truth) == pytest.approx(wins / truth.sum() / (~truth).sum())


def test_partial_correlation_from_the_three_plain_ones(
    columns: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> None:
    x, y, given = columns
    xy, xg, yg = pearson(x, y), pearson(x, given), pearson(y, given)
    expected = (xy - xg * yg) / np.sqrt((1 - xg**2) * (1 - yg**2))
    assert partial_pearson(x, y, given) == pytest.approx(expected)


def test_a_constant_side_has_no_correlation() -> None:
    flat, other = np.ones(4), np.arange(4.0)
    assert np.isnan(pearson(flat, other))
    assert np.isnan(area_under_curve(other, np.ones(4)))
    value, spread = spearman_rows(np.array([[1.0, 1.0]]), np.array([[1.0, 2.0]]))
    assert np.isnan(value[0])
    assert spread[0] == 0


def test_row_by_row_as_one_by_one() -> None:
    rng = np.random.default_rng(0)
    first, second = rng.integers(0, 4, (2, 30, 8)).astype(np.float64)
    value, spread = spearman_rows(first, second)
    for row in range(30):
        assert value[row] == pytest.approx(spearman(first[row], second[row]))
    assert (spread > 0).all()


def test_a_percentile_interval_covers_the_mean() -> None:
    values = np.random.default_rng(4).normal(size=200)
    estimate = percentile_estimate(lambda rows: float(values[rows].mean()), 200, resamples=400)
    assert estimate.value == values.mean()
    assert estimate.n == 200
    half = 1.96 * values.std() / np.sqrt(200)
    assert estimate.low == pytest.approx(values.mean() - half, abs=0.03)
    assert estimate.high == pytest.approx(values.mean() + half, abs=0.03)
