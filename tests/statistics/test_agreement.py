"""Whole tables: what is computed, what is refused and why, and what must not matter."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialens.base import DialensError
from dialens.corpus import RATINGS
from dialens.statistics import LABEL
from dialens.statistics.agreement import (
    AGREEMENT,
    STATISTICS,
    RatingMatrix,
    disagreeing_raters,
    icc,
    icc_replicates,
    intervals,
    log_normalised,
    measure_agreement,
    not_positive,
    raters_needed,
)

OF_RATERS = {"ICC(2,1)", "ICC(3,1)", "ICC(2,k)", "ICC(3,k)", "kendall_w", "light_kappa"}
AC = {"gwet_ac1", "gwet_ac2_ordinal", "gwet_ac2_linear", "gwet_ac2_quadratic"}
COHEN = {"cohen_kappa", "cohen_kappa_linear", "cohen_kappa_quadratic"}


def ratings(
    table: Sequence[Sequence[float | None]], quality: str = "q", **more: Any
) -> pl.DataFrame:
    rows = [
        {"dialog": f"d{i:03d}", "rater": f"r{j}", "quality": quality, "value": value, **more}
        for i, row in enumerate(table)
        for j, value in enumerate(row)
        if value is not None
    ]
    return pl.DataFrame(rows, schema=RATINGS)


def made(
    seed: int, items: int = 20, raters: int = 5, *, holes: float = 0.0
) -> list[list[float | None]]:
    rng = np.random.default_rng(seed)
    values = 5 + 2 * rng.normal(size=(items, 1)) + rng.normal(size=(items, raters))
    there = rng.random((items, raters)) >= holes
    return [
        [float(x) if ok else None for x, ok in zip(row, kept, strict=True)]
        for row, kept in zip(values, there, strict=True)
    ]


def found(table: pl.DataFrame, **options: Any) -> dict[str, dict[str, Any]]:
    """Rows of a table with one quality, by statistic."""
    rows = measure_agreement(table, **options).rows
    return {row["statistic"]: row for row in rows.iter_rows(named=True)}


def computed(rows: dict[str, dict[str, Any]]) -> set[str]:
    return {name for name, row in rows.items() if row["value"] is not None}


def test_every_statistic_has_a_row_with_an_interval_or_a_reason() -> None:
    for holes in (0.0, 0.3):
        result = measure_agreement(ratings(made(1, holes=holes)))
        assert result.rows.schema == AGREEMENT
        assert tuple(result.rows["statistic"]) == STATISTICS
        for row in result.rows.iter_rows(named=True):
            if row["low"] is None:
                assert row["reason"], row["statistic"]
            else:
                assert row["low"] <= row["value"] <= row["high"], row["statistic"]
                assert row["interval"]


def test_counts() -> None:
    row = found(ratings([[1, 2, None], [3, 4, 5], [6, None, 7], [8, 8, 9]]))["ICC(2,k)"]
    assert (row["n_items"], row["n_raters"], row["n_ratings"], row["n_missing"]) == (4, 3, 10, 2)
    assert row["k"] == pytest.approx(4 / (1 / 2 + 1 / 3 + 1 / 2 + 1 / 3))


def test_f_tests_are_corrected_over_their_family() -> None:
    both = pl.concat([ratings(made(1), "p"), ratings(made(2), "q")])
    rows = measure_agreement(both).rows.drop_nulls("p")
    assert rows["family"].unique().to_list() == [6], "two F tests and W, for two qualities"
    assert (rows["p_adjusted"] >= rows["p"]).all()


# What cannot be computed, and why; the rest is.


def test_one_rater() -> None:
    rows = found(ratings([[1], [2], [3]]))
    assert computed(rows) == set()
    assert "only one rater (r0)" in rows["ICC(2,1)"]["reason"]
    assert "no item has more than one rating" in rows["alpha_nominal"]["reason"]


def test_one_item() -> None:
    rows = found(ratings([[1, 2, 3]]))
    assert "only one item" in rows["ICC(1,1)"]["reason"]
    counted = ("alpha", "fleis", "gwet_", "perce")
    assert computed(rows) == {name for name in rows if name[:5] in counted}
    assert "1 items are too few for an interval" in rows["gwet_ac1"]["reason"]


def test_no_variance() -> None:
    rows = found(ratings([[3, 3], [3, 3], [3, 3]]))
    assert computed(rows) == {"percent_agreement"}
    assert rows["percent_agreement"]["value"] == 1
    assert rows["percent_agreement"]["low"] is None
    assert "all ratings are the same (3)" in rows["ICC(3,k)"]["reason"]
    assert "all ratings are the same (3)" in rows["alpha_ordinal"]["reason"]


def test_perfect_agreement() -> None:
    rows = found(ratings([[1, 1, 1], [2, 2, 2], [3, 3, 3], [5, 5, 5]]))
    for name in computed(rows):
        assert rows[name]["value"] == pytest.approx(1), name
        assert rows[name]["low"] is None, f"{name}: no spread can be seen"
    assert {"ICC(2,1)", "alpha_ratio", "kendall_w"} <= computed(rows)


def test_items_rated_once() -> None:
    rows = found(ratings([[1, None], [None, 2], [3, None], [None, 4]]))
    assert computed(rows) == set()
    assert "no item has more than one rating" in rows["ICC(2,1)"]["reason"]


def test_raters_not_known() -> None:
    table = ratings(made(1)).with_columns(rater=pl.lit(None, pl.String))
    result = measure_agreement(table)
    rows = {row["statistic"]: row for row in result.rows.iter_rows(named=True)}
    assert set(rows) - computed(rows) == OF_RATERS | COHEN | AC
    assert "100 different values: they are not categories" in rows["gwet_ac1"]["reason"]
    assert "raters are not known" in rows["ICC(2,1)"]["reason"]
    assert rows["alpha_interval"]["n_raters"] is None
    assert rows["alpha_interval"]["low"] < rows["alpha_interval"]["high"]
    assert rows["ICC(1,1)"]["interval"] == "F"
    known = found(ratings(made(1)))
    for name in computed(rows):
        assert rows[name]["value"] == pytest.approx(known[name]["value"])
    assert result.raters.height == 0


def test_raters_known_in_part_are_not_known() -> None:
    table = ratings(made(1)).with_columns(
        pl.when(pl.int_range(pl.len()) > 0).then("rater").alias("rater")
    )
    result = measure_agreement(table)
    assert "1 of 100 ratings do not say who rated" in result.notes[0]


def test_words() -> None:
    table = ratings(made(1))
    spoken = pl.when(pl.col("value") > 5).then(pl.lit("good")).otherwise(pl.lit("bad"))
    rows = found(table.with_columns(spoken.alias(LABEL), pl.lit(None, pl.Float64).alias("value")))
    of_words = {"alpha_nominal", "fleiss_kappa", "light_kappa", "gwet_ac1", "percent_agreement"}
    assert computed(rows) == of_words
    assert rows["ICC(2,1)"]["reason"] == "ratings are words (bad, good …), which have no distance"
    coded = found(table.with_columns((pl.col("value") > 5).cast(pl.Float64).alias("value")))
    assert rows["alpha_nominal"]["value"] == pytest.approx(coded["alpha_nominal"]["value"])


def test_words_among_numbers_are_left_out() -> None:
    table = ratings(made(1)).with_columns(
        pl.when(pl.int_range(pl.len()) == 3).then(pl.lit("dunno")).alias(LABEL),
        pl.when(pl.int_range(pl.len()) != 3).then("value").alias("value"),
    )
    result = measure_agreement(table)
    assert "1 of 100 ratings are not numbers" in result.notes[0]
    assert "'dunno' for item d000" in result.notes[0]
    assert result.rows["n_missing"].unique().to_list() == [1]


def test_nothing_positive_is_refused_with_its_place_and_the_rest_computed() -> None:
    bad = ratings([[1, 2], [0, 3], [4, 5]], "bad")
    result = measure_agreement(
        pl.concat([bad, ratings(np.exp(np.array(made(1))).tolist(), "fine")]),
        normalise="log",
    )
    assert result.notes[0].startswith(
        "bad: 1 rating is zero or less and has no logarithm (first: 0 by rater r0 for item d001)"
    )
    by_quality = result.rows.filter(pl.col("value").is_not_null())["quality"].unique()
    assert by_quality.to_list() == ["fine"]


def test_logs_are_no_categories() -> None:
    rows = found(ratings([[1, 2], [2, 3], [4, 5]]), normalise="log")
    assert rows["alpha_nominal"]["reason"] == "log magnitudes are not categories"
    assert "interval scale" in rows["alpha_ratio"]["reason"]


def test_a_factor_with_one_level() -> None:
    result = measure_agreement(ratings(made(1), condition="x"), by=["condition"])
    assert result.notes == (
        "The factor condition has one level (x): there are no groups to set apart.",
    )
    assert result.rows["group"].unique().to_list() == ["condition=x"]


def test_ratings_without_a_quality() -> None:
    nameless = ratings(made(2)).with_columns(quality=pl.lit(None, pl.String))
    result = measure_agreement(pl.concat([ratings(made(1)), nameless]))
    assert "100 of 200 ratings do not say which quality" in result.notes[0]
    assert result.rows["n_ratings"].unique().to_list() == [100]
    with pytest.raises(DialensError, match="No rating says which quality"):
        measure_agreement(nameless)


def test_a_quality_missing_in_half_of_the_table() -> None:
    table = ratings(made(1, items=40))
    half = table.with_columns(pl.when(pl.int_range(pl.len()) % 2 == 0).then("value").alias("value"))
    row = found(half)["ICC(2,1)"]
    assert (row["n_ratings"], row["n_missing"]) == (100, 100)
    assert row["value"] == pytest.approx(found(table)["ICC(2,1)"]["value"], abs=0.1)


def test_unknown_names_are_refused() -> None:
    table = ratings(made(1))
    with pytest.raises(DialensError, match="no column 'arm'"):
        measure_agreement(table, by=["arm"])
    with pytest.raises(DialensError, match=r"No ratings of 'x'. Qualities: q"):
        measure_agreement(table, qualities=["x"])
    with pytest.raises(DialensError, match="normalised by `log`, not 'sqrt'"):
        measure_agreement(table, normalise="sqrt")


def test_judged_twice_is_averaged() -> None:
    once, twice = ratings([[1, 2], [3, 5], [6, 4]]), ratings([[3, 2]])
    result = measure_agreement(pl.concat([once, twice]))
    assert "2 further ratings are averaged" in result.notes[0]
    mean = measure_agreement(ratings([[2, 2], [3, 5], [6, 4]]))
    assert result.rows["value"].equals(mean.rows["value"])


def test_two_raters() -> None:
    rows = found(ratings([[1, 1], [2, 2], [3, 2], [1, 3], [2, 2], [3, 3]]))
    assert computed(rows) == set(STATISTICS)
    assert rows["cohen_kappa"]["raters_low"] is None


# What must not matter.


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), holes=st.sampled_from([0.0, 0.3]))
def test_order_of_rows_is_irrelevant(seed: int, holes: float) -> None:
    table = ratings(made(seed, items=8, raters=4, holes=holes))
    mixed = table.sample(fraction=1, shuffle=True, seed=seed)
    one, two = (measure_agreement(x) for x in (table, mixed))
    assert one.rows.equals(two.rows)
    assert one.raters.equals(two.raters)


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    factors=st.lists(st.floats(1e-3, 1e3), min_size=5, max_size=5),
    holes=st.sampled_from([0.0, 0.3]),
)
def test_rescaling_raters_leaves_log_normalised_icc_alone(
    seed: int, factors: list[float], holes: float
) -> None:
    values = np.exp(np.array(made(seed, items=10, holes=holes), dtype=float) / 3)

    def forms(table: np.ndarray) -> np.ndarray:
        listed = [[None if np.isnan(x) else x for x in row] for row in table.tolist()]
        logs = log_normalised(ratings(listed))
        matrix = RatingMatrix.of(
            logs["dialog"].to_list(), logs["rater"].to_list(), logs["normalised"]
        )
        return np.array([one.value for one in icc(matrix).values()])

    assert forms(values * np.array(factors)) == pytest.approx(forms(values), abs=1e-6)


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10_000), shift=st.floats(-1e4, 1e4), factor=st.floats(1e-3, 1e3))
def test_the_unit_of_ratings_is_irrelevant(seed: int, shift: float, factor: float) -> None:
    table = np.array(made(seed, items=8, raters=4), dtype=float)
    one, two = (icc(RatingMatrix.of_array(x)) for x in (table, table * factor + shift))
    for form in one:
        assert one[form].value == pytest.approx(two[form].value, abs=1e-5)


# Do the numbers come out right?


def simulated(
    rng: np.random.Generator, design: np.ndarray, variances: Sequence[float]
) -> np.ndarray:
    n, k = design.shape
    item, rater, rest = np.sqrt(variances)
    table = (
        item * rng.normal(size=(n, 1))
        + rater * rng.normal(size=(1, k))
        + rest * rng.normal(size=(n, k))
    )
    return np.where(design, table, np.nan)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["holes", "crowd", "batches"])
def test_parameters_and_intervals_are_recovered(kind: str) -> None:
    """Estimates without bias, 95 % intervals that hold about 95 % of the time."""
    rng = np.random.default_rng(1)
    variances = (1.0, 0.5, 1.5)
    true = {"ICC(2,1)": 1 / 3, "ICC(3,1)": 1 / 2.5}
    held = dict.fromkeys(true, 0)
    values: dict[str, list[float]] = {form: [] for form in true}
    runs = 80
    for _ in range(runs):
        design = np.zeros((80, 16), dtype=bool)
        for i in range(80):
            if kind == "holes":
                design[i] = rng.random(16) < 0.6
            elif kind == "crowd":
                odds = 1 / np.arange(1, 17)
                design[i, rng.choice(16, 4, replace=False, p=odds / odds.sum())] = True
            else:
                design[i, (i // 20) * 4 : (i // 20) * 4 + 4] = True
        forms = icc(RatingMatrix.of_array(simulated(rng, design, variances)))
        for form, value in true.items():
            one = forms[form]
            assert one.low is not None
            assert one.high is not None
            held[form] += one.low < value < one.high
            values[form].append(one.value)
    for form, value in true.items():
        error = np.std(values[form]) / np.sqrt(runs)
        assert np.mean(values[form]) == pytest.approx(value, abs=4 * error)
        assert held[form] >= 0.87 * runs, (form, held[form] / runs)


@pytest.mark.slow
def test_bootstrap_intervals_hold() -> None:
    """Over items for fixed raters; over both at least as often as promised."""
    rng = np.random.default_rng(2)
    runs, held = 60, {"items": 0, "both": 0}
    for run in range(runs):
        table = RatingMatrix.of_array(simulated(rng, np.ones((40, 12), bool), (1.0, 0.3, 1.5)))
        for over in held:
            one = intervals(table, partial(icc_replicates, table), over, resamples=300, seed=run)[
                "ICC(3,1)"
            ]
            assert one.low is not None
            assert one.high is not None
            held[over] += one.low < 1 / 2.5 < one.high
    assert held["items"] >= 0.85 * runs
    assert held["both"] >= 0.93 * runs


def test_replicates_are_not_pushed_upwards_by_copies() -> None:
    rng = np.random.default_rng(3)
    table = RatingMatrix.of_array(simulated(rng, np.ones((60, 5), bool), (0.2, 0.1, 1.0)))
    estimate = icc(table)["ICC(2,1)"].value
    from dialens.statistics.agreement._resampling import drawn

    replicates = np.concatenate(
        [
            icc_replicates(table, weights)["ICC(2,1)"]
            for weights in drawn(60, 5, "raters", 2_000, np.random.default_rng(0))
        ]
    )
    assert np.nanmedian(replicates) == pytest.approx(estimate, abs=0.04)


def test_who_disagrees() -> None:
    table = np.array(made(5, items=60, raters=10), dtype=float)
    table[:, 3] = 10 - table[:, 3]
    table[:, 6] += 2
    table[:, 8] = 4
    rows = disagreeing_raters(RatingMatrix.of_array(table))
    by_rater = {row["rater"]: row for row in rows.iter_rows(named=True)}
    assert rows.filter("at_odds")["rater"].to_list() == ["3"]
    assert rows["rater"][0] == "3"
    assert by_rater["3"]["high"] < 0
    assert by_rater["3"]["alpha_without"] > by_rater["0"]["alpha_without"]
    assert by_rater["6"]["offset"] == pytest.approx(2, abs=0.5)
    assert "same rating to everything" in by_rater["8"]["reason"]
    assert by_rater["0"]["family"] == 9


def test_raters_of_one_kind_are_rarely_at_odds() -> None:
    flagged = 0
    for seed in range(30):
        table = RatingMatrix.of_array(np.array(made(seed, items=30, raters=12), dtype=float))
        flagged += bool(disagreeing_raters(table)["at_odds"].any())
    assert flagged <= 5


def test_how_many_raters() -> None:
    assert raters_needed(0.5, 0.5) == 1
    assert raters_needed(0.5, 0.9) == 9
    with pytest.raises(DialensError, match="between 0 and 1"):
        raters_needed(0.5, 1.0)
    panel = measure_agreement(ratings(made(1)), targets=(0.95,)).panel
    assert panel["basis"].to_list() == ["spearman_brown", "g_absolute", "g_relative"]
    row = panel.row(1, named=True)
    reached = row["needed"] * row["single"] / (1 + (row["needed"] - 1) * row["single"])
    assert reached >= 0.95
    assert row["more"] == max(0, row["needed"] - 5)
    shares = row["share_items"] + row["share_raters"] + row["share_rest"]
    assert shares == pytest.approx(1)


def test_no_number_of_raters_helps_against_chance() -> None:
    table = [[1.0, 9.0], [9.0, 1.0], [2.0, 8.0], [8.0, 2.0]]
    panel = measure_agreement(ratings(table)).panel
    assert panel["needed"].null_count() == panel.height
    assert "no number of raters helps" in panel["reason"][0]


# Magnitudes.


def test_the_modulus_is_read_from_where_it_stands() -> None:
    table = ratings([[1, 10], [100, 1000]])
    by_column = log_normalised(table.with_columns(modulus=pl.lit(10)))
    by_scale = log_normalised(table.with_columns(scale=pl.lit('{"modulus": 10}')))
    told = log_normalised(table, modulus=10)
    expected = [-1.0, 0.0, 1.0, 2.0]
    for given_logs in (by_column, by_scale, told):
        assert given_logs["normalised"].to_list() == pytest.approx(expected)
    own = log_normalised(table)["normalised"].to_list()
    assert own == pytest.approx([-1.0, -1.0, 1.0, 1.0])


def test_own_means_are_taken_within_a_quality() -> None:
    both = pl.concat([ratings([[1, 2], [10, 20]], "p"), ratings([[100, 5], [1000, 50]], "q")])
    assert log_normalised(both)["normalised"].to_list() == pytest.approx([-0.5, -0.5, 0.5, 0.5] * 2)


def test_what_has_no_logarithm_is_null() -> None:
    table = ratings([[0, 10], [-1, 100]])
    assert log_normalised(table)["normalised"].to_list()[::2] == [None, None]
    assert "2 ratings are zero or less" in (not_positive(table) or "")


def test_items_that_do_not_differ_at_all() -> None:
    """One rating is as unreliable as two raters can make it; of means there is nothing to say."""
    rows = found(ratings([[1, 9], [9, 1], [2, 8], [8, 2]]))
    assert rows["ICC(1,1)"]["value"] == pytest.approx(-1)
    assert rows["ICC(1,1)"]["f"] == pytest.approx(0)
    assert rows["ICC(1,k)"]["value"] is None
    assert rows["ICC(1,k)"]["reason"] == "there is no variance it could be a share of"


@settings(max_examples=60, deadline=None)
@given(
    table=st.lists(
        st.lists(st.sampled_from([None, 0.0, 1.0, 2.0, 7.0]), min_size=3, max_size=3),
        min_size=1,
        max_size=6,
    ),
    known=st.booleans(),
)
def test_small_tables_of_any_kind_are_survived(
    table: list[list[float | None]], *, known: bool
) -> None:
    """Whatever is in it, every statistic has a finite value or a reason."""
    given_ratings = ratings(table)
    if not given_ratings.height:
        return
    if not known:
        given_ratings = given_ratings.with_columns(rater=pl.lit(None, pl.String))
    for row in found(given_ratings).values():
        ends = [row[name] for name in ("value", "low", "high", "p") if row[name] is not None]
        assert np.isfinite(ends).all()
        assert row["value"] is not None or row["reason"]
        assert row["low"] is None or row["low"] <= row["high"] + 1e-12
