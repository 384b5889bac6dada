"""Endpoints that are broken, or mean harm: bounded in time and memory, told in words."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dialens.agents import AgentError, AgentSpec, Message
from dialens.agents.kinds._openai_endpoint import open_agent
from dialens.agents.talks import CollectionPlan, collect
from dialens.corpus import Corpus
from tests.agents.hostile import GOOD, WAYS, HostileServer, bomb

_MOST = 48  # MiB

_ASKS = r"""
import json, re, sys, time
from dialens.agents import AgentError, AgentSpec, Message, Wish
from dialens.agents.kinds._openai_endpoint import open_agent

url, seconds, ways = sys.argv[1], float(sys.argv[2]), sys.argv[3:]


def taken(what):
    with open("/proc/self/status") as file:
        return int(re.search(what + r":\s+(\d+) kB", file.read())[1]) / 1024


def forget_peak():
    # The peak of getrusage is inherited from whoever starts a process, and never falls.
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def asked(model, stream):
    settings = {"endpoint": url, "attempts": 1, "read_timeout": 0.5, "total_timeout": seconds}
    agent = open_agent(AgentSpec("openai", model, parameters=settings), environment={})
    said = [Message("partner", "Hi")]
    try:
        reply = agent.reply(said) if stream else agent.answer(said, Wish())
    except AgentError as error:
        return error.kind, str(error)
    finally:
        agent.close()
    return "", reply.text, reply.tokens_in


asked("good", False)
forget_peak()
before = taken("VmRSS")
held = bytearray(200 << 20)
for place in range(0, len(held), 4096):
    held[place] = 1
del held
print(json.dumps(["measured", True, "", [], 0.0, taken("VmHWM") - before]), flush=True)
for way in ways:
    for stream in (True, False):
        forget_peak()
        before, began = taken("VmRSS"), time.monotonic()
        kind, *said = asked(way, stream)
        row = [way, stream, kind, said, time.monotonic() - began, taken("VmHWM") - before]
        print(json.dumps(row), flush=True)
