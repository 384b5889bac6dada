"""What tools log as the input and output of a model, as one list of OpenAI's messages.

A trace holds whatever a program gave to its model: a text, a list of messages, an object with one
of them under some key, all of that as JSON in a string; in the words of OpenAI, Anthropic, Gemini,
LangChain, OpenTelemetry or OpenInference. `messages_in` finds the messages and says under which
path, so that an error can name the place. Messages themselves are put into OpenAI's words and left
to `_messages`, which knows which of them are turns.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeGuard

import msgspec

from dialens.corpus._intake import RecordError
from dialens.corpus._source import UNDECODABLE
from dialens.corpus.readers._messages import ROLES, Message
from dialens.corpus.readers._parts import content_of
from dialens.corpus.readers._shown_values import python_literal

_ROLE_WORDS = {
    "human": "user",
    "humanmessage": "user",
    "humanmessagechunk": "user",
    "ai": "assistant",
    "aimessage": "assistant",
    "aimessagechunk": "assistant",
    "model": "assistant",
    "systemmessage": "system",
    "systemmessagechunk": "system",
    "toolmessage": "tool",
    "toolmessagechunk": "tool",
    "functionmessage": "function",
    "functionmessagechunk": "function",
}
_LISTS = ("messages", "input_messages", "contents", "turns")
_HISTORY = ("chat_history", "history")
_ASKED = ("input", "prompt", "question", "query", "user_input", "user_message", "message", "text")
_REPLIED = (
    "choices",
    "candidates",
    "generations",
    "output",
    "response",
    "answer",
    "completion",
    "result",
    "message",
    "text",
    "content",
    "output_text",
    "return",
)
_ENCODED = (*_LISTS, "choices", "generations", "candidates")
_WRAPPERS = ("kwargs", "inputs", "outputs", "body")
_SAID = ("content", "parts", "tool_calls", "refusal")
_ITEM_WITHOUT_ROLE = re.compile(r"_call(_output)?$|^mcp_|^(reasoning|item_reference|compaction)$")
_PLAIN = {"role", "content"}
_PLAIN_ROLES = ("user", "assistant", "system")
_PYTHON = re.compile(r"\s*\[?\s*\{'")
_DEEPEST = 8


@dataclass(frozen=True)
class Found:
    """Messages in OpenAI's words, the path at which they stood, and instructions beside them."""

    messages: list[Message]
    path: str
    instructions: Message | None = None
    alone: bool = False
    """Whether one message stood there by itself, not in a list."""


def decoded(value: object) -> object:
    """A value that may be JSON in a string, as the value; other text stays text.

    Examples:
        >>> decoded('{"a": 1}'), decoded("[sic] a note"), decoded(3)
        ({'a': 1}, '[sic] a note', 3)
    """
    if not isinstance(value, str) or value.lstrip()[:1] not in ("{", "[", '"'):
        return value
    try:
        return msgspec.json.decode(value)
    except UNDECODABLE:
        pass
    if not _PYTHON.match(value):
        return value
    try:  # how pandas writes a nested column into a CSV
        return python_literal(value)
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        return value


def messages_in(value: object, *, role: str, path: str, depth: int = 0) -> Found | None:
    """The messages in what was logged, or None if nothing in it is one.

    Args:
        value: As logged.
        role: Who says a bare text: `user` in an input, `assistant` in an output.
        path: Where the value stands, for errors.
        depth: How many objects were opened on the way.

    Examples:
        >>> messages_in("Hello!", role="user", path="input").messages
        [{'role': 'user', 'content': 'Hello!'}]
        >>> messages_in({"args": [1]}, role="user", path="input") is None
        True
    """
    if depth > _DEEPEST:
        return None
    if isinstance(value, str):
        inside = decoded(value)
        if not isinstance(inside, str) and holds_messages(inside):
            return messages_in(inside, role=role, path=path, depth=depth + 1)
        return text_as_message(value, role=role, path=path)
    if isinstance(value, list):
        return _in_list(value, role, path, depth)
    if not isinstance(value, dict):
        return None
    if looks_like_message(value):
        return Found([message_of(value, role)], path, alone=True)
    return _in_object(value, role, path, depth)


