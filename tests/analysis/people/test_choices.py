"""Choices from exports, battles and plain tables, each counted once."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import special

from dialens.analysis.bias import StudyData, read_study
from dialens.analysis.people import (
    AGENT_DIFFERENCES,
    AGENTS,
    WINS,
    choice_labels,
    choices_of,
    people_from_choices,
    position_effect,
    same_choice,
    what_people_said,
)
from dialens.statistics import load_ratings, measure_agreement


def export(
    kind: str, answers: list[tuple[str, str, list[tuple[str, float]]]], quality: str = "overall"
) -> pl.DataFrame:
    """Rows as `dialens study export` writes them: rater, item, (agent, value) in order shown."""
    rows = [
        {
            "study": "s",
            "rater": rater,
            "agent": agent,
            "dialog": item,
            "turn": 1,
            "quality": quality,
            "scale": json.dumps({"kind": kind}),
            "value": value,
            "position": place,
            "screen": f"rate-{number}",
            "attempt": 1,
        }
        for number, (rater, item, candidates) in enumerate(answers)
        for place, (agent, value) in enumerate(candidates)
    ]
    return pl.DataFrame(rows)


def duels(raters: int, items: int, gap: float, seed: int, first: float = 0.0) -> pl.DataFrame:
    """Everyone chooses between a and b about every item; `first` is what standing first adds."""
    rng = np.random.default_rng(seed)
    answers = []
    for rater in range(raters):
        for item in range(items):
            order = "ab" if rng.random() < 0.5 else "ba"
            odds = gap + (first if order == "ab" else -first)
            a = float(rng.random() < special.expit(odds))
            values = {"a": a, "b": 1 - a}
            answers.append((f"r{rater}", f"i{item}", [(name, values[name]) for name in order]))
    return export("pairwise", answers)


def test_the_two_rows_of_a_choice_are_one_observation() -> None:
    choices = choices_of(duels(6, 5, 0.0, seed=0))["overall"]
    agents, differences, wins = people_from_choices("overall", choices)
    assert choices.n == 30
    assert agents["n"].to_list() == [30, 30]
    assert agents["mean"].sum() == pytest.approx(1)
    assert wins.row(0, named=True)["n"] == 30
    assert (agents.schema, differences.schema, wins.schema) == (AGENTS, AGENT_DIFFERENCES, WINS)
    assert differences["p_adjusted"].to_list() == [None]


def test_who_is_clearly_better_is_ranked_first() -> None:
    choices = choices_of(duels(12, 10, 1.5, seed=1))["overall"]
    agents, differences, _ = people_from_choices("overall", choices, smallest=0.05)
    best = agents.row(0, named=True)
    assert (best["agent"], best["rank"], best["rank_low"], best["rank_high"]) == ("a", 1, 1, 1)
    assert best["unit"] == "share"
    row = differences.row(0, named=True)
    assert row["p"] < 0.001 < 0.5 < row["p_equivalence"]
    assert row["effect_size"] == pytest.approx(special.expit(row["difference"]))
    assert row["effect_low"] < row["effect_size"] < row["effect_high"]


def test_equal_agents_are_equivalent_once_there_are_enough_choices() -> None:
    rater, item = np.indices((30, 30)).reshape(2, -1)
    answers = [
        (f"r{r}", f"i{i}", [("a", float((r + i) % 2)), ("b", 1.0 - (r + i) % 2)])
        for r, i in zip(rater.tolist(), item.tolist(), strict=True)
    ]
    choices = choices_of(export("pairwise", answers))["overall"]
    row = people_from_choices("overall", choices, smallest=0.1)[1].row(0, named=True)
    assert row["p"] == pytest.approx(1)
    assert row["p_equivalence"] < 0.001


def test_best_worst_rows_become_scores() -> None:
    answers = [
        (f"r{rater}", f"i{item}", [("a", 1.0), ("b", 0.0), ("c", -1.0)])
        if (rater + item) % 4
        else (f"r{rater}", f"i{item}", [("a", 0.0), ("b", 1.0), ("c", -1.0)])
        for rater in range(6)
        for item in range(8)
    ]
    choices = choices_of(export("best_worst", answers))["overall"]
    agents = people_from_choices("overall", choices)[0]
    assert agents["agent"].to_list() == ["a", "b", "c"]
    assert agents["mean"].to_list() == pytest.approx([0.75, 0.25, -1.0])
    assert set(agents["unit"]) == {"score"}
    assert agents["n"].to_list() == [48] * 3


def test_ranks_count_from_one_for_the_best() -> None:
    orders = ["abc", "abc", "bac", "acb", "cab", "abc", "bca", "abc"]
    answers = [
        (f"r{n}", f"i{n % 4}", [(name, float(order.index(name) + 1)) for name in "abc"])
        for n, order in enumerate(orders)
    ]
    choices = choices_of(export("ranking", answers))["overall"]
    agents, _, wins = people_from_choices("overall", choices)
    assert agents["agent"][0] == "a"
    # a stands above b in 6 of 8 orders, above c in 6: 12 of 16 duels
    assert agents["mean"][0] == pytest.approx(12 / 16)
    assert wins.row(0)[1:] == ("a", "b", 8, 6, 0, 2)
    assert agents["method"][0].startswith("Plackett–Luce")


def test_battles_of_the_arena_are_choices(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "Hello!"}, {"role": "assistant", "content": "Hello."}]
    winners = ["model_a", "model_a", "tie", "model_b", "model_a", "tie (bothbad)"]
    battles = [
        {
            "question_id": f"q{n}",
            "model_a": "one" if n % 2 else "two",
            "model_b": "two" if n % 2 else "one",
            "winner": winner,
            "judge": f"user_{n}",
            "conversation_a": said,
            "conversation_b": said,
        }
        for n, winner in enumerate(winners)
    ]
    path = tmp_path / "battles.jsonl"
    path.write_text("".join(json.dumps(battle) + "\n" for battle in battles))
    choices = choices_of(load_ratings(path))["preference"]
    assert (choices.kind, choices.n) == ("pairwise", 6)
    wins = people_from_choices("preference", choices)[2]
    assert wins.row(0)[1:] == ("one", "two", 6, 1, 2, 3)
    first = choices.shown.filter(pl.col("shown_first"), pl.col("choice") == 0)
    assert first["candidate"].to_list() == ["two"]


def test_a_plain_table_whose_values_sum_to_one_holds_choices(tmp_path: Path) -> None:
    rows = [
        f"r{r},i{i},{agent},better,{value}"
        for r in range(3)
        for i in range(3)
        for agent, value in (("a", 0.5 if r == i else 1), ("b", 0.5 if r == i else 0))
    ]
    path = tmp_path / "ratings.csv"
    path.write_text("\n".join(["rater,item,agent,quality,value", *rows]))
    choices = choices_of(load_ratings(path))["better"]
    assert choices.n == 9
    assert people_from_choices("better", choices)[2].row(0)[1:] == ("a", "b", 9, 6, 3, 0)


PAIRS = {
    "two agents": [("a", "b")],
    "three agents": [("a", "b"), ("b", "c"), ("a", "c")],
}


def battles(folder: Path, pairs: list[tuple[str, str]], *, ties: bool, item: str) -> StudyData:
    """A study from a plain table: five raters, four items; first wins 3 of 4, or ties."""
    header = f"rater,{item},agent,quality,value"
    lines = [header + ",choice" if "choice" in folder.name else header]
    for n in range(20):
        first, second = pairs[n % len(pairs)]
        won = 0.5 if ties and n % 5 == 4 else float(n % 4 > 0)
        for agent, value in ((first, won), (second, 1 - won)):
            end = f",c{n}" if "choice" in folder.name else ""
            lines.append(f"r{n // 4},i{n % 4},{agent},better,{value:g}{end}")
    folder.mkdir()
    (folder / "ratings.csv").write_text("\n".join(lines))
    return read_study(folder / "ratings.csv")


@pytest.mark.parametrize("pairs", PAIRS.values(), ids=PAIRS)
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize("item", ["item", "dialog"])
@pytest.mark.parametrize("place", ["plain", "with_choice"])
def test_battles_of_a_study_are_choices_and_nothing_else(
    tmp_path: Path, pairs: list[tuple[str, str]], ties: bool, item: str, place: str
) -> None:
    study = battles(tmp_path / place, pairs, ties=ties, item=item)
    people = what_people_said(study.ratings)
    assert people.wins["n"].sum() == 20
    assert people.agents["scale"].unique().to_list() == ["pairwise"]
    assert people.agents["n_items"].max() == 4  # an item is the same whoever is compared
    assert people.agent_differences.height == len(pairs)
    assert study.choices == ["better"]
    assert study.points().ratings.height == 0
    assert study.ratings["normalised"].null_count() == 40
    few = study.without(["r0", "r1", "r2", "r3"])  # four pairs alone would not be recognised
    assert few.points().ratings.height == 0


def test_battles_that_are_called_ratings_are_ratings_only(tmp_path: Path) -> None:
    study = battles(tmp_path / "with_choice", PAIRS["two agents"], ties=False, item="item")
    people = what_people_said(study.ratings, scales={"better": "yes_no"})
    assert people.agents["scale"].unique().to_list() == ["yes_no"]
    assert people.wins.height == 0


@pytest.mark.parametrize(("pairs", "odd"), [(5, 0), (12, 1)])
def test_few_pairs_or_an_exception_are_no_choices(pairs: int, odd: int) -> None:
    rows = [
        (f"r{n}", "i", agent, "fluent", float((agent == "a") or n < odd))
        for n in range(pairs)
        for agent in "ab"
    ]
    names = ["rater", "dialog", "agent", "quality", "value"]
    table = pl.DataFrame(rows, schema=names, orient="row")
    assert choices_of(table) == {}
    assert what_people_said(table).agents["scale"].unique().to_list() == ["yes_no"]


def test_yes_and_no_about_two_agents_are_no_choices() -> None:
    rows = [
        (f"r{n % 3}", f"i{n // 3}", agent, "fluent", float((n + (agent == "a")) % 3 > 0))
        for n in range(9)
        for agent in "ab"
    ]
    names = ["rater", "dialog", "agent", "quality", "value"]
    assert choices_of(pl.DataFrame(rows, schema=names, orient="row")) == {}


def test_answers_that_are_not_whole_are_left_out_and_counted() -> None:
    table = duels(3, 4, 0.0, seed=0)
    choices = choices_of(table.head(-1))["overall"]
    assert choices.n == 11
    assert choices.notes[0].startswith("1 answer about overall is left out")


def test_agents_that_never_met_have_shares_but_no_ranks() -> None:
    answers = [(f"r{n}", f"i{n % 3}", [("a", 1.0), ("b", 0.0)]) for n in range(6)]
    answers += [(f"r{n}", f"i{n % 3}", [("c", 1.0), ("d", 0.0)]) for n in range(6)]
    choices = choices_of(export("pairwise", answers))["overall"]
    agents, differences, _ = people_from_choices("overall", choices)
    assert agents["rank"].null_count() == 4
    assert agents["mean"].null_count() == 0
    assert differences.height == 6
    assert set(differences["reason"]) == {"never compared with each other: a and b; c and d"}


def test_what_stands_first_is_told_from_who_is_better() -> None:
    none = position_effect(choices_of(duels(15, 12, 1.0, seed=5))["overall"]).row(0, named=True)
    assert none["low"] < 0.5 < none["high"]
    pushed = choices_of(duels(15, 12, 0.0, seed=5, first=1.0))["overall"]
    found = position_effect(pushed).row(0, named=True)
    assert found["low"] < special.expit(1.0) < found["high"]
    assert found["p"] < 0.01


def test_without_places_there_is_a_reason() -> None:
    table = duels(4, 4, 0.0, seed=0).drop("position")
    row = position_effect(choices_of(table)["overall"]).row(0, named=True)
    assert row["share"] is None
    assert row["reason"] == "it is not known which candidate was shown first"


def test_agreement_takes_a_choice_as_one_label() -> None:
    # Four raters about three items: all agree, three of four agree, two of four agree.
    votes = {"x": "aaaa", "y": "aaab", "z": "aabb"}
    answers = [
        (f"r{rater}", item, [(name, float(name == vote)) for name in "ab"])
        for item, given in votes.items()
        for rater, vote in enumerate(given)
    ]
    choices = choices_of(export("pairwise", answers))["overall"]
    # Pairs of raters who agree: 6 of 6, 3 of 6, 2 of 6.
    assert same_choice(choices).value == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    rows = measure_agreement(choice_labels(choices)).rows
    kappa = rows.filter(pl.col("statistic") == "fleiss_kappa")["value"][0]
    chance = (9 / 12) ** 2 + (3 / 12) ** 2
    assert kappa == pytest.approx(((1 + 1 / 2 + 1 / 3) / 3 - chance) / (1 - chance))
    assert rows["n_ratings"].max() == 12
