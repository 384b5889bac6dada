"""The shift between two occasions: against SciPy's exchanges, and by simulation."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from dialens.statistics.judges import paired_shift


@pytest.mark.parametrize("seed", range(5))
def test_p_is_that_of_all_exchanges(seed: int) -> None:
    generator = np.random.default_rng(seed)
    gaps = np.round(generator.normal(0.5, 1, 9))
    found = paired_shift(gaps)
    exact = stats.permutation_test(
        (gaps,), np.mean, permutation_type="samples", n_resamples=1_000, alternative="two-sided"
    )
    assert found.p == pytest.approx(exact.pvalue)
    assert found.value == pytest.approx(gaps.mean())


def test_the_interval_holds_what_is_not_rejected() -> None:
    gaps = np.random.default_rng(3).normal(0.4, 1, 11)
    found = paired_shift(gaps)
    assert found.low is not None
    assert found.high is not None
    for end, inside in ((found.low, 1), (found.high, -1)):
        away = 1e-6 * inside
        within, outside = paired_shift(gaps - end - away), paired_shift(gaps - end + away)
        assert within.p is not None
        assert outside.p is not None
        assert outside.p <= 0.05 < within.p


def test_many_units_give_about_what_student_gives() -> None:
    gaps = np.random.default_rng(0).normal(0.2, 1, 300)
    found, student = paired_shift(gaps), stats.ttest_1samp(gaps, 0)
    bounds = student.confidence_interval()
    assert found.low == pytest.approx(bounds.low, abs=0.02)
    assert found.high == pytest.approx(bounds.high, abs=0.02)
    assert paired_shift(gaps) == found  # the same seed, the same numbers


def test_too_few_and_nothing_changed_say_so() -> None:
    assert paired_shift(np.array([])).reason == "nothing was judged on both occasions"
    assert paired_shift(np.zeros(30)).reason == "nothing changed"
    few = paired_shift(np.array([1.0, 0, 1, 1, 1]))
    assert (few.value, few.low, few.p) == (0.8, None, None)
    same = paired_shift(np.full(10, 0.1))
    assert same.low == pytest.approx(0.1)
    assert same.high == pytest.approx(0.1)
    assert same.p == 2 / 2**10


def test_an_unchanged_judge_seldom_seems_to_move_and_a_planted_shift_is_held() -> None:
    """400 judges that give points with noise, asked twice about 12 items."""
    generator = np.random.default_rng(1)
    wrong, held, found_it = 0, 0, 0
    for _ in range(400):
        level = generator.normal(3, 0.8, 12)
        noise = generator.normal(0, 0.6, (12, 2))
        heard = np.round(np.clip(level[:, None] + noise, 1, 5)).astype(np.float64)
        unchanged = paired_shift(heard[:, 1] - heard[:, 0])
        wrong += unchanged.p is not None and unchanged.p <= 0.05
        moved = paired_shift(heard[:, 1] + 1 - heard[:, 0])
        assert moved.low is not None
        assert moved.high is not None
        held += moved.low <= 1 <= moved.high
        found_it += moved.low > 0
    assert wrong / 400 <= 0.06
    assert held / 400 >= 0.94
    assert found_it / 400 > 0.8
