"""`dialens agents train` in miniature, from each kind of data, killed and gone on with."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dialens.agents import AgentSpec, Message
from dialens.agents.neural import open_agent
from dialens.agents.neural._folder import WEIGHTS
from dialens.agents.neural._shape import KINDS
from dialens.cli.agents._group import app
from tests.agents.neural.test_conversations import ingested

pytestmark = pytest.mark.slow
SMALL = [
    *("--vocabulary", "330", "--embedding", "16", "--hidden", "24", "--epochs", "2"),
    *("--batch", "8", "--held-out", "0.2", "--samples", "4", "--checkpoint-every", "1"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.usefixtures("one_thread")
def test_each_kind_is_trained_and_talks(kind: str, talks: Path, tmp_path: Path) -> None:
    bot = tmp_path / "bot"
    done = CliRunner().invoke(app, ["train", kind, str(talks), "-o", str(bot), *SMALL])
    assert done.exit_code == 0, done.output
    assert "held-out perplexity" in done.output
    assert "distinct-2" in done.output
    card = json.loads((bot / "card.json").read_text())
    figures = card["metrics"]
    assert figures["held_out_perplexity"]["value"] > 1
    assert figures["held_out_perplexity"]["n"] > 0
    assert 0 < figures["distinct_1"]["value"] <= 1
    assert card["data"][0]["replies"] + card["data"][0]["held_out_replies"] == 48
    assert not bot.with_name("bot.training").exists()
    assert open_agent(AgentSpec(kind, str(bot))).reply([Message("partner", "tea?")]).text


@pytest.mark.usefixtures("one_thread")
def test_what_an_agent_learned_is_built_upon(talks: Path, tmp_path: Path) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    more = ["--rate", "0.01", "--warm-up", "2", "--decay", "0.05", "--check-every", "3"]
    run = CliRunner()
    done = run.invoke(app, ["train", "hred", str(talks), "-o", str(first), *SMALL, *more])
    assert done.exit_code == 0, done.output
    short = ["--begin-with", str(first), "--minutes", "5"]
    given = ["train", "hred", str(talks), "-o", str(second), *SMALL, *more, *short]
    done = run.invoke(app, given)
    assert done.exit_code == 0, done.output
    before, after = (json.loads((one / "card.json").read_text()) for one in (first, second))
    assert after["began_with"] == {"name": "first", "weights": before["files"][WEIGHTS]}
    assert after["files"]["tokenizer.json"] == before["files"]["tokenizer.json"]
    learned = before["data"][0]["replies"]
    assert after["learned"]["replies_seen"] == 2 * learned
    assert after["learned"]["steps"] == 2 * -(-learned // 8)
    assert after["training"]["seconds"] == 300
    assert (
        after["metrics"]["held_out_perplexity"]["value"]
        < before["metrics"]["held_out_perplexity"]["value"]
    )
    for said in ("--warm-up 2", "--decay 0.05", "--minutes 5", "--begin-with first"):
        assert said in after["command"]
    given = ["train", "hred", str(talks), "-o", str(tmp_path / "b"), *SMALL, *short]
    other = run.invoke(app, [*given, "--hidden", "32"])
    assert "hidden is 32, but 24 in" in str(other.exception)
    other = run.invoke(app, ["train", "thred", *given[2:]])
    assert "holds a hred, not a thred" in str(other.exception)


@pytest.mark.parametrize(
    ("option", "value"), [("--minutes", "0"), ("--decay", "-1"), ("--rate", "0")]
)
def test_plans_that_make_no_sense_are_refused(
    option: str, value: str, talks: Path, tmp_path: Path
) -> None:
    given = ["train", "hred", str(talks), "-o", str(tmp_path / "b"), *SMALL, option, value]
    done = CliRunner().invoke(app, given)
    assert "must be" in str(done.exception)
    assert not list(tmp_path.glob("b*"))


def test_time_that_is_up_ends_a_training(talks: Path, tmp_path: Path) -> None:
    given = ["train", "seq2seq", str(talks), "-o", str(tmp_path / "b"), *SMALL]
    done = CliRunner().invoke(app, [*given, "--minutes", "1e-9", "--epochs", "50"])
    assert done.exit_code == 0, done.output
    card = json.loads((tmp_path / "b" / "card.json").read_text())
    # Time is looked at after each step, and it is up after the first.
    assert card["learned"]["steps"] == 1


@pytest.mark.usefixtures("one_thread")
def test_an_ingested_folder_is_learned_from(tmp_path: Path) -> None:
    work = ingested(tmp_path / "work", order=list(range(7)))
    done = CliRunner().invoke(
        app, ["train", "hred", str(work), "-o", str(tmp_path / "bot"), *SMALL]
    )
    assert done.exit_code != 0  # all its replies are in one thread
    assert "at least two threads" in str(done.exception)


def test_kill_and_go_on_gives_the_same_weights(talks: Path, tmp_path: Path) -> None:
    def command(name: str) -> list[str]:
        program = "from dialens.cli.agents._group import app; app()"
        given = ["train", "seq2seq", str(talks), "-o", str(tmp_path / name), *SMALL]
        return [sys.executable, "-c", program, *given, "--epochs", "6"]

    alone = {**os.environ, "OMP_NUM_THREADS": "1"}  # networks this small gain nothing by more
    subprocess.run(command("whole"), check=True, capture_output=True, env=alone)
    checkpoint = tmp_path / "killed.training" / "checkpoint.pt"
    running = subprocess.Popen(
        command("killed"), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=alone
    )
    while not checkpoint.exists() and running.poll() is None:
        time.sleep(0.01)
    running.send_signal(signal.SIGKILL)
    running.wait()
    assert checkpoint.exists()
    again = subprocess.run(command("killed"), check=True, capture_output=True, text=True, env=alone)
    assert "Going on with what" in again.stdout
    whole, killed = (tmp_path / name / WEIGHTS for name in ("whole", "killed"))
    assert whole.read_bytes() == killed.read_bytes()


def test_what_is_wrong_is_said_before_anything_is_read(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["train", "sec2seq", str(tmp_path), "-o", str(tmp_path / "b")])
    assert "Did you mean seq2seq?" in str(done.exception)
    done = CliRunner().invoke(app, ["train", "hred", "nowhere", "-o", str(tmp_path / "b")])
    assert "nowhere does not exist" in str(done.exception)
