"""A stand-in's calls of tools: what is called when, and in which pieces it is streamed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

SCENARIOS = {
    "calls-N": "calls the first tool N times, one after the other, then says what came",
    "calls-both": "calls the first two tools at once, then says what came",
    "calls-says": "says something beside a call, then what came",
    "calls-broken": "writes half of the arguments, and the whole when it is told so",
    "calls-nameless": "calls a tool that is not there, then says what came",
    "calls-on": "calls as long as it may, then says what came",
    "calls-stubborn": "calls, whether it may or not",
    "calls-unpaid": "calls once, then refuses with 400",
}
ASIDE = "Let me look."


def calls_of(model: str, number: int, body: dict[str, Any]) -> list[dict[str, Any]]:
    """The calls that are to be made now; none if it is to speak."""
    results = since_partner(body)
    tools = [one["function"]["name"] for one in body.get("tools", ())] or ["weather"]
    last = next(one["content"] for one in reversed(body["messages"]) if one["role"] == "user")
    whole = json.dumps({"city": last.strip("?.!").split()[-1]})
    may = body.get("tool_choice") != "none"
    wanted = {
        "calls": [(tools[0], whole)] if len(results) < number else [],
        "calls-both": [(name, whole) for name in tools[:2]] if not results else [],
        "calls-says": [(tools[0], whole)] if not results else [],
        "calls-broken": [(tools[0], whole if results else whole[:-4])] if len(results) < 2 else [],
        "calls-nameless": [("nothing", whole)] if not results else [],
        "calls-on": [(tools[0], whole)] if may else [],
        "calls-stubborn": [(tools[0], whole)],
        "calls-unpaid": [(tools[0], whole)] if not results else [],
    }[model]
    return [
        {
            "id": f"call_{len(results) + place}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for place, (name, arguments) in enumerate(wanted)
    ]


def since_partner(body: dict[str, Any]) -> list[str]:
    """Results since the partner spoke; each must answer a call that was made."""
    results: list[str] = []
    waiting: list[str] = []
    for one in body["messages"]:
        if one["role"] == "user":
            results = []
        for call in one.get("tool_calls") or ():
            waiting.append(call["id"])
        if one["role"] == "tool":
            waiting.remove(one["tool_call_id"])
            results.append(one["content"])
    assert not waiting, f"calls without a result: {waiting}"
    return results


def deltas(calls: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Calls as pieces: the heads first, then three characters of each in turn."""
    for index, call in enumerate(calls):
        head = {**call["function"], "arguments": ""}
        yield {
            "tool_calls": [{"index": index, "id": call["id"], "type": "function", "function": head}]
        }
    cut = [
        [text[at : at + 3] for at in range(0, len(text), 3)]
        for text in (call["function"]["arguments"] for call in calls)
    ]
    for pieces in zip_longest(*cut):
        for index, piece in enumerate(pieces):
            if piece is not None:
                yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}
