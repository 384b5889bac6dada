"""The stand-in endpoint speaks the real protocol: OpenAI's own client understands it."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator

import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam

from tests.agents.endpoint import Endpoint

MESSAGES: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Is it raining?"}]
SAID = "You said: Is it raining? (3)"


@pytest.fixture(scope="module")
def endpoint() -> Iterator[Endpoint]:
    with Endpoint(key="the-key") as served:
        yield served


@pytest.fixture(scope="module")
def client(endpoint: Endpoint) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(api_key="the-key", base_url=endpoint.url, max_retries=0, timeout=5) as made:
        yield made


def test_models_are_listed(client: openai.OpenAI) -> None:
    assert "echo" in {model.id for model in client.models.list()}


def test_an_answer_in_one_piece(client: openai.OpenAI) -> None:
    answer = client.chat.completions.create(model="echo", messages=MESSAGES, seed=3)
    assert answer.choices[0].message.content == SAID
    assert answer.choices[0].finish_reason == "stop"
    assert answer.usage
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (3, 6)


def test_an_answer_in_pieces(client: openai.OpenAI) -> None:
    events = list(
        client.chat.completions.create(
            model="echo",
            messages=MESSAGES,
            seed=3,
            stream=True,
            stream_options={"include_usage": True},
        )
    )
    pieces = [event.choices[0].delta.content for event in events if event.choices]
    assert "".join(piece or "" for piece in pieces) == SAID
    assert len([piece for piece in pieces if piece]) == 6
    assert events[-1].usage
    assert events[-1].usage.total_tokens == 9


@pytest.mark.parametrize(
    ("model", "error"),
    [
        ("no-such-model", openai.NotFoundError),
        ("status-400", openai.BadRequestError),
        ("status-429", openai.RateLimitError),
        ("status-500", openai.InternalServerError),
    ],
)
def test_errors(client: openai.OpenAI, model: str, error: type[openai.APIStatusError]) -> None:
    with pytest.raises(error):
        client.chat.completions.create(model=model, messages=MESSAGES)


def test_a_wrong_key(endpoint: Endpoint) -> None:
    with (
        openai.OpenAI(api_key="another", base_url=endpoint.url, max_retries=0) as stranger,
        pytest.raises(openai.AuthenticationError) as error,
    ):
        stranger.chat.completions.create(model="echo", messages=MESSAGES)
    assert error.value.code == "invalid_api_key"


def test_it_waits_as_it_is_asked_to(client: openai.OpenAI, endpoint: Endpoint) -> None:
    patient = client.with_options(max_retries=2)
    answer = patient.chat.completions.create(model="flaky-2", messages=MESSAGES, seed=3)
    assert answer.choices[0].message.content == SAID
    assert endpoint.counts["flaky-2"] == 3


def test_a_stream_that_breaks_off(client: openai.OpenAI) -> None:
    with pytest.raises(openai.APIError, match="Something broke"):
        list(client.chat.completions.create(model="error-event", messages=MESSAGES, stream=True))


def test_schemas_and_log_probabilities(client: openai.OpenAI) -> None:
    schema = {
        "type": "object",
        "properties": {"good": {"enum": [1, 2, 3]}},
        "required": ["good"],
        "additionalProperties": False,
    }
    answer = client.chat.completions.create(
        model="judge",
        messages=MESSAGES,
        seed=3,
        response_format={
            "type": "json_schema",
            "json_schema": {"name": "answer", "schema": schema, "strict": True},
        },
    )
    assert json.loads(answer.choices[0].message.content or "")["good"] in (1, 2, 3)
    assert answer.system_fingerprint == "fp_tests"
    assert answer.usage
    assert answer.usage.prompt_tokens_details
    assert answer.usage.prompt_tokens_details.cached_tokens == 1
    weighed = client.chat.completions.create(
        model="judge-weighs", messages=MESSAGES, logprobs=True, top_logprobs=3
    )
    logprobs = weighed.choices[0].logprobs
    assert logprobs
    assert logprobs.content
    top = logprobs.content[0].top_logprobs
    assert {one.token: round(math.exp(one.logprob), 3) for one in top} == {
        "4": 0.5,
        "5": 0.25,
        " 3": 0.125,
    }


TOOLS: list[ChatCompletionToolParam] = [
    {"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}
    for name in ("weather", "news")
]


def test_calls_of_tools(client: openai.OpenAI) -> None:
    """Put together by OpenAI's client, pieces are the same calls as in one piece."""
    whole = client.chat.completions.create(model="calls-both", messages=MESSAGES, tools=TOOLS)
    with client.chat.completions.stream(
        model="calls-both", messages=MESSAGES, tools=TOOLS
    ) as stream:
        streamed = stream.get_final_completion()
    found = []
    for answer in (whole, streamed):
        assert answer.choices[0].finish_reason == "tool_calls"
        calls = answer.choices[0].message.tool_calls or ()
        found.append([(one.id, one.function.name, one.function.arguments) for one in calls])
    assert found[0] == found[1]
    assert [name for _, name, _ in found[0]] == ["weather", "news"]


def test_an_azure_deployment(endpoint: Endpoint) -> None:
    address = endpoint.url.removesuffix("/v1")
    with openai.AzureOpenAI(
        azure_endpoint=address, api_version="2024-10-21", api_key="the-key", max_retries=0
    ) as client:
        answer = client.chat.completions.create(model="echo", messages=MESSAGES, seed=3)
    assert answer.choices[0].message.content == SAID
    sent = endpoint.requests[-1]
    assert sent["path"] == "/openai/deployments/echo/chat/completions?api-version=2024-10-21"
    assert (sent["headers"]["api-key"], sent["authorization"]) == ("the-key", "")
