"""Simulated users beside real ones: nothing is found where nothing is, and what is there is."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from dialens.analysis.comparison import UserComparison, compare_users, users_as_agents
from dialens.base import DialensError
from dialens.cli._app import app
from dialens.corpus import Corpus, Dialogue, Turn, demo_path, read
from dialens.metrics import ModelChoice, Resources, ScorerContext, ScorerSet
from dialens.report import user_lines, write_user_comparison

BARE = Resources(scorers=ScorerSet(ScorerContext(models=ModelChoice("none"))))
SPLITS = 8


def split(corpus: Corpus, seed: int) -> tuple[Corpus, Corpus]:
    """The dialogues in two random halves."""
    names = corpus.turns.select("dialog").unique(maintain_order=True).collect()["dialog"]
    first = names.sample(len(names) // 2, shuffle=True, seed=seed).implode()
    inside = pl.col("dialog").is_in(first)
    turns = corpus.turns
    one, other = turns.filter(inside), turns.filter(~inside)
    return replace(corpus, turns=one), replace(corpus, turns=other)


def test_people_are_like_people() -> None:
    people = read(demo_path())
    found = [compare_users(*split(people, seed), resources=BARE).table for seed in range(SPLITS)]
    rows = pl.concat(found).filter(pl.col("p").is_not_null())
    assert rows.height > 20 * SPLITS
    # Single tests keep their level, and corrected ones name next to nothing.
    assert (rows["p"] < 0.05).mean() < 0.1
    assert (rows["p_adjusted"] < 0.05).sum() <= 2


def test_a_planted_difference_is_found_and_said_first() -> None:
    one, other = split(read(demo_path()), 0)
    longer = pl.when(pl.col("role") == "partner").then(
        pl.col("text") + " and that is really all that I have to say about it today"
    )
    one = replace(one, turns=one.turns.with_columns(longer.otherwise("text").alias("text")))
    compared = compare_users(one, other, resources=BARE)
    (row,) = compared.table.filter(metric="length").iter_rows(named=True)
    assert row["value_a"] - row["value_b"] == pytest.approx(14, abs=4)
    assert row["p_adjusted"] < 0.001
    said = user_lines(compared)[0]
    assert said.startswith("Simulated users are not like people: they differ in ")


def talks(means: np.ndarray, rng: np.random.Generator, scenarios: bool) -> Corpus:
    """Users whose turns are as long as their person's mean says, a dialogue each."""
    made = []
    for number, mean in enumerate(means):
        person = len(np.unique(means[: number + 1]))
        turns = [Turn("U", "partner", "hello")]
        for _ in range(3):
            words = max(1, round(mean + rng.normal(0, 1)))
            turns += [Turn("B", "agent", "ok"), Turn("U", "partner", "word " * words)]
        if scenarios:
            turns[0].meta = {"opening": True, "scenario": f"s/{person}"}
        made.append(Dialogue("s", "b", f"d{number}", turns))
    return Corpus.of(made)


def of_length(compared: UserComparison) -> dict[str, float]:
    return compared.table.filter(metric="length").row(0, named=True)


def test_dialogues_of_one_scenario_are_one_persons() -> None:
    """Ten people six times each are not sixty: else chance would be taken for a gap.

    Means differ by sqrt(9/10 + 9/60) = 1.02 by chance; taken for sixty people it would be 0.55.
    """
    errors = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        simulated = talks(np.repeat(rng.normal(12, 3, 10), 6), rng, scenarios=True)
        real = talks(rng.normal(12, 3, 60), rng, scenarios=False)
        compared = compare_users(simulated, real, metrics=["length"], resources=BARE)
        assert (compared.scenarios, compared.by_scenario, compared.after_first) == (10, True, True)
        errors.append(of_length(compared)["standard_error"])
    assert 0.8 < np.mean(errors) < 1.2


