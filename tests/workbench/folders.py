"""A folder with something of everything in it, made by the commands themselves."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
from pathlib import Path

from dialens.base import sha256_file
from dialens.cli._app import app

QUICK = ("--models", "none", "--no-cache", "--metrics", "question,length")


def talk(case: int, agent: str, reply: str) -> str:
    said = [("user", f"Tell me about number {case}, please"), ("assistant", reply)]
    messages = [{"role": role, "content": text} for role, text in said]
    return json.dumps({"id": f"{agent}-{case}", "model": agent, "messages": messages}) + "\n"


def write_chats(path: Path, *, more: int = 0) -> None:
    """Conversations of two agents: one asks back, the other does not."""
    lines = [
        talk(case, agent, " ".join(["well"] * (3 + case % 4)) + end)
        for case in range(8 + more)
        for agent, end in (("asking", "?"), ("telling", "."))
    ]
    path.write_text("".join(lines), "utf-8")


def dialens(folder: Path, *words: str) -> None:
    """Run a command in a folder."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            app([*words], standalone_mode=False)
    finally:
        os.chdir(before)


def make_project(folder: Path) -> None:
    """Conversations, scores, a comparison with a folder and one without, a gate."""
    folder.mkdir()
    write_chats(folder / "chats.jsonl")
    dialens(folder, "score", "chats.jsonl", "-o", "out", *QUICK)
    dialens(folder, "compare", "out", "-o", "compared")
    dialens(folder, "compare", "out")
    dialens(folder, "convert", "chats.jsonl", "corpus")
    dialens(folder, "gate", "out", "--rule", "length > 100", "--json", "gate.json")


def make_study(folder: Path) -> None:
    """A study with simulated participants, what was exported and analysed of it, and judges."""
    folder.mkdir()
    dialens(folder, "study", "new", "--template", "likert", "-o", "mine")
    dialens(folder, "study", "simulate", "mine", "-n", "6")
    database = f"sqlite:///{folder / 'mine' / 'simulated.db'}"
    dialens(folder, "study", "export", "mine", "--db", database, "-o", "export")
    dialens(folder, "agreement", "export", "-o", "agreed")
    dialens(folder, "study", "judge", "mine", "--new")


def copied(made: Path, tmp_path: Path) -> Path:
    """A copy that a test may change, with the times of its files."""
    target = tmp_path / made.name
    shutil.copytree(made, target)
    return target


def print_of(folder: Path) -> dict[str, tuple[int, str]]:
    """Everything in a folder with time and hash, to see whether something changes."""
    return {
        str(path.relative_to(folder)): (
            path.stat().st_mtime_ns,
            sha256_file(path) if path.is_file() else "",
        )
        for path in sorted([folder, *folder.rglob("*")])
    }
