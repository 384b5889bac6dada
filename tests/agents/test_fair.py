"""Agents that are to be compared meet the same partner, and are judged by their own words."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from dialens.agents import AgentSpec
from dialens.agents.talks import CollectionPlan, collect, read_contexts, work_folder
from dialens.agents.talks._openings import OPENINGS
from dialens.cli._app import app
from dialens.corpus import Corpus
from tests.agents.endpoint import Endpoint

RECORDED = 6


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as served:
        yield served


@pytest.fixture
def bots(tmp_path: Path) -> tuple[AgentSpec, ...]:
    (tmp_path / "ann.txt").write_text("I am Ann.\nI like rain.\n")
    (tmp_path / "bob.txt").write_text("I am Bob.\nWhy?\n")
    return tuple(AgentSpec("script", str(tmp_path / f"{name}.txt")) for name in ("ann", "bob"))


@pytest.fixture
def users(tmp_path: Path) -> AgentSpec:
    """Six recorded conversations, one of them with a silent agent."""
    lines = [
        {
            "id": f"r{number}",
            "messages": [
                {"role": "user", "content": f"Question {number}"},
                {"role": "assistant", "content": f"Answer {number}"},
                {"role": "user", "content": f"And then, {number}?"},
            ][: 1 if number == 3 else 3],
        }
        for number in range(RECORDED)
    ]
    path = tmp_path / "recorded.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return AgentSpec("replay", str(path), parameters={"role": "partner"})


def turns(folder: Path) -> pl.DataFrame:
    return Corpus.open(folder).turns.collect()


def test_every_agent_meets_every_recorded_user_once(
    bots: tuple[AgentSpec, ...], users: AgentSpec, tmp_path: Path
) -> None:
    """Before, an empty opening matched the one recorded conversation with a silent agent."""
    plan = CollectionPlan(bots, partners=(users,), turns=4, dialogues=RECORDED)
    collect(plan, tmp_path / "talks")
    first = turns(tmp_path / "talks").filter(turn=0).sort("dialog")
    assert first["agent"].to_list() == ["ann"] * RECORDED + ["bob"] * RECORDED
    assert first["text"].to_list() == [f"Question {n}" for n in range(RECORDED)] * 2


def test_then_they_begin_again_in_the_same_order(
    bots: tuple[AgentSpec, ...], users: AgentSpec, tmp_path: Path
) -> None:
    plan = CollectionPlan(bots[:1], partners=(users,), turns=2, dialogues=RECORDED + 2)
    collect(plan, tmp_path / "talks")
    asked = turns(tmp_path / "talks").filter(turn=0).sort("dialog")["text"].to_list()
    assert asked[RECORDED:] == asked[:2]


def test_every_agent_answers_the_same_contexts_once(
    bots: tuple[AgentSpec, ...], users: AgentSpec, tmp_path: Path
) -> None:
    """Two agents had answered the first in the file: it is one context."""
    path = Path(users.target)
    line = json.loads(path.read_text().splitlines()[0])
    path.write_text(path.read_text() + json.dumps({**line, "id": "again"}) + "\n")
    contexts = read_contexts(path)
    assert [len(one.said) for one in contexts] == [3, 3, 3, 1, 3, 3]
    done = collect(CollectionPlan(bots, contexts=contexts), tmp_path / "talks")
    assert (done.dialogues, done.turns) == (12, 2 * (5 * 4 + 2))
    said = turns(tmp_path / "talks").filter(dialog="ann+r1")
    assert said.select("speaker", "role", "text").rows() == [
        ("user", "partner", "Question 1"),
        ("assistant", "partner", "Answer 1"),
        ("user", "partner", "And then, 1?"),
        ("ann", "agent", "I like rain."),
    ]


def test_contexts_collected_scored_and_compared_in_pairs(
    users: AgentSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every command as a user gives it, with agents that ship."""
    monkeypatch.chdir(tmp_path)
    path = Path(users.target)
    path.write_text(
        "".join(
            json.dumps({"id": f"c{n}", "messages": [{"role": "user", "content": opening}]}) + "\n"
            for n, opening in enumerate(OPENINGS[:8])
        )
    )
    for words in (
        f"agents collect -a hred -a seq2seq --contexts {path.name} -o talks",
        "score talks -o out -m length,question",
        "compare out -o compared",
    ):
        done = CliRunner().invoke(app, words.split())
        assert done.exit_code == 0, done.output
    found = pl.read_parquet(tmp_path / "compared" / "comparison.parquet").filter(metric="length")
    assert found.select("a", "b", "paired", "n_shared").rows() == [("hred", "seq2seq", True, 8)]


