"""Messages in parts, in OpenAI's words.

- Gemini and Vertex: `{"role": "model", "parts": [{"text": …}]}`;
- Vercel's AI SDK: `{"role": …, "parts": [{"type": "text", "text": …}, {"type": "step-start"}]}`;
- OpenTelemetry: `{"role": …, "parts": [{"type": "text", "content": …}]}`;
- Pydantic AI: requests and responses, `{"kind": "request", "parts": [{"part_kind": "user-prompt",
  "content": …}]}`, in which instructions, words of the user and results of tools stand together.
"""

from collections.abc import Iterator, Mapping
from typing import Any

Message = dict[str, Any]
_PARTS = "parts"
_PART_ROLES = {
    "system-prompt": "system",
    "user-prompt": "user",
    "tool-return": "tool",
    "retry-prompt": "tool",
}
_REPLY_TYPES = {"text": "text", "thinking": "thinking"}


def in_openai_words(messages: list[Any]) -> list[Any]:
    """A list of messages in which parts stand under `content`; messages without stay as they are.

    Examples:
        >>> in_openai_words([{"role": "model", "parts": [{"text": "Hi"}]}])
        [{'role': 'model', 'content': [{'type': 'text', 'text': 'Hi'}]}]
    """
    if not [1 for message in messages if isinstance(message, dict) and _PARTS in message]:
        return messages  # as nearly always: a list is made in half the time that `any` takes
    found: list[Any] = []
    for message in messages:
        if isinstance(message, dict) and is_pydantic_ai(message):
            found += _from_pydantic_ai(message)
        elif isinstance(message, dict) and _PARTS in message and not message.get("content"):
            found.append(_with_content(message))
        else:
            found.append(message)
    return found


def is_pydantic_ai(message: Mapping[str, Any]) -> bool:
    """Whether it is a request or a response of Pydantic AI."""
    return message.get("kind") in ("request", "response") and isinstance(message.get(_PARTS), list)


def content_of(parts: object) -> object:
    """Parts as OpenAI's: text under `text`, calls under a type."""
    if not isinstance(parts, list):
        return parts
    return [_part(part) if isinstance(part, dict) else part for part in parts]


def _with_content(message: Message) -> Message:
    rest = {key: value for key, value in message.items() if key not in (_PARTS, "content")}
    return {**rest, "content": content_of(message[_PARTS])}


def _part(part: dict[str, Any]) -> dict[str, Any]:
    kind = part.get("type")
    if kind == "text" and "text" not in part and "content" in part:
        return {"type": "text", "text": part["content"]}
    if kind is None and "text" in part:
        if part.get("thought") is True:
            return {"type": "reasoning", "reasoning": part["text"]}
        return {"type": "text", **part}
    if kind is None:
        called = next((key for key in part if "function" in key.lower()), None)
        return {"type": "function_call", **part} if called else part
    return part


def _from_pydantic_ai(message: Message) -> Iterator[Message]:
    parts = [part for part in message[_PARTS] if isinstance(part, dict)]
    if message["kind"] == "response":
        content = [
            {"type": _REPLY_TYPES[kind], "text": part.get("content")}
            if (kind := str(part.get("part_kind") or "")) in _REPLY_TYPES
            else {"type": kind or "tool", **part}
            for part in parts
        ]
        about = {key: message[key] for key in ("model_name", "timestamp") if message.get(key)}
        yield {"role": "assistant", "content": content, **about}
        return
    for part in parts:
        role = _PART_ROLES.get(str(part.get("part_kind")), "tool")
        yield {"role": role, "content": part.get("content")}
