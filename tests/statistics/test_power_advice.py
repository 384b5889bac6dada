"""What to change in a study that sees too little: the cheaper of two ways, and its price."""

import polars as pl
import pytest

from dialens.base import Estimate
from dialens.statistics.power import (
    Design,
    PlannedPower,
    VarianceParts,
    advise,
    cheapest,
    curve_of,
    power_between,
    power_within,
    price_of,
)


def raters_matter(raters: int, items: int) -> PlannedPower:
    """Power is a fiftieth a rater and a thousandth an item."""
    power = min(raters / 50 + items / 1000, 1.0)
    return PlannedPower(
        raters, items, 2 * raters * items, 0.3, Estimate(power), Estimate(1.0), "made up"
    )


def test_both_ways_have_their_gain_and_price() -> None:
    advice = advise(raters_matter, 8, 40, wanted=0.8, most=10)
    assert advice is not None
    assert (advice.raters.more, advice.items.more) == (2, 10)  # the same price
    assert advice.raters.ratings == advice.items.ratings == 160
    assert advice.raters.gain == pytest.approx(0.04)
    assert advice.items.gain == pytest.approx(0.01)
    assert advice.raters.error is None


def test_the_numbers_needed_are_the_smallest_that_do() -> None:
    advice = advise(raters_matter, 8, 40, wanted=0.8, most=100)
    assert advice is not None
    assert advice.raters.needed == 38  # 38 / 50 + 40 / 1000 = .8
    assert advice.items.needed == 640  # 8 / 50 + 640 / 1000 = .8
    assert advice.better is advice.raters
    assert advice.raters.needed_ratings == 2 * 30 * 40
    assert advice.together is None


def test_where_neither_way_gets_there_both_together_may() -> None:
    parts = VarianceParts(rater_agent=0.4, dialog=0.6, residual=0.5)

    def plan(raters: int, items: int) -> PlannedPower:
        design = Design(raters, items, shared_raters=True)
        return power_within(parts, 0.35, design, simulations=200)

    advice = advise(plan, 6, 12, wanted=0.8, most=100)
    assert advice is not None
    assert advice.raters.needed is None
    assert advice.together is not None
    assert advice.together.raters > 6
    assert advice.together.items > 12
    assert advice.raters.error is not None


def test_raters_are_the_bottleneck_where_they_have_favourites() -> None:
    """The case of the review: 300 items instead of 30 bring less than 6 raters instead of 4."""
    parts = VarianceParts(rater_agent=0.3, residual=0.8)

    def plan(raters: int, items: int) -> PlannedPower:
        return power_within(parts, 0.5, Design(raters, items, shared_raters=True))

    advice = advise(plan, 6, 30, wanted=0.8, most=20)
    assert advice is not None
    assert advice.better.what == "raters"
    assert advice.raters.gain > advice.items.gain
    assert advice.items.needed is None


def test_a_study_that_cannot_be_tested_gets_no_advice() -> None:
    parts = VarianceParts(rater=0.5)
    assert advise(lambda r, i: power_between(parts, 0.0, raters=r, items=i), 5, 5,
                  wanted=0.8, most=2) is None  # fmt: skip


def test_one_speaks_of_the_cheapest_design_that_does_or_nearly() -> None:
    table = curve_of(
        PlannedPower(r, i, 2 * r * i, 0.3, Estimate(power), Estimate(1.0), "")
        for r, i, power in ((4, 30, 0.30), (6, 30, 0.57), (4, 300, 0.36), (6, 300, 0.65))
    )
    assert isinstance(table, pl.DataFrame)
    row = cheapest(table, 0.3, 0.8)
    assert row is not None
    assert (row["raters"], row["items"]) == (6, 30)
    enough = cheapest(table, 0.3, 0.6)
    assert enough is not None
    assert (enough["raters"], enough["items"]) == (6, 300)
    assert cheapest(table, 0.4, 0.8) is None


def test_ratings_are_the_price_and_money_if_one_has_a_price() -> None:
    assert price_of(1) == "1 rating"
    assert price_of(1200, 0.5) == "1,200 ratings (600.00)"