def test_several_scripts_are_taken_in_turn_by_everybody(
    bots: tuple[AgentSpec, ...], tmp_path: Path
) -> None:
    (tmp_path / "user.txt").write_text("One.\n\nTwo.\n\nThree.\n")
    user = AgentSpec("script", str(tmp_path / "user.txt"))
    collect(CollectionPlan(bots, partners=(user,), turns=2, dialogues=3), tmp_path / "talks")
    first = turns(tmp_path / "talks").filter(turn=0).sort("dialog")
    assert first["text"].to_list() == ["One.", "Two.", "Three."] * 2


def test_partners_draw_the_same_with_every_agent(endpoint: Endpoint, tmp_path: Path) -> None:
    """The stand-in says its seed: the partner's is one, the agents' are their own."""
    place = {"endpoint": endpoint.url}
    agents = tuple(
        AgentSpec("openai", "echo", system=name, name=name, parameters=place)
        for name in ("one", "two")
    )
    partner = AgentSpec("openai", "echo", system="user", name="user", parameters=place)
    plan = CollectionPlan(agents, partners=(partner,), openings=(), turns=2, dialogues=3)
    collect(plan, tmp_path / "talks")
    said = turns(tmp_path / "talks").sort("dialog")
    begun = said.filter(turn=0)["text"].to_list()
    assert begun[:3] == begun[3:]
    assert len(set(begun)) == 3
    answered = said.filter(turn=1)["text"].to_list()
    assert set(answered[:3]).isdisjoint(answered[3:])


def test_words_that_were_given_are_nobodys_own(bots: tuple[AgentSpec, ...], tmp_path: Path) -> None:
    plan = CollectionPlan(
        bots[:1], partners=bots[1:], openings=("Hello!",), turns=4, dialogues=1, first="agent"
    )
    collect(plan, tmp_path / "talks")
    said = turns(tmp_path / "talks").select("speaker", "role", "text").rows()
    assert said == [
        ("ann", "partner", "Hello!"),
        ("bob", "partner", "I am Bob."),
        ("ann", "agent", "I like rain."),
        ("bob", "partner", "Why?"),
    ]


@pytest.mark.parametrize(
    "changed", [{"requests_per_minute": 600}, {"total_timeout": 99}, {"price_in": 1.0}]
)
def test_how_an_agent_is_reached_makes_no_other_collection(
    endpoint: Endpoint, bots: tuple[AgentSpec, ...], tmp_path: Path, changed: dict[str, float]
) -> None:
    agent = AgentSpec("openai", "echo", parameters={"endpoint": endpoint.url})
    collect(CollectionPlan((agent,), partners=bots[:1], dialogues=2), tmp_path / "talks")
    slower = replace(agent, parameters={**agent.parameters, **changed})
    again = CollectionPlan((slower,), partners=bots[:1], dialogues=2)
    assert collect(again, tmp_path / "talks").before == 2


def test_a_model_that_moved_is_the_same_model(bots: tuple[AgentSpec, ...], tmp_path: Path) -> None:
    for _ in range(2):
        with Endpoint() as served:
            agent = AgentSpec("openai", "echo", parameters={"endpoint": served.url})
            plan = CollectionPlan((agent,), partners=bots[:1], dialogues=2)
            done = collect(plan, tmp_path / "talks")
    assert done.before == 2


def test_a_file_that_moved_is_the_same_script(bots: tuple[AgentSpec, ...], tmp_path: Path) -> None:
    collect(CollectionPlan(bots[:1], partners=bots[1:], dialogues=2), tmp_path / "talks")
    (tmp_path / "elsewhere").mkdir()
    moved = Path(bots[0].target).rename(tmp_path / "elsewhere" / "ann.txt")
    plan = CollectionPlan((replace(bots[0], target=str(moved)),), partners=bots[1:], dialogues=2)
    assert collect(plan, tmp_path / "talks").before == 2


