"""OpenAI messages: one conversation a line, `{"messages": [{"role": …, "content": …}]}`.

Fine-tuning files, logged requests and the releases that call the list `conversation` (LMSYS-Chat,
WildChat) read alike. `user` is the partner, `assistant` the agent; `system`, `developer`, `tool`
and `function` messages are kept beside the turns (see `_messages`).

Optional keys name the conversation: `id` (or `dialog`, `conversation_id` …), `model` (or `agent`)
and `system`. Since others put a prompt under `system`, it is taken for a system's name only in a
record that has an id and a model as well, as our own writer makes them, and if it is one short
line.
"""

from collections.abc import Iterable

import msgspec

from dialens.corpus.dialogue import Dialogue
from dialens.corpus.formats._messages import keep_record, name_in, turns_of
from dialens.corpus.intake import RecordError
from dialens.corpus.reading import RecordReader
from dialens.corpus.roles import UNKNOWN
from dialens.corpus.source import Record, Source

ROLES: dict[str, str | None] = {
    "user": "partner",
    "assistant": "agent",
    "system": None,
    "developer": None,
    "tool": None,
    "function": None,
}
SPEAKERS = {"partner": "user", "agent": "assistant"}
_LISTS = ("messages", "conversation")
_IDS = ("id", "dialog", "dialog_id", "conversation_id", "conversation_hash")
_AGENTS = ("model", "agent")
_LONGEST_NAME = 100
_DECODER = msgspec.json.Decoder(dict[str, object])


def _recognises(source: Source) -> bool:
    first = source.first or {}
    held = next((first[key] for key in _LISTS if key in first), None)
    return isinstance(held, list) and all(isinstance(item, dict) and "role" in item for item in held)


def _parse(record: Record, source: Source) -> Iterable[Dialogue]:
    held = _DECODER.decode(record.raw)
    field = next((key for key in _LISTS if key in held), None)
    if field is None:
        raise RecordError("is missing", field="messages", seen=sorted(held))
    turns = turns_of(held[field], roles=ROLES, field=field, speaker_of=SPEAKERS)
    if not turns:
        raise RecordError("holds no message of a user or an assistant", field=field)
    dialog, agent = name_in(held, _IDS), name_in(held, _AGENTS)
    system = held.get("system")
    named = dialog is not None and agent is not None and _is_name(system)
    used = [field, *_IDS, *_AGENTS, *(["system"] if named else [])]
    keep_record(turns, held, used)
    yield Dialogue(
        system=str(system) if named else source.stem,
        agent=agent or UNKNOWN,
        dialog=dialog or f"{source.stem}-{record.number}",
        turns=turns,
    )


def _is_name(value: object) -> bool:
    return isinstance(value, str) and 0 < len(value) <= _LONGEST_NAME and "\n" not in value


OPENAI = RecordReader(
    name="openai",
    summary='OpenAI messages, fine-tuning files and chat logs: JSONL with {"messages": […]}',
    example=(
        '{"id": "d1", "model": "bot-1", "messages": [{"role": "user", "content": "Hello!"}, '
        '{"role": "assistant", "content": "Hello, how are you?"}]}\n'
    ),
    recognises=_recognises,
    parse=_parse,
)
