"""Agents behind an endpoint: what they send, and everything that can go wrong."""

from __future__ import annotations

import json
import logging
import threading
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dialens.agents import KINDS, AgentError, AgentSpec, Message, Wish
from dialens.agents._pieces import whole
from dialens.agents.kinds import from_first_token
from dialens.agents.kinds._openai_endpoint import EndpointAgent, open_agent
from dialens.agents.kinds._rate_limit import RateLimit, shared_limit
from dialens.base import DialensError
from tests.agents.endpoint import SEPARATORS, Endpoint

KEY = "sk-test-SECRET-0123456789abcdef"
QUESTION = [Message("partner", "Is it raining?")]
BOTH = pytest.mark.parametrize("stream", [False, True], ids=["whole", "stream"])


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint(key=KEY) as served:
        yield served


def opened(
    endpoint: Endpoint, model: str, *, slept: list[float] | None = None, **parameters: Any
) -> EndpointAgent:
    """An agent of the stand-in that notes its waits instead of waiting."""
    settings = {"endpoint": endpoint.url, "key_variable": "KEY_OF_TESTS", **parameters}
    return open_agent(
        AgentSpec("openai", model, parameters=settings),
        environment={"KEY_OF_TESTS": KEY, "DIALENS_ALLOW": "KEY_OF_TESTS@127.0.0.1"},
        sleep=(lambda seconds: None) if slept is None else slept.append,
    )


def asked(agent: EndpointAgent, *, stream: bool, seed: int = 0) -> str:
    if stream:
        return "".join(agent.stream(QUESTION, seed=seed))
    return agent.answer(QUESTION, Wish(), seed=seed).text


def test_what_is_sent(endpoint: Endpoint) -> None:
    agent = opened(
        endpoint,
        "echo",
        persona="You are Ada.",
        instruction="Show empathy.",
        temperature=0.3,
        max_tokens=50,
    )
    history = [*QUESTION, Message("agent", "A little."), Message("partner", "Still?")]
    assert agent.reply(history, seed=9).text == "You said: Still? (9)"
    sent = endpoint.requests[-1]
    assert sent["messages"] == [
        {"role": "system", "content": "You are Ada.\n\nShow empathy."},
        {"role": "user", "content": "Is it raining?"},
        {"role": "assistant", "content": "A little."},
        {"role": "user", "content": "Still?"},
    ]
    assert (sent["temperature"], sent["max_tokens"], sent["seed"]) == (0.3, 50, 9)
    assert "top_p" not in sent
    assert sent["stream"] is True
    assert sent["authorization"] == f"Bearer {KEY}"


def test_settings_make_agents_of_one_system(endpoint: Endpoint) -> None:
    cool, warm = (opened(endpoint, "echo", temperature=value) for value in (0.2, 0.9))
    assert cool.system == warm.system == "echo"
    assert (cool.name, warm.name) == ("temperature=0.2", "temperature=0.9")
    assert opened(endpoint, "echo", price_in=1, read_timeout=5).name == "echo"


def test_cost_is_counted(endpoint: Endpoint) -> None:
    reply = opened(endpoint, "words-20", price_in=2.0, price_out=10.0).reply(QUESTION)
    assert (reply.tokens_in, reply.tokens_out) == (3, 20)
    assert reply.cost == pytest.approx((3 * 2.0 + 20 * 10.0) / 1_000_000)
    pieces = opened(endpoint, "words-20", price_in=2.0, price_out=10.0).stream(QUESTION)
    for _ in range(20):
        next(pieces)
    with pytest.raises(StopIteration) as end:
        next(pieces)
    assert end.value.value.cost == pytest.approx(reply.cost)


def test_cost_is_unknown_without_prices_or_counts(endpoint: Endpoint) -> None:
    assert opened(endpoint, "echo").reply(QUESTION).cost is None
    unsaid = opened(endpoint, "no-usage", price_in=1, price_out=1).reply(QUESTION)
    assert (unsaid.tokens_in, unsaid.cost) == (None, None)


