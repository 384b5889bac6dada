"""Where a study stands, in words; forecasts by hand."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest

from dialens.studies.recruiters import Cost
from dialens.studies.store import CellProgress
from dialens.web._standing import forecast, standing

NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
FREE = Cost(1, Decimal("0.00"), Decimal("0.00"), "USD")


@pytest.mark.parametrize("completed", [3, 10, 40])
def test_the_next_one_comes_as_a_pareto_distribution_says(completed: int) -> None:
    # One more person: P(wait > t) = (1 + t / elapsed) ** -n, so quantiles have a closed form.
    seen = forecast(completed, 4 * HOUR, 1)
    assert seen is not None
    for q, got in ((0.1, seen.low), (0.5, seen.middle), (0.9, seen.high)):
        wait = 4 * 3600 * ((1 - q) ** (-1 / completed) - 1)
        assert got.total_seconds() == pytest.approx(wait, rel=1e-6)


def test_much_data_leave_little_doubt() -> None:
    # 10,000 in 100 hours: 100 an hour, so 5,000 more take 50 hours, give or take two per cent.
    seen = forecast(10_000, 100 * HOUR, 5_000)
    assert seen is not None
    assert seen.middle / HOUR == pytest.approx(50, rel=0.01)
    assert 0.96 < seen.low / seen.middle < seen.high / seen.middle < 1.04


def test_nothing_is_said_too_early() -> None:
    assert forecast(2, HOUR, 10) is None
    assert forecast(5, HOUR, 0) is None


def cell(state: str = "open", target: int = 10, completed: int = 4, live: int = 0) -> CellProgress:
    return CellProgress("a", state, target, completed, live, 0, 0)


def words(*cells: CellProgress, finished: int, cost: Cost = FREE) -> str:
    return " ".join(standing(cells, NOON - 4 * HOUR, NOON, finished=finished, cost=cost).sentences)


def test_more_than_were_wanted_are_not_so_many_of_them() -> None:
    said = words(cell(target=4, completed=5), finished=5)
    assert said.startswith("5 people have completed the study, 4 were wanted.")


def test_sentences_name_people_time_and_money() -> None:
    cost = Cost(10, Decimal("1.50"), Decimal("0.50"), "GBP")
    said = words(cell(live=2), finished=5, cost=cost)  # one was excluded, and is paid all the same
    assert said.startswith(
        "4 of 10 people have completed the study, and 2 are at it now. If people"
    )
    assert "in eight of ten cases between" in said
    assert said.endswith(
        "At 1.50 GBP for each, 10.00 GBP with fees have been earned so far, and 12.00 GBP are "
        "still to come."
    )


def test_no_forecast_where_nobody_is_let_in() -> None:
    assert "nobody new is let in" in words(cell("paused"), finished=4)
    assert "nobody new is let in" in words(cell("closed"), cell(completed=10), finished=14)
    assert "Everybody who is wanted has completed." in words(cell(completed=10), finished=10)
    assert "once 3 people have completed" in words(cell(completed=1), finished=1)
