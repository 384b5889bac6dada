"""OpenAI messages: one conversation a line, `{"messages": [{"role": …, "content": …}]}`.

Fine-tuning files, logged requests and the releases that call the list `conversation` (LMSYS-Chat,
WildChat) read alike. `user` is the partner, `assistant` the agent; `system`, `developer`, `tool`
and `function` messages are kept beside the turns (see `_messages`).

Optional keys name the conversation: `id` (or `dialog`, `conversation_id` …), `model` (or `agent`)
and `system`, the latter also within `metadata`, where our own writer puts it. Since others keep a
prompt under `system`, at the top it is taken for a name only if it is one short line in a record
that has an id and a model as well.
"""

from collections.abc import Iterable

import msgspec

from dialens.corpus._dialogue import Dialogue
from dialens.corpus._intake import RecordError
from dialens.corpus._reading import RecordReader
from dialens.corpus._roles import UNKNOWN
from dialens.corpus._source import Record, Source
from dialens.corpus.readers._messages import keep_record, name_in, turns_of

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
    conversation = first.get("conversation")
    return "messages" in first or (
        isinstance(conversation, list)
        and any(isinstance(item, dict) and "role" in item for item in conversation)
    )


def _parse(record: Record, source: Source) -> Iterable[Dialogue]:
    content = _DECODER.decode(record.raw)
    field = next((key for key in _LISTS if key in content), None)
    if field is None:
        raise RecordError("is missing", field="messages", seen=sorted(content))
    turns = turns_of(content[field], roles=ROLES, field=field, speaker_of=SPEAKERS)
    if not turns:
        raise RecordError("holds no message of a user or an assistant", field=field)
    dialog, agent = name_in(content, _IDS), name_in(content, _AGENTS)
    system = _system(content, labelled=dialog is not None and agent is not None)
    keep_record(turns, content, (field, *_IDS, *_AGENTS))
    yield Dialogue(
        system=system or source.stem,
        agent=agent or UNKNOWN,
        dialog=dialog or f"{source.stem}-{record.number}",
        turns=turns,
    )


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
)
