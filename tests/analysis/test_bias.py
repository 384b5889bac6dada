"""The analysis of a study finds again what was put into simulated raters."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from scipy import stats

from dialens.analysis.bias import (
    TAKEN_AS_POINTS,
    Resampling,
    SimulatedStudy,
    analyse_study,
    consistency,
    consistency_differences,
    effects,
    flag_raters,
    paper_tables,
    read_study,
    response_biases,
    robustness,
    split_effects,
    study_data,
)
from dialens.base import DialensError
from dialens.corpus import RATINGS

FEW = Resampling(resamples=300)
SHARP: dict[str, Any] = {"sd_rater": 4.0, "sd_noise": 6.0}


def one(table: pl.DataFrame, **where: str) -> dict[str, Any]:
    found = table.filter(*(pl.col(name) == value for name, value in where.items()))
    assert found.height == 1, (where, found.height)
    return found.row(0, named=True)


def items_variance(seed: int, items: int, qualities: int) -> np.ndarray:
    """The variance of the items that a simulated study happened to draw."""
    return np.random.default_rng(seed).normal(0, 10, (items, qualities)).var(axis=0, ddof=1)


def covers(row: dict[str, Any], truth: float) -> bool:
    low, high = row["low"], row["high"]
    assert isinstance(low, float)
    assert isinstance(high, float)
    return low <= truth <= high


def test_effects_of_the_design_are_recovered():
    study = SimulatedStudy(
        raters=30,
        items=20,
        anchors={"none": 0.0, "numerical": 0.4, "textual": 0.15},
        layouts={"together": 0.0, "one per screen": -6.0},
        deadlines={"none": 0.0, "strict": -3.0},
        **SHARP,
    )
    made = effects(study_data(*study.run(2)), draws=FEW)
    # Without an anchor the mean is 60 − 3 − 1.5; the shifts shrink by the pull.
    free = 60 - 3 - 1.5
    pulls = {"numerical": 0.4, "textual": 0.15}
    for level, pull in pulls.items():
        row = one(made, effect=f"{level} anchor", quality="all")
        assert covers(row, pull * (100 - free))
        # 30 raters of each anchor in four conditions: the plain difference says the same
        assert row["raw_value"] == pytest.approx(row["value"], abs=0.01)
    between = one(made, effect="numerical − textual", quality="all")
    assert covers(between, 0.25 * (100 - free))
    shrunk = (1 + 0.6 + 0.85) / 3
    assert covers(one(made, effect="layout", quality="all"), -6 * shrunk)
    assert covers(one(made, effect="deadline", quality="all"), -3 * shrunk)
    assert covers(one(made, effect="anchor pull", quality="all"), 0.275)
    assert made["family"].drop_nulls().unique().len() == 1
    assert (made["p_adjusted"] >= made["p"]).drop_nulls().all()


@pytest.mark.slow
def test_intervals_cover_the_truth():
    """The anchor's effect and pull lie in their 95 % intervals in about 95 of 100 studies."""
    effect = pull = 0
    runs = 40
    for seed in range(runs):
        study = SimulatedStudy(raters=15, items=12, dropout=0.15, layouts={"a": 0.0, "b": 0.0})
        made = effects(study_data(*study.run(seed + 10)), draws=FEW)
        row = one(made, effect="anchor", quality="all")
        effect += covers(row, 12.0)
        pull += covers(one(made, effect="anchor pull", quality="all"), 0.3)
    assert effect >= 0.85 * runs
    assert pull >= 0.85 * runs


def test_nothing_is_found_where_nothing_is():
    study = SimulatedStudy(raters=15, items=12, anchors={"none": 0.0, "both": 0.0})
    found = 0
    for seed in range(6):
        made = effects(study_data(*study.run(seed)), draws=FEW)
        found += int((made["p_adjusted"] < 0.05).sum() > 0)
    assert found <= 1


def test_an_interaction_is_told_from_main_effects():
    study = SimulatedStudy(raters=40, items=15, anchors={"none": 0.0, "both": 0.3}, **SHARP)
    ratings, answers = study.run(5)
    extra = (pl.col("condition").str.starts_with("both / one per screen")) * 8.0
    made = effects(study_data(ratings.with_columns(pl.col("value") + extra), answers), draws=FEW)
    row = one(made, effect="anchor × layout", quality="all")
    assert covers(row, 8.0)
    assert row["p_adjusted"] < 0.05


