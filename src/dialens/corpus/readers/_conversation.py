r"""What one cell of a table holds of a conversation, as turns.

Data sets keep conversations in many shapes, and a cell may hold any of them:

- messages with a role: `{role, content}`, `{from, value}`, `{speaker, text}`;
- plain texts that alternate, the partner's first (DailyDialog, UltraChat);
- pairs of a text and its reply: `[["Hi", "Hello"], …]`, `{"human": …, "assistant": …}`;
- columns of messages, `{"role": […], "content": […]}`, as `datasets` stored sequences;
- one text with marks, `\n\nHuman: … \n\nAssistant: …` (HH-RLHF), `### Human: …` (Guanaco),
  `<|im_start|>user` (ChatML);
- messages in parts, as Gemini, the AI SDK and Pydantic AI have them (`_parts`);
- any of these written as JSON, or as Python shows a list, as they are in a CSV.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec

from dialens.corpus._dialogue import Turn
from dialens.corpus._intake import RecordError
from dialens.corpus._roles import agent_among
from dialens.corpus._source import UNDECODABLE
from dialens.corpus.readers._chat_templates import templated_turns
from dialens.corpus.readers._messages import ROLES, SPEAKERS, Message, turns_of
from dialens.corpus.readers._parts import is_pydantic_ai
from dialens.corpus.readers._shown_values import shown_value

_ROLE_KEYS = ("role", "from")
_NAME_KEYS = ("speaker", "author", "sender")
_TEXT_KEYS = ("content", "value", "text", "message", "utterance")
LISTS = (
    "messages",
    "conversation",
    "conversations",
    "dialog",
    "dialogue",
    "dialogues",
    "turns",
    "chat",
    "utterances",
    "contents",
)
"""Columns that hold a conversation."""

PROMPTS = ("prompt", "question", "instruction", "query")
RESPONSES = ("response", "answer", "output", "completion", "reply", "generation")
BY_SIDE = (
    (
        ("user_input", "user_message", "user_prompt", "user_query", "user_question", "user_text"),
        (
            *(
                f"{who}_{what}"
                for who in ("bot", "assistant", "agent", "model", "ai", "llm")
                for what in ("response", "output", "message", "answer", "reply", "text")
            ),
            *RESPONSES,
        ),
    ),
    (("user", "human", "customer"), ("assistant", "bot", "ai", "gpt")),
)
"""Columns that say who speaks: of the user, and of the agent where one of the user is there.