@BOTH
@pytest.mark.parametrize(
    ("model", "kind", "words"),
    [
        ("no-such-model", "refused", "knows no model 'no-such-model'"),
        ("status-400", "refused", "does not accept the request .400.: This is a test of errors"),
        ("status-403", "refused", "refuses the key"),
        ("status-429", "busy", "asks to slow down .429."),
        ("status-500", "failed", "failed .500."),
        ("status-503", "busy", "trouble of its own .503."),
        ("quota", "refused", "used up its credit"),
        ("redirect", "refused", "sends us elsewhere"),
        ("cut", "unreachable", "broke before the answer was whole"),
        ("bad-json", "malformed", "not the JSON of a chat completion"),
        ("surrogate", "malformed", "not the JSON of a chat completion"),
        ("empty", "empty", "said nothing"),
        ("blank", "empty", "said nothing"),
        ("long-100000", "too_long", "more than 20,000 characters"),
    ],
)
def test_troubles_have_a_kind_and_words(
    endpoint: Endpoint, model: str, kind: str, words: str, *, stream: bool
) -> None:
    with pytest.raises(AgentError, match=words) as error:
        asked(opened(endpoint, model, attempts=2, total_timeout=2), stream=stream)
    assert error.value.kind == kind
    assert KEY not in str(error.value)


@pytest.mark.parametrize(
    ("model", "stream", "words"),
    [
        ("html", False, "not the JSON of a chat completion; seen: '<html>"),
        ("html", True, "cut off"),
        ("no-choices", False, "holds no message"),
    ],
)
def test_malformed_answers(endpoint: Endpoint, model: str, words: str, *, stream: bool) -> None:
    with pytest.raises(AgentError, match=words) as error:
        asked(opened(endpoint, model, attempts=1), stream=stream)
    assert error.value.kind == "malformed"


@BOTH
def test_a_connection_that_ends_early_broke(endpoint: Endpoint, *, stream: bool) -> None:
    """What was sent can be read as far as it goes: nothing is wrong with its form."""
    with pytest.raises(AgentError, match=r"cut off|broke before the answer was whole") as error:
        asked(opened(endpoint, "cut-clean", attempts=1), stream=stream)
    assert error.value.kind == "unreachable"
    assert "the connection broke" in KINDS[error.value.kind]


def test_an_error_in_the_stream(endpoint: Endpoint) -> None:
    with pytest.raises(AgentError, match="Something broke") as error:
        asked(opened(endpoint, "error-event", attempts=1), stream=True)
    assert error.value.kind == "failed"


@BOTH
def test_odd_but_whole_answers(endpoint: Endpoint, *, stream: bool) -> None:
    assert asked(opened(endpoint, "no-done"), stream=stream) == "You said: Is it raining? (0)"
    assert asked(opened(endpoint, "refusal"), stream=stream) == "I would rather not."
    assert asked(opened(endpoint, "separators"), stream=stream) == SEPARATORS


def test_a_longer_answer_by_setting(endpoint: Endpoint) -> None:
    agent = opened(endpoint, "long-100000", longest_reply=100_000)
    assert len(asked(agent, stream=True)) in (99_999, 100_000)  # a space at the end is cut off


@BOTH
def test_waits_grow_and_are_drawn_from_the_seed(endpoint: Endpoint, *, stream: bool) -> None:
    slept: list[float] = []
    again: list[float] = []
    for notes in (slept, again):
        agent = opened(endpoint, "status-503", slept=notes, attempts=5)
        with pytest.raises(AgentError) as error:
            asked(agent, stream=stream, seed=4)
        assert error.value.attempts == 5
    assert slept == again
    for attempt, seconds in enumerate(slept):
        assert 0.25 * 2**attempt <= seconds <= 0.75 * 2**attempt


@BOTH
def test_it_tries_again_and_succeeds(endpoint: Endpoint, *, stream: bool) -> None:
    endpoint.counts.clear()
    agent = opened(endpoint, "flaky-2")
    if stream:
        assert asked(agent, stream=True).startswith("You said")
    else:
        assert agent.reply(QUESTION).attempts == 3
    assert endpoint.counts["flaky-2"] == 3


def test_it_waits_as_long_as_it_is_asked_to(endpoint: Endpoint) -> None:
    slept: list[float] = []
    with pytest.raises(AgentError):
        opened(endpoint, "status-503-wait-7", slept=slept, attempts=3).reply(QUESTION)
    assert slept == [7.0, 7.0]


def test_being_asked_to_slow_down_uses_up_no_attempts(endpoint: Endpoint) -> None:
    """Only one attempt is allowed, and the server answers once in a while."""
    agent = opened(endpoint, "limited-0.2", attempts=1, total_timeout=60)
    assert [agent.reply(QUESTION).text[:8] for _ in range(3)] == ["You said"] * 3


def test_a_pause_is_everybodys_and_ends_one_by_one() -> None:
    """Two are refused at once: both wait 4 s, and go on a quarter of a second apart."""
    slept: list[float] = []
    limit = RateLimit(clock=lambda: 100.0, sleep=slept.append)
    limit.wait()
    assert slept == []
    limit.pause(4.0)
    limit.pause(4.0)
    limit.wait()
    limit.wait()
    assert slept == [pytest.approx(4.0), pytest.approx(4.25)]


