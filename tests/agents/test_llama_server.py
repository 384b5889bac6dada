"""Agents of endpoints before a real server: llama.cpp's, with a small model and bad weather."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from dialens.agents import AgentSpec, Message, Reply, Wish, make_agent, streamed
from dialens.agents._pieces import whole
from dialens.agents.kinds._tools import read_tools
from dialens.agents.talks import CollectionPlan, collect
from dialens.corpus import Corpus
from tests.agents.small_model import Proxy, here, llama_server

pytestmark = [pytest.mark.slow, here]
QUESTION = [Message("partner", "Tell me something about the sea.")]
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Paris"}}\n</tool_call>'
TOOLS = """
tools:
  - name: weather
    description: Weather of a city.
    parameters: {type: object, properties: {city: {type: string}}, required: [city]}
    stub: {matching: [{when: {city: Paris}, answer: Sunny.}]}
"""
LONG = [
    Message("partner" if n % 2 == 0 else "agent", f"Turn {n}: " + "the rain in the north " * 6)
    for n in range(21)
]


@pytest.fixture(scope="module")
def server() -> Any:
    return llama_server()


@pytest.fixture(scope="module")
def tools(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("tools") / "tools.yaml"
    path.write_text(TOOLS)
    return path


def opened(server: Any, **more: Any) -> Any:
    settings = {
        "endpoint": f"{server.listening_address}/v1",
        "temperature": 0,
        "max_tokens": 12,
        **more,
    }
    return make_agent(AgentSpec("openai", "smollm2", parameters=settings))


def heard(agent: Any, history: list[Message]) -> tuple[list[str], Reply]:
    pieces: list[str] = []
    stream = streamed(agent, history)
    while True:
        try:
            pieces.append(next(stream))
        except StopIteration as end:
            return pieces, end.value


def test_an_answer_comes_in_pieces_and_is_cut_off_where_it_must(server: Any) -> None:
    agent = opened(server, price_in=1, price_out=2)
    pieces, reply = heard(agent, QUESTION)
    assert len(pieces) > 5
    assert "".join(pieces) == reply.text == agent.reply(QUESTION).text
    assert (reply.finish, reply.tokens_out) == ("length", 12)
    assert reply.tokens_in is not None
    assert reply.cost == pytest.approx((reply.tokens_in + 2 * 12) / 1e6)
    assert reply.model.endswith(".gguf")
    assert reply.fingerprint


def test_it_ends_where_it_is_told_to(server: Any) -> None:
    plain = opened(server).reply(QUESTION)
    reply = opened(server, stop=" ", top_k=1, min_p=0.1).reply(QUESTION)
    assert (reply.text, reply.finish) == (plain.text.split()[0], "stop")


def test_the_likeliest_tokens(server: Any) -> None:
    reply = opened(server).answer(QUESTION, Wish(0.0, likeliest=5, max_tokens=1))
    (top,) = reply.likeliest
    assert len(top) == 5
    assert sum(math.exp(log) for log in top.values()) <= 1
    assert max(top, key=lambda token: top[token]).strip() == reply.text


@pytest.mark.parametrize("how", ["stream", "whole", "in process"])
def test_a_real_call_of_a_tool(server: Any, tools: Path, how: str) -> None:
    from dialens.agents.kinds._llama_file import LlamaAgent, LlamaSettings

    asked = [Message("partner", f"Repeat: {CALL}")]
    agent = opened(server, tools=str(tools), most_calls=1, max_tokens=40)
    if how == "in process":
        settings = LlamaSettings(temperature=0, max_tokens=40, most_calls=1)
        agent = LlamaAgent("smollm2", "a", {}, settings, server, "", read_tools(tools))
    if how == "whole":
        agent.streams.clear()
    reply = agent.reply(asked)
    call, result = reply.before
    function = call["tool_calls"][0]["function"]
    assert (function["name"], json.loads(function["arguments"])) == ("weather", {"city": "Paris"})
    assert result["content"] == "Sunny."
    assert reply.text
    assert reply.attempts == 2
    assert reply.tokens_in > 300  # the tools are declared in both requests, of some 150 each
    # A later turn goes on with what was called.
    more = [*asked, Message("agent", reply.text, reply.before), *QUESTION]
    assert agent.reply(more).text


def test_what_does_not_fit_is_left_out_in_pairs(server: Any) -> None:
    """The template fails if a conversation does not begin with the user and take turns."""
    reply = opened(server).reply(LONG)
    assert reply.text
    count = int(reply.note.split()[2])
    assert reply.note == f"the oldest {count} turns did not fit"
    assert count % 2 == 0
    assert reply.attempts > 1


def test_in_process_as_well(server: Any) -> None:
    from dialens.agents.kinds._llama_file import LlamaAgent, LlamaSettings

    settings = LlamaSettings(temperature=0, max_tokens=12)
    agent = LlamaAgent("smollm2", "a", {}, settings, server)
    reply = agent.reply(LONG)
    assert reply.note.endswith("turns did not fit")
    assert reply.text == whole(agent.stream(LONG)).text
    begun = agent.reply([Message("agent", "Hello."), *QUESTION])
    assert begun.text


def test_an_answer_has_room(server: Any) -> None:
    """Fewer tokens are left of the 512 than an answer may have: the oldest turns make room."""
    from dialens.agents.kinds._llama_file import LlamaAgent, LlamaSettings

    def talk(pairs: int) -> list[Message]:
        said = [Message("partner", "And then?"), Message("agent", "It rained, and we sang.")]
        return [*said * pairs, Message("partner", "Tell me a long story about the rain.")]

    def agent(room: int) -> LlamaAgent:
        return LlamaAgent("smollm2", "a", {}, LlamaSettings(temperature=0, max_tokens=room), server)

    one, three = (agent(1).reply(talk(pairs)).tokens_in for pairs in (1, 3))
    a_pair = (three - one) // 2
    full = talk(1 + (512 - 10 - one) // a_pair)
    assert 512 - 10 - a_pair <= agent(1).reply(full).tokens_in <= 512 - 10
    reply = agent(48).reply(full)
    assert reply.note.startswith("the oldest ")
    assert reply.finish == "stop" or reply.tokens_out == 48


@pytest.mark.parametrize("how", ["refuse", "refuse-wait", "drop"])
def test_no_dialogue_is_lost_in_bad_weather(server: Any, tmp_path: Path, how: str) -> None:
    """Every other request is turned away; what was answered is paid for, and nothing else.

    Whoever's turn it is, four replies take four requests in vain, fewer than one reply may make.
    """
    (tmp_path / "user.txt").write_text("Hello there.\nAnd then?\n")
    with Proxy(server.listening_address, how) as proxy:
        settings: dict[str, Any] = {"endpoint": proxy.url, "max_tokens": 6}
        settings |= {"price_in": 1, "price_out": 1}
        agent = AgentSpec("openai", "smollm2", parameters=settings)
        user = AgentSpec("script", str(tmp_path / "user.txt"))
        plan = CollectionPlan((agent,), (user,), turns=4, dialogues=2)
        done = collect(plan, tmp_path / "talks", workers=2)
    assert done.failures == {}
    (spent,) = [one for label, one in done.usage.items() if label.startswith("smollm2")]
    assert spent.replies == 4
    assert spent.attempts == proxy.requests == 8
    read, written = (sum(column) for column in zip(*proxy.tokens, strict=True))
    assert (spent.tokens_in, spent.tokens_out) == (read, written)
    assert spent.cost == pytest.approx((read + written) / 1e6)
    turns = Corpus.open(done.folder).turns.filter(pl.col("role") == "agent").collect()
    assert turns.height == 4