"""


@pytest.fixture(scope="module")
def server() -> Iterator[HostileServer]:
    for packing in ("gzip", "deflate", "zstd"):
        bomb(packing)  # made before anybody waits for it
    with HostileServer() as served:
        yield served


@pytest.fixture(scope="module")
def asked(server: HostileServer) -> dict[tuple[str, bool], list[Any]]:
    """What came of asking in every way, streamed and not, in a process of its own."""
    return _asked(server, 0.8, [*WAYS, *GOOD])


def _asked(
    server: HostileServer, seconds: float, ways: list[str]
) -> dict[tuple[str, bool], list[Any]]:
    program = [sys.executable, "-c", _ASKS, server.url, str(seconds), *ways]
    ran = subprocess.run(program, capture_output=True, text=True, timeout=240, check=False)
    assert ran.returncode == 0, ran.stderr
    rows = [json.loads(line) for line in ran.stdout.splitlines()]
    return {(way, stream): rest for way, stream, *rest in rows}


@pytest.mark.slow
def test_memory_that_is_taken_is_seen(asked: dict[tuple[str, bool], list[Any]]) -> None:
    """200 MiB that the program took and gave back: else the bound below would say nothing."""
    assert 190 < asked["measured", True][3] < 230


@pytest.mark.slow
@pytest.mark.parametrize("way", WAYS)
def test_no_answer_takes_the_time_or_the_memory(
    asked: dict[tuple[str, bool], list[Any]], way: str
) -> None:
    for stream in (True, False):
        kind, said, seconds, grown = asked[way, stream]
        assert kind in ("malformed", "too_long", "timeout", "unreachable", "refused", "failed")
        assert seconds < 8, said  # 0.8 s in all; the rest is a busy machine
        assert grown < _MOST, said  # an endless body once took 3.5 GB
        assert way in said[0] or "127.0.0.1" in said[0]


@pytest.mark.slow
def test_what_has_much_time_is_bounded_by_its_size(server: HostileServer) -> None:
    ways = ["endless-text", "endless-400", "endless-thoughts", "endless-thought", "endless-calls"]
    ways += ["endless-new-calls", "endless-name"]
    found = _asked(server, 120.0, ways)
    for way in ways:
        for stream in (True, False):
            kind, said, _, grown = found[way, stream]
            assert kind in ("malformed", "too_long", "refused"), said  # and not the time
            assert grown < 2 * _MOST, said  # of 37 MB of events


@pytest.mark.slow
@pytest.mark.parametrize("way", GOOD)
def test_odd_but_honest_answers_are_read(
    asked: dict[tuple[str, bool], list[Any]], way: str
) -> None:
    for stream in (True, False):
        kind, said, *_ = asked[way, stream]
        if way == "no-type" and stream:
            assert kind == "malformed"  # what is neither JSON nor a stream of events
            continue
        assert (kind, said) == ("", ["Hi there.", None if way == "negative" else 5])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("way", "kind", "words"),
    [
        ("endless-json", "too_long", "longest_reply"),
        ("gzip-bomb", "too_long", "longest_reply"),
        ("zstd-bomb", "malformed", "packed as 'zstd', which was not asked for"),
        ("endless-400", "refused", "does not accept the request (400)"),
        ("endless-500", "failed", "Try later"),
        ("drip-body", "timeout", "(total_timeout)"),
        ("drip-head", "timeout", "(total_timeout)"),
        ("endless-continue", "timeout", "(total_timeout)"),
        ("endless-headers", "unreachable", "broke"),
        ("nested", "malformed", "up to /v1"),
        ("nan", "malformed", "up to /v1"),
    ],
)
def test_it_is_said_what_happened(
    asked: dict[tuple[str, bool], list[Any]], way: str, kind: str, words: str
) -> None:
    seen, said, *_ = asked[way, False]
    assert seen == kind
    assert words in said[0]


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_no_key_goes_where_a_redirect_leads(status: int) -> None:
    environment = {
        "KEY_OF_TESTS": "sk-test-0123456789abcdef",
        "DIALENS_ALLOW": "KEY_OF_TESTS@127.0.0.1",
    }
    with HostileServer() as other, HostileServer() as server:
        to = f"HTTP/1.1 {status} Moved\r\nLocation: {other.url}/chat/completions\r\n".encode()
        server.own["moved"] = lambda: [to + b"Content-Length: 0\r\nConnection: close\r\n\r\n"]
        settings = {"endpoint": server.url, "key_variable": "KEY_OF_TESTS"}
        agent = open_agent(
            AgentSpec("openai", "moved", parameters=settings), environment=environment
        )
        with pytest.raises(AgentError, match="sends us elsewhere"):
            agent.reply([Message("partner", "Hi")])
        assert b"sk-test-0123456789abcdef" in server.requests[0]
        assert other.requests == []


@pytest.mark.slow
def test_nothing_is_lost_when_every_third_answer_is_hostile(tmp_path: Path) -> None:
    third = ("endless-text", "gzip-bomb", "nested", "gone", "drip-body", "endless-500", "nan")
    (tmp_path / "user.txt").write_text("Hello.\nReally?\nAnd then?\nGood.\n")
    with HostileServer(third) as server:
        settings: dict[str, str | float | int | bool] = {
            "endpoint": server.url, "attempts": 1, "read_timeout": 0.5, "total_timeout": 1.0,
        }  # fmt: skip
        plan = CollectionPlan(
            (AgentSpec("openai", "third", parameters=settings),),
            (AgentSpec("script", str(tmp_path / "user.txt")),),
            turns=4,
            dialogues=20,
        )
        runs = 0
        while True:
            runs += 1
            before = set(_whole(tmp_path / "talks"))
            done = collect(plan, tmp_path / "talks", workers=4)
            now = _whole(tmp_path / "talks")
            assert before <= set(now)  # what was whole stays whole
            if not done.failures:
                break
            rows = (tmp_path / "talks" / "failures.jsonl").read_text().splitlines()
            assert len(rows) == len(done.failures) == 20 - len(now)
            assert runs < 20
        talks = _whole(tmp_path / "talks")
        assert len(talks) == 20
        own = [text for texts in talks.values() for text in texts if text.startswith("This is")]
        assert len(own) == len(set(own)) == 20 * 2
        assert set(own) <= set(server.said)
        # Every answer that was given, in dialogues that failed too, stands in the journal.
        journal = (tmp_path / "talks" / "collected.jsonl").read_text()
        assert [text for text in server.said if text not in journal] == []
        assert runs > 1


def _whole(folder: Path) -> dict[str, list[str]]:
    """The words of every dialogue of a corpus, by its id."""
    if not folder.exists():
        return {}
    turns = Corpus.open(folder).turns.select("dialog", "text").collect()
    talks: dict[str, list[str]] = {}
    for dialog, text in turns.iter_rows():
        talks.setdefault(dialog, []).append(text)
    return talks