def test_a_server_that_does_not_stream_is_asked_for_the_whole(endpoint: Endpoint) -> None:
    agent = opened(endpoint, "whole")
    assert agent.reply(QUESTION).attempts == 2
    assert agent.reply(QUESTION).attempts == 1


def test_a_long_answer_that_shows_signs_of_life_is_waited_for(endpoint: Endpoint) -> None:
    """Fifteen words, 0.1 s each; nobody may be silent for longer than a second."""
    agent = opened(endpoint, "slow-0.1", read_timeout=1, total_timeout=60)
    said = Message("partner", " ".join(["word"] * 12))
    assert agent.reply([said]).attempts == 1


@BOTH
@pytest.mark.parametrize("model", ["thinks", "thinks-apart"])
def test_what_a_model_thinks_is_not_said(endpoint: Endpoint, model: str, *, stream: bool) -> None:
    agent = opened(endpoint, model)
    asking = agent.stream(QUESTION) if stream else None
    reply = whole(asking) if asking else agent.reply(QUESTION)
    assert reply.text.startswith("I see: ")
    assert reply.thought.startswith("They said ")


def test_text_in_parts_is_text(endpoint: Endpoint) -> None:
    agent = opened(endpoint, "parts")
    assert agent.answer(QUESTION, Wish()).text.startswith("You said")


def test_how_an_answer_ended_and_who_gave_it(endpoint: Endpoint) -> None:
    reply = opened(endpoint, "cut-off-3").reply(QUESTION)
    assert (reply.finish, reply.model, reply.fingerprint) == ("length", "cut-off-3", "fp_tests")
    assert opened(endpoint, "echo").reply(QUESTION).finish == "stop"


def test_what_does_not_fit_is_left_out_from_the_beginning(endpoint: Endpoint) -> None:
    """Thirteen turns and room for five: they go two by two."""
    turns = [Message("partner" if n % 2 == 0 else "agent", f"Turn {n}.") for n in range(13)]
    endpoint.requests.clear()
    reply = opened(endpoint, "room-5").reply(turns)
    assert reply.note == "the oldest 8 turns did not fit"
    sent = [one["content"] for one in endpoint.requests[-1]["messages"]]
    assert sent == [f"Turn {n}." for n in range(8, 13)]


def test_a_model_is_always_spoken_to_first(endpoint: Endpoint) -> None:
    agent = opened(endpoint, "turns")
    said = [Message("agent", "Hello."), Message("partner", "Hi.")]
    assert agent.reply(said).text.startswith("You said: Hi.")


def test_a_key_that_was_not_sent_is_not_refused(endpoint: Endpoint) -> None:
    agent = open_agent(
        AgentSpec("openai", "echo", parameters={"endpoint": endpoint.url}), environment={}
    )
    with pytest.raises(AgentError, match=r"wants a key .401., and none was sent.*key_variable"):
        agent.reply(QUESTION)


def test_it_does_not_wait_longer_than_there_is_time(endpoint: Endpoint) -> None:
    slept: list[float] = []
    agent = opened(endpoint, "status-429-wait-500", slept=slept, total_timeout=60)
    with pytest.raises(AgentError) as error:
        agent.reply(QUESTION)
    assert (slept, error.value.kind, error.value.attempts) == ([], "busy", 1)


def test_what_cannot_be_mended_is_asked_once(endpoint: Endpoint) -> None:
    endpoint.counts.clear()
    for model in ("status-400", "status-403", "quota"):
        with pytest.raises(AgentError) as error:
            opened(endpoint, model).reply(QUESTION)
        assert endpoint.counts[model] == 1
        # A request may be refused for what was said in it; a key is refused for good.
        assert error.value.lasting is (model != "status-400")


def test_a_stream_that_broke_is_not_begun_anew(endpoint: Endpoint) -> None:
    """What was passed on cannot be taken back."""
    endpoint.counts.clear()
    pieces = opened(endpoint, "cut").stream(QUESTION)
    assert next(pieces) == "You"
    with pytest.raises(AgentError) as error:
        list(pieces)
    assert error.value.kind == "unreachable"
    assert endpoint.counts["cut"] == 1


