"""What a user meets when a metric of their own, or a folder of scores, is broken."""

from pathlib import Path

import numpy as np
import pytest

from dialens import Scores, compare, score
from dialens.base import DialensError
from dialens.metrics import MetricCard, Resources, make_plan, metric, score_into, turn_mean
from dialens.testing import check_metric
from tests.report.material import two_agents


def broken(value: object, name: str = "broken") -> MetricCard:
    @metric(name, meaning="Breaks down", family="own")
    def card(resources):
        def values(batch):
            if isinstance(value, Exception):
                raise value
            return np.full(batch.turns.height + value, 1.0)

        return turn_mean(name, values)

    return card


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
        (-1, "values for"),
    ],
)
def test_code_that_breaks_down_is_named(value: object, message: str) -> None:
    with pytest.raises(DialensError, match=f"The code of broken breaks down .*{message}"):
        score(two_agents(), metrics=[broken(value), "length"])
    with pytest.raises(AssertionError, match="The code of broken breaks down"):
        check_metric(broken(value))


def test_a_value_outside_the_declared_range_is_refused() -> None:
    @metric("loud", meaning="Says 7 of 1", family="own", range=(0.0, 1.0))
    def card(resources):
        return turn_mean("loud", lambda batch: np.full(batch.turns.height, 7.0))

    with pytest.raises(DialensError, match="The metric loud gives 7, above the 1 that its range"):
        score(two_agents(), metrics=[card])


def test_a_card_that_takes_the_name_of_another_is_refused() -> None:
    mine: str | MetricCard = broken(0, "length")
    for order in ([mine, "length"], ["surface", mine]):
        with pytest.raises(DialensError, match="Two metrics are called 'length'"):
            score(two_agents(), metrics=order)


@pytest.mark.parametrize("name", ["metrics.json", "states.parquet", "scores.parquet"])
@pytest.mark.parametrize("how", ["cut", "gone"])
def test_a_damaged_folder_is_said_with_the_remedy(tmp_path: Path, name: str, how: str) -> None:
    score_into(two_agents(), tmp_path, make_plan(["length"], Resources()))
    compare(Scores.open(tmp_path))
    path = tmp_path / name
    if how == "cut":
        path.write_bytes(path.read_bytes()[:-20])
    else:
        path.unlink()
    with pytest.raises(DialensError, match=r"dialens score CORPUS -o"):
        Scores.open(tmp_path)
