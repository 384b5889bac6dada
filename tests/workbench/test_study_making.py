"""A study of a selection: valid, blind, and each rating finds the way back."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.corpus import Dialogue, Turn, batches, write_corpus
from dialens.statistics.power import Design, power_within
from dialens.studies import check_finished, load_study
from dialens.studies.simulation import Population, simulate_study
from dialens.studies.store import Store
from dialens.workbench import (
    JUDGED,
    NEEDED,
    Draw,
    GoldItem,
    Strata,
    StudyWish,
    Unit,
    View,
    Workbench,
    draw,
    gold_suggestions,
    known_r,
    planned_study,
    powers,
    price,
    study_place,
    write_study_of,
)
from tests.workbench.folders import print_of
from tests.workbench.spoken import EVIL, EVIL_NAME

NOW = datetime(2026, 11, 1, tzinfo=UTC)
HOSTILE = f"{EVIL} {{x}} 'quoted' \"twice\": - # * & !tag\n\n  more\t\x07 {EVIL_NAME}"


def dialogue(agent: str, number: int) -> Dialogue:
    """What Ann asks and a bot that calls itself by its name answers."""
    sides = (("Ann", "partner"), (agent, "agent"))
    texts = [
        f"Question {number}.",
        f"Answer of {agent}.",
        "And then?",
        f"{number} times. {HOSTILE}",
    ]
    turns = [Turn(*sides[n % 2], text) for n, text in enumerate(texts)]
    return Dialogue("s", agent, f"{number}-{agent}", turns)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("selected")
    talks = [dialogue(agent, n) for n in range(12) for agent in ("one", "two", EVIL_NAME)]
    write_corpus(batches(talks), folder / "talks", source={"name": "x", "format": "python"})
    return folder


@pytest.fixture
def bench(made: Path, tmp_path: Path) -> Iterator[Workbench]:
    (tmp_path / "talks").symlink_to(made / "talks")
    opened = Workbench.open(tmp_path, cache=made / "cache")
    yield opened
    opened.close()


def drawn_for(bench: Workbench, template: str = "likert", count: int = 12) -> Draw:
    what, agents = JUDGED[template], NEEDED.get(template, 1)
    return draw(bench.index, View(), what, count, seed=1, strata=Strata(), agents=agents)


@pytest.mark.parametrize("template", JUDGED)
def test_every_template_for_a_selection_makes_a_valid_study(
    template: str, bench: Workbench
) -> None:
    drawn = drawn_for(bench, template, 6)
    wish = StudyWish(f"of-{template}", template, raters=2, each=3, hourly=12, contact="Ada")
    before = print_of(bench.folder)
    planned = planned_study(bench.index, drawn, wish)
    assert print_of(bench.folder) == before, "nothing is written before it is asked for"
    place = write_study_of(bench.index, drawn, wish, bench.folder)
    study = load_study(place)
    check_finished(place)
    assert study.hash == planned.study.hash
    assert {path.name: path.read_text("utf-8") for path in place.iterdir() if path.name[0] != "."} \
        == planned.files  # fmt: skip
    minutes = max(cell.minutes for cell in planned.estimate.cells)
    reward = study.design.recruiter.reward
    assert reward == pytest.approx(12 * minutes / 60, abs=0.006)
    assert planned.estimate.cost == pytest.approx(planned.estimate.participants * reward, abs=0.01)
    assert planned.estimate.participants == 2 * len(study.lists)
    shown = json.dumps([[u.speaker, u.text] for item in study.items for u in item.context])
    assert "Ann" not in shown, "speakers are told by their part, not by name"
    units = {(u.agent, u.dialog, u.turn) for u in drawn.units}
    made = {(c.agent, c.dialog, c.turn) for item in study.items for c in item.candidates}
    if template == "turn-by-turn":
        assert {(agent, dialog) for agent, dialog, _ in made} == {u[:2] for u in units}
        assert {turn for _, _, turn in made} == {1, 3}
    else:
        assert made == units
    assert {c.system for item in study.items for c in item.candidates} == {"s"}


def test_ratings_find_the_way_back_to_their_turns(bench: Workbench) -> None:
    drawn = drawn_for(bench)
    wish = StudyWish("back", "likert", ("appropriateness",), raters=2, each=6)
    place = write_study_of(bench.index, drawn, wish, bench.folder)
    with Store.open(f"sqlite:///{place / 'study.db'}") as store:
        study = load_study(place)
        simulate_study(store, study, Population(), participants=4, seed=1, now=NOW)
    bench.refresh()
    said = pl.concat(bench.said)
    assert said["source"].unique().to_list() == ["talks"]
    rated = {(row["agent"], row["dialog"], row["turn"]) for row in said.iter_rows(named=True)}
    assert rated == {(u.agent, u.dialog, u.turn) for u in drawn.units}
    means = {
        (dialog, turn): value
        for dialog, turn, value in said.group_by("dialog", "turn")
        .agg(pl.col("value").mean())
        .iter_rows()
    }
    name = "simulated:appropriateness"
    page = bench.index.page(View(columns=(name,)), size=500)
    shown = {
        (row["dialog"], row["turn"]): row["values"][name]
        for row in page.rows
        if row["values"][name] is not None
    }
    assert shown == pytest.approx(means)
    agents = bench.index.page(View("agent", columns=(name,)))
    assert all(row["values"][name] is not None for row in agents.rows)


def test_context_may_be_cut_and_the_turn_keeps_its_number(bench: Workbench) -> None:
    drawn = drawn_for(bench, count=36)
    planned = planned_study(bench.index, drawn, StudyWish("cut", "likert", context=1))
    late = [item for item in planned.study.items if item.candidates[0].turn == 3]
    assert late
    assert {len(item.context) for item in late} == {1}


def test_nothing_is_overwritten_and_names_are_checked(bench: Workbench) -> None:
    drawn = drawn_for(bench)
    (bench.folder / "mine").mkdir()
    (bench.folder / "link").symlink_to(bench.folder / "nowhere")
    for name in ("mine", "link", "talks"):
        with pytest.raises(DialensError, match="there already"):
            write_study_of(bench.index, drawn, StudyWish(name, "likert"), bench.folder)
    assert list((bench.folder / "mine").iterdir()) == []
    for name in ("", "..", "a/b", "Upper", "x" * 61, "-a", "a\n"):
        with pytest.raises(DialensError, match="cannot be called"):
            study_place(bench.folder, name)
    with pytest.raises(DialensError, match="needs material"):
        write_study_of(bench.index, drawn, StudyWish("a", "three-bots"), bench.folder)
    with pytest.raises(DialensError, match="no quality warmth"):
        write_study_of(bench.index, drawn, StudyWish("a", "likert", ("warmth",)), bench.folder)
    assert sorted(p.name for p in bench.folder.iterdir()) == ["link", "mine", "talks"]


def test_gold_items_are_those_on_which_all_agree_and_hold_what_was_confirmed(
    bench: Workbench,
) -> None:
    drawn = drawn_for(bench)
    number = drawn.rest[0].id
    unit = drawn.rest[0]
    bench.notebook.flag(Unit(unit.source, unit.dialog, unit.turn or 0), 4, "ada")
    bench.follow()
    found = gold_suggestions(bench.index, drawn.rest, "", {4: "rude"})
    assert [(one.unit.id, one.high, one.why) for one in found] == [(number, None, "flagged: rude")]
    assert {one.unit for one in found}.isdisjoint(drawn.units)
    gold = (GoldItem(unit, "relevance", at_most=2.0),)
    wish = StudyWish("gold", "likert", ("relevance",), gold=gold)
    study = planned_study(bench.index, drawn, wish).study
    assert [item.id for item in study.gold] == ["known-1"]
    only = study.gold[0]
    assert only.candidates[0].dialog == unit.dialog
    assert dict(only.expect[0]) == {
        "quality": "relevance",
        "response": only.candidates[0].key,
        "at_most": 2.0,
    }


def test_power_is_that_of_dialens_power_and_the_price_adds_up(bench: Workbench) -> None:
    drawn = drawn_for(bench, count=36)
    wish = StudyWish("priced", "likert", ("relevance", "appropriateness"), raters=3, hourly=12)
    planned = planned_study(bench.index, drawn, wish)
    found = powers(planned.study, drawn, 3, bench.ratings())
    assert [one.quality for one in found] == ["appropriateness", "relevance"]
    one = found[0]
    assert one.parts is not None
    assert one.found is not None
    design = Design(raters=3, items=12, paired=False, shared_raters=len(planned.study.cells) == 1)
    seen = power_within(one.parts, one.found, design).power.value
    assert seen == pytest.approx(0.8, abs=0.005)
    assert "assumed" in one.basis
    cost = price(planned.study, planned.estimate, 3, one, judge_price=0.01, judge_r=0.8)
    assert f"{planned.estimate.cost:,.2f} in all" in cost.people
    assert "72 ratings, USD 0.72" in cost.judges, "36 items on two qualities"
    assert "better left out" in cost.mix, "a rating of a person costs three cents here"
    cheap = price(planned.study, planned.estimate, 3, one, judge_price=0.0005, judge_r=0.8)
    assert "r = 0.80" in cheap.mix
    assert price(planned.study, planned.estimate, 3, one, judge_price=None, judge_r=None).mix == ""


def test_how_far_a_judge_goes_is_taken_from_ratings_of_both() -> None:
    rows = [
        {"agent": "a", "dialog": f"d{n}", "turn": 1, "quality": "q", "rater": who,
         "rater_kind": kind, "value": value}
        for n in range(12)
        for who, kind, value in (("p", "human", float(n)), ("m", "llm", float(-n)))
    ]  # fmt: skip
    table = pl.DataFrame(rows)
    found = known_r(table, ["q"])
    assert found is not None
    assert found[0] == pytest.approx(-1.0)
    assert found[1:] == ("m on q", 12)
    assert known_r(table.filter(pl.col("dialog") < "d2"), ["q"]) is None
    assert known_r(table, ["other"]) is None
