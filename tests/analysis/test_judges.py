"""Language models beside people in one study: never pooled, each held against the other."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dialens.analysis.bias import Resampling, SimulatedStudy, analyse_study, study_data
from dialens.analysis.judges import JUDGES, effects_beside, judges_against_people
from dialens.cli.study._analyze import _most_telling
from dialens.report._page import Finding
from dialens.report.bias import write_study
from dialens.report.bias._judges import _best
from dialens.report.bias._remarks import who_rated
from dialens.statistics import load_ratings


def both_kinds(models: int = 8) -> tuple[pl.DataFrame, pl.DataFrame]:
    """People with a pull of .3 and models with one of .8, on the same items."""
    people, asked = SimulatedStudy(raters=16, items=12, anchors={"none": 0.0, "both": 0.3}).run(1)
    other = SimulatedStudy(raters=models, items=12, anchors={"none": 0.0, "both": 0.8}).run(2)[0]
    table = [
        people.with_columns(rater_kind=pl.lit("human")),
        other.with_columns(rater_kind=pl.lit("llm"), rater="model-" + pl.col("rater")),
    ]
    return pl.concat(table), asked


def test_kinds_are_not_pooled(tmp_path: Path) -> None:
    ratings, asked = both_kinds()
    draws = Resampling(resamples=50)
    alone = ratings.filter(pl.col("rater_kind") == "human")
    found = analyse_study(study_data(ratings, asked), draws=draws)
    people = analyse_study(study_data(alone, asked), draws=draws)
    assert found.effects.equals(people.effects)
    pull = found.beside.filter(judge="all 32 models", effect="anchor pull", quality="all").row(
        0, named=True
    )
    assert pull["people"] == pytest.approx(0.3, abs=0.12)
    assert pull["models"] == pytest.approx(0.8, abs=0.12)
    assert pull["low"] < 0.5 < pull["high"]
    assert pull["p_adjusted"] < 0.01
    summary = write_study(found, tmp_path, title="Both")
    told = [remark.title for remark in summary.remarks]
    assert told == ["Judges"]
    content = json.loads((tmp_path / "analysis.json").read_text())
    assert {row["quality"] for row in content["judges"]} == {"readability", "coherence"}
    assert "Judges" in (tmp_path / "report.html").read_text()


def test_effects_of_two_kinds_as_two_samples_are_compared() -> None:
    """Two estimates with known standard errors: Welch's arithmetic, by hand."""

    def one(value: float, error: float, degrees: float) -> pl.DataFrame:
        from scipy import stats

        reach = error * stats.t.ppf(0.975, degrees)
        return pl.DataFrame(
            {
                "effect": "anchor", "question": "?", "quality": "all", "unit": "points",
                "value": value, "low": value - reach, "high": value + reach, "degrees": degrees,
                "reason": None,
            },
            schema_overrides={"reason": pl.String},
        )  # fmt: skip

    model = one(3.0, 0.4, 20).with_columns(judge=pl.lit("m"))
    row = effects_beside(one(1.0, 0.3, 10), model).row(0, named=True)
    # Error √(.09 + .16) = .5; degrees .0625 / (.0081/10 + .0256/20) = 29.9.
    assert row["difference"] == pytest.approx(2.0)
    assert (row["high"] - row["low"]) / 2 == pytest.approx(0.5 * 2.0423, abs=0.002)
    assert row["p"] == pytest.approx(0.00040, abs=0.00005)


def test_what_the_data_do_not_carry_is_missing_with_the_reason() -> None:
    rows = [(f"i{n}", "m", "llm", float(n)) for n in range(9)]
    table = pl.DataFrame(rows, ["item", "rater", "rater_kind", "value"], orient="row")
    row = judges_against_people(table.with_columns(quality=pl.lit("q"))).row(0, named=True)
    assert row["r"] is None
    assert row["winning_rate"] is None
    assert "no people rated this" in row["reason"]
    assert "every item was judged once" in row["reason"]


def test_a_judge_that_says_the_same_of_everything_has_no_correlation() -> None:
    raters = (("a", "human"), ("b", "human"), ("m", "llm"))
    rows = [
        (f"i{n}", who, kind, 3.0 if kind == "llm" else float(n % 3))
        for n in range(12)
        for who, kind in raters
    ]
    table = pl.DataFrame(rows, ["item", "rater", "rater_kind", "value"], orient="row")
    row = judges_against_people(table.with_columns(quality=pl.lit("q"))).row(0, named=True)
    assert row["r"] is None
    assert "no variance, no correlation" in row["reason"]


