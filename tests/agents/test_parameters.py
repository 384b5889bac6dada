"""Parameters of requests, headers and Azure's addresses; secrets go nowhere else."""

from __future__ import annotations

import json
import traceback
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dialens.agents import AgentError, AgentSpec, Message
from dialens.agents.kinds._openai_endpoint import EndpointAgent, open_agent
from dialens.agents.kinds._openai_wire import ResponseInfo, read_answer
from dialens.agents.talks import CollectionPlan, collect, open_plan
from dialens.base import DialensError
from tests.agents.endpoint import Endpoint

KEY = "azure-SECRET-0123456789abcdef"
TOKEN = "gateway-SECRET-9876543210"
ALLOWED = "KEY@127.0.0.1 KEY_OF_TESTS@127.0.0.1 GATEWAY@127.0.0.1 WRONG@127.0.0.1"
QUESTION = [Message("partner", "Is it raining?")]


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint(key=KEY) as served:
        yield served


def opened(served: Endpoint, /, model: str = "echo", **parameters: Any) -> EndpointAgent:
    settings = {"endpoint": served.url, "key_variable": "KEY", **parameters}
    return open_agent(
        AgentSpec("openai", model, parameters=settings),
        environment={"KEY": KEY, "GATEWAY": TOKEN, "DIALENS_ALLOW": ALLOWED},
        sleep=lambda seconds: None,
    )


def test_parameters_are_sent_under_their_names(endpoint: Endpoint) -> None:
    agent = opened(
        endpoint,
        top_k=40,
        min_p=0.05,
        stop="END",
        reasoning_effort="low",
        extra_body='{"chat_template_kwargs": {"enable_thinking": false}, "tool_choice": "auto"}',
    )
    agent.reply(QUESTION)
    sent = endpoint.requests[-1]
    assert (sent["top_k"], sent["min_p"], sent["stop"]) == (40, 0.05, ["END"])
    assert isinstance(sent["top_k"], int)
    assert sent["reasoning_effort"] == "low"
    assert sent["chat_template_kwargs"] == {"enable_thinking": False}
    plain = opened(endpoint)
    plain.reply(QUESTION)
    sent = endpoint.requests[-1]
    assert {"top_k", "min_p", "stop", "reasoning_effort", "tools"}.isdisjoint(sent)


def test_several_ends_and_files(endpoint: Endpoint, tmp_path: Path) -> None:
    (tmp_path / "body.yaml").write_text("mirostat: 2\n")
    (tmp_path / "headers.json").write_text('{"X-Team": "blue", "X-Gateway-Token": "env:GATEWAY"}')
    agent = opened(
        endpoint,
        stop='["A:", "B:"]',
        extra_body=str(tmp_path / "body.yaml"),
        headers=str(tmp_path / "headers.json"),
    )
    agent.reply(QUESTION)
    sent = endpoint.requests[-1]
    assert (sent["stop"], sent["mirostat"]) == (["A:", "B:"], 2)
    assert (sent["headers"]["X-Team"], sent["headers"]["X-Gateway-Token"]) == ("blue", TOKEN)
    assert sent["authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"extra_body": '{"messages": []}'}, r"'messages', which dialens sends itself"),
        ({"extra_body": '{"temperature": 1}'}, r"Use the setting of that name"),
        ({"extra_body": "{oops"}, r"extra_body is not JSON"),
        ({"extra_body": "nowhere.json"}, r"nowhere.json cannot be read"),
        ({"extra_body": f'{{"a": [{{"api_key": "{TOKEN}"}}]}}'}, r"looks like a secret"),
        ({"headers": f'{{"X-Api-Key": "{TOKEN}"}}'}, r"X-Api-Key looks like a secret.*env:"),
        ({"headers": f'{{"X-Mine": "Bearer {TOKEN}"}}'}, r"X-Mine looks like a secret"),
        ({"headers": f'{{"Authorization": "{TOKEN}"}}'}, r"Authorization looks like a secret"),
        ({"headers": '{"X-Thing": "ghp_abcdefghijklmnopqrst"}'}, r"X-Thing looks like a secret"),
        ({"headers": '{"X-Mine": "env:NOWHERE"}'}, r"NOWHERE, and that environment variable is"),
        ({"headers": f'{{"X-Mine": "env:{TOKEN}"}}'}, r"not the name of an environment variable"),
        ({"headers": '{"X Mine": "a"}'}, r"not the name of a header"),
        ({"headers": '{"Host": "a"}'}, r"set by the connection"),
        ({"headers": '{"X-Mine": "a\\nb"}'}, r"takes a line of plain text"),
        ({"key_header": "api key"}, r"key_header is not the name of a header"),
        ({"stop": "[1]"}, r"stop takes a text"),
        ({"reasoning_effort": "lots"}, r"reasoning_effort cannot be 'lots'"),
        ({"endpoint": f"https://h/v1?key={TOKEN}"}, r"holds a query"),
        ({"endpoint": f"https://h/v1?api-version={TOKEN}"}, r"a date is expected"),
        ({"endpoint": "https://h/openai/deployments/mini"}, r"needs a version: .*api-version="),
    ],
)
def test_what_cannot_be_set(parameters: dict[str, str], words: str, endpoint: Endpoint) -> None:
    with pytest.raises(DialensError, match=words) as error:
        opened(endpoint, **parameters)
    assert TOKEN not in str(error.value)


