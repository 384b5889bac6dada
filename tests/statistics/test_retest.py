"""Agreement of raters with themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialens.statistics.agreement import ICC, SAME, Occasions, RatingMatrix, icc


def drawn(seed: int, raters: int, items: int) -> Occasions:
    rng = np.random.default_rng(seed)
    opinion = rng.normal(size=(1, items)) + 0.5 * rng.normal(size=(raters, 1))
    days = [opinion + 0.7 * rng.normal(size=(raters, items)) for _ in range(2)]
    rater, item = np.divmod(np.arange(raters * items), items)
    return Occasions(days[0].ravel(), days[1].ravel() + 0.3, rater, item)


@given(seed=st.integers(0, 1000), raters=st.integers(3, 6), items=st.integers(4, 8))
def test_the_coefficient_is_that_of_the_analysis_of_variance(
    seed: int, raters: int, items: int
) -> None:
    pairs = drawn(seed, raters, items)
    table = RatingMatrix.of_array(np.column_stack([pairs.first, pairs.second]))
    assert pairs.icc().item() == pytest.approx(icc(table)["ICC(2,1)"].value, abs=1e-9)


def test_a_shift_of_everybody_is_disagreement() -> None:
    x = np.arange(12.0)
    place = np.arange(12)
    assert Occasions(x, x, place, place).icc().item() == pytest.approx(1)
    # 12 values with variance 13: 2·13 / (2·13 + 3²)
    shifted = Occasions(x, x + 3, place, place).icc().item()
    assert shifted == pytest.approx(26 / 35)


def test_intervals_hold_the_estimate_and_say_why_there_is_none() -> None:
    pairs = drawn(1, 12, 15)
    found = pairs.estimate(ICC)
    assert found.low is not None
    assert found.high is not None
    assert found.low < pairs.icc().item() < found.high
    assert pairs.estimate(ICC, confidence=0.8).low > found.low
    assert "too few" in str(drawn(1, 2, 15).estimate(ICC).reason)
    none, nobody = np.array([]), np.array([], dtype=np.int64)
    empty = Occasions(none, none, nobody, nobody)
    assert empty.estimate(ICC).reason == "nobody judged anything twice"


def test_the_share_of_same_answers() -> None:
    rng = np.random.default_rng(2)
    rater, item = np.divmod(np.arange(200), 20)
    first = rng.integers(0, 2, 200).astype(float)
    second = np.where(rng.permutation(200) % 4 == 0, 1 - first, first)
    found = Occasions(first, second, rater, item).estimate(SAME)
    assert found.value == 0.75
    assert found.low is not None
    assert found.high is not None
    assert 0.6 < found.low < 0.75 < found.high < 0.9


@pytest.mark.slow
def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    truth = (1 + 0.25) / (1 + 0.25 + 0.49)  # without the shift, which is taken off again
    held = 0
    for seed in range(300):
        pairs = drawn(seed, 15, 15)
        plain = Occasions(pairs.first, pairs.second - 0.3, pairs.rater, pairs.item)
        found = plain.estimate(ICC)
        held += found.low <= truth <= found.high
    assert 0.92 <= held / 300 <= 0.98
