"""`dialens agents` as a person uses it."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from dialens.agents import agent_kinds
from dialens.agents.kinds._human import HumanAgent
from dialens.base import DialensError
from dialens.cli._score import score
from dialens.cli.agents._group import app
from dialens.corpus import Corpus

RUNNER = CliRunner()


@pytest.fixture(autouse=True)
def scripts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    Path("ann.txt").write_text("Hello!\nI love walking in the rain.\n\nGood day.\nNot now.\n")
    Path("bob.txt").write_text("How sad, I am sorry.\nWhy is that so?\n")


def run(command: str, said: str = "", status: int = 0) -> str:
    done = RUNNER.invoke(app, shlex.split(command), input=said)
    if done.exception and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == status, done.output
    return done.output


def test_kinds_are_listed_with_what_they_lack(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    shown = run("kinds")
    for name in agent_kinds():
        assert name in shown
    assert "OPENAI_API_KEY is not set" in shown
    card = run("kinds openai")
    assert "persona" in card
    assert "total_timeout" in card


def test_collect_then_score(tmp_path: Path) -> None:
    shown = run(
        "collect --agent script:ann.txt --agent script:bob.txt --turns 6 --dialogs 3 -o talks",
    )
    assert "talks holds 6 dialogues with 36 turns." in shown
    assert "Next: dialens score talks -o out" in shown
    score([Path("talks")], Path("out"), models="none")
    table = pl.read_parquet("out/scores.parquet")
    found = table.filter(pl.col("level") == "agent", pl.col("metric") == "question")
    assert set(found["agent"]) == {"ann", "bob"}
    again = run(
        "collect --agent script:ann.txt --agent script:bob.txt --turns 6 --dialogs 4 -o talks",
    )
    assert "talks holds 8 dialogues with 48 turns (6 were there already)." in again


def test_a_setting_with_two_values_makes_two_agents() -> None:
    run(
        "collect -a script:ann.txt -a script:bob.txt -p themselves --dialogs 1 -o talks "
        "--set ann.repeat=yes --set ann.repeat=no"
    )
    names = Corpus.open(Path("talks")).turns.select("system", "agent").unique().collect().rows()
    assert sorted(names) == [("ann", "repeat=no"), ("ann", "repeat=yes"), ("bob", "bob")]


def test_a_dry_run_asks_nobody() -> None:
    shown = run("collect -a script:ann.txt -a script:bob.txt --dialogs 3 --dry-run")
    assert "6 dialogues of 8 turns, 48 replies to be given." in shown
    assert not Path("talks").exists()


def test_failures_are_shown() -> None:
    Path("ill.txt").write_text("!fail busy: Too many people.\n")
    shown = run(
        "collect -a script:ill.txt -a script:ann.txt -p script:bob.txt --dialogs 2 -o talks",
        status=1,
    )
    assert "2 dialogues failed" in shown
    assert "ill had too much to do, even after waiting, 2 ×: Too many people." in shown


def test_one_failure_is_one_dialogue() -> None:
    Path("ill.txt").write_text("!fail busy: Too many people.\n")
    shown = run(
        "collect -a script:ill.txt -a script:ann.txt -p script:bob.txt --dialogs 1 -o talks",
        status=1,
    )
    assert "1 dialogue failed and is not in the corpus" in shown


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("collect -o talks", "Who is to talk?"),
        ("collect -a script:ann.txt", "Where to?"),
        ("collect -a script:ann.txt --first nobody -o t", "--first is partner or agent"),
        ("collect plan.yaml --turns 3 -o t", "--turns belongs into the plan"),
        ("collect plan.yaml --dialogs 3 -o t", "--dialogs belongs into the plan (as `dialogues`)"),
        ("collect -a script:ann.txt --set repeat -o t", "--set takes NAME=VALUE"),
        ("collect -a script:ann.txt --set cleo.repeat=no -o t", "no agent is called so"),
        ("collect -a human -o t", "cannot be the agent under study"),
        ("chat human", "chat with yourself"),
        ("chat script:ann.txt --set repeat=no --set repeat=yes", "choose one value"),
        ("chat scirpt:ann.txt", "Did you mean script?"),
    ],
)
def test_mistakes_are_explained(words: str, said: str) -> None:
    with pytest.raises(DialensError) as error:
        run(words)
    assert said in str(error.value)


def test_a_chat_is_kept_as_a_dialogue() -> None:
    shown = run("chat script:ann.txt -o chats", said="Hi\n/again\n/what\nWell?\n/quit\n")
    assert "ann: Hello!" in shown
    assert "ann: Good day." in shown
    assert "There is no command /what" in shown
    run("chat script:bob.txt -o chats", said="It rains.\n")
    corpus = Corpus.open(Path("chats"))
    turns = corpus.turns.select("agent", "dialog", "role", "text").collect().rows()
    assert turns == [
        ("ann", "chat-001", "partner", "Hi"),
        ("ann", "chat-001", "agent", "Good day."),
        ("ann", "chat-001", "partner", "Well?"),
        ("ann", "chat-001", "agent", "Not now."),
        ("bob", "chat-002", "partner", "It rains."),
        ("bob", "chat-002", "agent", "How sad, I am sorry."),
    ]
    assert [agent["system"] for agent in corpus.manifest["source"]["agents"]] == ["ann", "bob"]
    assert corpus.turns.select(pl.col("created_at").is_not_null().all()).collect().item()


def test_a_chat_with_an_agent_that_fails_goes_on() -> None:
    Path("ill.txt").write_text("!fail busy: Too many people.\n\nHere I am.\n")
    shown = run("chat script:ill.txt", said="Hi\n/again\n/quit\n")
    assert "ill: Here I am." in shown


def test_a_chat_is_not_added_to_something_else() -> None:
    run("collect -a script:ann.txt -a script:bob.txt --dialogs 1 -o talks")
    with pytest.raises(DialensError, match="holds other things than chats"):
        run("chat script:ann.txt -o talks", said="Hi\n")
    Path("note").mkdir()
    Path("note/x.txt").write_text("x")
    with pytest.raises(DialensError, match="is not a corpus"):
        run("chat script:ann.txt -o note", said="Hi\n")


def test_a_person_talks_with_agents_one_after_another() -> None:
    """Two agents, one conversation each; /done ends the second early."""
    shown = run(
        "collect -a script:ann.txt -a script:bob.txt -p human:stdin --dialogs 1 --turns 4 -o talks",
        said="Hi\nWell\nHello\n/done\n",
    )
    assert shown.count("A new conversation.") == 2
    turns = Corpus.open(Path("talks")).turns.collect()
    assert turns.filter(pl.col("role") == "partner")["speaker"].unique().to_list() == [
        "human(terminal)"
    ]
    assert sorted(turns.group_by("dialog").len()["len"].to_list()) == [2, 4]


def test_a_person_who_quits_can_come_back() -> None:
    words = (
        "collect -a script:ann.txt -a script:bob.txt -p human:stdin --dialogs 1 --turns 2 -o talks"
    )
    stopped = RUNNER.invoke(app, shlex.split(words), input="Hi\n/quit\n")
    assert stopped.exit_code != 0
    lines = Path("talks.collecting/collected.jsonl").read_text().splitlines()
    kept = [json.loads(line) for line in lines]
    assert len(kept) == 2, "the head and one conversation"
    assert "talks holds 2 dialogues with 4 turns (1 were there already)." in run(
        words, said="Hello\n"
    )


def test_there_is_somebody_at_the_terminal() -> None:
    with pytest.raises(DialensError, match="nobody at the terminal"):
        run("collect -a script:ann.txt -p human -o talks")
    person = HumanAgent("h", "h", {}, ask=lambda prompt: " Yes. ", show=lambda line: None)
    assert person.reply([]).text == "Yes."


@pytest.mark.slow
def test_the_example_runs(repository: Path) -> None:
    """By hand: of the agent's three turns a conversation the warm script asks in every one."""
    example = repository / "examples" / "two_agents_talk.py"
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)], capture_output=True, text=True, check=True
    )
    assert "6 conversations, 36 turns" in done.stdout
    assert "warm: question 1.00 over 9 turns" in done.stdout
    assert "curt: question 0.00 over 9 turns" in done.stdout
