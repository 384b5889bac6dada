"""What every agent promises, whatever its kind: one suite that all of them pass."""

from __future__ import annotations

import stat
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dialens.agents import (
    Agent,
    AgentSpec,
    agent_kinds,
    make_agent,
)
from dialens.agents.neural import SHIPPED
from dialens.base import DialensError
from dialens.testing import check_agent
from tests.agents import tiny_models
from tests.agents.endpoint import Endpoint
from tests.conftest import component_missing

SECRET = "sk-conformance-0123456789"

BOT = """#!{python}
import json, sys
for line in sys.stdin:
    asked = json.loads(line)
    last = asked["history"][-1]["text"] if asked["history"] else "nothing"
    said = f"{{len(asked['history'])}} turns, seed {{asked['seed']}}: {{last[:40]}}"
    print(json.dumps({{"id": asked["id"], "piece": said[:5]}}), flush=True)
    print(json.dumps({{"id": asked["id"], "piece": said[5:]}}), flush=True)
    print(json.dumps({{"id": asked["id"], "done": True, "tokens_out": 7}}), flush=True)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("agents")


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint(key=SECRET) as served:
        yield served


def write_bot(folder: Path) -> str:
    path = folder / "bot.py"
    path.write_text(BOT.format(python=sys.executable))
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


def write_script(folder: Path) -> str:
    path = folder / "lines.txt"
    path.write_text("Hello there.\nI do, very much.\n\nGood day.\nNot at all.\n")
    return str(path)


def write_talk(folder: Path) -> str:
    path = folder / "talk.txt"
    path.write_text("User: Do you like rain?\nBot: I do.\nUser: And snow?\nBot: That too.\n")
    return str(path)


def write_function(folder: Path) -> str:
    path = folder / "function.py"
    path.write_text("def answer(messages, *, seed):\n    return f'{len(messages)}, {seed}'\n")
    return f"{path}:answer"


SPECS: dict[str, Callable[[Path], AgentSpec]] = {
    "script": lambda folder: AgentSpec("script", write_script(folder)),
    "replay": lambda folder: AgentSpec("replay", write_talk(folder)),
    "command": lambda folder: AgentSpec("command", write_bot(folder)),
    "command, kept": lambda folder: AgentSpec(
        "command", write_bot(folder), parameters={"keep": True, "mood": "calm"}
    ),
    "python": lambda folder: AgentSpec("python", write_function(folder)),
    "openai": lambda folder: AgentSpec("openai", "echo", parameters={"key_variable": "TEST_KEY"}),
    "transformers, chat": lambda folder: AgentSpec(
        "transformers",
        str(tiny_models.causal_folder(folder / "chat", template=tiny_models.CHAT_TEMPLATE)),
        parameters={"max_tokens": 12},
    ),
    "transformers, plain": lambda folder: AgentSpec(
        "transformers",
        str(tiny_models.causal_folder(folder / "plain")),
        parameters={"max_tokens": 12},
    ),
    "transformers, seq2seq": lambda folder: AgentSpec(
        "transformers",
        str(tiny_models.seq2seq_folder(folder / "seq2seq")),
        parameters={"max_tokens": 12},
    ),
    "gguf": lambda folder: AgentSpec(
        "gguf",
        str(tiny_models.gguf_file(folder / "tiny.gguf")),
        parameters={"max_tokens": 12, "persona": "You like rain."},
    ),
    "user": lambda folder: AgentSpec(
        "user", "complaint", parameters={"by": f"script:{write_script(folder)}"}
    ),
    "seq2seq": lambda folder: AgentSpec("seq2seq", ""),
    "hred": lambda folder: AgentSpec("hred", ""),
    "thred": lambda folder: AgentSpec("thred", ""),
}


def test_the_suite_knows_every_kind() -> None:
    tried = {name.partition(",")[0] for name in SPECS}
    # Nobody to ask here; a model of its own (test_llama.py); test_framework_agents.py.
    elsewhere = {"human", "llama", "langchain", "autogen"}
    ours = {name for name, kind in agent_kinds().items() if kind.entry is None}
    assert tried | elsewhere == ours


@pytest.fixture(scope="module", params=SPECS)
def spec(request: pytest.FixtureRequest, folder: Path, endpoint: Endpoint) -> AgentSpec:
    kind = request.param.partition(",")[0]
    if kind in ("seq2seq", "hred", "thred") and not (SHIPPED / kind).is_dir():
        component_missing(f"the {kind} that ships", "it comes with the package")
    if kind == "gguf" and (missing := agent_kinds()["gguf"].why_not()):
        component_missing("what reads GGUF files", missing)
    made = SPECS[request.param](folder)
    if kind == "openai":
        made = replace(made, parameters={**made.parameters, "endpoint": endpoint.url})
    return made


@pytest.fixture(scope="module")
def agent(spec: AgentSpec) -> Iterator[Agent]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("TEST_KEY", SECRET)
        patched.setenv("DIALENS_ALLOW", "TEST_KEY@127.0.0.1")
        made = make_agent(spec)
        yield made
        close = getattr(made, "close", None)
        if callable(close):
            close()


def test_it_is_an_agent_with_a_name(agent: Agent, spec: AgentSpec) -> None:
    assert isinstance(agent, Agent)
    assert agent.system
    assert agent.name
    assert set(agent.parameters) <= set(spec.parameters)
    assert SECRET not in repr(agent)


def test_it_takes_its_names_from_the_spec(spec: AgentSpec, agent: Agent) -> None:
    named = make_agent(replace(spec, system="S", name="N"))
    assert (named.system, named.name) == ("S", "N")


def test_it_keeps_its_promises(spec: AgentSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TEST_KEY", SECRET)
    monkeypatch.setenv("DIALENS_ALLOW", "TEST_KEY@127.0.0.1")
    check_agent(lambda: make_agent(spec))


def test_unknown_settings_are_refused_without_their_value(spec: AgentSpec, agent: Agent) -> None:
    slip = next(one.name for one in agent_kinds()[spec.kind].declared) + "x"
    wrong = replace(spec, parameters={**spec.parameters, slip: SECRET})
    with pytest.raises(DialensError, match="Did you mean") as error:
        make_agent(wrong)
    assert SECRET not in str(error.value)
