"""Python functions as agents: what they may take and give, and what is said when they fail."""

import asyncio
import threading
import time
from pathlib import Path

import polars as pl
import pytest
from typer.testing import CliRunner

from dialens.agents import AgentError, Message, Reply, make_agent, parse_agent, seen_from, streamed
from dialens.agents.kinds import agent_of
from dialens.agents.talks import CollectionPlan, collect
from dialens.base import DialensError
from dialens.cli._app import app
from dialens.corpus import Corpus
from dialens.testing import check_agent

QUESTION = [Message("partner", "Do you like rain?")]
FUNCTIONS = """
import asyncio
from collections.abc import Iterator
from dialens.agents import AgentError, Reply
from beside import WORD


def text(messages):
    return f"{len(messages)} {WORD}: {messages[-1]['content'][:40]}"


def last(text, mood="plain"):
    return f"{mood}: {text[:20]}"


def message(messages, *, seed):
    return {"role": "assistant", "content": f"seed {seed}", "tokens_out": 3, "cost": 0.5}


def reply(messages, **more):
    return Reply(f"seed {more['seed']}", tokens_in=7, finish="length")


def pieces(messages):
    yield "one "
    yield "two"
    return Reply("", tokens_out=2)


async def later(messages):
    await asyncio.sleep(0.001)
    return text(messages)


async def later_pieces(messages):
    for word in ("one", " two"):
        await asyncio.sleep(0.001)
        yield word


def thinking(messages):
    return "<think>Rain.</think>I do."


async def slow(messages):
    await asyncio.sleep(60)


def broken(messages):
    return messages[7]


def number(messages):
    return 7


def odd_pieces(messages):
    yield "one"
    yield 2


def empty(messages):
    return " "


def refusing(messages):
    raise AgentError("No more.", "ended")


def nothing():
    return "x"


class Bot:
    def __call__(self, messages):
        return "I am an object."


bot = Bot()
"""

LINE = FUNCTIONS.splitlines().index("    return messages[7]") + 1


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "beside.py").write_text("WORD = 'turns'\n")
    (tmp_path / "bots.py").write_text(FUNCTIONS)
    return tmp_path / "bots.py"


@pytest.mark.parametrize(
    "name", ["text", "message", "reply", "pieces", "later", "later_pieces", "thinking", "bot"]
)
def test_every_way_to_answer_keeps_the_promises_of_agents(file: Path, name: str) -> None:
    check_agent(lambda: make_agent(f"python:{file}:{name}"))


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("text", Reply("1 turns: Do you like rain?")),
        ("message", Reply("seed 5", tokens_out=3, cost=0.5)),
        ("reply", Reply("seed 5", tokens_in=7, finish="length")),
        ("pieces", Reply("one two", tokens_out=2)),
        ("later", Reply("1 turns: Do you like rain?")),
        ("later_pieces", Reply("one two")),
        ("thinking", Reply("I do.", thought="Rain.")),
    ],
)
def test_what_a_function_gives_is_the_reply(file: Path, name: str, wanted: Reply) -> None:
    agent = make_agent(f"python:{file}:{name}")
    reply = agent.reply(QUESTION, seed=5)
    assert Reply(**{**vars(reply), "seconds": 0.0}) == wanted
    assert (agent.system, agent.name) == (name, name)


def test_pieces_come_one_by_one(file: Path) -> None:
    assert list(streamed(make_agent(f"python:{file}:pieces"), QUESTION)) == ["one", " two"]


def test_settings_and_parameters(file: Path) -> None:
    spec = parse_agent(f"python:{file}:last", {"takes": "text", "mood": "calm"})
    agent = make_agent(spec)
    assert agent.reply(QUESTION).text == "calm: Do you like rain?"
    assert agent.name == "mood=calm"
    with pytest.raises(DialensError, match="no parameter 'weather', and neither is it a setting"):
        make_agent(parse_agent(f"python:{file}:last", {"weather": "fine"}))


def test_a_conversation_in_the_words_of_the_trade(file: Path) -> None:
    seen: list[list[dict[str, str]]] = []

    def remembers(messages: list[dict[str, str]]) -> str:
        seen.append(messages)
        return "Yes."

    agent = make_agent(agent_of(remembers, begin="Go on."))
    agent.reply([*QUESTION, Message("agent", "I do."), Message("partner", "And snow?")])
    agent.reply([])
    assert seen == [
        [
            {"role": "user", "content": "Do you like rain?"},
            {"role": "assistant", "content": "I do."},
            {"role": "user", "content": "And snow?"},
        ],
        [{"role": "user", "content": "Go on."}],
    ]