def test_anchoring_index_where_several_values_were_shown():
    high = SimulatedStudy(raters=20, items=12, anchor_value=150, **SHARP).run(1)[0]
    low = SimulatedStudy(raters=20, items=12, anchor_value=50, **SHARP).run(1)[0]
    low = low.with_columns(pl.col("rater") + "-low")
    made = effects(study_data(pl.concat([high, low])), draws=FEW)
    index = one(made, effect="anchoring index")
    assert covers(index, 0.3)
    pulls = made.filter(pl.col("effect") == "anchor pull")
    assert pulls["value"].null_count() == pulls.height
    assert pulls["reason"].str.contains("several values").all()


def test_agreement_is_that_of_variance_components():
    """ICC(3,1) is the items' share of variance within raters; the interval holds items fixed."""
    study = SimulatedStudy(
        raters=40, items=60, anchors={"none": 0.0}, layouts={"a": 0.0}, sd_item=10, sd_noise=10,
        means={"readability": 100.0},
    )  # fmt: skip
    data = study_data(*study.run(3), normalise="none")
    made = consistency(data, draws=FEW)
    spread = items_variance(3, 60, 1)[0]
    assert covers(one(made, form="ICC(3,1)"), spread / (spread + 100))
    assert one(made, form="ICC(3,k)")["value"] == pytest.approx(40 / 41, abs=0.01)


def test_difference_of_agreement_is_seen_and_its_interval_covers():
    plain = SimulatedStudy(
        raters=25, items=40, anchors={"none": 0.0, "both": 0.0}, layouts={"a": 0.0}
    )
    ratings, answers = plain.run(8)
    rng = np.random.default_rng(0)
    noise = pl.Series(rng.normal(0, 20, ratings.height))
    noisy = pl.when(pl.col("condition").str.starts_with("none")).then(noise).otherwise(0.0)
    ratings = ratings.with_columns(value=(pl.col("value") + noisy).clip(1, None))
    data = study_data(ratings, answers, normalise="none")
    made = consistency_differences(data, draws=FEW)
    row = one(made, comparison="anchor − none", quality="readability", form="ICC(3,1)")
    spread = items_variance(8, 40, 2)[0]
    assert covers(row, spread / (spread + 100) - spread / (spread + 500))
    assert row["p_adjusted"] < 0.05


def test_pushes_are_recovered():
    study = SimulatedStudy(
        raters=25, items=30, fatigue=-10.0, position=2.0, sd_halo=8.0, round_share=0.5,
        anchors={"none": 0.0}, layouts={"together": 0.0},
    )  # fmt: skip
    made = response_biases(study_data(*study.run(4), normalise="none"), draws=FEW)
    assert covers(one(made, bias="fatigue", of="ratings"), -10.0)
    assert covers(one(made, bias="position"), 2.0)
    # halo over everything that is neither item nor rater
    assert covers(one(made, bias="halo"), 64 / (64 + 100))
    assert 0.5 < one(made, bias="heaping", of="all ratings")["value"] < 0.6


def test_raters_who_stand_out_are_found_and_left_out_in_a_view():
    study = SimulatedStudy(
        raters=20, items=20, speeders=0.1, straight_liners=0.1, failing=0.1, round_share=0.2
    )
    data = study_data(*study.run(6))
    flags = flag_raters(data)
    truth = data.ratings.group_by("rater").agg(
        flat=pl.col("value").n_unique() == 1, fast=pl.col("active_ms").median() < 2_000
    )
    assert set(flags.flagged("straight_lining")) == set(truth.filter("flat")["rater"])
    assert set(flags.flagged("speeding")) == set(truth.filter("fast")["rater"])
    failed = data.answers.filter(question="check_1", answer="failed")["rater"]
    assert set(flags.flagged("failed_checks")) == set(failed)
    views = robustness(data, flags, draws=FEW)
    every = views.filter(left_out="nobody", effect="anchor", quality="all")["value"][0]
    without = views.filter(left_out="all of them", effect="anchor", quality="all")["value"][0]
    assert abs(without - 12) < abs(every - 12) + 2


def test_tables_and_figures_of_the_paper_are_all_there():
    data = study_data(*SimulatedStudy(raters=10, items=8).run(1))
    made = {table.key: table for table in paper_tables(data, draws=FEW)}
    assert set(made) >= {f"table{n}" for n in range(2, 9)} | {f"figure{n}" for n in range(3, 10)}
    assert all(table.reason is None and table.table.height for table in made.values())
    assert made["table2"].table["n_raters"].sum() == 40
    assert made["table4"].table["n_raters"].sum() == 40
    shown = made["figure3"].table
    direct = data.ratings.filter(anchor="none", layout="together").group_by("rater", "quality")
    mean = direct.agg(pl.col("value").mean())["value"].mean()
    assert one(shown, anchor="none", layout="together")["mean"] == pytest.approx(mean)
    groups = split_effects(data, draws=FEW)
    assert set(groups["split"]) == {"time", "evaluated_conversations", "talked_to_chatbot"}