A column `user` is often the user's id, so that it counts only beside a column of the other side.
"""

_MARKED = re.compile(r"(?:\A|\n\n|###[ ]?)(Human|User|Assistant|System): ?")


def turns_in(value: object, field: str) -> list[Turn]:
    r"""The turns of a conversation in any of the shapes above.

    Examples:
        >>> [(turn.role, turn.text) for turn in turns_in(["Hi", "Hello"], "dialog")]
        [('partner', 'Hi'), ('agent', 'Hello')]
        >>> [turn.text for turn in turns_in("\n\nHuman: Hi\n\nAssistant: Hello", "chosen")]
        ['Hi', 'Hello']
        >>> [turn.text for turn in turns_in("[{'from': 'gpt', 'value': 'Hi'}]", "conversations")]
        ['Hi']
    """
    value = unwrapped(value, field)
    if isinstance(value, str):
        marked = marked_turns(value)
        if marked is None:
            raise RecordError("holds no conversation", field=field, seen=value)
        return marked
    if not isinstance(value, list):
        raise RecordError("is wrong: expected a list of messages", field=field, seen=value)
    if not value:
        raise RecordError("holds no message", field=field)
    if all(isinstance(item, str) for item in value):
        return alternating(value)
    pairs = None if is_list_of_messages(value[:1]) else _pairs(value)
    if pairs is not None:
        return alternating([text for pair in pairs for text in pair])
    turns = _turns_of_messages(value, field)
    if not turns:
        raise RecordError("holds no message of a user or an assistant", field=field)
    return turns


def holds_conversation(value: object) -> bool:
    """Whether a cell holds a list of messages or texts, or a text with marks.

    Examples:
        >>> written = '[{"role": "user", "content": "Hi"}]'
        >>> [holds_conversation(cell) for cell in (["Hi", "Hello"], "d17", written)]
        [True, False, True]
    """
    try:
        value = unwrapped(value, "")
    except RecordError:
        return False
    if isinstance(value, str):
        return marked_turns(value) is not None
    if not isinstance(value, list) or not value:
        return False
    return (
        all(isinstance(item, str) for item in value)
        or holds_records(value)
        or _pairs(value) is not None
        or all(isinstance(item, dict) and _looks_like_message(item) for item in value)
    )


def is_list_of_messages(value: object) -> bool:
    """Whether it is a list of objects with a role."""
    return (
        isinstance(value, list)
        and bool(value)
        and all(isinstance(item, dict) and ("role" in item or "from" in item) for item in value)
    )


def holds_records(items: Sequence[object]) -> bool:
    """Whether these are conversations with a list of messages each, and not messages."""
    return all(
        isinstance(item, dict) and any(isinstance(item.get(key), list) for key in LISTS)
        for item in items
    )


def alternating(texts: Sequence[str]) -> list[Turn]:
    """Texts that two speakers say in turns, the partner first."""
    sides = ("partner", "agent")
    return [
        Turn(SPEAKERS[sides[place % 2]], sides[place % 2], text) for place, text in enumerate(texts)
    ]


def marked_turns(text: str) -> list[Turn] | None:
    """The turns of a text with `Human:` and `Assistant:` in it, or None if it has no such marks.

    Those of a chat template (`<|im_start|>user`) are marks too.
    """
    templated = templated_turns(text)
    if templated is not None:
        return templated
    parts = _MARKED.split(text)
    if len(parts) < 3 or parts[0].strip():
        return None
    turns = []
    for word, said in zip(parts[1::2], parts[2::2], strict=True):
        role = ROLES[word.lower()]
        if role is not None:
            turns.append(Turn(SPEAKERS[role], role, said.strip()))
    if turns and not turns[-1].text:
        turns.pop()  # a prompt ends with `Assistant:`
    return turns or None


def unwrapped(value: object, field: str) -> object:
    """A cell as lists and objects: written ones are read, columns of messages become messages.

    Examples:
        >>> unwrapped({"role": ["user"], "content": ["Hi"]}, "messages")
        [{'role': 'user', 'content': 'Hi'}]
    """
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        value = _written(value, field)
    if isinstance(value, tuple):
        value = list(value)
    if not isinstance(value, dict):
        return value
    inner = next((key for key in LISTS if isinstance(value.get(key), list)), None)
    if inner is not None:
        return value[inner]
    columns = {key: column for key, column in value.items() if isinstance(column, list)}
    heights = {len(column) for column in columns.values()}
    if len(heights) == 1 and any(key in columns for key in _TEXT_KEYS):
        rows = zip(*columns.values(), strict=True)
        return [dict(zip(columns, row, strict=True)) for row in rows]
    return value


def _written(text: str, field: str) -> object:
    try:
        return msgspec.json.decode(text)
    except UNDECODABLE:
        pass
    try:
        return shown_value(text)
    except (ValueError, SyntaxError, RecursionError):
        if text.lstrip().startswith("{") or re.match(r"\s*\[\s*[\[{\"']", text):
            raise RecordError(
                "is neither JSON nor a whole list as Python or NumPy show it",
                field=field,
                seen=text,
                remedy="Write the table as Parquet or JSONL, which hold lists as they are, or "
                "leave such records out with --on-error skip.",
            ) from None
        return text


def _looks_like_message(item: Mapping[str, object]) -> bool:
    named = any(key in item for key in (*_ROLE_KEYS, *_NAME_KEYS))
    said = any(key in item for key in (*_TEXT_KEYS, "tool_calls", "parts"))
    return (named and said) or is_pydantic_ai(item)


def _pairs(items: Sequence[object]) -> list[tuple[str, str]] | None:
    """What was said and what was replied, if every item holds both."""
    pairs = []
    for item in items:
        said: object = None
        if isinstance(item, list) and len(item) == 2:
            said, replied = item
        elif isinstance(item, dict) and not any(key in item for key in (*_ROLE_KEYS, *_NAME_KEYS)):
            said = _first_text(item, ("user", "human", *PROMPTS, "input"))
            replied = _first_text(item, ("assistant", "gpt", "bot", "model", *RESPONSES))
        if not isinstance(said, str) or not isinstance(replied, str):
            return None
        pairs.append((said, replied))
    return pairs


def _first_text(item: Mapping[str, object], keys: Sequence[str]) -> object:
    return next((item[key] for key in keys if isinstance(item.get(key), str)), None)


def _turns_of_messages(items: list[object], field: str) -> list[Turn]:
    messages = [_without_nulls(item) for item in items]
    first = messages[0] if isinstance(messages[0], dict) else {}
    role_keys = sorted(_ROLE_KEYS, key=lambda key: key not in first)
    text_keys = sorted(_TEXT_KEYS, key=lambda key: key not in first)
    names = [] if first.keys() & set(_ROLE_KEYS) else map(_name_of, messages)
    known = [name for name in names if name is not None]
    if len(known) < len(messages):
        return turns_of(messages, field=field, role_keys=role_keys, text_keys=text_keys)
    agent = agent_among(known)
    roles: dict[str, str | None] = {
        name.lower(): ROLES.get(name.lower(), "agent" if name == agent else "partner")
        for name in known
    }
    named = [
        {**message, "speaker": name, "name": message.get("name", name)}
        for message, name in zip(messages, known, strict=True)
        if isinstance(message, dict)
    ]
    return turns_of(named, field=field, roles=roles, role_keys=("speaker",), text_keys=text_keys)


def _name_of(message: object) -> str | None:
    """Who speaks, where a message has a name in place of a role."""
    if not isinstance(message, dict) or any(key in message for key in _ROLE_KEYS):
        return None
    name = next((message[key] for key in _NAME_KEYS if key in message), None)
    return str(name) if isinstance(name, str | int) and str(name) else None


def _without_nulls(item: object) -> object:
    """A message without the keys that are null, which every row of a table has."""
    if not isinstance(item, dict) or None not in item.values():
        return item
    message: Message = {key: value for key, value in item.items() if value is not None}
    if not any(key in message for key in _TEXT_KEYS):
        message.update({key: None for key in _TEXT_KEYS if key in item})
    return message
