"""Resuming after a kill: what is finished is not done again, what is stale or damaged is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from dialens import DialensError
from dialens.base import StepChain, open_state, read_marker, step_key, write_marker


def writes(text: str) -> Callable[[Path], dict[str, int]]:
    def work(folder: Path) -> dict[str, int]:
        (folder / "result.txt").write_text(text)
        return {"rows": len(text)}

    return work


def killed(folder: Path) -> dict[str, int]:
    (folder / "result.txt").write_text("half")
    raise KeyboardInterrupt


def test_a_chain_resumes_after_the_last_finished_step(tmp_path: Path) -> None:
    for _ in range(2):
        chain = StepChain(tmp_path, step_key("data"))
        chain.extend("one")
        first = chain.run("first", writes("one"))
        chain.extend("two")
        with pytest.raises(KeyboardInterrupt):
            chain.run("second", killed)
    assert (first.reused, first.content["rows"]) == (True, 3)
    assert not (tmp_path / "second").exists()
    assert not chain.run("second", writes("whole")).reused
    assert (tmp_path / "second" / "result.txt").read_text() == "whole"


def test_a_change_upstream_makes_every_later_step_stale(tmp_path: Path) -> None:
    def run(statements: list[str]) -> list[bool]:
        chain = StepChain(tmp_path, step_key("data"))
        reused = []
        for statement in statements:
            chain.extend(statement)
            reused.append(chain.run(statement[0], writes(statement)).reused)
        return reused

    assert run(["a", "b", "c"]) == [False, False, False]
    assert run(["a", "b", "c"]) == [True, True, True]
    assert run(["a", "b changed", "c"]) == [True, False, False]
    assert (tmp_path / "b" / "result.txt").read_text() == "b changed"


@pytest.mark.parametrize("damage", [b"", b"[]", b"{}", b'{"key": 1}', b"\xff\xfe"])
def test_a_damaged_marker_is_none(tmp_path: Path, damage: bytes) -> None:
    path = tmp_path / "marker.json"
    write_marker(path, "key", {"rows": 1})
    marker = read_marker(path)
    assert marker is not None
    assert (marker.key, marker.content) == ("key", {"rows": 1})
    path.write_bytes(damage)
    assert read_marker(path) is None


def test_a_result_that_was_deleted_is_made_again(tmp_path: Path) -> None:
    chain = StepChain(tmp_path, step_key("data"))
    chain.run("first", writes("one"))
    (tmp_path / "first" / "result.txt").unlink()
    (tmp_path / "first").rmdir()
    assert not chain.run("first", writes("one")).reused


def test_checkpoints_of_other_work_are_refused(tmp_path: Path) -> None:
    folder = tmp_path / "bot.training"
    assert not open_state(folder, {"seed": 0, "sizes": (1, 2)})
    assert open_state(folder, {"seed": 0, "sizes": (1, 2)})
    with pytest.raises(DialensError, match=r"differs in seed\..*--restart"):
        open_state(folder, {"seed": 1, "sizes": (1, 2)})
    assert json.loads((folder / "state.json").read_text())["seed"] == 0


def test_damaged_checkpoints_are_named(tmp_path: Path) -> None:
    folder = tmp_path / "bot.training"
    open_state(folder, {"seed": 0})
    (folder / "state.json").write_text("{")
    with pytest.raises(DialensError, match=r"state\.json is damaged.*--restart"):
        open_state(folder, {"seed": 0})
    assert not open_state(folder, {"seed": 0}, restart=True)


def test_files_of_others_are_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("mine")
    with pytest.raises(DialensError, match="holds other files"):
        open_state(tmp_path, {}, restart=True)
    assert (tmp_path / "thesis.txt").exists()
