"""An agent that was trained on a graphics card talks without one."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dialens.agents import AgentSpec, Message
from dialens.agents.neural import open_agent
from dialens.agents.neural._shape import KINDS
from dialens.cli.agents._group import app
from dialens.models.training import best_device
from tests.agents.neural.test_train_command import SMALL


@pytest.mark.slow
@pytest.mark.usefixtures("card", "one_thread")
@pytest.mark.parametrize("kind", KINDS)
def test_training_ends_in_an_agent_that_talks(kind: str, talks: Path, tmp_path: Path) -> None:
    assert best_device().type == "cuda"
    bot = tmp_path / "bot"
    given = ["train", kind, str(talks), "-o", str(bot), *SMALL]
    done = CliRunner().invoke(app, given, catch_exceptions=False)
    assert done.exit_code == 0, done.output
    measured = json.loads((bot / "card.json").read_text())["metrics"]["held_out_perplexity"]
    assert 1 < measured["value"] < math.inf
    assert open_agent(AgentSpec(kind, str(bot))).reply([Message("partner", "tea?")]).text
