"""Kinds of agents by name, specs, scripts and replays."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from dialens.agents import AgentError, AgentSpec, Message, agent_kinds, make_agent, parse_agent
from dialens.agents import _registry as registry
from dialens.agents.kinds import ScriptAgent
from dialens.agents.kinds._script import read_script
from dialens.base import DialensError, DialensWarning

QUESTION = [Message("partner", "Is it raining?")]


GROUP = "dialens.agents"
Install = Callable[..., None]


def test_nothing_heavy_is_loaded_with_the_list() -> None:
    code = (
        "import sys; from dialens.agents import agent_kinds; list(agent_kinds());"
        "print({'torch', 'transformers', 'httpx', 'pydantic'} & set(sys.modules))"
    )
    import subprocess

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"


def test_another_package_brings_a_kind(installed: Install) -> None:
    installed(GROUP, "tests.agents.test_registry:open_parrot", "parrot")
    assert agent_kinds()["parrot"].summary == "Brought by the package theirs"
    assert agent_kinds()["parrot"].why_not() == ""
    agent = make_agent("parrot:polly")
    assert (agent.system, agent.reply(QUESTION).text) == ("polly", "Squawk.")


def open_parrot(spec: AgentSpec) -> ScriptAgent:
    return ScriptAgent(spec.target, "loud", {}, (("Squawk.",),))


def test_a_kind_that_is_taken_is_refused(installed: Install) -> None:
    installed(GROUP, "somewhere:else", "openai")
    with pytest.warns(DialensWarning, match="The kind of agents 'openai' is there twice"):
        list(agent_kinds())


def test_a_broken_kind_is_said_and_leaves_the_others(installed: Install) -> None:
    installed(GROUP, "no_such_module:thing", "broken")
    assert "cannot be loaded" in agent_kinds()["broken"].why_not()
    assert agent_kinds()["script"].why_not() == ""
    with pytest.raises(DialensError, match="cannot be loaded"):
        make_agent("broken:x")


def test_a_missing_package_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    real = find_spec
    monkeypatch.setattr(registry, "find_spec", lambda name: None if name == "gguf" else real(name))
    assert agent_kinds()["gguf"].why_not().startswith("needs gguf")
    with pytest.raises(DialensError, match=r"pip install 'dialens\[train\]'"):
        make_agent("gguf:x.gguf")


@pytest.mark.parametrize(
    ("text", "kind", "target"),
    [
        ("hred", "hred", ""),
        (" openai:gpt-4o-mini ", "openai", "gpt-4o-mini"),
        ("openai:org/model:tag", "openai", "org/model:tag"),
        ("command:./bot.sh --fast", "command", "./bot.sh --fast"),
    ],
)
def test_spelling(text: str, kind: str, target: str) -> None:
    spec = parse_agent(text)
    assert (spec.kind, spec.target) == (kind, target)
    assert str(spec) == text.strip()


def test_a_script_has_its_failures_where_it_says(tmp_path: Path) -> None:
    path = tmp_path / "moody.txt"
    path.write_text("Hello.\n!fail timeout: I fell asleep.\n")
    agent = make_agent(f"script:{path}")
    later = [Message("partner", "Hi"), Message("agent", "Hello."), Message("partner", "Well?")]
    with pytest.raises(AgentError, match="I fell asleep") as error:
        agent.reply(later)
    assert error.value.kind == "timeout"
    with pytest.raises(DialensError, match=r"moody\.txt:2: there is no failure 'tiemout'"):
        read_script("Hello.\n!fail tiemout: x\n", "moody.txt")


def test_a_script_ends_or_begins_again(tmp_path: Path) -> None:
    path = tmp_path / "short.txt"
    path.write_text("One.\n")
    history = [Message("agent", "One."), Message("partner", "And?")]
    assert make_agent(f"script:{path}").reply(history).text == "One."
    once = make_agent(AgentSpec("script", str(path), parameters={"repeat": False}))
    with pytest.raises(AgentError) as error:
        once.reply(history)
    assert error.value.kind == "ended"


def test_a_script_takes_its_time() -> None:
    slept: list[float] = []
    from dialens.agents.kinds import ScriptSettings

    settings = ScriptSettings(delay=0.5)
    agent = ScriptAgent("s", "s", {}, (("One two three.",),), settings, slept.append)
    assert list(agent.stream([])) == ["One", " two", " three."]
    assert slept == [0.5] * 3


TALKS = """\
User: Do you like rain?
Bot: I do.
User: And snow?
Bot: That too.
"""


@pytest.fixture
def replayed(tmp_path: Path) -> Any:
    (tmp_path / "talk.txt").write_text(TALKS)

    def made(**parameters: str) -> Any:
        return make_agent(AgentSpec("replay", str(tmp_path / "talk.txt"), parameters=parameters))

    return made


def test_a_replay_says_each_side(replayed: Any) -> None:
    history = [Message("partner", "Do you like rain?")]
    assert replayed().reply(history).text == "I do."
    history += [Message("agent", "I do."), Message("partner", "Whatever?")]
    assert replayed().reply(history).text == "That too."
    assert replayed(role="partner").reply([]).text == "Do you like rain?"
    history += [Message("agent", "That too."), Message("partner", "Bye.")]
    with pytest.raises(AgentError) as error:
        replayed().reply(history)
    assert error.value.kind == "ended"


def test_a_replay_of_nobody(replayed: Any) -> None:
    with pytest.raises(DialensError, match="no turn of role agent"):
        replayed(of_agent="somebody else")
