"""Calls that failed are no dialogues, and bring no agent: they are counted and said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dialens.base import DialensError
from dialens.corpus import Intake, read
from tests.corpus.samples import lines_of
from tests.corpus.trace_samples import agents, bot, spoken, user


def put(path: Path, *records: Any) -> Path:
    path.write_bytes(lines_of(list(records)))
    return path


def request(text: str, model: str = "bot-1") -> dict[str, object]:
    return {"model": model, "messages": [user(text)]}


def response(text: str) -> dict[str, object]:
    message = {"index": 0, "message": bot(text)}
    return {"id": text, "object": "chat.completion", "model": "bot-1-2026", "choices": [message]}


GOOD = {"request": request("Hi"), "response": response("Hello!")}
LIMIT = {"error": {"message": "slow down", "type": "rate_limit"}}


def noted(path: Path, talks: int = 1) -> str:
    """What is noted of a file in which one agent replies in some dialogues."""
    intake = Intake()
    corpus = read(path, intake=intake)
    assert len(spoken(corpus)) == talks
    assert len(agents(corpus)) == 1
    return " ".join(intake.notes)


@pytest.mark.parametrize(
    ("record", "said"),
    [
        ({"request": request("Bye"), "response": None}, "1 call without a reply"),
        ({"request": request("Bye"), "response": None, "error": "timeout"}, "call (timeout)"),
        ({"request": request("Bye"), "response": LIMIT}, "1 failed call (slow down)"),
        ({"request": request("Bye"), "response": {"status_code": 500, "body": ""}}, "(status 500)"),
        ({"error": {"message": "no network"}}, "1 failed call (no network)"),
        ({"request": request("Bye")}, "1 call without a reply"),
    ],
)
def test_a_failed_call_of_an_api_log_is_left_out(record: Any, said: str, tmp_path: Path) -> None:
    assert said in noted(put(tmp_path / "log.jsonl", GOOD, record))


def test_a_call_that_only_uses_a_tool_did_not_fail(tmp_path: Path) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    asks = {"role": "assistant", "content": None, "tool_calls": [call]}
    first = response("")
    first["choices"] = [{"index": 0, "message": asks}]
    then: dict[str, object] = {
        "model": "bot-1",
        "messages": [user("Hi"), asks, {"role": "tool", "content": "1"}],
    }
    log: list[dict[str, object]] = [{"request": request("Hi"), "response": first}]
    log.append({"request": then, "response": response("One.")})
    assert noted(put(tmp_path / "log.jsonl", *log)) == ""


@pytest.mark.parametrize(
    "line",
    [
        {"response": {"status_code": 429, "body": LIMIT}, "error": None},
        {"response": None, "error": {"code": "batch_expired", "message": "too late"}},
        {"result": {"type": "errored", "error": {"type": "error", **LIMIT}}},
        {"result": {"type": "expired"}},
    ],
)
@pytest.mark.parametrize("folder", [False, True])
def test_a_failed_line_of_a_batch_is_left_out(line: Any, folder: bool, tmp_path: Path) -> None:
    asked = [{"custom_id": name, "body": request(name)} for name in ("r1", "r2")]
    put(tmp_path / "in.jsonl", *asked)
    good = {"custom_id": "r1", "response": {"status_code": 200, "body": response("Hello!")}}
    path = put(tmp_path / "out.jsonl", good, {"custom_id": "r2", **line})
    assert "left out 1 failed call (" in noted(tmp_path if folder else path)


def test_a_request_of_a_batch_without_a_line_in_its_output_is_said(tmp_path: Path) -> None:
    asked = [{"custom_id": name, "body": request(name)} for name in ("r1", "r2")]
    put(tmp_path / "in.jsonl", *asked)
    good = {"custom_id": "r1", "response": {"status_code": 200, "body": response("Hello!")}}
    put(tmp_path / "out.jsonl", good)
    assert "left out 1 call without a reply" in noted(tmp_path)


def test_a_log_of_failures_says_that_the_run_failed(tmp_path: Path) -> None:
    failed = {"request": request("Hi"), "response": None, "error": "timeout"}
    with pytest.raises(DialensError, match=r"the run failed\. All 2 calls .* error: timeout"):
        read(put(tmp_path / "log.jsonl", failed, failed))


def test_a_failed_result_of_promptfoo_is_left_out(tmp_path: Path) -> None:
    def result(name: str, **more: Any) -> dict[str, object]:
        prompt = {"raw": "Hi", "label": "greeting"}
        return {"id": name, "prompt": prompt, "provider": {"id": "bot-1"}, "vars": {}, **more}

    good = result("a", response={"output": "Hello!"}, error="an assertion failed")
    failed = result("b", response={"error": "timeout"}, error="timeout")
    content = {"results": {"stats": {}, "results": [good, failed, result("c", response=None)]}}
    path = tmp_path / "out.json"
    path.write_text(json.dumps(content))
    assert noted(path) == (
        "out.json: left out 1 failed call (timeout). out.json: left out 1 call without a reply."
    )
    table = tmp_path / "out.csv"
    table.write_text('q,[bot-1] {{q}}\nHi,[PASS] Hello!\nBye,"[ERROR] timeout"\n')
    assert "left out 1 failed call (timeout)" in noted(table)


def test_a_failed_generation_of_langfuse_is_left_out(tmp_path: Path) -> None:
    def step(name: str, **more: Any) -> dict[str, object]:
        about = {"id": f"g{name}", "traceId": name, "type": "GENERATION", "model": "bot-1"}
        return {**about, "startTime": "2026-01-01T12:00:00Z", "input": [user("Hi")], **more}

    good = step("a", output=bot("Hello!"))
    failed = step("b", output=None, level="ERROR", statusMessage="timeout")
    score = {"id": "s", "traceId": "b", "name": "kind", "value": 0, "source": "API"}
    (tmp_path / "logs").mkdir()
    put(tmp_path / "logs" / "observations.jsonl", good, failed)
    put(tmp_path / "logs" / "scores.jsonl", score)
    assert "left out 1 failed call (timeout)" in noted(tmp_path / "logs")


def test_a_failed_run_of_langsmith_is_left_out(tmp_path: Path) -> None:
    def run(name: str, **more: Any) -> dict[str, object]:
        return {
            "id": name,
            "trace_id": name,
            "run_type": "llm",
            "extra": {"metadata": {"ls_model_name": "bot-1"}},
            "inputs": {"messages": [user("Hi")]},
            **more,
        }

    good = run("a", outputs={"choices": [{"message": bot("Hello!")}]}, error=None)
    failed = run("b", outputs=None, error="APITimeoutError()", status="error")
    path = put(tmp_path / "runs.jsonl", good, failed)
    assert "left out 1 failed call (APITimeoutError())" in noted(path)


def test_a_failed_span_is_left_out(tmp_path: Path) -> None:
    def span(name: str, status: Any, **output: Any) -> dict[str, object]:
        facts = {
            "gen_ai.operation.name": "chat",
            "gen_ai.request.model": "bot-1",
            "gen_ai.input.messages": [
                {"role": "user", "parts": [{"type": "text", "content": "Hi"}]}
            ],
        }
        return {
            "name": "chat",
            "context": {"trace_id": name, "span_id": name},
            "parent_id": None,
            "start_time": "2026-01-01T12:00:00Z",
            "status": status,
            "attributes": {**facts, **output},
        }

    reply = [{"role": "assistant", "parts": [{"type": "text", "content": "Hello!"}]}]
    good = span("a", {"status_code": "OK"}, **{"gen_ai.output.messages": reply})
    failed = span("b", {"status_code": "ERROR", "description": "timeout"})
    silent = span("c", {"status_code": "OK"})
    notes = noted(put(tmp_path / "spans.jsonl", good, failed, silent))
    assert "left out 1 failed call (timeout)" in notes
    assert "left out 1 call without a reply" in notes
