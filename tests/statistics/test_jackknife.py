"""The jackknife's t: textbook tests without skewness, Hall's transformation with it, refusals."""

import numpy as np
import pytest
from scipy import stats

from dialens.statistics import Jackknife, hedges_g, skewed_t

Floats = np.ndarray


def mean(values: Floats) -> Jackknife:
    """The mean of each row, and without each value."""
    n = values.shape[-1]
    left_out = (values.sum(-1, keepdims=True) - values) / (n - 1)
    return Jackknife.of(values.mean(-1), left_out, values)


def test_skewness_is_taken_out_as_in_hall_1992() -> None:
    """His g(t) = t + k(2t² + 1)/6 + k²t³/27 with k = skewness/√n, from scipy's k-statistics."""
    x = np.array([0.2, 0.4, 0.5, 0.9, 1.1, 1.3, 2.0, 4.5])
    n, error = len(x), stats.sem(x)
    k = stats.kstat(x, 3) / n**2 / error**3
    for shift in (1.0, 1.2, 0.7):
        t = (x.mean() - shift) / error
        bent = t + k / 6 + k * t**2 / 3 + k**2 * t**3 / 27
        wanted = 2 * stats.t.sf(min(abs(t), abs(bent)), n - 1)
        assert float(skewed_t(mean(x - shift)).p) == pytest.approx(wanted)


@pytest.mark.parametrize("seed", range(5))
def test_interval_and_p_say_the_same(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.lognormal(0, 0.7, 9), rng.lognormal(0, 0.7, 30)
    found = skewed_t(mean(x), mean(y))
    for end in (found.low, found.high):
        assert float(skewed_t(mean(x - end), mean(y)).p) == pytest.approx(0.05)


def test_a_side_in_which_nothing_happens_shares_the_other_one_s_variance() -> None:
    """With equal sizes that is Student's test with pooled variances."""
    x, y = np.zeros(20), np.concatenate([np.zeros(8), np.arange(1.0, 13)])
    found = skewed_t(mean(x), mean(y))
    wanted = stats.ttest_ind(x, y, equal_var=True)
    assert float(found.p) == pytest.approx(wanted.pvalue)
    low, high = wanted.confidence_interval()
    assert (float(found.low), float(found.high)) == pytest.approx((low, high))


def test_units_without_a_part_in_the_statistic_are_none() -> None:
    x = np.array([0.2, 0.4, 0.5, 0.9, 1.1, 1.3, 2.0, 4.5])
    alone = mean(x)
    idle = np.full(30, x.mean())
    padded = Jackknife.of(
        x.mean(), np.concatenate([alone.left_out, idle]), np.append(x, np.full(30, np.nan))
    )
    assert int(padded.counting) == 8
    assert float(skewed_t(padded).p) == pytest.approx(float(skewed_t(alone).p))
    assert float(skewed_t(padded).high) == pytest.approx(float(skewed_t(alone).high))


@pytest.mark.parametrize(
    ("values", "tested"),
    [
        ([1.0, 2, 3, 4, 5], False),
        ([1.0, 2, 3, 4, 5, 6], True),
        ([0.0] * 40 + [1, 2, 3, 4, 5], False),
        ([0.0] * 40 + [1, 2, 3, 4, 5, 6], True),
        ([0.0] * 40, False),
    ],
)
def test_six_units_must_tell_something(values: list[float], tested: bool) -> None:
    found = skewed_t(mean(np.array(values)))
    assert bool(np.isfinite(found.p)) == bool(np.isfinite(found.low)) == tested


def test_an_undefined_value_is_not_judged() -> None:
    nothing = np.full(9, np.nan)
    assert np.isnan(skewed_t(Jackknife.of(np.nan, nothing, nothing)).p)


@pytest.mark.parametrize(
    ("sizes", "paired"), [((6, 6), True), ((10, 10), False), ((10, 40), False), ((50, 50), False)]
)
def test_skewed_values_keep_the_level(sizes: tuple[int, int], paired: bool) -> None:
    """BCa found a difference between equal agents in 12 % of such runs with ten units a side."""
    rng = np.random.default_rng(1)
    a, b = (mean(rng.lognormal(0, 0.7, (10_000, n))) for n in sizes)
    p = skewed_t(a - b).p if paired else skewed_t(a, b).p
    assert 0.02 <= np.nanmean(p < 0.05) <= 0.075


def test_hedges_g_by_hand() -> None:
    """Both sides have variance 20/3; 1 / 2.582 · (1 − 3/23)."""
    x, y = np.array([2.0, 4, 6, 8]), np.array([1.0, 3, 5, 7])
    assert float(hedges_g(mean(x), mean(y))) == pytest.approx(1 / np.sqrt(20 / 3) * (1 - 3 / 23))
    assert np.isnan(hedges_g(mean(np.ones(6)), mean(np.zeros(6))))
