"""Output folders: whole or not at all, and nothing is deleted that dialens has not written."""

import fcntl
import os
import stat
import threading
import time
from pathlib import Path

import pytest

from dialens.base import (
    FILES,
    DialensError,
    atomic_file,
    atomic_folder,
    list_files,
    listed_files,
    open_state,
)


def contents(folder: Path) -> dict[str, str]:
    """Every file below a folder with its text, but for the list."""
    return {
        file.relative_to(folder).as_posix(): file.read_text()
        for file in sorted(folder.rglob("*"))
        if file.is_file() and file.name != FILES
    }


def write(folder: Path, files: dict[str, str], *, force: bool = False) -> None:
    """Write files as a command does."""
    with atomic_folder(folder, force=force) as scratch:
        for name, text in files.items():
            (scratch / name).parent.mkdir(exist_ok=True)
            (scratch / name).write_text(text)


def test_files_of_others_are_kept_and_ours_are_replaced(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, {"run.json": "1", "tables/a.csv": "1", "old/gone.csv": "1"})
    (out / "notes.txt").write_text("mine")
    (out / "tables" / "mine.csv").write_text("mine")
    (out / "empty").mkdir()
    (out / "link").symlink_to("notes.txt")
    write(out, {"run.json": "2", "tables/a.csv": "2"})
    assert contents(out) == {
        "link": "mine",
        "notes.txt": "mine",
        "run.json": "2",
        "tables/a.csv": "2",
        "tables/mine.csv": "mine",
    }
    assert (out / "link").is_symlink()
    assert (out / "empty").is_dir()
    assert not (out / "old").exists()
    assert listed_files(out) == {FILES, "run.json", "tables/a.csv"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_a_foreign_run_record_does_not_make_a_folder_ours(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "run.json").write_text("{}")
    (out / "thesis.tex").write_text("years")
    with pytest.raises(DialensError, match="was not written by dialens"):
        write(out, {"run.json": "ours"})
    assert contents(out) == {"run.json": "{}", "thesis.tex": "years"}


def test_force_deletes_nothing_that_is_not_ours(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "run.json").write_text("theirs")
    (out / "thesis.tex").write_text("years")
    write(out, {"run.json": "1"}, force=True)
    write(out, {"run.json": "2"}, force=True)
    assert contents(out) == {"run.json": "2", "run.json.1": "theirs", "thesis.tex": "years"}


@pytest.mark.parametrize("text", ["", "[]", '{"files": 3}', '{"other": []}'])
def test_a_damaged_list_is_no_list(tmp_path: Path, text: str) -> None:
    (tmp_path / FILES).write_text(text)
    assert listed_files(tmp_path) is None


@pytest.mark.parametrize("source", ["out", "out/a.jsonl", "out/deep/a.jsonl", "away/../out/a"])
@pytest.mark.parametrize("force", [True, False])
def test_an_output_around_an_input_is_refused(tmp_path: Path, source: str, force: bool) -> None:
    with (
        pytest.raises(DialensError, match="Name another place"),
        atomic_folder(tmp_path / "out", inputs=[tmp_path / source], force=force),
    ):
        pytest.fail("the block ran")
    assert not list(tmp_path.iterdir())


def test_an_output_inside_an_input_is_fine(tmp_path: Path) -> None:
    with atomic_folder(tmp_path / "study" / "analysis", inputs=[tmp_path / "study"]) as scratch:
        (scratch / "a").touch()
    assert (tmp_path / "study" / "analysis" / "a").exists()


def test_the_current_folder_and_files_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DialensError, match="is the current folder"):
        write(Path(), {"a": "1"})
    (tmp_path / "file").touch()
    with pytest.raises(DialensError, match="is a file"):
        write(Path("file"), {"a": "1"}, force=True)


@pytest.mark.parametrize("address", ["s3://bucket/out", "HDFS://name:8020/out", "file:/data/out"])
def test_addresses_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.chdir(tmp_path)
    named = "/data/out" if address.startswith("file") else address.replace("HDFS", "hdfs")
    with pytest.raises(DialensError, match=named):
        write(Path(address), {"a": "1"}, force=True)
    with pytest.raises(DialensError, match=named), atomic_file(Path(address)):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_failed_block_leaves_everything_as_it_was(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, {"a": "1"})
    (out / "mine").write_text("mine")
    with pytest.raises(IsADirectoryError):
        write(out, {"a": "2", ".": "cannot be written"})
    assert contents(out) == {"a": "1", "mine": "mine"}
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_files_added_later_are_replaced_with_the_rest(tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(out, {"scores": "1"})
    (out / "comparison").write_text("of 1")
    list_files(out, ["comparison"])
    write(out, {"scores": "2"})
    assert contents(out) == {"scores": "2"}


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_modes_follow_the_umask(tmp_path: Path, mask: int) -> None:
    before = os.umask(mask)
    try:
        with atomic_file(tmp_path / "file") as scratch:
            scratch.write_text("x")
        write(tmp_path / "folder", {"a": "1"})
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o666 & ~mask
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o777 & ~mask


def test_the_umask_of_the_process_is_never_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread that makes a file in that moment would make it for everybody."""
    monkeypatch.setattr(os, "umask", lambda mask: pytest.fail(f"umask set to {mask:o}"))

    def work() -> None:
        with atomic_file(tmp_path / "file") as scratch:
            scratch.write_text("x")
        write(tmp_path / "folder", {"a": "1"})

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert (tmp_path / "folder" / "a").exists()


def test_a_folder_that_holds_no_earlier_run_is_named_without_guessing(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    with pytest.raises(DialensError, match=r"holds other files \(and no state\.json\)") as error:
        open_state(tmp_path, {"seed": 0})
    assert "training" not in str(error.value).replace(str(tmp_path), "")


def test_what_a_killed_run_left_goes_with_the_next_one(tmp_path: Path) -> None:
    target = tmp_path / "out"
    ages = {"a" * 16: 3600, "b" * 16: 3600, "c" * 16: -60}  # the last is being made
    for name, age in ages.items():
        left = tmp_path / f".out.{name}.partial"
        left.mkdir()
        (left / "spool").write_text("much")
        os.utime(left, (time.time() - age, time.time() - age))
    holding = os.open(tmp_path / f".out.{'b' * 16}.partial", os.O_RDONLY)  # a run that goes on
    fcntl.flock(holding, fcntl.LOCK_EX)
    try:
        with atomic_folder(target) as scratch:
            (scratch / "scores.csv").write_text("1")
    finally:
        os.close(holding)
    there = sorted(one.name for one in tmp_path.iterdir())
    assert there == [f".out.{'b' * 16}.partial", f".out.{'c' * 16}.partial", "out"]