def test_real_dialogues_of_one_person_stay_together_too() -> None:
    """Sixty dialogues of fifteen people: the error is theirs, whatever the other side's openings.

    Means differ by sqrt(9/40 + 9/15) = 0.91 by chance; taken for sixty people it would be 0.61.
    """
    errors = []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        real = talks(np.repeat(rng.normal(12, 3, 15), 4), rng, scenarios=False)
        own = pl.when(pl.col("turn") == 0).then(
            pl.lit("I am number ")
            + (pl.col("dialog").str.slice(1).cast(pl.Int32) // 4).cast(pl.String)
        )
        real = replace(real, turns=real.turns.with_columns(text=own.otherwise("text")))
        simulated = talks(rng.normal(12, 3, 40), rng, scenarios=True)
        compared = compare_users(simulated, real, metrics=["length"], resources=BARE)
        errors.append(of_length(compared)["standard_error"])
    assert 0.75 < np.mean(errors) < 1.1


def test_few_scenarios_are_compared_by_dialogue_and_the_page_says_so(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    simulated = talks(np.repeat([5.0, 15.0], 10), rng, scenarios=True)
    real = talks(rng.normal(12, 3, 30), rng, scenarios=False)
    compared = compare_users(simulated, real, metrics=["length", "question"], resources=BARE)
    assert (compared.scenarios, compared.by_scenario) == (2, False)
    write_user_comparison(compared, tmp_path / "users.html", title="Users")
    page = (tmp_path / "users.html").read_text()
    assert "With 2 scenarios the comparison is about these people" in page
    assert "no difference" in user_lines(compared)[0].lower() or "not like" in page


def test_what_is_given_is_nobodys_words_and_positions_match() -> None:
    rng = np.random.default_rng(0)
    simulated = talks(np.full(8, 5.0), rng, scenarios=True)
    users = users_as_agents(simulated, "simulated", after_first=True)
    roles = users.turns.collect().group_by("role").len().rows()
    assert dict(roles) == {"partner": 8, "agent": 24}
    longer = [Turn("U", "partner", f"turn {n}") for n in range(9)]
    real = Corpus.of([Dialogue("s", "b", f"r{n}", longer) for n in range(8)])
    compared = compare_users(simulated, real, metrics=["length"], resources=BARE)
    # Three turns after the first on both sides: what people say later has no counterpart.
    assert (compared.most_turns, compared.turns) == (3, {"real": 24, "simulated": 24})


def test_nothing_found_says_how_much_could_have_been() -> None:
    rng = np.random.default_rng(3)
    one, other = (talks(rng.normal(12, 3, 40), rng, scenarios=False) for _ in range(2))
    compared = compare_users(one, other, metrics=["length"], resources=BARE)
    row = of_length(compared)
    # Two sides of 40 with one test: (1.960 + 0.842) errors.
    assert row["detectable"] == pytest.approx(2.8016 * row["standard_error"], rel=1e-3)
    said = user_lines(compared)[0]
    assert said.startswith("No difference between simulated users and people was found in 1 meas")
    assert "would have been, in four of five such comparisons" in said


def test_metrics_that_look_at_others_are_refused() -> None:
    people = read(demo_path())
    with pytest.raises(DialensError, match="language_style_matching looks at more than"):
        compare_users(*split(people, 0), metrics=["language_style_matching"], resources=BARE)
    silent = Corpus.of([Dialogue("s", "b", "d", [Turn("B", "agent", "hey")])])
    with pytest.raises(DialensError, match="simulated side holds no turn of a user"):
        compare_users(silent, people, resources=BARE)


def test_the_command_answers_first(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    places = []
    for name, mean in (("simulated", 20.0), ("people", 8.0)):
        path = tmp_path / f"{name}.jsonl"
        corpus = talks(rng.normal(mean, 2, 12), rng, scenarios=False)
        roles = {"partner": "user", "agent": "assistant"}
        lines = [
            {
                "id": part["dialog"][0],
                "messages": [
                    {"role": roles[row["role"]], "content": row["text"]}
                    for row in part.iter_rows(named=True)
                ],
            }
            for part in corpus.turns.collect().partition_by("dialog", maintain_order=True)
        ]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines))
        places.append(str(path))
    out = tmp_path / "gap"
    asked = ["compare", "--users", *places, "--models", "none", "-m", "length,question", "--csv"]
    result = CliRunner().invoke(app, [*asked, "-o", str(out)])
    assert result.exit_code == 0, result.output
    assert result.output.startswith("Simulated users are not like people: they differ in 1 of ")
    assert {path.name for path in out.iterdir()} >= {
        "users.html",
        "users.parquet",
        "users.csv",
        "run.json",
    }
    refused = CliRunner().invoke(app, ["compare", "--users", places[0]])
    assert "Two places are needed" in str(refused.exception or refused.output)
