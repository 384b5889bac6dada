"""Lists of `{role, content}` messages: which are turns, and what is kept beside them.

A conversation with a language model holds more than what was said: instructions, tool calls and
their results. Those are no turns of the dialogue, but they are not thrown away either. They stand
in the `meta` of the turn they precede, so that a writer can put them back:

- `before`, `after`: whole messages before this turn, or after the last one;
- `message`: the message's other keys (`name`, `tool_calls`, `weight` …);
- `content`: the content as it was, where it is a list of parts; the turn's text is what can be
  read in it.

A message that says nothing and only calls a tool, or only brings a tool's result, is no turn
however it is written: `content` null, `""` or `[]` beside `tool_calls` (OpenAI and gateways),
`tool_use` and `tool_result` parts (Anthropic), `function_call` items without a role (Responses).
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dialens.corpus._dialogue import Turn
from dialens.corpus._intake import RecordError
from dialens.corpus.readers._parts import in_openai_words

Message = dict[str, Any]
_PARTNERS = ("user", "human", "prompter", "customer", "client")
_AGENTS = ("assistant", "gpt", "model", "bot", "ai", "chatbot", "chatgpt", "bing", "bard", "agent")
_ASIDE = (
    "system",
    "developer",
    "tool",
    "function",
    "tool_call",
    "tool_response",
    "function_call",
    "function_response",
    "observation",
    "ipython",
)
ROLES: dict[str, str | None] = {
    **dict.fromkeys(_PARTNERS, "partner"),
    **dict.fromkeys(_AGENTS, "agent"),
    **dict.fromkeys(_ASIDE),
}
"""What sources call those who speak, and what each means here; None is kept beside the turns."""

SPEAKERS = {"partner": "user", "agent": "assistant"}
"""How those who speak are called where a message has no name."""

_READABLE = ("text", "refusal")
_CALLS = ("tool_calls", "function_call")
_TOOL_TYPE = re.compile(r"tool|function|_call(_output)?$")
_SILENT_TYPES = (
    "thinking",
    "redacted_thinking",
    "reasoning",
    "item_reference",
    "compaction",
    "step-start",
)
_BLANK_TYPES = ("text", "input_text", "output_text", "refusal")


def turns_of(
    messages: object,
    *,
    field: str,
    roles: Mapping[str, str | None] = ROLES,
    speaker_of: Mapping[str, str] = SPEAKERS,
    role_keys: Sequence[str] = ("role",),
    text_keys: Sequence[str] = ("content",),
) -> list[Turn]:
    """The turns in a list of messages.

    Args:
        messages: What stands under `field`, still unchecked.
        field: The name of the list, for error messages.
        roles: The source's words for who speaks, and what each means here; None is kept aside.
        speaker_of: The speaker's name for `agent` and for `partner`, if a message has no `name`.
        role_keys: The keys that may hold the role.
        text_keys: The keys that may hold the text.
    """
    if not isinstance(messages, list):
        raise _wrong(field, "a list", messages)
    turns: list[Turn] = []
    aside: list[Message] = []
    role_key, text_key = role_keys[0], text_keys[0]
    for number, message in enumerate(in_openai_words(messages)):
        # Nearly all messages have a role and a text and nothing else: `_turn` says the same of
        # them in four times the time.
        if isinstance(message, dict) and len(message) == 2:
            word, text = message.get(role_key), message.get(text_key)
            if isinstance(word, str) and isinstance(text, str) and (role := roles.get(word)):
                meta: dict[str, object] | None = {"before": aside} if aside else None
                turns.append(Turn(speaker_of[role], role, text, None, None, meta))
                if aside:
                    aside = []
                continue
        place = f"{field}[{number}]"
        turn = _turn(message, place, roles, role_keys, text_keys, speaker_of, aside)
        if turn is not None:
            turns.append(turn)
            aside = []
    if aside and turns:
        turns[-1].meta = {**(turns[-1].meta or {}), "after": aside}
    return turns


def _turn(
    message: object,
    place: str,
    roles: Mapping[str, str | None],
    role_keys: Sequence[str],
    text_keys: Sequence[str],
    speaker_of: Mapping[str, str],
    aside: list[Message],
) -> Turn | None:
    """The turn of any message, or None when it is no turn and was put `aside`."""
    if not isinstance(message, dict):
        raise _wrong(place, "an object", message)
    if _is_item_without_role(message, role_keys):
        aside.append(message)
        return None
    role_key = _present(message, role_keys, place)
    text_key = _present(message, text_keys, place, required=False)
    word = message[role_key]
    if not isinstance(word, str):
        raise _wrong(f"{place}.{role_key}", "a string", word)
    if word.lower() not in roles:
        raise RecordError(
            "is not a known role",
            field=f"{place}.{role_key}",
            seen=word,
            remedy=f"Known roles: {', '.join(roles)}. Mend the record, or leave such records "
            "out with --on-error skip.",
        )
    role = roles[word.lower()]
    content = message.get(text_key)
    if role is None:
        aside.append(_plain(message, role_key, text_key))
        return None
    text = _text(content, message, f"{place}.{text_key}")
    if not text.strip() and _only_uses_tools(message, content):
        aside.append(_plain(message, role_key, text_key))
        return None
    if content is None and text_key not in message and "refusal" not in message:
        raise RecordError("is missing", field=f"{place}.{text_keys[0]}", seen=message)
    name = message.get("name")
    return Turn(
        speaker=name if isinstance(name, str) and name else speaker_of[role],
        role=role,
        text=text,
        meta=_meta(message, role_key, text_key, aside),
    )


def _is_item_without_role(message: Message, role_keys: Sequence[str]) -> bool:
    """Whether it is an item of the Responses API that nobody says: a call, say, or its output."""
    if any(key in message for key in role_keys):
        return False
    kind = message.get("type")
    return isinstance(kind, str) and (kind in _SILENT_TYPES or _uses_tool(kind))


def _only_uses_tools(message: Message, content: object) -> bool:
    """Whether a message without text is there for a tool: it calls one, or brings its result."""
    parts = content if isinstance(content, list) else []
    kinds = [part.get("type") for part in parts if isinstance(part, dict)]
    named = [kind for kind in kinds if isinstance(kind, str)]
    shown = [kind for kind in named if kind not in (*_SILENT_TYPES, *_BLANK_TYPES)]
    if shown and not all(_uses_tool(kind) for kind in shown):
        return False  # a picture, say
    return bool(shown) or any(message.get(key) for key in _CALLS)


def _uses_tool(kind: str) -> bool:
    return _TOOL_TYPE.search(kind) is not None


def _present(message: Message, keys: Sequence[str], place: str, *, required: bool = True) -> str:
    key_used = next((key for key in keys if key in message), None)
    if key_used is None and required:
        raise RecordError("is missing", field=f"{place}.{keys[0]}", seen=message)
    return key_used or keys[0]


def _plain(message: Message, role_key: str, text_key: str) -> Message:
    """A message kept aside, in the words of OpenAI whatever the source."""
    rest = {key: value for key, value in message.items() if key not in (role_key, text_key)}
    content = {"content": message[text_key]} if text_key in message else {}
    return {"role": message[role_key], **content, **rest}


def _meta(
    message: Message, role_key: str, text_key: str, aside: list[Message]
) -> dict[str, object] | None:
    meta: dict[str, object] = {}
    if aside:
        meta["before"] = aside
    rest = {key: value for key, value in message.items() if key not in (role_key, text_key, "name")}
    if rest:
        meta["message"] = rest
    if text_key in message and not isinstance(message[text_key], str):
        meta["content"] = message[text_key]
    return meta or None


def _text(content: object, message: Message, field: str) -> str:
    if isinstance(content, str):
        return content
    if content is None:
        refusal = message.get("refusal")
        return refusal if isinstance(refusal, str) else ""
    if not isinstance(content, list):
        raise _wrong(field, "a string or a list of parts", content)
    texts = []
    for number, part in enumerate(content):
        if isinstance(part, str):
            texts.append(part)
            continue
        if not isinstance(part, dict):
            raise _wrong(f"{field}[{number}]", "an object", part)
        if part.get("type") not in _SILENT_TYPES:
            texts.extend(_texts_of(part))
    return "\n".join(texts)


def _texts_of(part: Mapping[str, Any]) -> Iterator[str]:
    """What can be read in a part; threads of OpenAI's Assistants have `{"value": …}` as text."""
    for key in _READABLE:
        text = part.get(key)
        if isinstance(text, dict):
            text = text.get("value")
        if isinstance(text, str):
            yield text


def _wrong(field: str, wanted: str, seen: object) -> RecordError:
    return RecordError(f"is wrong: expected {wanted}", field=field, seen=seen)


def model_of(turn: Turn) -> str | None:
    """The model that a reply names as its own.

    Examples:
        >>> model_of(Turn("assistant", "agent", "Hi", meta={"message": {"model": "bot-1"}}))
        'bot-1'
    """
    message = (turn.meta or {}).get("message")
    if not isinstance(message, dict):
        return None
    names = (message.get(key) for key in ("model", "model_name"))
    return next((name for name in names if isinstance(name, str) and name), None)


def name_in(record: Mapping[str, object], keys: Sequence[str]) -> str | None:
    """The first of `keys` that holds a name, as text."""
    for key in keys:
        value = record.get(key)
        if isinstance(value, bool) or value is None or value == "":
            continue
        if isinstance(value, str | int):
            return str(value)
        raise _wrong(key, "a string", value)
    return None


def keep_record(turns: list[Turn], record: Mapping[str, object], used: Sequence[str]) -> None:
    """Keep the record's other keys with the first turn."""
    rest = {key: value for key, value in record.items() if key not in used}
    if rest and turns:
        turns[0].meta = {**(turns[0].meta or {}), "record": rest}