def text_as_message(text: str, *, role: str, path: str) -> Found:
    """A text that is one message, whatever stands in it: a reply may be JSON."""
    return Found([{"role": role, "content": text}], path, alone=True)


def holds_messages(value: object) -> bool:
    """Whether an object or a list is messages, and not a reply that happens to be JSON."""
    if isinstance(value, list):
        return bool(value) and all(_could_be_message(item) or _is_pair(item) for item in value)
    if not isinstance(value, dict):
        return False
    return looks_like_message(value) or any(isinstance(value.get(key), list) for key in _ENCODED)


def _in_list(value: list[Any], role: str, path: str, depth: int) -> Found | None:
    if value and all(_is_plain(item) for item in value):
        return Found(value, path)
    items = [decoded(item) for item in value]
    messages = [message_of(item, role) for item in items if _could_be_message(item)]
    if items and len(messages) == len(items):
        return Found(messages, path)
    pairs = [_said(item[0], item[1]) for item in items if _is_pair(item)]
    if items and len(pairs) == len(items):
        return Found(pairs, path)
    if messages:
        odd = next(n for n, item in enumerate(items) if not _could_be_message(item))
        raise RecordError(
            "is no message: it has neither a role nor a known type",
            field=f"{path}[{odd}]",
            seen=items[odd],
        )
    if items and isinstance(items[0], list | dict):
        # LangChain's batches of one, OpenAI's choices, Gemini's candidates: the first counts.
        return messages_in(items[0], role=role, path=f"{path}[0]", depth=depth + 1)
    return None


def _in_object(value: dict[str, Any], role: str, path: str, depth: int) -> Found | None:
    def under(key: str) -> Found | None:
        return messages_in(value[key], role=role, path=f"{path}.{key}", depth=depth + 1)

    lists = (under(key) for key in _LISTS if value.get(key))
    found = next((one for one in lists if one is not None), None)
    if found is not None:
        return _with_instructions(found, value) if role == "user" else found
    keys = _ASKED if role == "user" else _REPLIED
    for key in (*keys, *_WRAPPERS):
        if value.get(key) is None or (value[key] == "" and role == "user"):
            continue
        found = under(key)
        if found is not None:
            if role != "user":
                return found
            history = _history(value, path, depth)
            messages = [*history, *found.messages]
            joined = replace(found, messages=messages, alone=found.alone and not history)
            return _with_instructions(joined, value)
    return None


def _is_plain(item: object) -> bool:
    """Whether it is a message in OpenAI's words already. Only for speed: nearly all are."""
    return isinstance(item, dict) and item.keys() == _PLAIN and item["role"] in _PLAIN_ROLES