def test_a_judge_that_rates_more_than_people_saves_ratings() -> None:
    rng = np.random.default_rng(1)
    truth = rng.normal(size=400)
    rows = []
    for n, value in enumerate(truth):
        rows.append((f"i{n}", "m", "llm", value + rng.normal(scale=0.5)))
        if n < 60:
            rows += [(f"i{n}", who, "human", value + rng.normal(scale=0.5)) for who in "abc"]
    table = pl.DataFrame(rows, ["item", "rater", "rater_kind", "value"], orient="row")
    row = judges_against_people(table.with_columns(quality=pl.lit("q"))).row(0, named=True)
    # r² of judge and mean of three: 1/1.25 · 1/(1 + .25/3) ≈ .74, of which 340/400 can be used.
    assert row["saving_most"] == pytest.approx(0.74, abs=0.12)
    assert row["saving"] == pytest.approx(0.74 * 340 / 400, abs=0.12)
    assert row["saving"] < row["saving_most"] + 0.02
    asked_again = [
        table.with_columns(repeat=pl.lit(k), value=pl.col("value") + rng.normal(0, 0.3, len(rows)))
        for k in range(3)
    ]
    repeated = pl.concat(asked_again)
    # People's errors removed, those of the judge, who was asked once, are left.
    assert row["r_corrected"] == pytest.approx(1 / np.sqrt(1.25), abs=0.06)
    own = judges_against_people(repeated.with_columns(quality=pl.lit("q"))).row(0, named=True)
    assert own["test_retest"] == pytest.approx(1.25 / (1.25 + 0.09), abs=0.03)


def test_a_person_is_human_beside_a_judge(tmp_path: Path) -> None:
    """`person` means what `human` means: the same numbers, and no warning before them."""
    rng = np.random.default_rng(5)
    rows = [
        (f"i{item}", f"a{item % 2}", rater, kind, float(rng.integers(1, 6)))
        for item in range(12)
        for rater, kind in (("p1", "person"), ("p2", "person"), ("p3", "person"), ("m", "llm"))
    ]
    columns = ["item", "agent", "rater", "rater_kind", "value"]
    table = pl.DataFrame(rows, schema=columns, orient="row").with_columns(
        quality=pl.lit("tone"), dialog=pl.col("item")
    )
    found = {}
    for word in ("person", "human"):
        named = table.with_columns(pl.col("rater_kind").replace("person", word))
        path = tmp_path / f"{word}.csv"
        named.write_csv(path)
        analysis = analyse_study(study_data(load_ratings(path)), draws=Resampling(20))
        found[word] = who_rated(analysis.data), analysis.judges.to_dicts()
    assert found["person"] == found["human"]
    assert found["person"][0] == []


def test_several_judges_begin_with_the_best_of_them() -> None:
    rows = [
        ("tone", "a", 0.1, -0.1, 0.3, 0.01), ("tone", "z", 0.6, 0.5, 0.7, 0.36),
        ("wit", "a", -0.4, -0.5, -0.3, 0.0), ("wit", "z", -0.3, -0.4, -0.2, 0.0),
    ]  # fmt: skip
    names = ["quality", "judge", "r", "r_low", "r_high", "saving_most"]
    table = pl.concat(
        [JUDGES.to_frame(), pl.DataFrame(rows, names, orient="row")], how="diagonal_relaxed"
    )
    first, second = _best(table)
    assert first.claim == (
        "z goes best with people on tone: r = 0.60 over items, saves at most 36 % of human ratings"
    )
    assert second.text == "No judge goes with people on wit. r over items −0.40 to −0.30, 2 judges."
    assert not list(_best(table.filter(pl.col("judge") == "z")))


def test_the_terminal_shows_more_than_one_topic() -> None:
    """Ten sentences on judges do not push out what stands behind them."""
    found = [Finding(f"j{n}", topic="judges") for n in range(10)]
    found += [Finding(f"d{n}", topic="drift") for n in range(3)]
    said = [one.claim for one in _most_telling(found)]
    assert said == ["j0", "j1", "j2", "j3", "d0", "d1"]
