"""A folder that is open: read only, indexed once, followed while it changes."""

from __future__ import annotations

import hashlib
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dialens.base import DialensError
from dialens.workbench import NOTEBOOK, Unit, View, Workbench, _workbench
from tests.workbench.by_hand import corpus_folder, score_folder
from tests.workbench.folders import dialens, talk, write_chats


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "mine"
    place.mkdir()
    corpus_folder(place / "talks")
    score_folder(place / "out", place / "talks")
    return place


def hashes(folder: Path) -> dict[str, tuple[str, int]]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        str(path): (hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_mtime_ns)
        for path in files
    }


def until(holds: Callable[[], bool], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_opening_twice_changes_no_file_and_indexes_once(folder: Path, tmp_path: Path) -> None:
    before = hashes(folder)
    said: list[str] = []
    for _ in range(2):
        bench = Workbench.open(folder, cache=tmp_path / "cache", report=said.append)
        assert bench.index.count(View()) == 16
        bench.close()
    assert hashes(folder) == before
    assert said.count("Writing the index") == 1


def test_only_the_notebook_is_written(folder: Path, tmp_path: Path) -> None:
    before = hashes(folder)
    bench = Workbench.open(folder, cache=tmp_path / "cache")
    bench.notebook.flag(Unit("talks", "exam-calm", 1), 1, "ann")
    bench.follow()
    assert bench.index.count(View(choices={"flag": ("any",)})) == 1
    bench.close()
    after = hashes(folder)
    assert {name for name in after if after[name] != before.get(name)} == {str(folder / NOTEBOOK)}


def test_two_workbenches_see_each_others_flags(folder: Path, tmp_path: Path) -> None:
    opened: list[Workbench] = []

    def open_it() -> None:
        opened.append(Workbench.open(folder, cache=tmp_path / "cache"))

    threads = [threading.Thread(target=open_it) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    one, other = opened
    one.notebook.flag(Unit("talks", "cat-curt", 1), 4, "ann")
    other.follow()
    assert other.index.count(View(choices={"flag": ("4",)})) == 1
    one.close()
    other.close()


def test_conversations_that_change_are_taken_in(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_chats(folder / "chats.jsonl")
    bench = Workbench.open(folder, cache=tmp_path / "cache")
    assert bench.index.count(View()) == 16 + 32
    write_chats(folder / "chats.jsonl", more=1)
    monkeypatch.setattr(_workbench, "_LOOK_AGAIN_S", 0.0)

    def grown() -> bool:
        bench.follow()
        return bench.index.count(View()) == 16 + 36

    until(grown)
    assert bench.trouble == ""
    bench.close()


def test_a_folder_that_goes_away_leaves_what_was_seen(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench = Workbench.open(folder, cache=tmp_path / "cache")
    monkeypatch.setattr(_workbench, "_LOOK_AGAIN_S", 0.0)
    folder.rename(tmp_path / "moved")

    def troubled() -> bool:
        bench.follow()
        return bool(bench.trouble)

    until(troubled)
    assert "as it was before" in bench.trouble
    assert bench.index.count(View()) == 16
    (tmp_path / "moved").rename(folder)
    until(lambda: not troubled())
    bench.close()


def test_no_room_for_the_index(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = tmp_path / "a file"
    blocked.touch()
    other = tmp_path / "temporary"
    other.mkdir()
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(other))
    said: list[str] = []
    bench = Workbench.open(folder, cache=blocked / "cache", report=said.append)
    assert any("cannot be written" in line for line in said)
    assert bench.index.count(View()) == 16
    bench.close()
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(blocked))
    with pytest.raises(DialensError, match="no room for the index"):
        Workbench.open(folder, cache=blocked / "cache")


def test_few_indexes_are_kept(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    for number in range(10):
        (cache / f"{number:024x}").mkdir(parents=True)
    Workbench.open(folder, cache=cache).close()
    assert len(list(cache.iterdir())) == 8


def test_flags_stay_and_nothing_counts_twice_whatever_is_scored(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    for name, words in (("a", 3), ("b", 5)):  # the same ids and agents in both
        lines = [talk(case, "bot", " ".join(["well"] * (words + case))) for case in range(3)]
        (folder / f"{name}.jsonl").write_text("".join(lines), "utf-8")
    bench = Workbench.open(folder, cache=tmp_path / "cache")
    assert bench.index.count(View()) == 12
    bench.notebook.flag(Unit("b.jsonl", "bot-1", 1), 1, "ann")
    quick = ("--models", "none", "--no-cache", "--metrics", "length")
    for inputs, output in ((("a.jsonl", "b.jsonl"), "both"), (("a.jsonl",), "one")):
        dialens(folder, "score", *inputs, "-o", output, *quick)
        bench.refresh()
        assert bench.index.count(View()) == 12
        (row,) = bench.index.page(View(choices={"flag": ("any",)}, columns=("length",))).rows
        assert (row["source"], row["dialog"], row["turn"]) == ("b.jsonl", "bot-1", 1)
        assert row["values"] == {"length": 6.0}
    lengths = {
        (row["source"], row["dialog"]): row["values"]["length"]
        for row in bench.index.page(View(level="dialog", columns=("length",))).rows
    }
    assert lengths == {
        (f"{name}.jsonl", f"bot-{case}"): float(words + case)
        for name, words in (("a", 3), ("b", 5))
        for case in range(3)
    }
    assert "length@both" not in bench.index.columns("turn"), "equal values are one column"
    bench.close()


def test_an_index_in_use_is_not_deleted(folder: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    bench = Workbench.open(folder, cache=cache)
    for number in range(10):
        other = tmp_path / f"other{number}"
        other.mkdir()
        write_chats(other / "chats.jsonl", more=number)
        Workbench.open(other, cache=cache).close()
    assert bench.index.folder.exists()
    assert len(list(cache.iterdir())) <= 9
    assert len(bench.index.page(View()).rows) == 16
    bench.close()


def test_a_corpus_and_what_it_was_converted_from_count_once(tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    folder.mkdir()
    write_chats(folder / "chats.jsonl")
    dialens(folder, "convert", "chats.jsonl", "corpus")
    quick = ("--models", "none", "--no-cache", "--metrics", "length")
    for scored in (None, "chats.jsonl"):
        if scored is not None:
            dialens(folder, "score", scored, "-o", "out", *quick)
        bench = Workbench.open(folder, cache=tmp_path / "cache")
        assert bench.index.count(View()) == 32
        bench.close()
