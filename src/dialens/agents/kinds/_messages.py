"""A conversation in the words of chat templates: system, user, assistant."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from dialens.agents._agent import Message

_ROLES = {"agent": "assistant", "partner": "user"}


def as_messages(history: Sequence[Message], begin: str) -> list[dict[str, Any]]:
    """A conversation in the words of the protocol; somebody must have spoken to the model first.

    Chat templates that insist on taking turns (Gemma, Mistral) refuse one that begins by itself.
    What an agent asked of tools stands before what it said then.

    Examples:
        >>> as_messages([Message("agent", "Hello.")], "Begin.")
        [{'role': 'user', 'content': 'Begin.'}, {'role': 'assistant', 'content': 'Hello.'}]
    """
    said: list[dict[str, Any]] = []
    for one in history:
        if one.role == "agent":
            said += [sendable(message) for message in one.before]
        said.append({"role": _ROLES[one.role], "content": one.text})
    if not said or said[0]["role"] == "assistant":
        said.insert(0, {"role": "user", "content": begin})
    return said


def sendable(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message whose calls of tools can be read: servers fail on arguments that are not JSON.

    Examples:
        >>> broken = {"id": "1", "type": "function", "function": {"name": "f", "arguments": "{"}}
        >>> sendable({"role": "assistant", "tool_calls": [broken]})["tool_calls"][0]["function"]
        {'name': 'f', 'arguments': '{}'}
    """
    calls = message.get("tool_calls")
    if not calls:
        return dict(message)
    return {**message, "tool_calls": [_readable(call) for call in calls]}


def _readable(call: Mapping[str, Any]) -> dict[str, Any]:
    function = call["function"]
    try:
        sound = isinstance(json.loads(function["arguments"]), dict)
    except ValueError:
        sound = False
    return {**call, "function": function if sound else {**function, "arguments": "{}"}}


LEAST_TURNS = 2
"""Turns that a conversation keeps, however little fits."""


def oldest(turns: int) -> int:
    """How many turns to leave out at once: about a quarter, in pairs, so that roles alternate.

    Examples:
        >>> [oldest(turns) for turns in (3, 8, 20)]
        [2, 2, 4]
    """
    return max(2, turns // 4 // 2 * 2)


def left_out_note(turns: int) -> str:
    """What has to be known of an answer to the rest of a conversation.

    Examples:
        >>> left_out_note(4), left_out_note(0)
        ('the oldest 4 turns did not fit', '')
    """
    return f"the oldest {turns} turns did not fit" if turns else ""
