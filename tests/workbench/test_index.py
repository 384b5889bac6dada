"""The index: every number is one written down by hand in `by_hand`."""

from __future__ import annotations

import hashlib
import threading
from pathlib import Path

import polars as pl
import pytest

from dialens.base import DialensError
from dialens.workbench import Index, Notebook, Range, Unit, View, collections_of, live_of
from dialens.workbench._building import build_index
from tests.workbench.by_hand import built, catalogue, corpus_folder, score_folder, scores_item


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus, and two runs of the same metric that differ."""
    place = tmp_path_factory.mktemp("bench")
    corpus_folder(place / "talks")
    score_folder(place / "old", place / "talks", plus=0.05)
    score_folder(place / "new", place / "talks")
    return place


@pytest.fixture(scope="module")
def index(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Index:
    return built(folder, tmp_path_factory.mktemp("cache") / "index", "old", "new")


def found(index: Index, view: View) -> list[tuple[str, int]]:
    return [(row["dialog"], row["turn"]) for row in index.page(view).rows]


def test_conversations_are_read_once_and_have_both_runs(folder: Path, index: Index) -> None:
    old, new = (scores_item(folder / name, folder / "talks") for name in ("old", "new"))
    (collection,) = collections_of(catalogue(folder, old, new))
    assert collection.name == "talks"
    assert {run.name for run in collection.runs} == {"old", "new"}
    assert index.count(View()) == 16
    assert index.count(View(level="dialog")) == 4
    assert index.count(View(level="agent")) == 2


def test_the_newest_run_has_the_plain_name(index: Index) -> None:
    columns = index.columns("turn")
    assert columns["empathy"].run == "new"
    assert columns["empathy@old"].run == "old"
    (row,) = index.page(
        View(
            choices={"dialog": ("exam-calm",)},
            ranges=(Range("turn", 1, 1),),
            columns=("empathy", "empathy@old"),
        )
    ).rows
    assert row["values"] == {"empathy": 0.9, "empathy@old": pytest.approx(0.95)}


def test_sorting_puts_missing_values_last_both_ways(index: Index) -> None:
    down = View(sort="empathy", descending=True)
    assert found(index, down)[:3] == [("exam-calm", 1), ("cat-calm", 1), ("cat-calm", 3)]
    up = View(sort="empathy")
    assert found(index, up)[:2] == [("cat-curt", 1), ("exam-curt", 3)]
    for view in (up, down):
        values = [row["values"]["empathy"] for row in index.page(view).rows]
        assert [value is None for value in values] == [False] * 7 + [True] * 9


@pytest.mark.parametrize(
    "view",
    [
        View(),
        View(sort="empathy"),
        View(sort="empathy", descending=True),
        View(sort="agent", descending=True),
        View(search="sorry"),
        View(search="sorry", sort="words"),
        View(level="dialog", sort="empathy"),
        View(level="agent"),
    ],
)
def test_pages_hold_every_row_once_and_in_order(index: Index, view: View) -> None:
    whole = [row["id"] for row in index.page(view, size=50).rows]
    after, paged = None, []
    while True:
        page = index.page(view, after=after, size=3)
        paged += [row["id"] for row in page.rows]
        assert page.total == len(whole)
        after = page.after
        if after is None:
            break
    assert paged == whole
    assert index.numbers(view) == whole


@pytest.mark.parametrize(
    ("search", "hits"),
    [
        ("sorry", [("exam-calm", 1), ("cat-calm", 1)]),
        ("SORRY", [("exam-calm", 1), ("cat-calm", 1)]),
        ('"so sorry"', [("exam-calm", 1)]),
        ("sorry -hear", [("cat-calm", 1)]),
        ("fail*", [("exam-calm", 0), ("exam-curt", 0)]),
        ("die", [("cat-curt", 3)]),
        ("/d[iy]ed?\\b/", [("cat-calm", 0), ("cat-curt", 0), ("cat-curt", 3)]),
        ("<b>", [("cat-curt", 1)]),
        ("nobody said that", []),
        ('"unclosed', []),
        ("OR AND NEAR(", []),
    ],
)
def test_search(index: Index, search: str, hits: list[tuple[str, int]]) -> None:
    assert found(index, View(search=search)) == hits
    assert index.count(View(search=search)) == len(hits)
    talks = dict.fromkeys(dialog for dialog, _ in hits)
    shown = [row["dialog"] for row in index.page(View(level="dialog", search=search)).rows]
    assert set(shown) == set(talks)


@pytest.mark.parametrize("search", ["/(/", "/(?<=a)b/", "-only", "/(a)\\1/"])
def test_searches_that_cannot_be_done_say_why(index: Index, search: str) -> None:
    with pytest.raises(DialensError, match=r"regular expression|leave out"):
        index.page(View(search=search))


def test_filters_meet(index: Index) -> None:
    view = View(ranges=(Range("empathy", 0.2, 0.8),), choices={"agent": ("calm", "nobody")})
    assert set(found(index, view)) == {("exam-calm", 3), ("cat-calm", 1), ("cat-calm", 3)}
    missing = View(missing=("empathy",), choices={"role": ("agent",)})
    assert found(index, missing) == [("cat-curt", 3)]
    searched = View(search="sorry", ranges=(Range("empathy", 0.85, None),))
    assert found(index, searched) == [("exam-calm", 1)]


def test_dialogues_and_agents_have_their_own_values(index: Index) -> None:
    rows = index.page(View(level="dialog", columns=("empathy", "turns", "agent_turns"))).rows
    values = {row["dialog"]: tuple(row["values"].values()) for row in rows}
    assert values["exam-calm"] == (pytest.approx(0.7), 4, 2)
    agents = index.page(View(level="agent", columns=("empathy", "dialogs"))).rows
    assert {row["agent"]: row["values"]["empathy"] for row in agents} == {
        "calm": pytest.approx((0.7 + 0.75) / 2),
        "curt": pytest.approx((0.15 + 0.05) / 2),
    }


def test_the_same_opening_is_known_across_agents(index: Index) -> None:
    openings = index.sql(
        "select opening, count(*), any_value(opening_text) from dialogs group by 1"
    )
    assert sorted((n, text) for _, n, text in openings) == [
        (2, "I failed my exam."),
        (2, "My cat died."),
    ]


def test_histogram_counts_what_the_view_holds(index: Index) -> None:
    whole = index.histogram(View(ranges=(Range("empathy", 0.8, 0.9),)), "empathy", bins=2)
    assert whole is not None
    assert (whole.low, whole.high, whole.missing) == (0.05, 0.9, 9)
    assert whole.counts == [3, 4]  # 0.05 0.1 0.2 | 0.5 0.7 0.8 0.9
    assert whole.mean == pytest.approx(3.25 / 7)
    only = index.histogram(View(choices={"agent": ("nobody",)}), "empathy")
    assert only is None


def test_choices_count_what_the_rest_of_the_view_holds(index: Index) -> None:
    view = View(search="sorry", choices={"agent": ("curt",)})
    assert index.choices(View(), ["agent", "role", "source"]) == {
        "agent": [("calm", 8), ("curt", 8)],
        "role": [("agent", 8), ("partner", 8)],
        "source": [("talks", 16)],
    }
    assert index.choices(view, ["agent", "role"]) == {"agent": [("calm", 2)], "role": []}


def test_one_value_makes_a_histogram(index: Index) -> None:
    view = View(choices={"dialog": ("cat-curt",)})
    chart = index.histogram(view, "empathy")
    assert chart is not None
    assert sum(chart.counts) == 1


@pytest.mark.parametrize(
    "view",
    [
        View(sort="empaty"),
        View(columns=("nothing",)),
        View(ranges=(Range("agent", 1, 2),)),
        View(level="agent", search="sorry"),
        View(level="agent", choices={"flag": ("1",)}),
        View(level="dialog", choices={"role": ("agent",)}),
    ],
)
def test_what_is_not_there_is_said(index: Index, view: View) -> None:
    with pytest.raises(DialensError):
        index.page(view)


def test_a_place_that_is_none_is_refused(index: Index) -> None:
    for after in ("x", "[1", "{}", "[[], 1]"):
        with pytest.raises(DialensError):
            index.page(View(), after=after)


def test_ratings_and_flags_become_columns(index: Index, tmp_path: Path) -> None:
    book = Notebook(tmp_path)
    book.flag(Unit("talks", "exam-calm", 1), 1, "ann")
    book.flag(Unit("talks", "exam-calm", 1), 3, "bob")
    book.flag(Unit("talks", "cat-curt"), 2, "ann")
    book.write_note(Unit("talks", "cat-curt", 3), "harsh", "ann")
    judged = index.ratings().with_columns(
        rater=pl.lit("gpt"), rater_kind=pl.lit("llm"), value=pl.lit(2.0)
    )
    index.set_live(live_of([index.ratings(), judged], book.flags(), book.notes(), book.codes()))
    columns = index.columns("turn")
    assert {"people:warmth", "judge:gpt:warmth", "flags", "note"} <= set(columns)
    view = View(sort="people:warmth", columns=("people:warmth", "judge:gpt:warmth"))
    first = index.page(view).rows[0]
    assert first["dialog"] == "exam-calm"
    assert first["values"] == {"people:warmth": 4.5, "judge:gpt:warmth": 2.0}
    assert first["flags"] == "1,3"
    assert found(index, View(choices={"flag": ("3",)})) == [("exam-calm", 1)]
    assert found(index, View(choices={"flag": ("any",)})) == [("exam-calm", 1)]
    assert found(index, View(choices={"coder": ("bob",)})) == [("exam-calm", 1)]
    flagged = index.page(View(level="dialog", choices={"flag": ("any",)})).rows
    assert {row["dialog"] for row in flagged} == {"exam-calm", "cat-curt"}
    index.set_live(live_of([], book.flags().clear(), book.notes().clear(), ()))
    assert found(index, View(choices={"flag": ("any",)})) == []
    book.close()


def test_many_ask_at_once(index: Index) -> None:
    views = [View(search="sorry", sort="empathy"), View(sort="words"), View(level="dialog")]
    expected = [[row["id"] for row in index.page(view).rows] for view in views]
    wrong: list[object] = []

    def ask(number: int) -> None:
        for step in range(20):
            place = (number + step) % 3
            rows = [row["id"] for row in index.page(views[place]).rows]
            if rows != expected[place]:
                wrong.append((place, rows))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_conversations_that_are_gone_are_shown_by_their_scores(
    folder: Path, tmp_path: Path
) -> None:
    run = scores_item(folder / "new", tmp_path / "moved")
    (collection,) = collections_of(catalogue(tmp_path, run))[:1]
    assert collection.paths == ()
    place = tmp_path / "index"
    place.mkdir()
    build_index((collection,), place, lambda _: None)
    index = Index(place)
    assert "no longer there" in index.notes[0]
    top = index.page(View(sort="empathy", descending=True)).rows[0]
    assert (top["dialog"], top["turn"], top["text"]) == ("exam-calm", 1, "")
    index.close()


def test_building_reads_only(folder: Path, tmp_path: Path) -> None:
    def hashes() -> dict[str, str]:
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}

    before = hashes()
    built(folder, tmp_path / "index", "old", "new").close()
    assert hashes() == before
