"""Ratings of studies come back while people answer; no database is written, locked or missed."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.studies import load_study
from dialens.studies.export import export
from dialens.studies.judges import Ledger, Said, judge_study
from dialens.studies.simulation import Population, simulate_study
from dialens.studies.store import OperationStore, Store
from dialens.workbench import (
    Strata,
    Studied,
    StudyWish,
    View,
    Workbench,
    database_with,
    draw,
    people_of,
    standings,
    write_study_of,
)
from dialens.workbench import _studied as studied
from tests.studies.judges.test_judging import Scripted, planned
from tests.workbench.by_hand import corpus_folder, score_folder
from tests.workbench.folders import print_of

NOW = datetime(2026, 11, 1, tzinfo=UTC)
Answer = Callable[[int], None]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("studied")
    corpus_folder(folder / "talks")
    score_folder(folder / "new", folder / "talks")
    return folder


@pytest.fixture
def bench(made: Path, tmp_path: Path) -> Iterator[Workbench]:
    """A folder with a study of all replies, which nobody has taken."""
    for name in ("talks", "new"):
        (tmp_path / name).symlink_to(made / name)
    opened = Workbench.open(tmp_path, cache=made / "cache")
    drawn = draw(opened.index, View(), "turn", 8, seed=1, strata=Strata())
    wish = StudyWish("asked", "likert", ("relevance",), raters=50, each=8)
    write_study_of(opened.index, drawn, wish, opened.folder)
    opened.refresh()
    yield opened
    opened.close()


@pytest.fixture
def answer(bench: Workbench) -> Iterator[Answer]:
    """Lets so many people take the study; its server's store stays open all the while."""
    place = bench.folder / "asked"
    study = load_study(place)
    with Store.open(f"sqlite:///{place / 'study.db'}") as store:
        store.register(study, now=NOW)
        came = [0]

        def answered(people: int) -> None:
            came[0] += 1
            simulate_study(
                store, study, Population(), participants=people, seed=came[0],
                now=NOW + timedelta(days=came[0]), add=True,
            )  # fmt: skip

        yield answered


def copy(path: Path, target: Path) -> None:
    """A copy of a database that may be in use, as a server leaves one that has stopped."""
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(target)) as made:
        source.backup(made)
        assert made.execute("pragma journal_mode = wal").fetchone() == ("wal",)


def rated(bench: Workbench) -> int:
    bench.follow()
    return sum(table.height for table in bench.said)


def test_answers_come_in_while_the_server_runs(bench: Workbench, answer: Answer) -> None:
    assert rated(bench) == 0
    name = "simulated:relevance"
    assert name not in bench.index.columns("turn")
    answer(2)
    assert rated(bench) == 16
    column = bench.index.columns("turn")[name]
    assert column.live
    answer(3)
    assert rated(bench) == 40
    whole = pl.concat(Studied().said(bench.catalogue)[0]).sort("rater", "dialog", "turn")
    assert pl.concat(bench.said).sort("rater", "dialog", "turn").equals(whole), (
        "what was read in parts is what is read at once"
    )