def test_results_repeat_with_the_seed_and_do_not_depend_on_the_order_of_rows():
    ratings, answers = SimulatedStudy(raters=8, items=6, dropout=0.2).run(3)
    first = effects(study_data(ratings, answers), draws=FEW)
    again = effects(study_data(ratings, answers), draws=FEW)
    assert first.equals(again)
    mixed = ratings.sample(fraction=1, shuffle=True, seed=1)
    other = effects(study_data(mixed, answers), draws=FEW)
    joined = first.join(other, on=["effect", "quality"], how="left")
    gap = (joined["value"] - joined["value_right"]).abs().max()
    assert gap is not None
    assert gap < 1e-9


def test_an_export_and_a_plain_table_say_the_same(tmp_path: Path):
    ratings, answers = SimulatedStudy(raters=6, items=6).run(1)
    folder = tmp_path / "export"
    folder.mkdir()
    ratings.write_parquet(folder / "ratings.parquet")
    answers.write_parquet(folder / "questionnaires.parquet")
    told = ratings["factors"].str.json_decode(
        pl.Struct({"anchor": pl.String, "layout": pl.String, "deadline": pl.String})
    )
    plain = ratings.drop("factors", "anchor", "condition").hstack(told.struct.unnest())
    plain = plain.with_columns(anchor_value=pl.when(pl.col("anchor") != "none").then(100.0))
    plain.write_csv(tmp_path / "ratings.csv")
    first = effects(read_study(folder), draws=FEW)
    second = effects(read_study(tmp_path / "ratings.csv"), draws=FEW)
    assert first.drop("reason").equals(second.drop("reason"))
    assert read_study(folder).answers.height == answers.height


def test_missing_columns_are_named_and_the_rest_is_computed():
    ratings, _ = SimulatedStudy(raters=8, items=8).run(1)
    gone = ("position", "order", "shown_at", "answered_at", "active_ms", "scale")
    bare = ratings.with_columns(
        pl.lit(None, dtype=ratings.schema[name]).alias(name) for name in gone
    )
    found = analyse_study(study_data(bare), draws=FEW)
    parts = " ".join(f"{note.part}: {note.reason}" for note in found.notes)
    for word in ("questionnaires", "position", "fatigue", "speeding", "by time spent", "ranking"):
        assert word in parts
    assert one(found.effects, effect="anchor", quality="all")["value"] is not None
    assert found.table("table5")["value"].is_not_null().any()
    json.dumps(found.to_dict(), default=str)


def test_a_factor_with_one_level_and_no_factor_at_all():
    ratings, answers = SimulatedStudy(raters=6, items=6, anchors={"none": 0.0}).run(1)
    data = study_data(ratings, answers)
    assert data.factors == ("layout",)
    assert any("one level" in note.reason for note in data.notes)
    nothing = ratings.with_columns(factors=pl.lit(None, dtype=pl.String))
    found = analyse_study(study_data(nothing), draws=FEW)
    assert found.effects.height == 0
    assert found.table("table5").filter(form="ICC(2,k)").height == 2


def test_a_quality_missing_in_half_the_table():
    ratings, answers = SimulatedStudy(raters=10, items=8).run(1)
    half = ratings.filter(
        (pl.col("quality") == "readability") | pl.col("condition").str.starts_with("both")
    )
    made = effects(study_data(half, answers), draws=FEW)
    assert one(made, effect="anchor", quality="readability")["low"] is not None
    gone = one(made, effect="anchor", quality="coherence")
    assert gone["value"] is None
    assert "no ratings of this quality" in str(gone["reason"])
    notes = study_data(half, answers).notes
    assert any("coherence" in note.part for note in notes)


def test_no_variance_zero_and_negative_ratings():
    ratings, answers = SimulatedStudy(raters=5, items=5).run(1)
    flat = analyse_study(study_data(ratings.with_columns(value=pl.lit(50.0)), answers), draws=FEW)
    assert flat.table("table5")["value"].null_count() == flat.table("table5").height
    assert flat.table("table5")["reason"].str.contains("all ratings are the same").any()
    low = ratings.with_columns(value=pl.when(pl.col("order") == 0).then(0.0).otherwise("value"))
    data = study_data(low, answers)
    assert any("no logarithm" in note.reason for note in data.notes)
    assert consistency(data, draws=FEW)["value"].is_not_null().any()


