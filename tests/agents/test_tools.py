"""Models that call tools: they are answered until they speak, and everything is written down."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from typer.testing import CliRunner

from dialens.agents import KINDS, AgentError, AgentSpec, Message, Reply, make_agent
from dialens.agents._pieces import whole
from dialens.agents.kinds._openai_endpoint import EndpointAgent, open_agent
from dialens.agents.kinds._openai_wire import ResponseInfo
from dialens.agents.kinds._tools import ToolCall, read_tools
from dialens.agents.talks import Chat, CollectionPlan, collect, read_plan
from dialens.base import DialensError
from dialens.cli.agents._group import app
from dialens.corpus import Corpus, convert
from tests.agents.calling import ASIDE
from tests.agents.endpoint import Endpoint

QUESTION = [Message("partner", "How is it in Paris?")]
BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])
TOOLS = """
tools:
  - name: weather
    description: The weather in a city.
    parameters:
      type: object
      properties: {city: {type: string}}
      required: [city]
    stub:
      matching:
        - {when: {city: Paris}, answer: {sky: clear, degrees: 21}}
      answer: Nothing is known of that city.
  - name: news
    stub: {answers: [A strike., Rain., An election.]}
"""
CLEAR = '{"sky": "clear", "degrees": 21}'


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as served:
        yield served


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    path = tmp_path / "tools.yaml"
    path.write_text(TOOLS)
    return path


def opened(endpoint: Endpoint, model: str, tools: Path | None, **more: Any) -> EndpointAgent:
    settings = {"endpoint": endpoint.url, **({"tools": str(tools)} if tools else {}), **more}
    spec = AgentSpec("openai", model, parameters=settings)
    return open_agent(spec, environment={}, sleep=lambda seconds: None)


def asked(agent: EndpointAgent, *, stream: bool) -> tuple[str, Reply]:
    """What was heard, and the reply."""
    heard: list[str] = []
    pieces = agent.stream(QUESTION)
    if not stream:
        agent.streams.clear()
        reply = agent.reply(QUESTION)
        return reply.text, reply
    while True:
        try:
            heard.append(next(pieces))
        except StopIteration as end:
            return "".join(heard), end.value


@BOTH
def test_a_call_is_answered_and_the_reply_is_what_follows(
    endpoint: Endpoint, tools: Path, *, stream: bool
) -> None:
    endpoint.requests.clear()
    heard, reply = asked(opened(endpoint, "calls-1", tools), stream=stream)
    assert heard == reply.text == f"You said: {CLEAR} (0)"
    first, second = endpoint.requests
    assert first["tools"][0]["function"] == {
        "name": "weather",
        "description": "The weather in a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}},
            "required": ["city"],
        },
    }
    assert bool(first.get("stream")) is stream
    assert "tool_choice" not in second
    assert second["messages"][1:] == [dict(one) for one in reply.before]
    call, result = reply.before
    assert call["tool_calls"][0]["function"] == {
        "name": "weather",
        "arguments": '{"city": "Paris"}',
    }
    assert (call["role"], call["content"]) == ("assistant", None)
    assert (result["role"], result["content"]) == ("tool", CLEAR)
    assert result["tool_call_id"] == call["tool_calls"][0]["id"]


@BOTH
def test_two_calls_at_once_are_told_apart(endpoint: Endpoint, tools: Path, *, stream: bool) -> None:
    """Streamed, their arguments come three characters of each in turn."""
    _, reply = asked(opened(endpoint, "calls-both", tools), stream=stream)
    assert reply.text == f"You said: {CLEAR} A strike. (0)"
    assert [call["function"]["name"] for call in reply.before[0]["tool_calls"]] == [
        "weather",
        "news",
    ]
    assert len(reply.before) == 3


def test_calls_without_an_index_are_told_apart_by_their_ids() -> None:
    info = ResponseInfo()
    for one in ("a", "b"):
        info.hear_calls([{"id": one, "function": {"name": "f", "arguments": '{"x"'}}])
        info.hear_calls([{"function": {"arguments": ": 1}"}}])
    info.hear_calls([{"id": "c", "function": {"name": "g", "arguments": {"y": 2}}}, "odd"])
    assert info.calls == (
        ToolCall("a", "f", '{"x": 1}'),
        ToolCall("b", "f", '{"x": 1}'),
        ToolCall("c", "g", '{"y": 2}'),
    )


@BOTH
def test_everything_is_paid_for(endpoint: Endpoint, tools: Path, *, stream: bool) -> None:
    """Tokens of the stand-in are words: 5 of the question, then 4 more of each result."""
    agent = opened(endpoint, "calls-2", tools, price_in=1, price_out=10)
    _, reply = asked(agent, stream=stream)
    assert reply.attempts == 3
    assert reply.tokens_in == 5 + (5 + 4) + (5 + 4 + 4)
    assert reply.tokens_out == len(reply.text.split())
    assert reply.cost == pytest.approx((27 + 10 * reply.tokens_out) / 1e6)


@BOTH
def test_what_is_said_beside_a_call_is_heard(
    endpoint: Endpoint, tools: Path, *, stream: bool
) -> None:
    heard, reply = asked(opened(endpoint, "calls-says", tools), stream=stream)
    assert heard == reply.text == f"{ASIDE}\n\nYou said: {CLEAR} (0)"
    assert reply.before[0]["content"] is None  # it stands in the reply
    assert endpoint.requests[-1]["messages"][1]["content"] == ASIDE


def test_broken_arguments_go_back_to_the_model(endpoint: Endpoint, tools: Path) -> None:
    reply = opened(endpoint, "calls-broken", tools).reply(QUESTION)
    results = [one["content"] for one in reply.before if one["role"] == "tool"]
    assert "not JSON" in json.loads(results[0])["error"]
    assert results[1] == CLEAR
    assert 'seen: \'{"city": "Par\'' in json.loads(results[0])["error"]
    assert reply.before[0]["tool_calls"][0]["function"]["arguments"] == '{"city": "Par'
    # Templates that read arguments would fail on what is broken, and with them the conversation.
    sent = endpoint.requests[-1]["messages"][1]["tool_calls"][0]["function"]
    assert sent == {"name": "weather", "arguments": "{}"}


def test_an_unknown_tool_is_said_to_the_model(endpoint: Endpoint, tools: Path) -> None:
    reply = opened(endpoint, "calls-nameless", tools).reply(QUESTION)
    assert "no tool 'nothing'. Tools: weather, news" in reply.text


def test_calls_come_to_an_end(endpoint: Endpoint, tools: Path) -> None:
    reply = opened(endpoint, "calls-on", tools, most_calls=3).reply(QUESTION)
    assert len(reply.before) == 6
    assert reply.text == f"You said: {CLEAR} {CLEAR} {CLEAR} (0)"
    assert endpoint.requests[-1]["tool_choice"] == "none"
    assert endpoint.requests[-1]["tools"]  # what was called is still declared
    with pytest.raises(AgentError, match=r"did not stop calling tools .weather.") as error:
        opened(endpoint, "calls-stubborn", tools, most_calls=2, price_in=1, price_out=1).reply(
            QUESTION
        )
    assert (error.value.kind, error.value.attempts) == ("tools", 3)
    assert error.value.spent is not None
    assert error.value.spent.cost == pytest.approx((5 + 9 + 13) / 1e6)


@BOTH
def test_a_call_without_tools_says_what_to_do(endpoint: Endpoint, *, stream: bool) -> None:
    with pytest.raises(AgentError, match=r"called a tool .weather.*Set tools=FILE") as error:
        asked(opened(endpoint, "calls-1", None), stream=stream)
    assert error.value.kind in KINDS
    assert error.value.kind == "tools"
    said = opened(endpoint, "calls-says", None).reply(QUESTION)
    assert (said.text, said.note) == (ASIDE, "a call of weather was not answered")


def call(text: str, name: str = "tool", **arguments: Any) -> str:
    """What a tool of a file says to a call."""
    path = Path(text)
    return read_tools(path).result(ToolCall("1", name, json.dumps(arguments)))


def written(tmp_path: Path, answered: str, more: str = "") -> str:
    path = tmp_path / "one.yaml"
    path.write_text(f"tools:\n  - name: tool\n    {answered}\n{more}")
    return str(path)


def test_stubs_in_order(tools: Path) -> None:
    read = read_tools(tools)
    said = [read.result(ToolCall("1", "news", ""), earlier) for earlier in range(5)]
    assert said == ["A strike.", "Rain.", "An election.", "An election.", "An election."]


def test_a_stub_without_a_match(tmp_path: Path) -> None:
    path = written(tmp_path, "stub: {matching: [{when: {a: 1}, answer: yes}]}")
    assert call(path, a=1, b=2) == "yes"
    assert "error" in json.loads(call(path, a=2))


def test_a_program_answers(tmp_path: Path) -> None:
    program = tmp_path / "tool.py"
    program.write_text(
        f"#!{sys.executable}\nimport json, sys\ncall = json.loads(input())\n"
        "print(call['name'], sum(call['arguments']['numbers']))\nprint('ä')\n"
    )
    program.chmod(0o755)
    assert call(written(tmp_path, "command: ./tool.py"), numbers=[1, 2, 3]) == "tool 6\nä"
    failing = json.loads(call(written(tmp_path, "command: ./tool.py"), other=1))
    assert "ended with status 1; it says" in failing["error"]
    assert "KeyError" in failing["error"]


def test_the_time_of_a_tool_is_that_of_the_reply(endpoint: Endpoint, tmp_path: Path) -> None:
    path = tmp_path / "slow.yaml"
    path.write_text("tools:\n  - {name: wait, command: sleep 0.3}\n")
    reply = opened(endpoint, "calls-1", path).reply(QUESTION)
    assert (reply.called, reply.seconds >= 0.3) == (["wait"], True)


def test_a_program_that_takes_too_long(tmp_path: Path) -> None:
    path = written(tmp_path, "command: sleep 30", "    timeout: 0.2\n")
    assert "no answer within 0.2 s" in json.loads(call(path))["error"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("tools: []\n", r"tools.yaml:1: tools"),
        ("tools:\n  - name: a\n", r"tools.yaml:2: .*a `stub` or by a `command`"),
        ("tools:\n  - {name: a, stub: x, command: ls}\n", r"a `stub` or by a `command`"),
        ("tools:\n  - {name: a b, stub: x}\n", r"tools.yaml:2: tools.0.name"),
        ("tools:\n  - {name: a, stub: {answers: [x], answer: y}}\n", r"`answers` come in order"),
        ("tools:\n  - {name: a, stub: {}}\n", r"a stub needs `answer`"),
        ("tools:\n  - {name: a, stub: x}\n  - {name: a, stub: y}\n", r"two tools are called a"),
        ("tools:\n  - {name: a, stub: x, parameters: {type: string}}\n", r"type is object"),
        ("tools:\n  - {name: a, command: ./nowhere}\n", r"no program .*nowhere' for a"),
        ('tools:\n  - {name: a, command: "\'"}\n', r"command of a cannot be read"),
    ],
)
def test_files_that_cannot_be(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "tools.yaml"
    path.write_text(text)
    with pytest.raises(DialensError, match=words):
        read_tools(path)


def test_json_is_read_as_well(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"tools": [{"name": "tool", "stub": "Yes."}]}))
    assert call(str(path)) == "Yes."


def plan_of(endpoint: Endpoint, tools: Path, model: str = "calls-1", **more: Any) -> CollectionPlan:
    settings = {"endpoint": endpoint.url, "tools": str(tools), "attempts": 1, **more}
    agents = (AgentSpec("openai", model, parameters=settings),)
    user = tools.parent / "user.txt"
    user.write_text("How is it in Paris?\nAnd in Rome?\n")
    return CollectionPlan(agents, (AgentSpec("script", str(user)),), turns=4, dialogues=2)


def test_calls_are_kept_in_the_corpus_and_not_scored(
    endpoint: Endpoint, tools: Path, tmp_path: Path
) -> None:
    """As readers keep those of other logs, so that they can be written back."""
    endpoint.requests.clear()
    done = collect(plan_of(endpoint, tools), tmp_path / "talks", workers=1)
    turns = Corpus.open(done.folder).turns.collect().filter(pl.col("role") == "agent")
    metas = [json.loads(meta) for meta in turns["meta"]]
    assert [meta["before"][0]["tool_calls"][0]["function"]["arguments"] for meta in metas[:2]] == [
        '{"city": "Paris"}',
        '{"city": "Rome"}',
    ]
    assert turns["text"][0].startswith(f"You said: {CLEAR}")
    assert "tool_calls" not in "".join(turns["text"])
    # The model is told in its second turn what it called in its first.
    roles = [one["role"] for one in endpoint.requests[-1]["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "assistant", "tool"]
    assert done.usage["calls-1(tools=tools)"].attempts == 8


def test_calls_are_written_back(endpoint: Endpoint, tools: Path, tmp_path: Path) -> None:
    collect(plan_of(endpoint, tools), tmp_path / "talks")
    target = tmp_path / "talks.jsonl"
    convert(tmp_path / "talks", target)
    messages = json.loads(target.read_text().splitlines()[0])["messages"]
    assert [one["role"] for one in messages][:4] == ["user", "assistant", "tool", "assistant"]
    assert messages[1]["tool_calls"][0]["function"]["name"] == "weather"


def test_what_was_spent_on_a_reply_that_never_came(
    endpoint: Endpoint, tools: Path, tmp_path: Path
) -> None:
    """Each of two dialogues pays 5 words read for a call, and the next request is refused."""
    plan = plan_of(endpoint, tools, "calls-unpaid", price_in=1, price_out=1)
    other = plan_of(endpoint, tools, price_in=1, price_out=1)
    both = CollectionPlan((*plan.agents, *other.agents), plan.partners, turns=2, dialogues=2)
    done = collect(both, tmp_path / "talks")
    assert len(done.failures) == 2
    spent = done.usage["calls-unpaid(tools=tools)"]
    assert (spent.attempts, spent.tokens_in, spent.replies) == (4, 10, 0)
    assert spent.cost == pytest.approx(10 / 1e6)


def test_what_the_file_says_makes_the_agent_not_where_it_lies(
    endpoint: Endpoint, tools: Path, tmp_path: Path
) -> None:
    collect(plan_of(endpoint, tools), tmp_path / "talks")
    moved = tmp_path / "elsewhere" / "tools.yaml"
    moved.parent.mkdir()
    moved.write_text("# The same tools.\n" + TOOLS)
    again = collect(plan_of(endpoint, moved), tmp_path / "talks")
    assert again.before == 2
    moved.write_text(TOOLS.replace("21", "22"))
    with pytest.raises(DialensError, match="took place with other settings"):
        collect(plan_of(endpoint, moved), tmp_path / "talks")


def test_tools_are_looked_for_beside_a_plan(endpoint: Endpoint, tools: Path) -> None:
    plan = tools.parent / "plan.yaml"
    plan.write_text(
        "agents:\n- agent: openai:calls-1\n  set:\n    tools: tools.yaml\n"
        f"    endpoint: {endpoint.url}\n    stop: [END, FIN]\n    headers: {{X-Team: blue}}\n"
        "partners: themselves\n"
    )
    (spec,) = read_plan(plan).agents
    agent = make_agent(spec)
    assert agent.name == "tools=tools,stop=end-fin~" + agent.name[-6:]
    assert agent.reply(QUESTION).text == f"You said: {CLEAR} (0)"
    assert endpoint.requests[-1]["stop"] == ["END", "FIN"]
    assert endpoint.requests[-1]["headers"]["X-Team"] == "blue"


def test_a_chat_remembers_its_calls(endpoint: Endpoint, tools: Path) -> None:
    chat = Chat(opened(endpoint, "calls-1", tools))
    whole(chat.say("How is it in Paris?"))
    whole(chat.say("And in Rome?"))
    assert [len(turn.before) for turn in chat.history] == [0, 2, 0, 2]
    assert chat.turns[-1].text == "You said: Nothing is known of that city. (0)"


def test_a_chat_at_the_terminal_says_what_was_called(endpoint: Endpoint, tools: Path) -> None:
    settings = ["--set", f"endpoint={endpoint.url}", "--set", f"tools={tools}"]
    ran = CliRunner().invoke(
        app, ["chat", "openai:calls-1", *settings], input="How is it in Paris?\n/quit\n"
    )
    assert f"calls-1: You said: {CLEAR} (0)\n(It called weather.)" in ran.output
