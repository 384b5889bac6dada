"""The same agentic chat is the same conversation however its tool calls are written."""

import json
from pathlib import Path
from typing import Any

import pytest
from polars.testing import assert_frame_equal

from dialens import read, score
from dialens.corpus import Corpus, Dialogue, Turn, convert

ASKED = "What is the weather like in Bern? I am so excited to go!"
FIRST = "I am happy to look that up for you."
LAST = "It is sunny and warm. Will you take your bike?"
CALL: dict[str, Any] = {
    "id": "call_1",
    "type": "function",
    "function": {"name": "weather", "arguments": '{"city": "Bern"}'},
}
RESULT = {"role": "tool", "tool_call_id": "call_1", "content": "sunny, 21"}
USE = {"type": "tool_use", "id": "call_1", "name": "weather", "input": {"city": "Bern"}}
USED: dict[str, Any] = {"type": "tool_result", "tool_use_id": "call_1", "content": "sunny, 21"}


def openai(content: object, **call: object) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": ASKED},
        {"role": "assistant", "content": FIRST},
        {"role": "assistant", "content": content, **(call or {"tool_calls": [CALL]})},
        RESULT,
        {"role": "assistant", "content": LAST},
    ]


def anthropic(use: list[dict[str, Any]], used: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {"role": "user", "content": [{"type": "text", "text": ASKED}]},
        {"role": "assistant", "content": [{"type": "text", "text": FIRST}]},
        {"role": "assistant", "content": use},
        {"role": "user", "content": used},
        {"role": "assistant", "content": [{"type": "text", "text": LAST}]},
    ]


RESPONSES: list[dict[str, Any]] = [
    {"role": "user", "content": [{"type": "input_text", "text": ASKED}]},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": FIRST}]},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "call_id": "call_1", "name": "weather", "arguments": "{}"},
    {"type": "function_call_output", "call_id": "call_1", "output": "sunny, 21"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": LAST}]},
]
ENCODINGS: dict[str, list[dict[str, Any]]] = {
    "null": openai(None),
    "empty": openai(""),
    "blank": openai(" \n"),
    "no parts": openai([]),
    "empty part": openai([{"type": "text", "text": ""}]),
    "old function call": openai(None, function_call=CALL["function"]),
    "anthropic": anthropic([USE], [USED]),
    "anthropic thinking": anthropic([{"type": "thinking", "thinking": "Hm."}, USE], [USED]),
    "anthropic server tool": anthropic(
        [{**USE, "type": "server_tool_use"}, {**USED, "type": "web_search_tool_result"}], [USED]
    ),
    "anthropic two results": anthropic([USE, USE], [USED, USED]),
    "responses": RESPONSES,
}


def written(messages: list[dict[str, Any]], folder: Path) -> Path:
    path = folder / "chat.jsonl"
    path.write_text(json.dumps({"id": "d1", "model": "m", "messages": messages}) + "\n")
    return path


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_only_what_was_said_is_a_turn(encoding: str, tmp_path: Path) -> None:
    path = written(ENCODINGS[encoding], tmp_path)
    said = read(path).turns.select("role", "text").collect().rows()
    assert said == [("partner", ASKED), ("agent", FIRST), ("agent", LAST)]
    convert(path, tmp_path / "again.jsonl")
    again = json.loads((tmp_path / "again.jsonl").read_text())
    assert again["messages"] == ENCODINGS[encoding]


def test_every_encoding_scores_alike(tmp_path: Path) -> None:
    first, *others = (
        score(read(written(messages, tmp_path)), metrics=["surface", "emotion", "style"])
        for messages in ENCODINGS.values()
    )
    for other in others:
        assert_frame_equal(first.table.collect(), other.table.collect())
    counted = first.wide("agent").select("length", "specificity", "question").row(0)
    assert counted[0] == (9 + 10) / 2
    assert counted[2] == 1 / 2


def test_a_picture_beside_a_result_is_something_shown(tmp_path: Path) -> None:
    shown: list[dict[str, Any]] = [
        USED,
        {"type": "image", "source": {"type": "url", "url": "https://example.org/a.png"}},
    ]
    corpus = read(written(anthropic([USE], shown), tmp_path))
    assert corpus.turns.select("role", "text").collect().rows()[2] == ("partner", "")


def test_a_turn_without_text_is_missing_not_short() -> None:
    turns = [
        Turn("u", "partner", "Well?"),
        Turn("b", "agent", " "),
        Turn("u", "partner", "Say something!"),
        Turn("b", "agent", "What should I say?"),
    ]
    scores = score(Corpus.of([Dialogue("s", "b", "d", turns)]), metrics=["surface"])
    blank = scores.table.filter(level="turn", turn=1).collect()
    values = dict(blank.select("metric", "value").iter_rows())
    reasons = dict(blank.select("metric", "reason").iter_rows())
    for name in ("length", "specificity", "question"):
        assert (values[name], reasons[name]) == (None, "no text")
    assert (values["distinct_1"], reasons["distinct_1"]) == (None, "too few tokens")
    whole = scores.table.filter(level="agent").collect()
    row = whole.filter(metric="length").select("value", "n", "n_missing").row(0)
    assert row == (4.0, 1, 1)