@BOTH
@pytest.mark.parametrize(
    ("model", "settings", "words"),
    [
        ("silent", {"read_timeout": 0.2}, "no sign of life within 0.2 s .read_timeout."),
        ("drip-0.05", {"total_timeout": 0.4}, "did not finish its answer within 0.4 s"),
    ],
)
def test_timeouts(
    endpoint: Endpoint, model: str, settings: dict[str, Any], words: str, *, stream: bool
) -> None:
    with pytest.raises(AgentError, match=words) as error:
        asked(opened(endpoint, model, attempts=1, **settings), stream=stream)
    assert error.value.kind == "timeout"


def test_nobody_there() -> None:
    spec = AgentSpec("openai", "m", parameters={"endpoint": "http://127.0.0.1:9/v1"})
    agent = open_agent(spec, environment={}, sleep=lambda seconds: None)
    with pytest.raises(AgentError, match=r"127\.0\.0\.1 cannot be reached") as error:
        agent.reply(QUESTION)
    assert (error.value.kind, error.value.attempts) == ("unreachable", 5)


def test_the_key_goes_nowhere_but_into_the_header(
    endpoint: Endpoint, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    good = opened(endpoint, "echo")
    good.reply(QUESTION)
    wrong = open_agent(
        AgentSpec("openai", "echo", parameters={"endpoint": endpoint.url, "key_variable": "WRONG"}),
        environment={"WRONG": KEY + "x", "DIALENS_ALLOW": "WRONG@127.0.0.1"},
    )
    seen = [repr(good), repr(good.settings), repr(wrong), json.dumps(dict(good.parameters))]
    seen.append(good.identity)
    with pytest.raises(AgentError, match="refuses the key") as error:
        wrong.reply(QUESTION)
    assert error.value.kind == "refused"
    seen.append(str(error.value))
    seen.append("".join(traceback.format_exception(error.value)))
    seen.append(caplog.text)
    assert "echo" in caplog.text or "chat/completions" in caplog.text
    assert [text for text in seen if KEY in text] == []


@pytest.mark.parametrize(
    ("parameters", "environment", "words"),
    [
        ({}, {}, "no key in OPENAI_API_KEY"),
        ({"key_variable": "MINE"}, {}, "no key in MINE"),
        ({"key_variable": KEY}, {}, "not the name of an environment variable"),
        ({"api_key": KEY}, {}, "no setting 'api_key'"),
        ({"endpoint": f"https://u:{KEY}@host/v1"}, {}, "holds a name or password"),
        ({"endpoint": f"https://host/v1?key={KEY}"}, {}, "holds a query"),
        ({"endpoint": "ftp://host"}, {}, "not an address"),
        ({"endpoint": "http://[::1"}, {}, "not an address"),
        ({"temperature": 3}, {"OPENAI_API_KEY": KEY}, "temperature is from 0 to 2; seen: 3"),
        ({"temperature": "hot"}, {"OPENAI_API_KEY": KEY}, "temperature takes a number"),
        ({}, {"OPENAI_API_KEY": f"{KEY} and more"}, "odd characters"),
    ],
)
def test_settings_that_cannot_be(
    parameters: dict[str, str | float], environment: dict[str, str], words: str
) -> None:
    with pytest.raises(DialensError, match=words) as error:
        open_agent(AgentSpec("openai", "m", parameters=parameters), environment=environment)
    assert KEY not in str(error.value)


def test_the_usual_key_is_not_sent_to_other_endpoints(endpoint: Endpoint) -> None:
    spec = AgentSpec("openai", "echo", parameters={"endpoint": endpoint.url})
    with pytest.raises(AgentError, match="none was sent"):
        open_agent(spec, environment={"OPENAI_API_KEY": KEY}).reply(QUESTION)
    assert endpoint.requests[-1]["authorization"] == ""


def test_the_endpoint_of_the_environment(endpoint: Endpoint) -> None:
    environment = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": endpoint.url + "/"}
    agent = open_agent(AgentSpec("openai", "echo"), environment=environment)
    assert agent.reply(QUESTION).text.startswith("You said")


def test_tokens_are_limited_by_what_was_really_used() -> None:
    """600 tokens a minute are 10 a second; 100 foreseen and 40 used leave 4 s to wait."""
    now = [0.0]
    slept: list[float] = []
    limit = RateLimit(tokens=600, clock=lambda: now[0], sleep=slept.append)
    limit.wait(tokens=100)
    limit.settle(40 - 100)
    limit.wait(tokens=100)
    assert slept == [pytest.approx(4.0)]
    now[0] = 4.0
    limit.wait(tokens=100)
    assert slept[-1] == pytest.approx(10.0)


def test_requests_of_many_threads_are_spaced() -> None:
    """60 a minute: ten at once wait 0, 1, … 9 s, whatever their order."""
    slept: list[float] = []
    limit = RateLimit(requests=60, clock=lambda: 100.0, sleep=slept.append)
    threads = [threading.Thread(target=limit.wait) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(slept) == [pytest.approx(seconds) for seconds in range(1, 10)]


def test_a_limit_is_the_accounts(endpoint: Endpoint) -> None:
    one = opened(endpoint, "echo", temperature=0.1, requests_per_minute=6000)
    two = opened(endpoint, "echo", temperature=0.9, requests_per_minute=6000)
    assert one.limit is two.limit
    assert one.limit is not opened(endpoint, "told", requests_per_minute=6000).limit
    assert shared_limit("x", requests=1, tokens=1) is not one.limit


def test_nothing_of_the_key_is_in_a_corpus(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from dialens.agents.talks import CollectionPlan, collect

    monkeypatch.setenv("KEY_OF_TESTS", KEY)
    monkeypatch.setenv("DIALENS_ALLOW", "KEY_OF_TESTS@127.0.0.1")
    settings: dict[str, str | float] = {
        "endpoint": endpoint.url,
        "key_variable": "KEY_OF_TESTS",
        "attempts": 1,
    }
    specs = tuple(AgentSpec("openai", model, parameters=settings) for model in ("echo", "quota"))
    partners = (AgentSpec("openai", "words-5", parameters=settings),)
    collect(CollectionPlan(specs, partners, turns=4, dialogues=2), tmp_path / "talks")
    files = [path for path in (tmp_path / "talks").rglob("*") if path.is_file()]
    assert {"failures.jsonl", "manifest.json"} <= {path.name for path in files}
    assert [path for path in files if KEY.encode() in path.read_bytes()] == []


SCHEMA = {
    "type": "object",
    "properties": {"good": {"enum": [1, 2, 3]}},
    "required": ["good"],
    "additionalProperties": False,
}


def test_an_answer_by_a_schema(endpoint: Endpoint) -> None:
    agent = opened(endpoint, "judge", price_in=1, price_out=2)
    reply = agent.answer(QUESTION, Wish(temperature=0.0, schema=SCHEMA, max_tokens=9), seed=4)
    sent = endpoint.requests[-1]
    assert sent["response_format"]["type"] == "json_schema"
    assert sent["response_format"]["json_schema"]["schema"] == SCHEMA
    assert sent["response_format"]["json_schema"]["strict"] is True
    assert (sent["temperature"], sent["max_tokens"], sent["seed"]) == (0.0, 9, 4)
    assert json.loads(reply.text)["good"] in (1, 2, 3)
    assert (reply.fingerprint, reply.tokens_cached, reply.note) == ("fp_tests", 1, "")
    assert reply.cost == pytest.approx((3 * 1 + reply.tokens_out * 2) / 1e6)
    loose = {**SCHEMA, "required": []}
    agent.answer(QUESTION, Wish(schema=loose))
    assert endpoint.requests[-1]["response_format"]["json_schema"]["strict"] is False


def test_a_server_without_schemas_is_asked_in_words_alone(endpoint: Endpoint) -> None:
    agent = opened(endpoint, "judge-plain")
    question = [Message("partner", 'Rate:\n"good": 1 | 2 | 3')]
    before = endpoint.counts["judge-plain"]
    reply = agent.answer(question, Wish(schema=SCHEMA))
    assert json.loads(reply.text)["good"] in (1, 2, 3)
    assert reply.attempts == endpoint.counts["judge-plain"] - before == 2
    assert "takes no schema" in reply.note
    again = agent.answer(question, Wish(schema=SCHEMA))
    assert again.attempts == 1  # it is remembered
    assert "takes no schema" in again.note


def test_the_likeliest_first_tokens(endpoint: Endpoint) -> None:
    agent = opened(endpoint, "judge-weighs")
    reply = agent.answer(QUESTION, Wish(likeliest=20))
    assert endpoint.requests[-1]["top_logprobs"] == 20
    found = from_first_token(reply.likeliest, ["1", "2", "3", "4", "5"])
    assert found == pytest.approx({"1": 0, "2": 0, "3": 0.125, "4": 0.5, "5": 0.25})
    assert from_first_token(agent.answer(QUESTION, Wish()).likeliest, ["4"]) is None


def test_a_refusal_is_known(endpoint: Endpoint) -> None:
    reply = opened(endpoint, "refusal").answer(QUESTION, Wish())
    assert reply.declined
    assert reply.text == "I would rather not."
    assert opened(endpoint, "echo").host == "127.0.0.1"