def azure(endpoint: Endpoint, path: str) -> str:
    return endpoint.url.removesuffix("/v1") + path


def test_an_azure_deployment(endpoint: Endpoint) -> None:
    """The deployment is the model, the version a query, and the key stands in a header of its own;
    test_endpoint shows that the stand-in is asked the same by Azure's own client."""
    address = azure(endpoint, "/openai/deployments/echo?api-version=2024-10-21")
    agent = opened(endpoint, "gpt-4o-mini", endpoint=address, max_tokens=9)
    assert agent.reply(QUESTION).text == "You said: Is it raining? (0)"
    sent = endpoint.requests[-1]
    assert sent["path"] == "/openai/deployments/echo/chat/completions?api-version=2024-10-21"
    assert (sent["headers"]["api-key"], sent["authorization"]) == (KEY, "")
    assert sent["max_tokens"] == 9
    newer = address.replace("2024-10-21", "2025-04-01-preview")
    opened(endpoint, "gpt-4o-mini", endpoint=newer, max_tokens=9).reply(QUESTION)
    assert endpoint.requests[-1]["max_completion_tokens"] == 9
    whole = address.replace("/echo?", "/echo/chat/completions?")
    assert opened(endpoint, "m", endpoint=whole).identity == agent.identity.replace(
        "gpt-4o-mini", "m"
    )


def test_the_newer_azure_address(endpoint: Endpoint) -> None:
    """It speaks OpenAI's own protocol; the key may stand in either header."""
    address = azure(endpoint, "/openai/v1/")
    opened(endpoint, endpoint=address).reply(QUESTION)
    assert endpoint.requests[-1]["path"] == "/openai/v1/chat/completions"
    assert endpoint.requests[-1]["authorization"] == f"Bearer {KEY}"
    opened(endpoint, endpoint=address, key_header="api-key").reply(QUESTION)
    assert endpoint.requests[-1]["headers"]["api-key"] == KEY
    assert endpoint.requests[-1]["authorization"] == ""


def test_secrets_are_in_no_file_and_no_error(
    endpoint: Endpoint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_OF_TESTS", KEY)
    monkeypatch.setenv("GATEWAY", TOKEN)
    monkeypatch.setenv("DIALENS_ALLOW", ALLOWED)
    settings: dict[str, Any] = {
        "endpoint": endpoint.url,
        "key_variable": "KEY_OF_TESTS",
        "headers": '{"X-Gateway-Token": "env:GATEWAY"}',
        "attempts": 1,
    }
    specs = tuple(AgentSpec("openai", model, parameters=settings) for model in ("echo", "quota"))
    done = collect(CollectionPlan(specs, turns=2, dialogues=1), tmp_path / "talks")
    assert done.failures
    files = [path for path in (tmp_path / "talks").rglob("*") if path.is_file()]
    assert [
        path for path in files for secret in (KEY, TOKEN) if secret.encode() in path.read_bytes()
    ] == []
    manifest = json.loads((tmp_path / "talks" / "manifest.json").read_text())
    assert "env:GATEWAY" in json.dumps(manifest)


def test_an_endpoint_that_quotes_a_header_is_not_repeated(endpoint: Endpoint) -> None:
    """The stand-in quotes the wrong key; one that stands in a header of ours is taken out, too."""
    agent = open_agent(
        AgentSpec(
            "openai",
            "echo",
            parameters={"endpoint": endpoint.url, "headers": '{"api-key": "env:WRONG"}'},
        ),
        environment={"WRONG": TOKEN, "DIALENS_ALLOW": ALLOWED},
    )
    with pytest.raises(AgentError, match="refuses the key") as error:
        agent.reply(QUESTION)
    shown = "".join(traceback.format_exception(error.value)) + repr(agent)
    assert TOKEN not in shown


def test_headers_make_no_other_agent_and_bodies_do(endpoint: Endpoint) -> None:
    def fingerprint(**more: Any) -> tuple[str, str]:
        settings = {"endpoint": endpoint.url, **more}
        spec = AgentSpec("openai", "echo", parameters=settings)
        plan = open_plan(CollectionPlan((spec,), "themselves", turns=2, dialogues=1))
        plan.close()
        (talk,) = plan.conversations
        return talk.fingerprint, talk.agent.agent.name

    plain = fingerprint()
    assert fingerprint(headers='{"X-Team": "blue"}', key_header="api-key") == plain
    others = [
        fingerprint(extra_body='{"mirostat": 2}')[0],
        fingerprint(extra_body='{"mirostat": 1}')[0],
        fingerprint(top_k=5)[0],
        fingerprint(stop="END")[0],
    ]
    assert len({plain[0], *others}) == 5


def test_content_in_parts_with_a_thought() -> None:
    parts = [
        {"type": "thinking", "thinking": [{"type": "text", "text": "They ask."}]},
        {"type": "text", "text": "It is "},
        {"type": "text", "text": "raining."},
    ]
    info = ResponseInfo()
    raw = json.dumps({"choices": [{"message": {"content": parts}}]}).encode()
    assert "".join(read_answer(raw, info)) == "It is raining."
    assert "".join(info.thought) == "They ask."
