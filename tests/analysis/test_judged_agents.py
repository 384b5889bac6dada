"""Agents compared by people on a part of the replies and a judge on more."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dialens.analysis.bias import Resampling, analyse_study, study_data
from dialens.analysis.judges import judged_agents
from dialens.corpus import RATINGS
from dialens.report.bias import write_study

NAMES = ["dialog", "agent", "rater", "rater_kind", "value"]


def study(
    rated: int = 30,
    contexts: int = 150,
    judges: tuple[float, ...] = (0.3,),
    bias: float = 0.0,
    better: float = 1.0,
    seed: int = 0,
    answer: Callable[[float], float] = lambda felt: felt,
) -> pl.DataFrame:
    """Two agents, four raters, judges who see what people think with an error; one favours x."""
    rng = np.random.default_rng(seed)
    level = 0.3 * rng.normal(size=4)
    rows = []
    for c in range(contexts):
        shared = rng.normal()
        for agent, more in (("x", better), ("y", 0.0)):
            truth = more + 0.5 * shared + rng.normal()
            for number, error in enumerate(judges):
                said = truth + error * rng.normal() + bias * (agent == "x")
                rows.append((f"c{c}", agent, f"m{number}", "llm", answer(said)))
            for rater in range(4) if c < rated else ():
                felt = truth + level[rater] + 0.5 * rng.normal()
                rows.append((f"c{c}", agent, f"p{rater}", "human", answer(felt)))
    return pl.DataFrame(rows, NAMES, orient="row").with_columns(quality=pl.lit("tone"))


def last(table: pl.DataFrame) -> dict:
    return judged_agents(table).row(-1, named=True)


def test_a_good_judge_makes_few_people_worth_many() -> None:
    table = judged_agents(study())
    assert table.select("agent", "other").rows() == [("x", None), ("y", None), ("x", "y")]
    row = table.row(-1, named=True)
    assert (row["n_people"], row["n_raters"], row["n_dialogs"], row["n_judged"]) == (
        240,
        4,
        30,
        240,
    )
    assert row["paired"]
    assert row["low"] < 1 < row["high"]
    assert row["high"] - row["low"] < row["people_high"] - row["people_low"]
    assert row["needed"] > 400
    assert 0.4 < row["saving"] <= row["r"] ** 2  # the bound
    assert row["p_adjusted"] < 0.001
    assert table["p"].null_count() == 2  # means are not tested


def test_what_a_judge_gives_one_agent_too_much_does_not_count() -> None:
    fair, biased = last(study()), last(study(bias=3.0))
    for name in ("estimate", "low", "high", "people"):
        assert biased[name] == pytest.approx(fair[name])


def test_another_scale_of_the_judge_does_not_count_either() -> None:
    table = study()
    machine = pl.col("rater_kind") == "llm"
    scaled = pl.when(machine).then(pl.col("value") * 40 + 500).otherwise("value")
    assert last(table.with_columns(value=scaled))["low"] == pytest.approx(last(table)["low"])


def test_one_of_several_judges_is_chosen_on_other_dialogues() -> None:
    row = last(study(judges=(3.0, 0.2, 8.0)))
    assert row["judge"] == "m1"
    assert row["note"] == "chosen among 4, on dialogues other than those it is used on"
    alike = last(study(judges=(0.8, 0.8, 0.8)))
    assert alike["judge"] == "all judges together"
    assert alike["saving"] > last(study(judges=(0.8,)))["saving"]


def test_choosing_the_best_of_judges_that_know_nothing_errs_no_more_than_it_may() -> None:
    missed = 0
    for seed in range(150):
        table = study(rated=12, contexts=60, judges=(9.0,) * 5, better=0.0, seed=seed)
        row = last(table)
        missed += not row["low"] <= 0 <= row["high"]
    assert missed <= 16  # 150 studies at 5 % give more than 16 once in 1,500 times


def test_judges_who_rated_nothing_more_have_nothing_to_give(tmp_path: Path) -> None:
    table = study(rated=20, contexts=20)
    row = last(table)
    assert row["estimate"] is None
    assert row["people"] is not None
    assert row["reason"].startswith("the judge rated nothing that people did not")
    said, _ = reported(table, tmp_path)
    assert said[0].startswith("Judges cannot sharpen the comparison of agents. The judge rated")
    page = (tmp_path / "report.html").read_text()
    assert "People rated a part of the replies" not in page
    assert "People rated every reply that the judge rated." in page
    assert "another method (over dialogues and raters) than the answer above" in page


def test_people_who_rated_one_agent_only_are_no_random_part() -> None:
    table = study().filter(~((pl.col("rater_kind") == "human") & (pl.col("agent") == "y")))
    rows = {(row["agent"], row["other"]): row for row in judged_agents(table).iter_rows(named=True)}
    assert rows["x", None]["low"] is not None
    assert rows["y", None]["reason"] == rows["x", "y"]["reason"] == "people rated nothing of y"
    assert rows["x", "y"]["estimate"] is None


def test_people_who_rated_the_best_replies_are_no_random_part() -> None:
    table = study(rated=150)
    judged = (
        table.filter(pl.col("rater_kind") == "llm").group_by("dialog").agg(pl.col("value").mean())
    )
    best = judged.sort("value").tail(30)["dialog"]
    kept = table.filter((pl.col("rater_kind") == "llm") | pl.col("dialog").is_in(best.implode()))
    for row in judged_agents(kept).iter_rows(named=True):
        assert row["estimate"] is None
        assert "people’s part is not random: the judge rates what they rated" in row["reason"]
        assert "higher than the rest" in row["reason"]


@pytest.mark.parametrize(("rated", "told"), [(5, "reason"), (7, "note")])
def test_few_dialogues_are_refused_or_warned_about(rated: int, told: str) -> None:
    row = last(study(rated=rated))
    assert (row["low"] is None) == (told == "reason")
    words = {
        "reason": "people rated 5 independent units; 6",
        "note": "people rated only 7 dialogues",
    }
    assert words[told] in row[told]


def test_answers_that_are_nearly_all_alike_have_no_interval() -> None:
    row = last(study(answer=lambda felt: float(felt > 3.2)))
    assert row["unit"] == "share"
    assert row["low"] is None
    assert "that differ are needed" in row["reason"]
    even = last(study(answer=lambda felt: float(felt > 0.5)))
    assert even["low"] is not None
    assert 0 < even["estimate"] < 1


def test_magnitudes_are_compared_by_their_ratio() -> None:
    table = study(answer=lambda felt: float(np.exp(felt))).with_columns(scale=pl.lit("magnitude"))
    row, plain = last(table), last(study())
    assert row["unit"] == "ratio"
    assert np.log(row["estimate"]) == pytest.approx(plain["estimate"])
    assert np.log(row["low"]) == pytest.approx(plain["low"])


def test_agents_with_dialogues_of_their_own_are_not_paired() -> None:
    table = study().with_columns(dialog=pl.concat_str("agent", "dialog"))
    row = last(table)
    assert not row["paired"]
    assert row["n_dialogs"] == 60
    assert row["low"] < 1 < row["high"]


def test_a_judge_that_says_the_same_of_everything_is_not_used() -> None:
    flat = pl.when(pl.col("rater_kind") == "llm").then(3.0).otherwise("value")
    row = last(study().with_columns(value=flat))
    assert row["estimate"] is None
    assert row["reason"] == "m0 gave every reply of an agent the same rating: nothing to learn"


def test_people_or_judges_alone_make_no_table() -> None:
    for kind in ("human", "llm"):
        assert not judged_agents(study().filter(pl.col("rater_kind") == kind)).height
    assert not judged_agents(study().drop("rater_kind")).height


def reported(table: pl.DataFrame, folder: Path) -> tuple[list[str], dict]:
    shaped = pl.concat([RATINGS.to_frame(), table], how="diagonal_relaxed")
    found = analyse_study(study_data(shaped), draws=Resampling(resamples=50))
    summary = write_study(found, folder, title="Both")
    said = [one.text for one in summary.findings if one.topic == "judged_agents"]
    return said, json.loads((folder / "analysis.json").read_text())


def test_the_report_says_it_first(tmp_path: Path) -> None:
    said, content = reported(study(), tmp_path)
    row = content["judged_agents"][-1]
    assert said[0].startswith(
        f"With m0 beside people, x is rated {row['estimate']:.2f} points above y on tone. 95 % "
    )
    assert f"as precise as {row['needed']:,} human ratings instead of 240" in said[0]
    assert content["findings"][0]["topic"] == "judged_agents"
    page = (tmp_path / "report.html").read_text()
    assert "Agents, by people and a judge" in page
    assert (tmp_path / "tables" / "judged_agents.csv").exists()
    assert any("prediction-powered" in paragraph for paragraph in content["methods"])


def test_a_judge_that_knows_nothing_is_to_be_left_out(tmp_path: Path) -> None:
    said, content = reported(study(judges=(30.0,)), tmp_path)
    assert len(said) == 1
    assert said[0].startswith(
        "With m0 beside people, agents are no easier to tell apart on tone: leave it out. r over "
        "differences between agents "
    )
    assert "better left out" in content["judged_agents"][-1]["note"]