def test_what_cannot_be_analysed_is_refused_with_the_reason():
    ratings, _ = SimulatedStudy(raters=2, items=4).run(1)
    with pytest.raises(DialensError, match="who gave them"):
        study_data(ratings.with_columns(rater=pl.lit(None, dtype=pl.String)))
    with pytest.raises(DialensError, match="one rater"):
        study_data(ratings.filter(pl.col("rater") == "p0000"))
    with pytest.raises(DialensError, match="a rater and a number"):
        study_data(ratings.with_columns(value=pl.lit(None, dtype=pl.Float64)))
    with pytest.raises(DialensError, match="normalise is"):
        study_data(ratings, normalise="ln")


def test_factors_within_participants_are_drawn_together():
    """Layout varied within raters: their levels cancel, and the interval is narrow."""
    ratings, _ = SimulatedStudy(raters=20, items=20, sd_rater=30.0, layouts={"x": 0.0}).run(2)
    layout = pl.when(pl.col("order") % 2 == 0).then(pl.lit("a")).otherwise(pl.lit("b"))
    shifted = ratings.with_columns(layout=layout, value=pl.col("value") + 5 * (pl.col("order") % 2))
    shifted = shifted.with_columns(
        factors=pl.when(pl.col("anchor").is_null())
        .then(pl.lit('{"anchor": "none"}'))
        .otherwise(pl.lit('{"anchor": "both"}'))
    )
    made = effects(study_data(shifted), draws=FEW)
    row = one(made, effect="layout", quality="all")
    assert covers(row, 5.0)
    assert row["high"] - row["low"] < 4
    assert row["n_raters"] == shifted["rater"].n_unique()


def crossed(raters: int, items: int, *, seed: int, **columns: Any) -> pl.DataFrame:
    """Everybody rates everything, raters and items with levels of their own."""
    rng = np.random.default_rng(seed)
    r, i = (part.ravel() for part in np.indices((raters, items)))
    value = rng.normal(size=raters)[r] + rng.normal(size=items)[i] + rng.normal(size=len(r))
    table = pl.DataFrame({"rater": r, "dialog": i, "value": value}).with_columns(
        pl.col("rater", "dialog").cast(pl.String), quality=pl.lit("fluency"), **columns
    )
    gone = [name for name in RATINGS if name not in table.columns]
    return table.with_columns(pl.lit(None, dtype=RATINGS[name]).alias(name) for name in gone)


def test_a_factor_of_the_items_is_tested_over_items():
    """With items as the unit, a t test on their means says the same (Clark 1973)."""
    agent = (
        pl.when(pl.col("dialog").cast(pl.Int64) % 2 == 0).then(pl.lit("a")).otherwise(pl.lit("b"))
    )
    ratings = crossed(12, 12, seed=2, agent=agent)
    row = one(effects(study_data(ratings, factors=["agent"])), effect="agent")
    means = ratings.group_by("dialog", "agent").agg(pl.col("value").mean())
    a, b = (means.filter(agent=name)["value"].to_numpy() for name in "ab")
    by_items = stats.ttest_ind(b, a)
    assert row["value"] == pytest.approx(b.mean() - a.mean(), abs=1e-6)
    assert row["random"] == "rater, item, rater:agent"
    # Raters' own preferences are estimated, too: never more sure than the items allow.
    assert row["p"] >= by_items.pvalue - 1e-3
    assert not made_up_rows(effects(study_data(ratings, factors=["agent"])))


def made_up_rows(table: pl.DataFrame) -> list[str]:
    """Effects that speak of an anchor."""
    return [name for name in table["effect"] if "anchor" in name]


def test_few_participants_or_items_get_no_interval():
    ratings, answers = SimulatedStudy(raters=3, items=6, layouts={"x": 0.0}).run(1)
    row = one(effects(study_data(ratings, answers)), effect="anchor", quality="all")
    assert row["value"] is not None
    assert row["low"] is None
    assert row["p"] is None
    assert "fewer than 5 participants" in row["reason"]
    shown = paper_tables(study_data(ratings, answers), draws=FEW)
    means = next(table.table for table in shown if table.key == "figure3")
    assert means["low"].null_count() == means.height


