"""The cheapest mix of people and a judge: against simulated studies, brute force and the bound."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from dialens.base import DialensError
from dialens.statistics.judges import prediction_powered
from dialens.statistics.power import Design, JudgeMix, VarianceParts, judge_mix

PARTS = VarianceParts(dialog=0.6, residual=0.6)
ONE = Design(raters=1, items=2)


def mix(effect: float = 0.3, r: float = 0.7, judge_price: float = 0.01, **more: float) -> JudgeMix:
    return judge_mix(PARTS, effect, ONE, r, price=0.5, judge_price=judge_price, **more)


@pytest.mark.parametrize(
    ("effect", "r", "judge_price"), [(0.3, 0.7, 0.01), (0.5, 0.6, 0.005), (0.8, 0.8, 0.001)]
)
def test_the_mix_sees_the_effect_as_often_as_it_says(
    effect: float, r: float, judge_price: float
) -> None:
    """1,000 studies each: differences of agents on an item, of standard deviation √(2 · .72)."""
    found = mix(effect, r, judge_price)
    assert found.reason is None
    assert found.power == pytest.approx(0.8, abs=0.01)
    rng = np.random.default_rng(0)
    seen = 0
    for _ in range(1_000):
        people = rng.normal(size=found.judged_items)
        judge = r * people + np.sqrt(1 - r * r) * rng.normal(size=found.judged_items)
        people = effect + np.sqrt(1.44) * people
        n = found.items
        done = prediction_powered(people[:n], judge[:n], judge[n:], weight=None)
        assert done.estimate.p is not None
        seen += done.estimate.p < 0.05
    assert seen / 1_000 == pytest.approx(0.8, abs=0.04)


def test_without_a_judge_it_is_the_t_test_of_the_differences() -> None:
    """By the noncentral t: 128 items are the fewest, differences have a variance of 2 · .72."""

    def power(items: int) -> float:
        limit = stats.t.ppf(0.975, items - 1)
        return float(stats.nct.sf(limit, items - 1, 0.3 / np.sqrt(1.44 / items)))

    found = mix()
    assert found.alone_items == 128
    assert power(128) > 0.8 > power(127)
    assert (found.alone_ratings, found.alone_price) == (256, 128.0)


@pytest.mark.parametrize("r", [0.3, 0.5, 0.7, 0.9])
@pytest.mark.parametrize("judge_price", [0.0, 0.0001, 0.01])
def test_no_judge_saves_more_than_its_squared_correlation(r: float, judge_price: float) -> None:
    found = mix(r=r, judge_price=judge_price)
    assert found.saving <= r * r + 0.005  # whole items
    if judge_price == 0.0:
        assert found.saving == pytest.approx(r * r, abs=0.04)


def test_no_other_numbers_of_items_are_cheaper() -> None:
    """All mixes of 40 to 128 items for people and up to 1,500 for the judge, tried out."""

    def power(items: np.ndarray, judged: np.ndarray) -> np.ndarray:
        variance = 1.44 / items * (1 - 0.49 * (judged - items) / judged) * (1 + 1 / (items - 3))
        limit = stats.f.ppf(0.95, 1, items - 2)
        return np.asarray(stats.ncf.sf(limit, 1, items - 2, 0.09 / variance))

    items, judged = np.meshgrid(np.arange(40, 129), np.arange(150, 1_501, 10))
    enough = power(items, judged) >= 0.8
    price = 2 * items * 0.5 + 2 * judged * 0.01
    assert mix().price == pytest.approx(float(price[enough].min()), rel=0.005)


@pytest.mark.parametrize(
    ("r", "judge_price", "why"),
    [
        (0.2, 0.0001, "r² is 0.04"),
        (-0.6, 0.0001, "does not go with people"),
        (0.5, 0.3, "save less than 1 %"),
    ],
)
def test_a_judge_that_does_not_help_is_left_out(r: float, judge_price: float, why: str) -> None:
    found = mix(r=r, judge_price=judge_price)
    assert found.reason is not None
    assert why in found.reason
    assert (found.judged, found.ratings, found.price) == (0, 256, 128.0)


def test_people_rate_eight_items_at_least() -> None:
    assert mix(effect=3.0, r=0.99, judge_price=0.0).reason is not None
    assert mix(effect=1.0, r=0.95, judge_price=0.0).items >= 8


def test_what_has_no_closed_form_is_refused() -> None:
    with pytest.raises(DialensError, match="closed form"):
        judge_mix(PARTS, 0.3, replace(ONE, scale=(1, 5)), 0.5, price=1, judge_price=0.1)
    with pytest.raises(DialensError, match="--effect"):
        mix(effect=0.0)
    with pytest.raises(DialensError, match="no more than alpha"):
        mix(power=0.05)
