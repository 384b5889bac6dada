"""Variances of several facets: Brennan's worked examples, and what cannot be told apart."""

import numpy as np
import polars as pl
import pytest

from dialens.base import DialensError
from dialens.statistics.agreement import generalizability

# Brennan 2001, "Generalizability theory", Table 3.1 (synthetic data set 3): ten persons, four
# items on each of two occasions.
CROSSED = np.array(
    [
        [[2, 6, 7, 5], [2, 5, 5, 5]],
        [[4, 5, 6, 7], [6, 7, 5, 7]],
        [[5, 5, 4, 6], [5, 4, 5, 5]],
        [[5, 9, 8, 6], [5, 7, 7, 6]],
        [[4, 3, 5, 6], [4, 5, 6, 4]],
        [[4, 4, 4, 7], [6, 4, 7, 8]],
        [[2, 6, 6, 5], [2, 7, 7, 5]],
        [[3, 4, 4, 5], [6, 6, 6, 4]],
        [[0, 5, 4, 5], [5, 5, 5, 3]],
        [[6, 8, 7, 6], [6, 8, 8, 6]],
    ]
)
# Table 3.2 (synthetic data set 4): ten persons, three tasks, four raters for each task.
NESTED = np.array(
    [
        [[5, 6, 5, 5], [5, 3, 4, 5], [6, 7, 3, 3]],
        [[9, 3, 7, 7], [7, 5, 5, 5], [7, 7, 5, 2]],
        [[3, 4, 3, 3], [5, 3, 3, 5], [6, 5, 1, 6]],
        [[7, 5, 5, 3], [3, 1, 4, 3], [5, 3, 3, 5]],
        [[9, 2, 9, 7], [7, 7, 3, 7], [2, 7, 5, 3]],
        [[3, 4, 3, 5], [3, 3, 6, 3], [4, 5, 1, 2]],
        [[7, 3, 7, 7], [7, 5, 5, 7], [5, 5, 5, 4]],
        [[5, 8, 5, 7], [7, 5, 5, 4], [3, 2, 1, 1]],
        [[9, 9, 8, 8], [6, 6, 6, 5], [5, 8, 1, 1]],
        [[4, 4, 4, 3], [3, 5, 6, 5], [5, 7, 1, 1]],
    ]
)


def table(values: np.ndarray, *names: str) -> pl.DataFrame:
    """Items, then the facets called `names`, in long form."""
    places = dict(zip(("dialog", *names), np.indices(values.shape), strict=True))
    columns = {name: [f"{name[0]}{x}" for x in place.ravel()] for name, place in places.items()}
    return pl.DataFrame({**columns, "quality": "q", "value": values.ravel().astype(float)})


def variances(rows: pl.DataFrame, facets: list[str]) -> dict[str, float]:
    found = generalizability(rows, facets).components
    return dict(zip(found["effect"], found["variance"], strict=True))


def test_crossed_facets() -> None:
    found = variances(table(CROSSED, "occasion", "task"), ["task", "occasion"])
    published = [0.5528, 0.4417, 0.0074, 0.5750, 0.1009, 0.1565, 0.9352]
    assert list(found) == [
        "item", "task", "occasion", "item × task", "item × occasion", "task × occasion",
        "item × task × occasion (and the rest)",
    ]  # fmt: skip
    assert list(found.values()) == pytest.approx(published, abs=0.00006)


def test_nested_facets_declared_and_found() -> None:
    rows = table(NESTED, "task", "rater")
    named = rows.with_columns(rater=pl.col("task") + pl.col("rater"))
    for facets, data in ((["rater:task", "task"], rows), (["rater", "task"], named)):
        found = variances(data, facets)
        assert found == pytest.approx(
            {
                "item": 0.4731,
                "task": 0.3252,
                "item × task": 0.5596,
                "rater within task": 0.6475,
                "item × rater within task (and the rest)": 2.3802,
            },
            abs=0.00006,
        )


def test_decisions_by_hand() -> None:
    """Brennan's variances put into Eρ² and Φ for four items on two occasions, and for others."""
    found = generalizability(table(CROSSED, "occasion", "task"), ["task", "occasion"]).decisions
    now = found.filter("now").row(0, named=True)
    noise = 0.5750 / 4 + 0.1009 / 2 + 0.9352 / 8
    level = 0.4417 / 4 + 0.0074 / 2 + 0.1565 / 8
    assert (now["design"], now["ratings"]) == ("4 task × 2 occasion", 8)
    assert now["relative"] == pytest.approx(0.5528 / (0.5528 + noise), abs=0.0002)
    assert now["absolute"] == pytest.approx(0.5528 / (0.5528 + noise + level), abs=0.0002)
    assert now["relative_low"] < now["relative"] < now["relative_high"]
    one = found.filter(pl.col("ratings") == 1).row(0, named=True)
    total = 0.5528 + 0.5750 + 0.1009 + 0.9352
    assert one["relative"] == pytest.approx(0.5528 / total, abs=0.0002)
    assert found.height == len({1, 2, 3, 4, 5}) * len({1, 2, 3, 5})


def test_one_facet_is_the_intraclass_correlation() -> None:
    """Shrout & Fleiss 1979: ICC(3,4) is .91 and ICC(2,4) is .62."""
    ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
    found = generalizability(table(np.array(ratings), "rater"), ["rater"]).decisions
    now = found.filter("now").row(0, named=True)
    assert now["relative"] == pytest.approx(0.91, abs=0.005)
    assert now["absolute"] == pytest.approx(0.62, abs=0.005)


def test_holes_leave_estimates_without_interval() -> None:
    rng = np.random.default_rng(0)
    values = 2 * rng.normal(size=(60, 1, 1)) + rng.normal(size=(60, 4, 3))
    rows = table(values, "rater", "occasion").sample(fraction=0.7, seed=1)
    found = generalizability(rows, ["rater", "occasion"])
    own = found.components.row(0, named=True)
    assert own["variance"] == pytest.approx(4, rel=0.5)
    assert own["low"] is None
    assert own["reason"] == "no interval: the design is not balanced"


@pytest.mark.parametrize(
    ("facets", "reason"),
    [(["quality"], "there is only one quality"), (["own"], "each item has one own only")],
)
def test_what_cannot_be_told_apart(facets: list[str], reason: str) -> None:
    rows = table(CROSSED[:, 0], "rater")
    rows = rows.with_columns(own=pl.col("dialog").str.slice(1).cast(pl.Int64) % 2)
    found = generalizability(rows, facets)
    assert reason in found.components["reason"][0]
    assert found.decisions["relative"].null_count() == found.decisions.height


def test_facets_that_are_not_there() -> None:
    with pytest.raises(DialensError, match="no column 'day' for a facet"):
        generalizability(table(CROSSED, "occasion", "task"), ["day"])