@pytest.mark.parametrize(
    ("name", "kind", "said"),
    [
        ("broken", "failed", rf"IndexError: list index out of range \(.*bots\.py, line {LINE}\)"),
        ("number", "malformed", "gave int as its answer"),
        ("odd_pieces", "malformed", "gave int among its pieces"),
        ("empty", "empty", "said nothing"),
        ("refusing", "ended", "No more"),
    ],
)
def test_what_goes_wrong_is_said_with_its_place(
    file: Path, name: str, kind: str, said: str
) -> None:
    with pytest.raises(AgentError, match=said) as caught:
        make_agent(f"python:{file}:{name}").reply(QUESTION)
    assert caught.value.kind == kind


def test_asynchronous_code_has_a_time_limit(file: Path) -> None:
    agent = make_agent(parse_agent(f"python:{file}:slow", {"timeout": 0.05}))
    with pytest.raises(AgentError, match="timeout") as caught:
        agent.reply(QUESTION)
    assert caught.value.kind == "timeout"


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("FILE:nobody", "there is no 'nobody' in .*It has: .*text"),
        ("FILE:Bot", "this is a class"),
        ("FILE:WORD", "this is a str"),
        ("FILE:nothing", "takes no conversation"),
        ("FILE", "name a module or file and what is in it"),
        ("nowhere.py:text", "there is no file nowhere.py"),
        ("no_such_package.bots:text", "there is no module 'no_such_package'"),
        ("WRONG:text", r"cannot be imported: ValueError: no \(.*wrong\.py, line 1\)"),
        ("LACKING:text", "wants the module 'no_such_thing', which is not installed"),
    ],
)
def test_what_cannot_be_loaded_is_said(file: Path, target: str, said: str) -> None:
    wrong, lacking = file.with_name("wrong.py"), file.with_name("lacking.py")
    wrong.write_text("raise ValueError('no')\n")
    lacking.write_text("import no_such_thing\n")
    for word, path in (("FILE", file), ("WRONG", wrong), ("LACKING", lacking)):
        target = target.replace(word, str(path))
    with pytest.raises(DialensError, match=said):
        make_agent(f"python:{target}")


def test_code_that_is_not_thread_safe_is_asked_one_at_a_time() -> None:
    together: list[int] = []
    busy = threading.Semaphore(1)

    def alone(messages: object) -> str:
        together.append(0 if busy.acquire(blocking=False) else 1)
        time.sleep(0.005)
        busy.release()
        return "Yes."

    agent = make_agent(agent_of(alone, at_once=1))
    threads = [threading.Thread(target=agent.reply, args=(QUESTION,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert together == [0] * 8


def test_a_client_keeps_its_loop_from_reply_to_reply() -> None:
    loops: set[int] = set()

    async def bound(messages: object) -> str:
        loops.add(id(asyncio.get_running_loop()))
        return "Yes."

    agent = make_agent(agent_of(bound))
    threads = [threading.Thread(target=agent.reply, args=(QUESTION,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(loops) == 1


def test_functions_are_collected_beside_other_agents(tmp_path: Path) -> None:
    def warm(messages: list[dict[str, str]]) -> str:
        return f"How lovely, {len(messages)}!"

    def caller(messages: list[dict[str, str]]) -> Reply:
        call = {"id": "1", "type": "function", "function": {"name": "look", "arguments": "{}"}}
        asked = {"role": "assistant", "content": None, "tool_calls": [call]}
        return Reply("It is fine.", before=[asked], finish="length")

    plan = CollectionPlan((agent_of(warm), agent_of(caller)), turns=4, dialogues=2)
    done = collect(plan, tmp_path / "talks")
    assert done.dialogues == 4
    turns = Corpus.open(tmp_path / "talks").turns.collect()
    mine = turns.filter(pl.col("agent") == "caller", pl.col("role") == "agent")
    assert mine["meta"].str.contains('"before":[{"role":"assistant"', literal=True).all()
    assert mine["meta"].str.contains('"finish":"length"', literal=True).all()


def test_a_function_on_the_command_line(file: Path, tmp_path: Path) -> None:
    out = tmp_path / "talks"
    asked = ["agents", "collect", "-a", f"python:{file}:text", "-a", f"python:{file}:later"]
    done = CliRunner().invoke(app, [*asked, "--dialogs", "2", "--turns", "4", "-o", str(out)])
    assert done.exit_code == 0, done.output
    assert set(Corpus.open(out).turns.collect()["agent"]) == {"text", "later"}


def test_a_file_is_looked_for_beside_a_plan(file: Path) -> None:
    spec = seen_from(parse_agent("python:bots.py:text"), file.parent)
    assert make_agent(spec).reply(QUESTION).text.startswith("1 turns")
