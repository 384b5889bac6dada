"""Commands started from a page are the commands of the terminal, one at a time."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from dialens.base import DialensError
from dialens.metrics import Scores
from dialens.workbench import Runs
from dialens.workbench._running import DONE, FAILED, RUNNING, STOPPED, StartedRun
from tests.workbench.by_hand import corpus_folder


def ended(run: StartedRun, within: float = 90.0) -> None:
    until = time.monotonic() + within
    while run.state == RUNNING or not run._ended:
        assert time.monotonic() < until, list(run.lines)
        time.sleep(0.05)


def test_scores_are_made_and_the_page_hears_of_it(tmp_path: Path) -> None:
    corpus_folder(tmp_path / "talks")
    told: list[int] = []
    runs = Runs(tmp_path, lambda: told.append(1))
    run = runs.start("score", [tmp_path / "talks"], ["--metrics", "length"], "out")
    assert runs.running is run
    with pytest.raises(DialensError, match="still running"):
        runs.start("score", [tmp_path / "talks"], [], "other")
    ended(run)
    assert run.state == DONE, list(run.lines)
    until = time.monotonic() + 5
    while not told and time.monotonic() < until:
        time.sleep(0.02)
    assert told == [1]
    assert Scores.open(tmp_path / "out").names == ["length"]
    assert run.shown.startswith("dialens score ")
    assert run.shown.endswith("out")


def test_what_went_wrong_can_be_read(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("")
    runs = Runs(tmp_path, lambda: None)
    run = runs.start("score", [tmp_path / "notes.txt"], [], "out")
    ended(run)
    assert run.state == FAILED
    assert any("Error" in line for line in run.lines)
    assert not (tmp_path / "out").exists()


def test_stopping_leaves_nothing_behind(tmp_path: Path) -> None:
    corpus_folder(tmp_path / "talks")
    runs = Runs(tmp_path, lambda: None)
    run = runs.start("score", [tmp_path / "talks"], [], "out")
    runs.close()
    ended(run)
    assert run.state == STOPPED
    assert [path.name for path in tmp_path.iterdir()] == ["talks"]


@pytest.mark.parametrize("name", ["", " ", "..", ".hidden", "a/b", "-o", "/etc/x", "talks", "a\\b"])
def test_names_that_will_not_do(tmp_path: Path, name: str) -> None:
    (tmp_path / "talks").mkdir()
    with pytest.raises(DialensError):
        Runs(tmp_path, lambda: None).start("score", [tmp_path / "talks"], [], name)


def test_other_commands_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DialensError, match="cannot be started"):
        Runs(tmp_path, lambda: None).start("study", [tmp_path], [], "out")


def test_progress_is_read_from_the_log() -> None:
    run = StartedRun(1, (), Path("out"), "dialens score")
    run.hear("Scoring: 1,200 of 4,800 turns, 600 a second, 6 s left")
    assert (run.what, run.share) == ("Scoring", 0.25)
    run.hear("Reading: 300 turns, 600 a second")
    assert (run.what, run.share) == ("Reading", None)
    run.hear("Error: no")
    assert list(run.lines) == ["Error: no"]
