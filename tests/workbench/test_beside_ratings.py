"""Where a metric and ratings part: by hand, against SciPy, and against `dialens validate`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from dialens.analysis.validation import validate
from dialens.corpus import read
from dialens.metrics import Scores
from dialens.workbench import (
    Rated,
    Workbench,
    association_of_agents,
    associations,
    mean_gap,
    parting,
    rated_units,
    said_columns,
    spread_of,
    spreads,
)
from dialens.workbench._beside_ratings import places
from tests.workbench.rated import CURT, CURT_WORDS, LONG_WORDS, OTHER_WORDS, rating


def table(value: list[float], rating: list[float]) -> pl.DataFrame:
    return pl.DataFrame(
        {"id": range(len(value)), "value": value, "rating": rating, "ratings": [1] * len(value)}
    )


def test_the_lists_by_hand() -> None:
    # Places by the metric .1 .3 .5 .7 .9; by the rating .9 .3 .6 .6 .1 (two are equal).
    made = parting(table([1, 2, 3, 4, 5], [9, 2, 5, 5, 1]))
    assert [(gap.id, round(gap.gap, 6)) for gap in made.metric_high] == [(4, 0.8)]
    assert [(gap.id, round(gap.gap, 6)) for gap in made.rating_high] == [(0, -0.8)]
    assert (made.n_metric_high, made.n_rating_high) == (1, 1)
    (first,) = made.metric_high
    assert (first.value, first.rating, first.place, round(first.rated_place, 6)) == (5, 1, 0.9, 0.1)


def test_where_lower_is_better_a_low_value_says_yes() -> None:
    one = parting(table([1, 2, 3, 4, 5], [9, 2, 5, 5, 1]), lower_is_better=True)
    other = parting(table([5, 4, 3, 2, 1], [9, 2, 5, 5, 1]))
    assert [gap.id for gap in one.metric_high] == [gap.id for gap in other.metric_high]
    assert [gap.gap for gap in one.rating_high] == pytest.approx(
        [gap.gap for gap in other.rating_high]
    )


numbers = st.lists(st.integers(0, 6), min_size=2, max_size=40)


@given(numbers)
def test_places_are_ranks(values: list[int]) -> None:
    found = places(np.array(values, dtype=np.float64))
    assert found == pytest.approx((stats.rankdata(values) - 0.5) / len(values))
    assert found.mean() == pytest.approx(0.5)


@given(numbers, st.floats(0.1, 50), st.floats(-9, 9))
def test_the_scale_of_ratings_does_not_matter(values: list[int], by: float, plus: float) -> None:
    rng = np.random.default_rng(0)
    rated = [float(v) for v in rng.permutation(values)]
    one = parting(table([float(v) for v in values], rated))
    other = parting(table([float(v) for v in values], [round(by * v + plus, 9) for v in rated]))
    assert [gap.id for gap in one.metric_high] == [gap.id for gap in other.metric_high]
    assert all(gap.gap > 0 for gap in one.metric_high)
    assert all(gap.gap < 0 for gap in one.rating_high)


def beside(bench: Workbench, column: str = "length", said: str = "people:warmth") -> Rated:
    columns = bench.index.columns("turn")
    return rated_units(bench.index, "turn", columns[column], columns[said])


def test_units_have_values_ratings_and_their_number(rated: Workbench) -> None:
    found = beside(rated).frame
    assert found.height == 24
    long = found.filter(agent="long").sort("value")
    assert long["value"].to_list() == list(LONG_WORDS)
    assert long["rating"].to_list() == [rating(case) for case in range(12)]
    assert long["ratings"].to_list() == [2] * 12
    assert found.filter(agent=CURT)["ratings"].to_list() == [1] * 12
    judged = beside(rated, said="judge:j1:warmth").frame
    assert judged["ratings"].to_list() == [1] * 24


def test_the_widest_gaps_of_a_folder_by_hand(rated: Workbench) -> None:
    made = parting(beside(rated).frame)
    words = [*LONG_WORDS, *CURT_WORDS]
    said = [rating(case) for case in range(12)] * 2
    by_words, by_rating = ((stats.rankdata(one) - 0.5) / 24 for one in (words, said))
    high = (by_words > 0.5) & (by_rating < 0.5)
    gaps = np.sort((by_words - by_rating)[high])[::-1]
    assert [one.gap for one in made.metric_high] == pytest.approx(gaps.tolist())
    first = made.metric_high[0]
    assert (first.value, first.rating) == (12, 1)  # case 10 begins the five points anew


def test_correlations_are_those_of_validate(rated: Workbench, made_rated: Path) -> None:
    within, pooled = associations(beside(rated))
    result = validate(read(made_rated / "talks"), Scores.open(made_rated / "scores"))
    rows = result.correlations.filter(metric="length", level="turn", quality="warmth")
    for ours, scope in ((within, "within"), (pooled, "pooled")):
        (theirs,) = rows.filter(scope=scope).to_dicts()
        assert ours.scope == scope
        assert (ours.n, ours.clusters) == (theirs["n"], theirs["n_clusters"])
        for name in ("pearson", "spearman"):
            estimate = getattr(ours, name)
            assert estimate.value == pytest.approx(theirs[name])
            # Pearson's ends come from draws, in which clusters stand in another order.
            near = 0.03 if name == "pearson" else 1e-9
            assert estimate.low == pytest.approx(theirs[f"{name}_low"], abs=near)
            assert estimate.high == pytest.approx(theirs[f"{name}_high"], abs=near)
            assert estimate.p is None


def test_few_units_and_few_agents_say_nothing(rated: Workbench) -> None:
    few = beside(rated)
    nine = Rated("turn", few.frame.head(9), ())
    assert associations(nine) == []
    assert association_of_agents(rated.index, "length", few) is None


def test_references_are_left_out(rated: Workbench) -> None:
    found = beside(rated)
    assert found.left_out == ()
    named = {column.name for column in said_columns(rated.index, "turn")}
    assert named == {"people:warmth", "judge:j1:warmth"}
    assert [column.kind for column in said_columns(rated.index, "turn")] == ["people", "judge"]


def test_a_judge_beside_people_is_a_t_test_over_dialogues(rated: Workbench) -> None:
    gap = mean_gap(beside(rated, "judge:j1:warmth").frame)
    apart = [1.0 if case % 2 else 0.5 for case in range(12)] * 2
    expected = stats.ttest_1samp(apart, 0).confidence_interval()
    assert gap.value == pytest.approx(0.75)
    assert (gap.low, gap.high) == pytest.approx((expected.low, expected.high))
    assert gap.n == 24


def test_spreads_by_hand(rated: Workbench) -> None:
    column = rated.index.columns("dialog")["length"]
    whole, *agents = spread_of(rated.index, "dialog", column, by_agent=True, bins=12)
    words = [*LONG_WORDS, *CURT_WORDS, *OTHER_WORDS]
    counts, _ = np.histogram(words, 12)
    assert whole.histogram.counts == counts.tolist()
    assert (whole.histogram.low, whole.histogram.high, whole.n) == (1, 13, 32)
    assert whole.histogram.mean == pytest.approx(np.mean(words))
    assert {one.name: one.n for one in agents} == {"long": 12, CURT: 12, "other": 8}
    assert sum(np.array([one.histogram.counts for one in agents])).tolist() == counts.tolist()
    said = rated.index.columns("turn")["people:warmth"]
    (people,) = spread_of(rated.index, "turn", said)
    assert (people.n, people.histogram.missing) == (24, 40)
    once = spreads(rated.index, "dialog", [column])["length"]
    assert once is spreads(rated.index, "dialog", [column])["length"]


def test_a_column_without_spread_is_one_bar(rated: Workbench) -> None:
    column = rated.index.columns("turn")["question"]
    whole, *_ = spread_of(rated.index, "turn", column)
    assert whole.histogram.counts == [32]
    assert whole.histogram.missing == 0
