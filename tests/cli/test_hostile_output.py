"""What a terminal, a spreadsheet and a disk are spared: sequences, formulas, half a file."""

from __future__ import annotations

import csv
import io
import json
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import polars as pl
import pytest

from dialens.base import progress
from dialens.cli._terminal import GuardedStream

NAMES = ("llama[instruct]", "llama[base]", "bot[/x]", "=HYPERLINK(1)", "esc\x1b]0;owned\x07\x1b[2J")


def chats(path: Path, names: tuple[str, ...], each: int) -> Path:
    with path.open("w") as file:
        for name in names:
            for number in range(each):
                messages = [
                    {"role": "user", "content": f"What is {number}?"},
                    {"role": "assistant", "content": f"A number, {number * 7919 % 10007}."},
                ]
                entry = {"id": f"{name} {number}", "model": name, "messages": messages}
                file.write(json.dumps(entry) + "\n")
    return path


def dialens(
    *arguments: str | Path, most_bytes: int | None = None
) -> subprocess.CompletedProcess[str]:
    def limited() -> None:
        if most_bytes is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))

    return subprocess.run(
        [sys.executable, "-m", "dialens", *map(str, arguments)],
        capture_output=True,
        text=True,
        preexec_fn=limited,
        check=False,
    )


@pytest.mark.slow
def test_names_are_printed_as_they_are_and_are_no_formulas(tmp_path: Path) -> None:
    path = chats(tmp_path / "chats.jsonl", NAMES, 3)
    out = tmp_path / "out"
    scored = dialens("score", path, "-o", out, "--metrics", "length")
    compared = dialens("compare", out, "-o", tmp_path / "compared", "--csv")
    assert (scored.returncode, compared.returncode) == (0, 0), scored.stderr + compared.stderr
    for name in NAMES[:4]:
        assert name in scored.stdout
    assert r"esc\x1b]0;owned\x07\x1b[2J" in scored.stdout
    assert "\x1b" not in scored.stdout + scored.stderr + compared.stdout + compared.stderr
    with (out / "agents.csv").open() as file:
        written = {row["agent"] for row in csv.DictReader(file)}
    assert written == {*NAMES[:3], "'=HYPERLINK(1)", NAMES[4]}
    assert set(pl.read_parquet(out / "scores.parquet")["agent"].drop_nulls()) >= set(NAMES)
    sheet = (tmp_path / "compared" / "comparison.csv").read_text()
    assert "'=HYPERLINK(1)" in sheet
    assert ",=HYPERLINK" not in sheet


def test_an_error_does_not_steer_the_terminal(tmp_path: Path) -> None:
    done = dialens("convert", tmp_path / "no\x1b]0;owned\x07.jsonl", tmp_path / "out.csv")
    assert done.returncode == 2
    assert "\x1b" not in done.stderr
    assert r"no\x1b]0;owned\x07.jsonl" in done.stderr.replace("\n", "")


def test_what_is_printed_is_guarded_and_what_rich_draws_is_not() -> None:
    class Terminal(io.StringIO):
        encoding = "ascii"

        def isatty(self) -> bool:
            return True

    screen = Terminal()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TERM", "xterm")
        patch.setattr(sys, "stderr", GuardedStream(screen))
        print("bot\x1b[8m \ud800 −", file=sys.stderr)
        assert screen.getvalue() == r"bot\x1b[8m \ud800 \u2212" + "\n"
        with progress("Scoring bot\x1b]0;owned\x07", total=2) as advance:
            advance(1)
    drawn = screen.getvalue()
    assert "\x1b[?25l" in drawn
    assert "\x1b]0;owned" not in drawn


@pytest.mark.parametrize("output", ["out.csv", "out.jsonl", "out", "out.parquet"])
def test_a_disk_that_takes_no_more(tmp_path: Path, output: str) -> None:
    """A limit on the size of files stands for a full disk: writing fails in the middle."""
    path = chats(tmp_path / "chats.jsonl", ("bot",), 3_000)
    folder = tmp_path / "here"
    folder.mkdir()
    done = dialens("convert", path, folder / output, most_bytes=20_000)
    assert done.returncode == 2, done.stderr
    assert done.stderr.startswith("Error: ")
    said = " ".join(done.stderr.split())
    assert "cannot be written: file too large. Name another place, or make room." in said
    assert not list(folder.iterdir())


def test_a_closed_terminal_leaves_nothing_behind(tmp_path: Path) -> None:
    path = chats(tmp_path / "chats.jsonl", ("bot",), 60_000)
    folder = tmp_path / "here"
    folder.mkdir()
    command = [sys.executable, "-m", "dialens", "convert", str(path), str(folder / "out")]
    # The tests themselves may run under nohup, which their processes would inherit.
    heard = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    running = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    signal.signal(signal.SIGHUP, heard)
    with running:
        end = time.monotonic() + 60
        while not any(folder.iterdir()) and time.monotonic() < end:
            time.sleep(0.005)
        os.kill(running.pid, signal.SIGHUP)
        _, said = running.communicate(timeout=60)
    assert running.returncode == 128 + signal.SIGHUP
    assert b"Traceback" not in said
    assert not list(folder.iterdir())
