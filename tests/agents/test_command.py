"""Agents that are programs: the protocol, and programs that do not keep to it."""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dialens.agents import AgentError, AgentSpec, Message
from dialens.agents.kinds._command import CommandAgent, open_agent
from dialens.base import DialensError

QUESTION = [Message("partner", "Is it raining?")]
HEAD = f"#!{sys.executable}\nimport json, os, sys, time\n"

Program = Callable[..., CommandAgent]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    def made(code: str, **settings: str | float | bool) -> CommandAgent:
        path = tmp_path / "bot"
        path.write_text(HEAD + code)
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return open_agent(AgentSpec("command", str(path), parameters=settings))

    return made


def test_what_goes_in(program: Program) -> None:
    agent = program(
        "asked = json.loads(sys.stdin.read())\nprint(json.dumps({'text': json.dumps(asked)}))",
        mood="calm",
        temperature=0.5,
        timeout=30,
    )
    said = eval(agent.reply(QUESTION, seed=4).text)
    assert said == {
        "id": 1,
        "history": [{"role": "partner", "text": "Is it raining?"}],
        "seed": 4,
        "parameters": {"mood": "calm", "temperature": 0.5},
    }
    assert agent.name == "mood=calm,temperature=0.5"


def test_counts_may_be_told(program: Program) -> None:
    reply = program('print(\'{"text": "Yes.", "tokens_in": 3, "cost": 0.25}\')').reply(QUESTION)
    assert (reply.text, reply.tokens_in, reply.tokens_out, reply.cost) == ("Yes.", 3, None, 0.25)


def test_plain_text(program: Program) -> None:
    agent = program("print('You said:', sys.stdin.read().strip())\nprint('Well.')", speaks="text")
    assert agent.reply(QUESTION).text == "You said: Is it raining?\nWell."


def test_pieces_come_as_they_are_written(program: Program) -> None:
    agent = program(
        'print(\'{"piece": "Yes"}\', flush=True)\n'
        'sys.stdin.read()\nprint(\'{"piece": ", a lot."}\\n{"done": true}\')'
    )
    assert list(agent.stream(QUESTION)) == ["Yes", ", a lot."]


@pytest.mark.parametrize("keep", [False, True], ids=["fresh", "kept"])
@pytest.mark.parametrize(
    ("code", "kind", "words"),
    [
        ("sys.exit('no model here')", "failed", "status 1 .*it says: no model here"),
        ("print('Hello')", "malformed", "not what is expected .*seen: 'Hello'"),
        ("print('{\"text\": 5}')", "malformed", "not what is expected"),
        ('print(\'{"text": " "}\')', "empty", "said nothing"),
        ('print(\'{"error": "out of memory"}\')', "failed", "says: out of memory"),
        ('print(\'{"error": "ended"}\')', "ended", "ended"),
        ("print(json.dumps({'text': 'a' * 100_000}))", "too_long", "more than 20,000"),
        ("print('x' * 1_000_000)", "too_long", "a line of more than"),
        ("sys.stdout.buffer.write(b'\\xff\\n')", "malformed", "not what is expected"),
        ("", "failed", "ended with status 0 before its answer was whole"),
    ],
)
def test_programs_that_do_not_answer(
    program: Program, code: str, kind: str, words: str, *, keep: bool
) -> None:
    agent = program(code, keep=keep)
    with pytest.raises(AgentError, match=words) as error:
        agent.reply(QUESTION)
    assert error.value.kind == kind
    agent.close()


@pytest.mark.parametrize("keep", [False, True], ids=["fresh", "kept"])
def test_a_program_that_hangs_is_ended(program: Program, tmp_path: Path, *, keep: bool) -> None:
    agent = program(
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(os.getpid()))\n"
        "print('loading', file=sys.stderr, flush=True)\ntime.sleep(600)",
        timeout=3,
        keep=keep,
    )
    with pytest.raises(AgentError, match=r"no answer within 3 s .*it says: loading") as error:
        agent.reply(QUESTION)
    assert error.value.kind == "timeout"
    with pytest.raises(ProcessLookupError):
        os.kill(int((tmp_path / "pid").read_text()), 0)


def test_a_kept_program_is_started_once_and_again_after_its_end(program: Program) -> None:
    agent = program(
        "for number, line in enumerate(sys.stdin):\n"
        "    if number == 2: sys.exit('tired')\n"
        "    print(json.dumps({'text': f'{os.getpid()} {number}'}), flush=True)",
        keep=True,
    )
    first, second = (agent.reply(QUESTION).text.split() for _ in range(2))
    assert (first[1], second[1]) == ("0", "1")
    assert first[0] == second[0]
    with pytest.raises(AgentError, match="tired"):
        agent.reply(QUESTION)
    assert agent.reply(QUESTION).text.split()[1] == "0"
    agent.close()


def test_an_answer_that_was_left_is_not_taken_for_the_next(program: Program) -> None:
    agent = program(
        "for line in sys.stdin:\n"
        "    asked = json.loads(line)\n"
        "    print(json.dumps({'piece': asked['history'][0]['text']}), flush=True)\n"
        "    print(json.dumps({'piece': ' indeed'}), flush=True)\n"
        "    print(json.dumps({'done': True}), flush=True)",
        keep=True,
    )
    pieces = agent.stream([Message("partner", "one")])
    assert next(pieces) == "one"
    pieces.close()
    assert agent.reply([Message("partner", "two")]).text == "two indeed"
    agent.close()


@pytest.mark.parametrize(
    ("target", "settings", "words"),
    [
        ("", {}, "needs a program"),
        ("./no-such-program", {}, "no program './no-such-program'"),
        ("'unfinished", {}, "cannot be read"),
        ("cat", {"keep": True, "speaks": "text"}, "needs speaks=json"),
        ("cat", {"speaks": "yaml"}, "speaks cannot be 'yaml'"),
        ("cat", {"timeuot": 3}, "Did you mean timeout"),
    ],
)
def test_what_cannot_be_opened(target: str, settings: dict[str, str | bool], words: str) -> None:
    with pytest.raises(DialensError, match=words):
        open_agent(AgentSpec("command", target, parameters=settings))