def test_place_and_progress_are_told_apart_without_noise():
    """Values made of rater, item, place and progress alone: both slopes come out exactly."""
    rng = np.random.default_rng(0)
    raters, items = 6, 10
    r, i = (part.ravel() for part in np.indices((raters, items)))
    order = np.array([rng.permutation(items) for _ in range(raters)])[r, i]
    place = order // 3 + rng.integers(0, 2, len(r))
    value = 2.0 * r + i**2 / 10 + 0.85 * place - 5.1 * order / (items - 1)
    columns = {"value": pl.Series(value), "order": pl.Series(order), "position": pl.Series(place)}
    made = response_biases(study_data(crossed(raters, items, seed=0, **columns)))
    assert one(made, bias="position")["value"] == pytest.approx(0.85)
    assert one(made, bias="fatigue", of="ratings")["value"] == pytest.approx(-5.1)


def test_one_order_for_everybody_says_nothing_about_fatigue():
    order = pl.col("dialog").cast(pl.Int64)
    made = response_biases(study_data(crossed(6, 10, seed=1, order=order)))
    row = one(made, bias="fatigue", of="ratings")
    assert row["value"] is None
    assert "goes with the items" in row["reason"]


def test_two_sides_of_a_choice_are_not_two_ratings():
    ratings = crossed(8, 10, seed=3, value=(pl.col("dialog").cast(pl.Int64) % 2).cast(pl.Float64))
    chosen = ratings.with_columns(quality=pl.lit("better"), scale=pl.lit('{"kind": "pairwise"}'))
    data = study_data(chosen)
    assert data.choices == ["better"]
    assert data.normalise == {}
    assert consistency(data).height == 0
    assert response_biases(data).height == 0
    assert any("one observation" in note.reason for note in data.notes)
    both = study_data(pl.concat([chosen, crossed(8, 10, seed=3)]))
    assert set(consistency(both)["quality"]) == {"fluency"}
    sides = [
        crossed(8, 10, seed=3).with_columns(
            quality=pl.lit("better"), scale=pl.lit('{"kind": "pairwise"}'), agent=pl.lit(agent),
            value=pl.lit(won), screen=pl.col("dialog"),
        )
        for agent, won in (("a", 1.0), ("b", 0.0))
    ]  # fmt: skip
    rated = crossed(8, 10, seed=3).with_columns(agent=pl.lit("a"), screen=pl.col("dialog"))
    counted = paper_tables(study_data(pl.concat([*sides, rated])), draws=FEW)[0].table
    assert counted["n_ratings"].to_list() == [80 + 80]


def test_every_quality_is_normalised_by_its_own_scale():
    plain = crossed(6, 8, seed=1, scale=pl.lit('{"kind": "likert", "low": 0, "high": 6}'))
    ratios = plain.with_columns(
        pl.col("value").exp() * 50, quality=pl.lit("size"), scale=pl.lit('{"kind": "magnitude"}')
    )
    data = study_data(pl.concat([plain, ratios]))
    assert data.normalise == {"fluency": "none", "size": "log"}
    taken = data.ratings.filter(quality="fluency")
    assert taken["normalised"].equals(taken["value"], null_equal=True)
    assert taken["normalised"].null_count() == 0  # zeros and less stay
    assert not data.share_a_scale


def test_a_slider_without_a_scale_is_taken_as_points_and_says_so():
    slider = crossed(6, 8, seed=1, value=50 + 10 * pl.col("value"))
    data = study_data(slider)
    assert data.normalise == {"fluency": "none"}
    assert data.notes[0].part == TAKEN_AS_POINTS
    assert "--normalise log" in data.notes[0].reason
    assert study_data(slider, normalise="log").normalise == {"fluency": "log"}


def test_a_table_with_holes_has_the_f_test_of_least_squares():
    """Items adjusted for raters, by dummy variables and two residual sums of squares."""
    holes = crossed(6, 8, seed=4).with_row_index("n").filter(pl.col("n") % 7 != 0).drop("n")
    row = one(consistency(study_data(holes)), form="ICC(3,1)")
    raters, items, y = (holes["rater"].to_dummies(), holes["dialog"].to_dummies(), holes["value"])
    rest = [
        float(np.square(y.to_numpy() - x @ np.linalg.lstsq(x, y.to_numpy(), rcond=None)[0]).sum())
        for x in (raters.to_numpy(), np.hstack([raters.to_numpy(), items.to_numpy()]))
    ]
    df1, df2 = 7, holes.height - 6 - 7
    f = (rest[0] - rest[1]) / df1 / (rest[1] / df2)
    assert row["f"] == pytest.approx(f)
    assert (row["df1"], row["df2"]) == (df1, df2)
    assert row["p"] == pytest.approx(stats.f.sf(f, df1, df2))
    assert row["low"] < row["value"] < row["high"]
