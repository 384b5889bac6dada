"""The conversations of `samples` as tools for traces and evaluation log them.

The files in `files/` were written by the packages themselves: inspect_ai 0.3.285, promptfoo
0.123.1, langchain-core 1.7.2 (its tracer's runs too), deepeval, the clients of openai 3.49 with
the instrumentations of OpenLLMetry and OpenInference, against a server that echoes.
"""

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dialens.corpus import Corpus, read
from tests.corpus.samples import ODD, TALKS, Break, Path_, Record, Sample, Talk, lines_of

BROKEN = {"no": "text"}


def said(talk: Talk) -> list[Record]:
    """The conversation in OpenAI's messages."""
    who = {"partner": "user", "agent": "assistant"}
    return [{"role": who[r], "content": t} for r, t in zip(talk.roles, talk.texts, strict=True)]


def _change(record: Record, path: Path_, value: object) -> Record:
    changed = copy.deepcopy(record)
    target: Any = changed
    for step in path[:-1]:
        target = target[step]
    if value is None:
        del target[path[-1]]
    else:
        target[path[-1]] = value
    return changed


def trace_sample(
    name: str,
    file: str,
    record: Callable[[Talk], Record],
    breaks: dict[str, tuple[Path_, object, str]],
    **options: Any,
) -> Sample:
    """A format of JSON lines; a break says what is put where (None: taken away), and the field."""

    def broken(path: Path_, value: object, field: str) -> Callable[[], Break]:
        def build() -> Break:
            records = [record(talk) for talk in TALKS]
            records[1] = _change(records[1], path, value)
            return Break(lines_of(records), 2, field, len(TALKS) - 1)

        return build

    return Sample(
        name,
        file,
        lambda talks: lines_of([record(talk) for talk in talks]),
        breaks={kind: broken(*case) for kind, case in breaks.items()},
        **options,
    )


def _assistants(talk: Talk) -> Record:
    messages = [
        {
            "id": f"{talk.id}.{place}",
            "object": "thread.message",
            "thread_id": talk.id,
            "created_at": place,
            **message,
            "content": [{"type": "text", "text": {"value": message["content"]}}],
        }
        for place, message in enumerate(said(talk))
    ]
    return {"object": "list", "data": messages[::-1]}


def _inspect(talk: Talk) -> Record:
    sample = {
        "id": talk.id,
        "epoch": 1,
        "input": talk.texts[0],
        "target": "kind",
        "messages": said(talk),
        "scores": {"includes": {"value": "C"}},
    }
    plan = {"task": "greetings", "task_id": "x", "model": "bot-1", "config": {"epochs": 1}}
    return {"version": 2, "status": "success", "eval": plan, "samples": [sample]}


def _langfuse(talk: Talk) -> Record:
    *given, reply = said(talk)
    return {
        "id": talk.id,
        "timestamp": "2026-01-01T12:00:00.000Z",
        "name": "chat",
        "userId": "ann",
        "sessionId": None,
        "input": {"messages": given},
        "output": reply,
        "tags": ["v1"],
        "metadata": {"channel": "web"},
    }


def langchain(message: Record) -> Record:
    kinds = {"user": "human", "assistant": "ai"}
    return {"type": kinds[message["role"]], "data": {"content": message["content"]}}


def _langchain(talk: Talk) -> Record:
    return {"id": talk.id, "messages": [langchain(message) for message in said(talk)]}


def constructed(message: Record) -> Record:
    kinds = {"user": "HumanMessage", "assistant": "AIMessage"}
    place = ["langchain", "schema", "messages", kinds[message["role"]]]
    kwargs = {"content": message["content"], "type": "x"}
    return {"lc": 1, "type": "constructor", "id": place, "kwargs": kwargs}


def _langsmith(talk: Talk) -> Record:
    *given, reply = said(talk)
    return {
        "id": talk.id,
        "trace_id": talk.id,
        "parent_run_id": None,
        "name": "ChatModel",
        "run_type": "llm",
        "session_id": "project-1",
        "start_time": "2026-01-01T12:00:00",
        "end_time": "2026-01-01T12:00:01",
        "extra": {"metadata": {"ls_model_name": "bot-1"}},
        "inputs": {"messages": [[constructed(message) for message in given]]},
        "outputs": {"generations": [[{"text": "", "message": constructed(reply)}]]},
    }


def otlp(attributes: Record) -> list[Record]:
    """Attributes as OTLP types them."""
    return [{"key": key, "value": {"stringValue": value}} for key, value in attributes.items()]


def parts(message: Record) -> Record:
    told = [{"type": "text", "content": message["content"]}]
    return {"role": message["role"], "parts": told}


def _spans(talk: Talk) -> Record:
    *given, reply = said(talk)
    return {
        "name": "chat bot-1",
        "context": {"trace_id": talk.id, "span_id": talk.id},
        "parent_id": None,
        "start_time": "2026-01-01T12:00:00Z",
        "end_time": "2026-01-01T12:00:01Z",
        "attributes": {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "bot-1",
            "gen_ai.input.messages": [parts(message) for message in given],
            "gen_ai.output.messages": [reply],
        },
    }


def _promptfoo(talk: Talk) -> Record:
    *given, reply = said(talk)
    return {
        "id": talk.id,
        "promptIdx": 0,
        "prompt": {"raw": json.dumps(given, ensure_ascii=False), "label": "kind"},
        "provider": {"id": "openai:bot-1", "label": ""},
        "response": {"output": reply["content"]},
        "testCase": {"vars": {}, "metadata": {}},
        "vars": {},
        "score": 1,
        "success": True,
        "namedScores": {"warm": 0.5},
    }


def _deepeval(talk: Talk) -> Record:
    return {"scenario": "a talk", "expected_outcome": "kind", "turns": said(talk)}