def test_who_looks_again_reads_nothing_if_nothing_came(
    bench: Workbench, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(1)
    monkeypatch.setattr(studied, "_SETTLED_NS", 0)
    assert rated(bench) == 8
    seen = bench.said
    monkeypatch.setattr(studied, "look_into", None)  # a call would be an error
    bench.follow()
    assert bench.studied.notes == {}
    assert bench.said is seen


def test_many_at_once_are_read_together(
    bench: Workbench, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(studied, "_MANY", 2)
    answer(5)
    assert rated(bench) == 40


def test_a_writer_is_not_kept_waiting_and_does_not_keep_us(
    bench: Workbench, answer: Answer
) -> None:
    answer(1)
    path = bench.folder / "asked" / "study.db"
    writer = sqlite3.connect(path, timeout=0, isolation_level=None)
    writer.execute("begin immediate")
    writer.execute("insert into settings values ('under way', '')")
    assert rated(bench) == 8, "somebody is writing"
    writer.execute("commit")
    reader = Studied()
    reader.said(bench.catalogue)
    writer.execute("begin immediate")  # would fail at once if anybody held the database
    writer.execute("delete from settings where name = 'under way'")
    writer.execute("commit")
    assert writer.execute("pragma wal_checkpoint(truncate)").fetchone()[0] == 0
    writer.close()


def test_looking_changes_no_file_and_needs_no_key(bench: Workbench, answer: Answer) -> None:
    answer(2)
    place = bench.folder / "asked"
    path = place / "study.db"
    closed = bench.folder / "closed"
    closed.mkdir()
    copy(path, closed / "study.db")
    for name in ("study.yaml", "items.jsonl", "drawn.json"):
        (closed / name).write_bytes((place / name).read_bytes())
    before = print_of(closed)
    assert "study.db.key" not in before
    with_it = Workbench.open(bench.folder, cache=bench.cache)
    item = with_it.catalogue.get("closed")
    assert standings(item)[0].simulated == 2
    people = people_of(item)["rater"].to_list()
    assert database_with(item, people[0]) == closed / "study.db"
    assert database_with(item, "nobody") is None
    with_it.close()
    assert print_of(closed) == before


def test_excluded_and_forgotten_people_are_gone(bench: Workbench, answer: Answer) -> None:
    answer(3)
    assert rated(bench) == 24
    first, second, _ = sorted(set(pl.concat(bench.said)["rater"]))
    with Store.open(f"sqlite:///{bench.folder / 'asked' / 'study.db'}") as store:
        OperationStore(store, "command").exclude(first, "asleep", now=NOW)
        assert rated(bench) == 16
        store.forget(second)
        assert rated(bench) == 8
        OperationStore(store, "command").include(first, now=NOW)
        assert rated(bench) == 16


def test_an_export_counts_once_and_alone_if_there_is_no_database(
    bench: Workbench, answer: Answer, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer(2)
    place = bench.folder / "asked"
    with Store.open(f"sqlite:///{place / 'study.db'}") as store:
        export(store, store.studies()[0].hash, bench.folder / "exported")
    bench.refresh()
    assert len(bench.catalogue.of("export")) == 1
    assert rated(bench) == 16
    monkeypatch.setattr(studied, "_SETTLED_NS", 0)
    assert rated(bench) == 16
    for path in place.glob("study.db*"):
        path.rename(bench.folder.parent / f"away-{path.name}")
    bench.refresh()
    assert rated(bench) == 16
    assert pl.concat(bench.said)["rater"].n_unique() == 2


def test_a_copy_of_a_database_counts_nobody_twice(bench: Workbench, answer: Answer) -> None:
    answer(2)
    place = bench.folder / "asked"
    copy(place / "study.db", place / "backup.db")
    assert rated(bench) == 16


def test_what_cannot_be_read_is_said_and_what_was_read_stays(
    bench: Workbench, answer: Answer
) -> None:
    answer(1)
    assert rated(bench) == 8
    (bench.folder / "asked" / "other.db").write_bytes(b"not a database at all")
    (bench.folder / "asked" / "judges.db").write_bytes(b"SQLite format 3\0" + b"x" * 100)
    assert rated(bench) == 8
    assert {path.name for path in bench.studied.notes} == {"other.db", "judges.db"}
    (bench.folder / "asked" / "drawn.json").write_text('{"units": [{"agent": [1]}, 3]}')
    assert rated(bench) == 8
    (bench.folder / "asked" / "drawn.json").write_text("{")
    answer(1)
    assert rated(bench) == 16


def test_what_judges_answer_comes_back_while_they_are_asked(bench: Workbench) -> None:
    study = load_study(bench.folder / "asked")

    def says(said: Sequence[Said], schema: Mapping[str, Any] | None, seed: int) -> str:
        assert schema is not None
        return json.dumps(dict.fromkeys(schema["properties"], 4))

    with Ledger.open(bench.folder / "asked" / "judges.db", asking=True) as ledger:
        judge_study(planned(study, Scripted(says)), ledger, at_once=1)
        assert rated(bench) > 0, "the ledger is still open"
        assert bench.studied.notes == {}
        said = pl.concat(bench.said)
    assert said["rater_kind"].unique().to_list() == ["llm"]
    assert said["value"].unique().to_list() == [4.0]
    assert said.select("agent", "dialog", "turn").unique().height == 8
    names = [c.name for c in bench.index.columns("turn").values() if c.kind == "judge"]
    assert names == [f"judge:{said['rater'][0]}:relevance"]


def test_what_analyses_say_of_agents_are_columns(bench: Workbench) -> None:
    folder = bench.folder / "analysed"
    folder.mkdir()
    rows = [
        {"quality": "tone", "agent": "calm", "other": None, "estimate": 4.5},
        {"quality": "tone", "agent": "curt", "other": None, "estimate": 2.0},
        {"quality": "tone", "agent": "calm", "other": "curt", "estimate": 2.5},
        {"quality": "tone", "agent": "lost", "other": None, "estimate": None},
        "odd",
    ]
    means = [{"quality": "tone", "agent": "calm", "mean": 4.25}]
    (folder / "analysis.json").write_text(json.dumps({"judged_agents": rows, "agents": means}))
    record = {"command": "study analyze", "arguments": {"study": "asked"}}
    asked = json.loads((bench.folder / "new" / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(asked | record))
    bench.refresh()
    names = [c.name for c in bench.index.columns("agent").values() if c.live and c.run]
    assert names == ["analysed:tone@analysed", "corrected:tone@analysed"]
    page = bench.index.page(View("agent", columns=tuple(names)))
    assert {row["agent"]: tuple(row["values"].values()) for row in page.rows} == {
        "calm": (4.25, 4.5),
        "curt": (None, 2.0),
    }
    sort = View("agent", columns=("agent",), sort=names[1], descending=True)
    assert [row["agent"] for row in bench.index.page(sort).rows] == ["calm", "curt"]
