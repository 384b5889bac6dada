"""Few units: the t test of the textbooks for means, honest rates for what is not a mean."""

import numpy as np
import pytest
from scipy import stats

from dialens.statistics import jackknife_t

Floats = np.ndarray


def pulls(values: Floats) -> Floats:
    """Of the mean, by leaving each value out."""
    left = (values.sum(-1, keepdims=True) - values) / (values.shape[-1] - 1)
    return left.mean(-1, keepdims=True) - left


@pytest.mark.parametrize("units", [6, 7, 12, 19])
def test_of_means_it_is_the_t_test(units: int) -> None:
    rng = np.random.default_rng(units)
    x, y, z = rng.normal(1, 2, units), rng.normal(0, 1, units), rng.normal(0, 1, 2 * units)
    low, high, p = jackknife_t(x.mean(), y.mean(), [pulls(x) - pulls(y)])
    paired = stats.ttest_rel(x, y)
    assert p == pytest.approx(paired.pvalue)
    assert (low, high) == pytest.approx(tuple(paired.confidence_interval()))
    low, high, p = jackknife_t(x.mean(), z.mean(), [pulls(x), -pulls(z)])
    welch = stats.ttest_ind(x, z, equal_var=False)
    assert p == pytest.approx(welch.pvalue)
    assert (low, high) == pytest.approx(tuple(welch.confidence_interval()))


@pytest.mark.parametrize("units", [6, 10, 19])
def test_agents_that_are_the_same_are_rarely_called_different(units: int) -> None:
    rng = np.random.default_rng(units)
    x, y = rng.normal(3, 1, (2, 100_000, units))
    p = jackknife_t(x.mean(-1), y.mean(-1), [pulls(x) - pulls(y)])[2]
    assert (p <= 0.05).mean() == pytest.approx(0.05, abs=0.003)
    assert (p <= 0.001).mean() == pytest.approx(0.001, abs=0.0005)


def test_units_that_all_say_the_same() -> None:
    nothing = np.zeros(6)
    assert [float(n) for n in jackknife_t(2.0, 2.0, [nothing])] == [0, 0, 1]
    assert [float(n) for n in jackknife_t(2.0, 2.0 + 1e-16, [nothing + 1e-17])][2] == 1
    assert float(jackknife_t(3.0, 2.0, [nothing])[2]) == pytest.approx(2 / 2**6)
    assert float(jackknife_t(3.0, 2.0, [nothing, nothing])[2]) == pytest.approx(2 / 924)


def test_thousands_of_units_that_say_the_same_have_a_p() -> None:
    """2 ** 1,100 is more than a float holds."""
    none = np.zeros(1_100)
    low, high, p = jackknife_t(1.0, 0.0, [none])
    assert (float(low), float(high)) == (1.0, 1.0)
    assert 0 <= float(p) < 1e-300
