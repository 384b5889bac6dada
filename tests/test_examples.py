"""The examples run as a reader would run them, and the corpus they read is what its card says."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from dialens.corpus import demo_path

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
AGENTS = ("warm", "plain", "curt")
MOST_LINES = 40


def run(name: str, *arguments: str | Path) -> list[str]:
    """The lines that an example prints; a warning is a failure."""
    done = subprocess.run(
        [sys.executable, "-X", "utf8", "-W", "error", str(EXAMPLES / name), *map(str, arguments)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.strip("|").split("|")]


@pytest.fixture(scope="module")
def dialogues() -> list[dict[str, Any]]:
    return [json.loads(line) for line in demo_path().read_text("utf-8").splitlines()]


@pytest.fixture
def transcript(tmp_path: Path) -> Path:
    """Four longer words in the question, three of them in the answer of six words."""
    path = tmp_path / "zoo.txt"
    path.write_text("User: Seven purple giraffes dancing\nBot: Purple giraffes? So dancing it is\n")
    return path


@pytest.mark.slow
def test_chat_logs_are_scored_to_a_table_of_agents() -> None:
    title, header, _, *rows = run("score_chat_logs.py")
    assert title == "demo.jsonl: 42 conversations"
    assert cells(header)[:2] == ["system", "agent"]
    assert {tuple(cells(row)[:2]) for row in rows} == {("Lantern", agent) for agent in AGENTS}


@pytest.mark.slow
def test_chat_logs_of_ones_own(transcript: Path) -> None:
    title, header, _, row = run("score_chat_logs.py", transcript)
    assert title == "zoo.txt: 1 conversations"
    seen = dict(zip(cells(header), cells(row), strict=True))
    assert (seen["agent"], seen["length"], seen["question"]) == ("Bot", "6.00", "1.00")


@pytest.mark.slow
def test_agents_are_compared_in_sentences() -> None:
    lines = run("compare_agents.py")
    told = Counter(line.split(":")[0] for line in lines)
    assert set(told.values()) == {3}, "three agents make three pairs"
    assert all("(paired on 14 openings)" in line for line in lines)
    for line in lines:
        gap, low, high = map(float, re.findall(r"[+-]\d+\.\d+", line))
        assert low <= gap <= high
        (p,) = re.findall(r"corrected p = (\S+)", line)
        assert 0 < float(p) <= 1
    assert any(line.startswith("question: warm is above") for line in lines)


@pytest.mark.slow
def test_a_metric_of_ones_own(transcript: Path) -> None:
    assert run("own_metric.py", transcript) == ["Bot: echoing 0.75 over 1 turns"]
    first = run("own_metric.py")[0]
    assert first.startswith("warm: echoing"), "the warm agent was written to take up words"


@pytest.mark.slow
def test_a_lexicon_of_ones_own(dialogues: list[dict[str, Any]]) -> None:
    title, *rows = run("own_lexicon.py")
    assert "|lex:mood@" in title
    spoken = Counter(
        talk["agent"]
        for talk in dialogues
        for message in talk["messages"]
        if message["role"] == "assistant"
    )
    counted = re.findall(r"(\w+): .*\((\d+) turns .*, (\d+) without", "\n".join(rows))
    assert {agent: int(found) + int(lacking) for agent, found, lacking in counted} == spoken


@pytest.mark.slow
def test_scores_meet_ratings() -> None:
    lines = run("join_with_ratings.py")
    assert [line.split()[0] for line in lines] == ["length", "question"]
    assert all(line.endswith("(n = 5 replies)") for line in lines)
    assert "Spearman +1.00" in lines[0], "the longer a reply, the better its ratings"


def test_examples_are_short_and_listed() -> None:
    listed = (EXAMPLES / "README.md").read_text("utf-8")
    for path in EXAMPLES.glob("*.py"):
        assert len(path.read_text("utf-8").splitlines()) < MOST_LINES, path.name
        assert f"- [{path.name}]({path.name}): " in listed


def test_bundled_corpus_pairs_its_agents(dialogues: list[dict[str, Any]]) -> None:
    assert len({talk["id"] for talk in dialogues}) == len(dialogues)
    openings: dict[str, dict[str, str]] = {}
    for talk in dialogues:
        situation, _, agent = talk["id"].rpartition("-")
        assert (talk["system"], talk["agent"]) == ("Lantern", agent)
        roles = [message["role"] for message in talk["messages"]]
        assert roles == (["user", "assistant"] * len(roles))[: len(roles)]
        assert 6 <= len(roles) <= 10
        assert all(message["content"].strip() for message in talk["messages"])
        openings.setdefault(situation, {})[agent] = talk["messages"][0]["content"]
    assert len(openings) == 14
    for answered in openings.values():
        assert set(answered) == set(AGENTS)
        assert len(set(answered.values())) == 1
    assert len({answered["warm"] for answered in openings.values()}) == 14


def test_bundled_corpus_is_what_its_card_says(dialogues: list[dict[str, Any]]) -> None:
    card = json.loads(demo_path().with_name("demo.card.json").read_text("utf-8"))
    assert card["licence"] == "Apache-2.0"
    assert card["file_sha256"] == hashlib.sha256(demo_path().read_bytes()).hexdigest()
    counts = card["counts"]
    lengths = [len(talk["messages"]) for talk in dialogues]
    assert counts["dialogs"] == len(dialogues)
    assert counts["turns"] == sum(lengths)
    assert (counts["shortest_dialog"], counts["longest_dialog"]) == (min(lengths), max(lengths))
    for part in ("dialogs", "turns", "agent_turns"):
        assert counts[part] == sum(agent[part] for agent in counts["per_agent"].values())
    for name, agent in counts["per_agent"].items():
        own = [talk["messages"] for talk in dialogues if talk["agent"] == name]
        assert agent["dialogs"] == len(own)
        assert agent["turns"] == sum(map(len, own))
        assert agent["agent_turns"] == sum(len(messages) // 2 for messages in own)
