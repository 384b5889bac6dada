"""Agents on the same opening: what they share, and how far they lie apart, counted by hand."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from dialens.base import DialensError
from dialens.corpus import Dialogue, batches, write_corpus
from dialens.workbench import (
    Workbench,
    choose,
    contenders,
    measures,
    openings,
    sides,
    turn_spreads,
    usual_measure,
)
from tests.workbench.spoken import CAT, EVIL_NAME, EXAM, make_spoken, turns


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    place = tmp_path_factory.mktemp("sides")
    make_spoken(place / "folder")
    made = Workbench.open(place / "folder", cache=place / "cache")
    yield made
    made.close()


def test_agents_that_share_openings_come_first(bench: Workbench) -> None:
    assert [one.key for one in choose(bench.index, [])] == ["calm", "curt"]
    assert {one.key for one in contenders(bench.index)} == {"calm", "curt", "lone", EVIL_NAME}
    with pytest.raises(DialensError, match="Did you mean calm"):
        choose(bench.index, ["clam"])


def test_where_they_differ_most_by_conversation(bench: Workbench) -> None:
    index = bench.index
    found = openings(
        index, choose(index, ["curt", "calm"]), index.columns("dialog")["length"], "dialog", most=9
    )
    # exam: curt 2 words; calm (9 + 2) / 2 = 5.5 and (2 + 3) / 2 = 2.5, together 4
    # cat: curt (3 + 2) / 2 = 2.5; calm (4 + 3) / 2 = 3.5
    assert [(one.text, one.values, one.spread) for one in found.rows] == [
        (EXAM, (2.0, 4.0), 2.0),
        (CAT, (2.5, 3.5), 1.0),
    ]
    assert (found.total, found.shared, found.alone, found.unopened) == (2, 2, 0, 0)


def test_where_they_differ_most_by_turn(bench: Workbench) -> None:
    index = bench.index
    agents = choose(index, ["calm", "curt"])
    found = openings(index, agents, index.columns("turn")["length"], "turn", most=2)
    # exam, turn 1: calm (9 + 2) / 2, curt 2; cat, turn 1: 4 and 3, turn 3: 3 and 2
    assert [(one.text, one.turn, one.spread) for one in found.rows] == [
        (EXAM, 1, 3.5),
        (CAT, 1, 1.0),
    ]
    assert found.total == 3
    rest = openings(index, agents, index.columns("turn")["length"], "turn", most=2, offset=2)
    assert [(one.turn, one.values) for one in rest.rows] == [(3, (3.0, 2.0))]


def test_what_cannot_be_compared_is_counted(bench: Workbench) -> None:
    index = bench.index
    column = index.columns("dialog")["length"]
    found = openings(index, choose(index, ["calm", "lone"]), column, "dialog", most=9)
    # calm has two openings and lone one, of which none is shared; lone begins once itself
    assert (found.rows, found.shared, found.alone, found.unopened) == ((), 0, 3, 1)


def test_ratings_are_measures_too(bench: Workbench) -> None:
    index = bench.index
    names = [one.name for one in measures(index, "turn")]
    assert "people:warmth" in names
    assert "words" in names
    assert "turn" not in names
    agents = choose(index, ["calm", "curt"])
    found = openings(index, agents, index.columns("turn")["people:warmth"], "turn", most=9)
    assert found.rows == ()  # one agent alone has ratings
    assert usual_measure(index, "dialog") in names


def test_turns_side_by_side(bench: Workbench) -> None:
    index = bench.index
    agents = choose(index, ["calm", "curt"])
    column = index.columns("dialog")["length"]
    opening = openings(index, agents, column, "dialog", most=1).rows[0].number
    shown = sides(bench, opening, agents, columns=["length"], coder="", most=None)
    assert [(one.dialog.dialog, one.others) for one in shown] == [
        ("exam-calm", ("exam-again",)),
        ("exam-curt", ()),
    ]
    assert turn_spreads(shown, "length") == {1: 7.0}
    with pytest.raises(DialensError, match="None of these agents"):
        sides(bench, 2**64 - 1, agents, columns=[], coder="", most=None)


def test_one_agent_in_two_collections(tmp_path: Path) -> None:
    for name, reply in (("before", "No."), ("after", "Yes, of course.")):
        talk = Dialogue("s", "bot", f"d-{name}", turns(EXAM, reply))
        write_corpus(batches([talk]), tmp_path / name, source={"name": name, "format": "x"})
    bench = Workbench.open(tmp_path, cache=tmp_path / "cache")
    agents = choose(bench.index, ["bot"])
    assert sorted(one.key for one in agents) == ["bot (after)", "bot (before)"]
    assert choose(bench.index, ["bot (after)"]) == tuple(
        one for one in agents if one.source == "after"
    )
    words = bench.index.columns("dialog")["words"]
    found = openings(bench.index, agents, words, "dialog", most=1)
    assert found.rows[0].spread == 2.0  # three words and one
    bench.close()