def test_what_failed_was_paid_for_all_the_same(bots: tuple[AgentSpec, ...], tmp_path: Path) -> None:
    """Each try: two replies at 1, then a failure. Three tries are 6, and one whole try 3 more."""
    program = tmp_path / "bot.py"
    program.write_text(
        "import json, pathlib, sys\n"
        "asked = json.loads(sys.stdin.readline())\n"
        "count = pathlib.Path(sys.argv[1]); n = int(count.read_text()) + 1\n"
        "count.write_text(str(n))\n"
        "if n in (3, 6, 9):\n"
        "    print(json.dumps({'error': 'tired'}))\n"
        "else:\n"
        "    print(json.dumps({'text': 'Yes.', 'cost': 1.0}))\n"
    )
    (tmp_path / "count").write_text("0")
    target = f"{sys.executable} {program} {tmp_path / 'count'}"
    agent = AgentSpec("command", target, system="bot", name="bot")
    plan = CollectionPlan((agent, bots[1]), partners=bots[:1], turns=6, dialogues=1)
    for _ in range(4):
        done = collect(plan, tmp_path / "talks")
    assert not done.failures
    spent = done.usage["bot"]
    assert (spent.cost, spent.replies, spent.attempts) == (9.0, 9, 12)


def test_replies_that_were_cut_off_are_marked_and_counted(
    endpoint: Endpoint, bots: tuple[AgentSpec, ...], tmp_path: Path
) -> None:
    agent = AgentSpec("openai", "cut-off-4", parameters={"endpoint": endpoint.url})
    done = collect(
        CollectionPlan((agent,), partners=bots[:1], turns=4, dialogues=2), tmp_path / "talks"
    )
    spent = done.usage["cut-off-4"]
    assert (spent.cut_off, spent.replies, spent.models) == (4, 4, ("cut-off-4 (fp_tests)",))
    marked = turns(tmp_path / "talks").filter(role="agent")["meta"].to_list()
    assert marked == ['{"finish":"length"}'] * 4


@pytest.mark.parametrize("model", ["limited-0.1", "limited-0.1-wait-1"])
def test_a_limit_of_the_server_loses_no_conversation(
    endpoint: Endpoint, bots: tuple[AgentSpec, ...], tmp_path: Path, model: str
) -> None:
    """Eight at once, and a server that answers one request in a tenth of a second."""
    agent = AgentSpec("openai", model, parameters={"endpoint": endpoint.url, "attempts": 2})
    plan = CollectionPlan((agent,), partners=bots[:1], turns=2, dialogues=8)
    done = collect(plan, tmp_path / "talks", workers=8)
    assert (done.dialogues, done.failures) == (8, {})


def test_ctrl_c_ends_a_collection_that_waits(
    endpoint: Endpoint, bots: tuple[AgentSpec, ...], tmp_path: Path
) -> None:
    """Eight workers wait for a server that never answers; what had ended is kept."""
    plan = tmp_path / "plan.yaml"
    plan.write_text(
        f"""\
agents:
  - script:ann.txt
  - agent: openai:silent
    set: {{endpoint: "{endpoint.url}"}}
partners: [script:bob.txt]
turns: 2
dialogues: 4
"""
    )
    endpoint.requests.clear()
    command = [
        sys.executable,
        "-m",
        "dialens",
        "agents",
        "collect",
        str(plan),
        "-o",
        "talks",
        "-w8",
    ]
    with subprocess.Popen(
        command, cwd=tmp_path, env=os.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    ) as process:  # fmt: skip
        journal = work_folder(tmp_path / "talks") / "collected.jsonl"
        ended = 0
        while len(endpoint.requests) < 4 or ended < 5:
            assert process.poll() is None, process.communicate()
            ended = journal.read_bytes().count(b"\n") if journal.exists() else 0
            time.sleep(0.05)
        process.send_signal(signal.SIGINT)
        said, error = process.communicate(timeout=20)
    assert process.returncode == 130, error
    assert b"Stopped. Dialogues that had ended are kept" in said
    assert b"Traceback" not in error
    assert journal.read_bytes().count(b"\n") == 5
