"""One conversation: its turns, values with reasons, ratings, marks, and the order to step in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.corpus import RATINGS
from dialens.workbench import (
    WHOLE,
    Code,
    Marks,
    Unit,
    View,
    Workbench,
    along,
    find_talk,
    live_of,
    marks_of,
    neighbours,
    ratings_of,
    read_dialog,
    runs_of,
    scores_of,
)
from dialens.workbench._live import load_live
from tests.workbench.folders import dialens
from tests.workbench.spoken import EVIL, EVIL_NAME, LONG, make_spoken


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Workbench]:
    place = tmp_path_factory.mktemp("spoken")
    make_spoken(place / "folder")
    made = Workbench.open(place / "folder", cache=place / "cache")
    yield made
    made.close()


def number_of(bench: Workbench, dialog: str) -> int:
    return find_talk(bench, "talks", dialog)[0]


def test_a_conversation_is_read_whole(bench: Workbench) -> None:
    read = read_dialog(bench, number_of(bench, "exam-calm"), columns=["length"])
    assert (read.turns, read.agent_turns, read.before, read.after) == (4, 2, 0, 0)
    assert [one.text for one in read.shown][::2] == ["I failed my exam.", "Maths."]
    # "I am so sorry, that is sad. What happened?" and "Good luck!", counted by hand
    assert [one.values["length"] for one in read.shown] == [None, 9.0, None, 2.0]


def test_a_part_of_a_long_one(bench: Workbench) -> None:
    read = read_dialog(bench, number_of(bench, "long"), start=100, most=50)
    assert [one.turn for one in read.shown] == list(range(100, 150))
    assert (read.before, read.after, read.turns) == (100, LONG - 150, LONG)


def test_one_that_is_not_there(bench: Workbench) -> None:
    assert find_talk(bench, None, "cat-curt")[1] == "talks"
    with pytest.raises(DialensError, match="no conversation nowhere"):
        find_talk(bench, "talks", "nowhere")
    with pytest.raises(DialensError, match="in elsewhere"):
        find_talk(bench, "elsewhere", "cat-curt")


def test_names_that_attack_are_names(bench: Workbench) -> None:
    read = read_dialog(bench, number_of(bench, EVIL_NAME))
    assert (read.agent, read.dialog, read.shown[0].text) == (EVIL_NAME, EVIL_NAME, EVIL)


def test_values_with_the_reason_of_those_that_are_missing(bench: Workbench) -> None:
    read = read_dialog(bench, number_of(bench, "cat-curt"))
    found = {one.column.name: one for one in scores_of(bench, read, read.shown[1])}
    assert found["length"].value == 3.0
    assert found["emotional_entropy"].value is None
    scores = next(iter(runs_of(bench, "talks")))[0]
    said = scores.table.filter(
        (pl.col("metric") == "emotional_entropy")
        & (pl.col("dialog") == "cat-curt")
        & (pl.col("level") == "turn")
        & (pl.col("turn") == 1)
    ).collect()
    assert found["emotional_entropy"].reason == said["reason"][0] != ""
    assert scores_of(bench, read, read.shown[0]) == []  # the partner's
    whole = {one.column.name: one.value for one in scores_of(bench, read, None)}
    assert whole["length"] == 2.5


def test_ratings_beside_the_turn(bench: Workbench) -> None:
    read = read_dialog(bench, number_of(bench, "exam-calm"))
    judge, people = sorted(read.shown[1].ratings, key=lambda one: one.kind)
    assert (people.kind, people.mean, people.n) == ("people", 4.5, 2)
    assert [(one.rater, one.value) for one in people.ratings] == [("r1", 4.0), ("r2", 5.0)]
    assert (judge.who, judge.mean, judge.n) == (EVIL, 2.0, 1)
    assert [(one.quality, one.mean) for one in read.ratings] == [("quality", 3.0)]


def test_ratings_of_an_unknown_source_fit_any_and_of_another_none() -> None:
    def rated(**more: object) -> pl.DataFrame:
        row = RATINGS.to_frame().clear(1).row(0, named=True)
        row |= {"rater": "a", "level": "turn", "dialog": "d", "turn": 1, "quality": "q"}
        row |= {"value": 1.0, "source": None} | more
        return pl.DataFrame([row], schema={**RATINGS, "source": pl.String})

    def n(*tables: pl.DataFrame) -> int:
        found = ratings_of(tables, source="s", agent="g", dialog="d")
        return sum(one.n for one in found)

    assert n(rated(), rated(source="s", agent="g")) == 2
    assert n(rated(source="t"), rated(agent="h"), rated(dialog="e"), rated(value=None)) == 0
    assert n() == 0
    whole = ratings_of([rated(turn=None)], source="s", agent="g", dialog="d")
    assert whole[0].turn == WHOLE


def test_marks_of_several_coders(bench: Workbench) -> None:
    book = bench.notebook
    unit = Unit("talks", "cat-calm", 1)
    book.write_code(Code(2, "off topic"))
    for code in (3, 2):
        book.flag(unit, code, "ann")
    book.flag(unit, 2, "bob")
    book.write_note(unit, " why? ", "bob")
    book.flag(Unit("talks", "cat-calm"), 9, "ann")
    book.flag(Unit("other", "cat-calm", 1), 5, "ann")
    found = marks_of(book, "talks", "cat-calm", "ann")
    assert found[1] == Marks((2, 3), "", {"bob": ((2,), "why?")})
    assert found[WHOLE] == Marks((9,), "", {})
    read = read_dialog(bench, number_of(bench, "cat-calm"), coder="bob")
    assert read.shown[1].marks == Marks((2,), "why?", {"ann": ((2, 3), "")})


def test_values_along_the_turns(bench: Workbench) -> None:
    assert along(bench, number_of(bench, "exam-calm"), "length") == [(1, 9.0), (3, 2.0)]
    assert along(bench, number_of(bench, "exam-calm"), "people:warmth") == [(1, 4.5)]
    with pytest.raises(DialensError, match="no numbers"):
        along(bench, 0, "agent")


@pytest.mark.parametrize(
    "view",
    [
        View(),
        View(level="dialog"),
        View(sort="length", descending=True),
        View(sort="length"),
        View(sort="emotional_entropy"),
        View(sort="agent"),
        View(level="dialog", sort="turns", descending=True),
        View(search="happy", sort="joy_share"),
        View(sort="people:warmth", descending=True),
        View(choices={"agent": ("calm",)}),
        View(search="nowhere"),
    ],
    ids=lambda view: view.address() or "all",
)
def test_rows_come_in_the_order_of_the_view(bench: Workbench, view: View) -> None:
    rows = bench.index.rows(view.level, bench.index.numbers(view), [])
    units = [(row["talk"], row.get("turn")) for row in rows]
    for place in {*range(min(len(units), 20)), *range(max(0, len(units) - 3), len(units))}:
        near = neighbours(bench.index, view, *units[place])
        assert (near.place, near.total, near.level) == (place + 1, len(units), view.level)
        assert near.before == (units[place - 1] if place else None)
        assert near.after == (units[place + 1] if place + 1 < len(units) else None)


def test_a_converted_corpus_is_read_as_what_it_is(tmp_path: Path) -> None:
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes."}]
    lines = [json.dumps({"id": name, "messages": said}) for name in "ab"]
    (tmp_path / "chats.jsonl").write_text("\n".join(lines))
    dialens(tmp_path, "convert", "chats.jsonl", "corpus")
    (tmp_path / "chats.jsonl").unlink()
    dialens(tmp_path, "score", "corpus", "-o", "out", "--models", "none", "--no-cache",
            "--metrics", "length")  # fmt: skip
    bench = Workbench.open(tmp_path, cache=tmp_path / "cache")
    assert bench.index.notes == ()
    assert bench.index.sql("select count(*) from turns") == [(4,)]
    bench.close()


def test_no_room_for_what_is_shown_of_flags(bench: Workbench, tmp_path: Path) -> None:
    book = bench.notebook
    book.flag(Unit("talks", "cat-calm", 3), 1, "ann")
    live = live_of([], book.flags(), book.notes(), book.codes())
    with pytest.raises(DialensError, match="stored, but cannot be shown"):
        load_live(bench.index._database, "turn", live.turn, tmp_path / "gone")