def _api_log(talk: Talk) -> Record:
    *given, reply = said(talk)
    choice = {"index": 0, "finish_reason": "stop", "message": {**reply, "refusal": None}}
    return {
        "request": {"model": "bot-1", "messages": given, "temperature": 0},
        "response": {
            "id": talk.id,
            "object": "chat.completion",
            "created": 1767268800,
            "model": "bot-1",
            "choices": [choice],
        },
    }


_SAMPLE = ("samples", 0, "messages")
_KWARGS = ("inputs", "messages", 0, 0, "kwargs")
_OUTPUT = ("attributes", "gen_ai.output.messages", 0)
_CHOICE = ("response", "choices", 0, "message")
_PLACE = "inputs.messages[0][0]"

TRACE_SAMPLES = (
    trace_sample(
        "inspect",
        "talks.json",
        _inspect,
        {
            "wrong type": ((*_SAMPLE, 1, "content"), BROKEN, "samples[0].messages[1].content"),
            "missing field": ((*_SAMPLE, 1, "content"), None, "samples[0].messages[1].content"),
            "odd role": ((*_SAMPLE, 0, "role"), ODD, "samples[0].messages[0].role"),
        },
    ),
    trace_sample(
        "langfuse",
        "talks.jsonl",
        _langfuse,
        {
            "wrong type": (("output", "content"), BROKEN, "output.content"),
            "missing field": (("output", "content"), None, "output.content"),
            "odd role": (("input", "messages", 0, "role"), ODD, "input.messages[0].role"),
        },
    ),
    trace_sample(
        "langsmith",
        "talks.jsonl",
        _langsmith,
        {
            "wrong type": ((*_KWARGS, "content"), BROKEN, _PLACE),
            "missing field": ((*_KWARGS, "content"), None, _PLACE),
            "no inputs": (("inputs",), None, "inputs"),
        },
    ),
    trace_sample(
        "langchain",
        "talks.jsonl",
        _langchain,
        {
            "wrong type": (("messages", 1, "data", "content"), BROKEN, "messages[1].content"),
            "missing field": (("messages", 1, "data", "content"), None, "messages[1].content"),
            "odd role": (("messages", 0, "type"), ODD, "messages[0]"),
        },
    ),
    trace_sample(
        "assistants",
        "talks.jsonl",
        _assistants,
        {
            "wrong type": (("data", 0, "content"), BROKEN, "data[0].content"),
            "missing field": (("data", 0, "content"), None, "data[0].content"),
            "odd role": (("data", 0, "role"), ODD, "data[0].role"),
        },
    ),
    trace_sample(
        "spans",
        "talks.jsonl",
        _spans,
        {
            "wrong type": ((*_OUTPUT, "content"), BROKEN, "attributes.gen_ai.output.messages[0]"),
            "missing field": ((*_OUTPUT, "content"), None, "attributes.gen_ai.output.messages[0]"),
            "odd role": ((*_OUTPUT, "role"), ODD, "attributes.gen_ai.output.messages[0].role"),
            "no trace": (("context", "trace_id"), None, "traceId"),
        },
    ),
    trace_sample(
        "promptfoo",
        "talks.jsonl",
        _promptfoo,
        {
            "wrong type": (("response", "output"), 5, "response.output"),
            "missing field": (("prompt", "raw"), None, "prompt.raw"),
        },
        only_response=True,
    ),
    trace_sample(
        "deepeval",
        "talks.jsonl",
        _deepeval,
        {
            "wrong type": (("turns", 1, "content"), BROKEN, "turns[1].content"),
            "missing field": (("turns", 1, "content"), None, "turns[1].content"),
            "odd role": (("turns", 0, "role"), ODD, "turns[0].role"),
        },
        has_ids=False,
    ),
    trace_sample(
        "api-logs",
        "talks.jsonl",
        _api_log,
        {
            "wrong type": ((*_CHOICE, "content"), BROKEN, "response.choices[0]"),
            "odd role": (("request", "messages", 0, "role"), ODD, "request.messages[0].role"),
            "missing field": (("request", "messages", 0, "content"), None, "request.messages[0]"),
        },
    ),
)

FILES = Path(__file__).parent / "files"
RAIN = [("partner", "Is it raining?"), ("agent", "A little.")]
GO = [*RAIN, ("partner", "Shall we go?"), ("agent", "Yes: now.")]


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def bot(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def spoken(corpus: Corpus) -> dict[str, list[tuple[str, str]]]:
    """Role and text of each turn, by dialogue."""
    talks: dict[str, list[tuple[str, str]]] = {}
    for dialog, role, text in corpus.turns.select("dialog", "role", "text").collect().rows():
        talks.setdefault(dialog, []).append((role, text))
    return talks


def agents(corpus: Corpus) -> list[str]:
    return corpus.turns.collect()["agent"].unique().sort().to_list()


def told(path: Path, records: list[dict[str, Any]]) -> Corpus:
    path.write_bytes(lines_of(records))
    return read(path)


MESSAGES = [user("Is it raining?"), bot("A little."), user("Shall we go?"), bot("Yes: now.")]


def request(given: list[dict[str, Any]], reply: str, name: str, **more: Any) -> dict[str, Any]:
    answer: dict[str, Any] = {"id": name, "object": "chat.completion", "model": "bot-1"}
    answer["choices"] = [{"index": 0, "message": bot(reply)}]
    return {"request": {"model": "bot-1", "messages": given}, "response": answer, **more}


FIRST = request([user("Is it raining?")], "A little.", "r1")
SECOND = request(
    [user("Is it raining?"), bot("A little."), user("Shall we go?")], "Yes: now.", "r2"
)
