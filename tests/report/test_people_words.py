"""The sentence that says which agent people preferred."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import polars as pl
import pytest

from dialens.analysis.people import (
    AGENT_DIFFERENCES,
    AGENTS,
    DISTRIBUTIONS,
    WINS,
    AnswerScale,
    People,
)
from dialens.report._page import Findings
from dialens.report.people import (
    one_agent_answer,
    people_answer,
    people_sections,
    people_tables,
    said,
)

FIVE = AnswerScale("likert", 1, 5, "by the column `scale`")


def people(means: dict[str, dict[str, float]], clear: dict[tuple[str, str, str], float]) -> People:
    """Means by quality and agent, and the corrected p of some pairs; the others have 0.5."""
    agents, pairs = list[dict[str, Any]](), list[dict[str, Any]]()
    for quality, known in means.items():
        names = sorted(known)
        for name in names:
            counts = {"n": 40, "n_raters": 20, "n_items": 10, "unit": "points", "scale": "likert"}
            agents.append({"quality": quality, "agent": name, "mean": known[name]} | counts)
        for at, a in enumerate(names):
            for b in names[at + 1 :]:
                gap = known[a] - known[b]
                p = clear.get((quality, a, b), 0.5)
                pairs.append(
                    {"quality": quality, "first": a, "second": b, "difference": gap}
                    | {"low": gap - 0.25, "high": gap + 0.25, "unit": "points", "p": p}
                    | {"p_adjusted": p, "family": 3, "effect_size": gap, "effect": "d"}
                    | {"n_raters": 20, "n_items": 10}
                )
    return People(
        pl.DataFrame(agents, schema=AGENTS),
        pl.DataFrame(pairs, schema=AGENT_DIFFERENCES),
        DISTRIBUTIONS.to_frame(),
        WINS.to_frame(),
        (),
        {},
        dict.fromkeys(means, FIVE),
    )


def test_the_headline_quality_comes_first_and_the_others_follow() -> None:
    told = people(
        {"tone": {"x": 3.0, "y": 2.9}, "overall": {"x": 3.0, "y": 3.62}, "wit": {"x": 2, "y": 3}},
        {("overall", "x", "y"): 0.01, ("wit", "x", "y"): 0.02},
    )
    assert people_answer(told) == (
        "People preferred y to x on overall by 0.62 points of 5 (95 % interval 0.37 to 0.87; "
        "20 raters); also on wit; no clear difference on tone"
    )


def test_no_winner_is_said() -> None:
    told = people({"tone": {"x": 3.0, "y": 2.9, "z": 2.5}, "wit": {"x": 3, "y": 3, "z": 3}}, {})
    assert people_answer(told) == (
        "No clear difference between the 3 agents on any of 2 qualities; the largest is x over z "
        "on tone by 0.50 points of 5 (95 % interval 0.25 to 0.75; 20 raters, corrected p = 0.500)"
    )


@pytest.mark.parametrize(
    ("clear", "sentence"),
    [
        ([("x", "y"), ("x", "z")], "x to both others on overall, to y, the next best, by 0.40"),
        ([("x", "z")], "x to z on overall by 1.50"),
        ([("y", "z")], "y to z on overall by 1.10"),
    ],
)
def test_several_agents(clear: list[tuple[str, str]], sentence: str) -> None:
    means = {"overall": {"x": 4.0, "y": 3.6, "z": 2.5}}
    told = people(means, {("overall", *pair): 0.001 for pair in clear})
    assert f"People preferred {sentence} points of 5" in str(people_answer(told))


def test_a_difference_on_another_quality_is_not_hidden() -> None:
    told = people({"overall": {"x": 3, "y": 3}, "wit": {"x": 4, "y": 2}}, {("wit", "x", "y"): 0.01})
    assert str(people_answer(told)).startswith(
        "No clear difference on overall, but people preferred x to y on wit by 2.00 points of 5"
    )


def test_also_names_only_qualities_in_which_the_same_holds() -> None:
    means = {"x": 4.0, "y": 3.6, "z": 2.5}
    both = {("overall", "x", "y"): 0.01, ("overall", "x", "z"): 0.01}
    part = {("wit", "x", "z"): 0.01, ("wit", "y", "z"): 0.01, ("tone", "y", "z"): 0.01}
    whole = {("tact", "x", "y"): 0.01, ("tact", "x", "z"): 0.01}
    names = ("overall", "wit", "tone", "tact")
    told = people(dict.fromkeys(names, means), both | part | whole)
    assert str(people_answer(told, "Simulated raters")).startswith(
        "Simulated raters preferred x to both others on overall"
    )
    assert str(people_answer(told)).endswith(
        "; also on tact; on wit only to z; on tone clear differences only between others"
    )


def chosen(found: dict[tuple[str, str], tuple[float, float, int, int]]) -> People:
    """The model's share and the p of pairs, and how often the first won and lost."""
    pairs, wins = list[dict[str, Any]](), list[dict[str, Any]]()
    for (a, b), (share, p, won, lost) in found.items():
        pairs.append(
            {"quality": "better", "scale": "pairwise", "first": a, "second": b, "low": 0.1}
            | {"difference": share - 0.5, "high": 0.2, "unit": "log odds", "p": p, "p_adjusted": p}
            | {"effect": "win probability", "effect_size": share, "effect_low": share - 0.1}
            | {"effect_high": share + 0.01, "family": 3, "n_raters": 9, "n_items": 9}
        )
        if won + lost:
            counts = {"n": won + lost, "wins": won, "ties": 0, "losses": lost}
            wins.append({"quality": "better", "first": a, "second": b} | counts)
    names = sorted({name for pair in found for name in pair})
    row = {"quality": "better", "mean": 0.5, "unit": "share", "n": 9}
    agents = [row | {"agent": name} for name in names]
    return People(
        pl.DataFrame(agents, schema=AGENTS),
        pl.DataFrame(pairs, schema=AGENT_DIFFERENCES),
        DISTRIBUTIONS.to_frame(),
        pl.DataFrame(wins, schema=WINS),
        (),
        {},
        {},
    )


