"""The analysis of a study finds again what was put into simulated raters."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from dialens.analysis.bias import (
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
        assert row["model_low"] <= pull * (100 - free) <= row["model_high"]
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
    effect = pull = model = 0
    runs = 40
    for seed in range(runs):
        study = SimulatedStudy(raters=15, items=12, dropout=0.15, layouts={"a": 0.0, "b": 0.0})
        made = effects(study_data(*study.run(seed + 10)), draws=FEW)
        row = one(made, effect="anchor", quality="all")
        effect += covers(row, 12.0)
        model += row["model_low"] <= 12.0 <= row["model_high"]
        pull += covers(one(made, effect="anchor pull", quality="all"), 0.3)
    assert effect >= 0.85 * runs
    assert pull >= 0.85 * runs
    assert model >= 0.87 * runs


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
    for word in ("questionnaires", "position", "fatigue", "speeding", "Table 4", "Figure 9"):
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
