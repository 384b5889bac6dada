"""OpenAI messages: one conversation a line, `{"messages": [{"role": …, "content": …}]}`.

Fine-tuning files and logged requests read alike, and so do messages without a record around them:
a list of messages is one conversation, a list of such lists are several. `user` is the partner,
`assistant` the agent; `system`, `developer`, `tool` and `function` messages are kept beside the
turns (see `_messages`).

A reply in a key of its own (`output`, `response` …) is the agent's turn after the messages.

Optional keys name the conversation: `id` (or `dialog`, `conversation_id` …), `model` (or `agent`)
and `system`, the latter also within `metadata`, where our own writer puts it. Since others keep a
prompt under `system`, at the top it is taken for a name only if it is one short line in a record
that has an id and a model as well.
"""

from collections.abc import Iterable, Iterator

import msgspec

from dialens.corpus._columns import column_names
from dialens.corpus._dialogue import Dialogue
from dialens.corpus._intake import RecordError
from dialens.corpus._reading import RecordReader
from dialens.corpus._roles import UNKNOWN
from dialens.corpus._source import (
    MAX_RECORD_BYTES,
    UNDECODABLE,
    Record,
    Source,
    json_records,
    lines,
    too_long,
)
from dialens.corpus.readers._conversation import holds_conversation, turns_in
from dialens.corpus.readers._messages import ROLES, SPEAKERS, keep_record, name_in, turns_of
from dialens.corpus.readers._parts import is_pydantic_ai
from dialens.corpus.readers._reply_column import with_reply
from dialens.corpus.readers._several_agents import by_agent

_IDS = ("id", "dialog", "dialog_id", "conversation_id")
_AGENTS = ("model", "agent")
_LONGEST_NAME = 100
_BELONGS_TO = ("message_id", "parent_id")


def _recognises(source: Source) -> bool:
    first = source.first or {}
    if "chosen" in first and "rejected" in first:
        return False  # two conversations of the same prompt
    return (
        _holds_messages(first.get("messages", []))
        or _is_bare(source)
        or _first_list(source) is not None
    )


def _holds_messages(value: object) -> bool:
    """Whether it is a list of messages, or something that should have been one."""
    if not isinstance(value, list):
        return not isinstance(value, str | dict)
    return any(isinstance(item, dict) for item in value)


def _is_bare(source: Source) -> bool:
    """Whether the file is a list of messages: one conversation, without a record around it."""
    first = source.first or {}
    said = {"from", "value"} <= first.keys() or is_pydantic_ai(first)
    said = said or ("role" in first and ("content" in first or "parts" in first))
    if not said or not first.keys().isdisjoint(_BELONGS_TO):
        return False
    return "dialog" not in column_names(list(first), source.options).ours.values()


def _first_list(source: Source) -> list[object] | None:
    """The first record, if it is a list that holds a conversation."""
    if source.is_folder or source.head.lstrip()[:1] != b"[":
        return None
    record = next(json_records(source), None)
    try:
        value = msgspec.json.decode(record.raw) if record else None
    except UNDECODABLE:
        return None
    return value if isinstance(value, list) and holds_conversation(value) else None


def _records(source: Source) -> Iterator[Record]:
    """The conversations of a file; messages without a record around them are one."""
    if not _is_bare(source):
        yield from json_records(source)
        return
    whole = source.head.lstrip().startswith(b"[")
    pieces = list(source.chunks()) if whole else [record.raw for record in lines(source)]
    size = sum(map(len, pieces))
    raw = b"".join(pieces) if whole else b"[" + b",".join(pieces) + b"]"
    yield Record(1, raw, too_long(size) if size > MAX_RECORD_BYTES else None, 1)


def _parse(record: Record, source: Source) -> Iterable[Dialogue]:
    content = msgspec.json.decode(record.raw)
    if isinstance(content, list):
        yield from by_agent(
            Dialogue(
                system=source.stem,
                agent=UNKNOWN,
                dialog=f"{source.stem}-{record.number}",
                turns=turns_in(content, "messages"),
            )
        )
        return
    if not isinstance(content, dict):
        raise RecordError("is wrong: expected an object", seen=content)
    if "messages" not in content:
        raise RecordError("is missing", field="messages", seen=sorted(content))
    turns = turns_of(
        content["messages"],
        roles=ROLES,
        field="messages",
        speaker_of=SPEAKERS,
        role_keys=("role", "from"),
        text_keys=("content", "text", "value"),
    )
    turns, column, remark = with_reply(turns, content)
    if not turns:
        raise RecordError("holds no message of a user or an assistant", field="messages")
    dialog, agent = name_in(content, _IDS), name_in(content, _AGENTS)
    system = _system(content, labelled=dialog is not None and agent is not None)
    keep_record(turns, content, ("messages", *_IDS, *_AGENTS, *filter(None, [column])))
    talk = Dialogue(
        system=system or source.stem,
        agent=agent or UNKNOWN,
        dialog=dialog or f"{source.stem}-{record.number}",
        turns=turns,
        remarks=(remark,) if remark else (),
    )
    yield from [talk] if agent else by_agent(talk)


def _system(content: dict[str, object], *, labelled: bool) -> str | None:
    """Take the system's name out of a record, if it has one."""
    noted = content.get("metadata")
    if isinstance(noted, dict) and isinstance(noted.get("system"), str):
        content["metadata"] = {key: value for key, value in noted.items() if key != "system"}
        if not content["metadata"]:
            del content["metadata"]
        return str(noted["system"])
    name = content.get("system")
    if labelled and isinstance(name, str) and len(name) <= _LONGEST_NAME and "\n" not in name:
        del content["system"]
        return name
    return None


OPENAI = RecordReader(
    name="openai",
    summary='OpenAI messages, fine-tuning files and chat logs: JSONL with {"messages": […]}',
    example=(
        '{"id": "d1", "model": "bot-1", "messages": [{"role": "user", "content": "Hello!"}, '
        '{"role": "assistant", "content": "Hello, how are you?"}]}\n'
    ),
    recognises=_recognises,
    parse=_parse,
    records=_records,
)
