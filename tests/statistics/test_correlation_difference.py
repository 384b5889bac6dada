"""Tests of dependent correlations against published examples and other programs."""

import numpy as np
import pytest

from dialens.statistics import ClusterDraws
from dialens.statistics.correlation import correlation_difference
from dialens.statistics.correlation._difference import steiger, williams


@pytest.mark.parametrize(
    ("r_a", "r_b", "r_ab", "n", "t", "p"),
    [
        (0.3, 0.4, 0.5, 100, -1.0767, 0.2843),  # Silver, Hittner & May 2006 (DEPCOR)
        (0.2, 0.45, 0.8, 100, -4.56, 1e-5),  # R package bruceR, cor_diff
        (0.8066, 0.2383, 0.2255, 177, 9.3823, 0.0),  # R package cocor, in rmcorr's vignette
    ],
)
def test_williams(r_a, r_b, r_ab, n, t, p) -> None:
    found = williams(r_a, r_b, r_ab, n)
    assert found.statistic == pytest.approx(t, abs=0.006)
    assert found.p == pytest.approx(p, abs=6e-5)


@pytest.mark.parametrize(
    ("r_a", "r_b", "r_ab", "n", "z"),
    [
        (0.4, 0.5, 0.1, 103, -0.8887185),  # Steiger 1980, p. 249: −.8913 with rounded covariance
        (0.3, 0.4, 0.5, 100, -1.0718),  # Silver, Hittner & May 2006 (DEPCOR)
        (0.8066, 0.2383, 0.2255, 177, 8.5460),  # R package cocor
        (0.0228, 0.3522, 0.3718, 553, -7.1345),  # R package cocor, another study
    ],
)
def test_steiger(r_a, r_b, r_ab, n, z) -> None:
    assert steiger(r_a, r_b, r_ab, n).statistic == pytest.approx(z, abs=0.003)


def test_independent_units_give_nearly_williams_p() -> None:
    rng = np.random.default_rng(0)
    y = rng.normal(size=400)
    a, b = y + 1.5 * rng.normal(size=400), y + 2 * rng.normal(size=400)
    made = correlation_difference(a, b, y, ClusterDraws.of(np.arange(400), 4000, rng))
    assert made.williams.p == pytest.approx(made.steiger.p, abs=0.002)
    assert made.p == pytest.approx(made.williams.p, abs=0.03)
    assert made.low < made.difference < made.high


def test_strength_counts_and_not_the_sign() -> None:
    rng = np.random.default_rng(1)
    y = rng.normal(size=300)
    a, b = y + rng.normal(size=300), y + rng.normal(size=300)
    draws = ClusterDraws.of(np.arange(300), 500, rng)
    plain, turned = (correlation_difference(a, x, y, draws) for x in (b, -b))
    assert turned.r_b == pytest.approx(-plain.r_b)
    for name in ("difference", "low", "high", "p"):
        assert getattr(turned, name) == pytest.approx(getattr(plain, name))
    assert turned.williams.statistic == pytest.approx(plain.williams.statistic)


def test_equal_metrics_are_called_different_about_as_often_as_alpha() -> None:
    rng = np.random.default_rng(2)
    hits, trials = 0, 150
    for _ in range(trials):
        clusters = np.repeat(np.arange(40), 4)
        y = rng.normal(size=40)[clusters] + rng.normal(size=160)
        a, b = (y + rng.normal(size=40)[clusters] + rng.normal(size=160) for _ in range(2))
        hits += correlation_difference(a, b, y, ClusterDraws.of(clusters, 300, rng)).p < 0.05
    assert hits <= 0.11 * trials


def test_one_metric_with_itself_has_no_test() -> None:
    rng = np.random.default_rng(3)
    y = rng.normal(size=50)
    a = y + rng.normal(size=50)
    made = correlation_difference(a, 2 * a + 1, y, ClusterDraws.of(np.arange(50), 200, rng))
    assert made.difference == pytest.approx(0)
    assert made.p is None
    assert made.reason == "the two order the units in the same way"