def test_a_pair_that_nobody_compared_is_no_largest_difference() -> None:
    told = chosen({("q", "c"): (0.8, 0.3, 4, 1), ("q", "s"): (0.98, 0.2, 0, 0)})
    assert "the largest is q over c in 80 % of choices (" in str(people_answer(told))


def test_shares_by_the_model_and_as_counted_are_told_apart() -> None:
    counted = chosen({("q", "c"): (0.75, 0.01, 9, 1)})
    assert (
        "q to c on better in 75 % of choices by the model, 90 % as counted (95 % interval"
        in str(people_answer(counted))
    )
    never = chosen({("q", "s"): (0.9, 0.01, 0, 0)})
    table = people_tables(never)["agent_differences"]
    assert "90 % (by the model)" in str(table.rows[0])
    assert table.note.endswith("By the model: nobody compared the two directly.")
    assert (
        "q to s on better in 90 % of choices by the model, since nobody compared them directly ("
        in str(people_answer(never))
    )


def test_effect_sizes_are_told_from_the_side_of_the_better_agent() -> None:
    told = said(people({"overall": {"x": 3.0, "y": 3.6}}, {}))[0]
    assert told.better == "y"
    assert told.effect[0] == pytest.approx(0.6)


def test_one_agent_is_no_comparison() -> None:
    assert people_answer(people({"overall": {"x": 3.0}}, {})) is None
    sections = list(people_sections(people({"overall": {"x": 3.0}}, {}), None))
    assert [section.title for section in sections] == ["What people said"]


def test_the_only_agent_gets_its_mean_as_the_answer() -> None:
    alone = people({"tone": {"x": 2.0}, "overall": {"x": 3.5}}, {})
    assert one_agent_answer(alone) == "People rated x 3.50 of 5 on overall (20 raters, 10 items)"
    assert one_agent_answer(people({"tone": {"x": 2.0, "y": 3.0}}, {})) is None


@pytest.mark.parametrize(
    ("scale", "words"),
    [
        (AnswerScale("slider", None, None, "", span=1.0), "0.27 points"),
        (AnswerScale("slider", None, None, "", span=80.0), "0.3 points"),
        (AnswerScale("slider", 0, 100, "", span=1.0), "0.3 points of 100"),
    ],
)
def test_differences_on_narrow_scales_have_two_decimals(scale: AnswerScale, words: str) -> None:
    found = people({"tone": {"x": 0.6, "y": 0.33}}, {})
    assert said(replace(found, scales={"tone": scale}))[0].size == words


def test_the_only_other_agent_has_a_name() -> None:
    told = people(
        {"overall": {"x": 3.0, "y": 3.6}, "wit": {"x": 3.5, "y": 2.5}},
        {("overall", "x", "y"): 0.01, ("wit", "x", "y"): 0.01},
    )
    assert str(people_answer(told)).endswith("; x was rated higher on wit")


def test_where_nothing_was_tested_nothing_is_called_chance() -> None:
    told = people({"overall": {"x": 3.0, "y": 3.6}}, {})
    untested = told.agent_differences.with_columns(
        p=None, p_adjusted=None, low=None, high=None, reason=pl.lit("1 rater")
    ).cast(AGENT_DIFFERENCES)
    told = replace(told, agent_differences=untested)
    assert people_answer(told) == "The agents cannot be compared: 1 rater"
    first = next(iter(people_sections(told, None))).blocks[0]
    assert isinstance(first, Findings)
    assert first.otherwise == "No difference between agents was tested: 1 rater."