def _could_be_message(item: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(item, dict) and looks_like_message(item)


def _history(value: dict[str, Any], path: str, depth: int) -> list[Message]:
    """What a chain was given beside its question."""
    for key in _HISTORY:
        if isinstance(value.get(key), list) and value[key]:
            found = messages_in(value[key], role="user", path=f"{path}.{key}", depth=depth + 1)
            if found is not None:
                return found.messages
    return []


def _with_instructions(found: Found, value: Mapping[str, Any]) -> Found:
    """Anthropic's `system` and the Responses API's `instructions` stand beside the messages."""
    for key in ("system", "instructions", "system_instructions"):
        prompt = value.get(key)
        if isinstance(prompt, str | list) and prompt:
            return replace(found, instructions={"role": "system", "content": prompt})
    return found


def looks_like_message(value: Mapping[str, Any]) -> bool:
    """Whether an object is one message in the words of any provider.

    Examples:
        >>> looks_like_message({"role": "user", "content": "Hi"}), looks_like_message({"role": 1})
        (True, False)
    """
    role = value.get("role")
    if isinstance(role, str):
        return any(key in value for key in _SAID) or _word(role) in ROLES
    kind = value.get("type")
    if is_langchain(value):
        return True
    if isinstance(kind, str) and _ITEM_WITHOUT_ROLE.search(kind):
        return True
    inner = value.get("message")
    return isinstance(inner, dict) and looks_like_message(inner)


def is_langchain(value: Mapping[str, Any]) -> bool:
    """Whether an object is a message of LangChain, in any of its three encodings."""
    kind = value.get("type")
    if value.get("lc") == 1 and kind == "constructor":
        names = value.get("id")
        return isinstance(names, list) and bool(names) and _is_message_class(names[-1])
    if not isinstance(kind, str) or ("role" in value and kind != "chat"):
        return False
    known = kind in _LANGCHAIN_TYPES or _is_message_class(kind)
    return known and (isinstance(value.get("data"), dict) or "content" in value)


_LANGCHAIN_TYPES = ("human", "ai", "system", "tool", "function", "chat", "remove")


def _is_message_class(name: object) -> bool:
    return isinstance(name, str) and name.removesuffix("Chunk").endswith("Message")


def message_of(value: dict[str, Any], role: str) -> Message:
    """One message in OpenAI's words.

    Examples:
        >>> message_of({"type": "human", "data": {"content": "Hi"}}, "user")
        {'role': 'user', 'content': 'Hi'}
        >>> message_of({"role": "model", "parts": [{"text": "Hi"}]}, "user")
        {'role': 'assistant', 'content': [{'type': 'text', 'text': 'Hi'}]}
    """
    if is_langchain(value):
        return _from_langchain(value)
    if "role" not in value:
        inner = value.get("message")
        return message_of(inner, role) if isinstance(inner, dict) else _from_item(value)
    message = {key: part for key, part in value.items() if part is not None or key == "content"}
    if "parts" in message and "content" not in message:
        message["content"] = content_of(message.pop("parts"))
    if "contents" in message and "content" not in message:  # how OpenInference has parts
        inside = message.pop("contents")
        message["content"] = [
            part.get("message_content", part) if isinstance(part, dict) else part
            for part in (inside if isinstance(inside, list) else [])
        ]
    message["role"] = _word(message["role"])
    return message


def _from_item(item: dict[str, Any]) -> Message:
    """An item of the Responses API that nobody says, as the message that does the same."""
    if item["type"] == "function_call":
        called = {"name": item.get("name"), "arguments": item.get("arguments")}
        call = {"id": item.get("call_id"), "type": "function", "function": called}
        return {"role": "assistant", "content": None, "tool_calls": [call]}
    if item["type"] == "function_call_output":
        answered = {"tool_call_id": item.get("call_id"), "content": item.get("output")}
        return {"role": "tool", **answered}
    return {"role": "tool", "content": None, "item": item}


def _from_langchain(value: dict[str, Any]) -> Message:
    if value.get("lc") == 1:
        word, inside = value["id"][-1], value.get("kwargs") or {}
    else:
        word, inside = value["type"], value.get("data", value)
    if not isinstance(inside, dict):
        inside = {}
    word = inside.get("role", "user") if word in ("chat", "ChatMessage") else word
    dropped = ("type", "role", "content", "example", "lc", "data")
    rest = {key: part for key, part in inside.items() if key not in dropped and part}
    content = {"content": inside["content"]} if "content" in inside else {}
    return {"role": _word(word), **content, **rest}


def _said(role: str, text: object) -> Message:
    return {"role": _word(role), "content": text}


def _is_pair(value: object) -> TypeGuard[list[str]]:
    """Whether it is `["human", "Hello!"]`, LangChain's short form."""
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(isinstance(part, str) for part in value)
        and _word(value[0]) in ROLES
    )


def _word(role: Any) -> Any:
    if not isinstance(role, str):
        return role
    return _ROLE_WORDS.get(role.lower(), role.lower())
