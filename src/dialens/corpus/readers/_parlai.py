"""ParlAI's conversations: JSONL with `{"dialog": [[{"id": …, "text": …}, …], …]}`.

An exchange may hold any number of acts, and a list of acts without exchanges (as the crowdsourced
model chats have it) reads alike. Who is the agent follows from the speakers' ids as in a
transcript; an act's other keys and a conversation's (`context`, `metadata_path` …) are kept in
`meta`. `NAME.metadata` beside the file, where ParlAI notes what was run, is kept in short.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import msgspec

from dialens.corpus._dialogue import Dialogue, Turn
from dialens.corpus._intake import Intake, RecordError
from dialens.corpus._reading import RecordReader
from dialens.corpus._roles import agent_among
from dialens.corpus._source import UNDECODABLE, Record, Source
from dialens.corpus._tables import Tables
from dialens.corpus.readers._messages import name_in

_DECODER = msgspec.json.Decoder(dict[str, Any])
_NOTED = ("date", "self_chat", "speakers", "version")
_OPTIONS = ("task", "model", "model_file")
_IDS = ("dialog_id", "conversation_id", "assignment_id")


def _recognises(source: Source) -> bool:
    dialog = (source.first or {}).get("dialog")
    acts = [act for _, act in _acts(dialog)] if isinstance(dialog, list) else []
    return any(isinstance(act, dict) and {"id", "text"} <= act.keys() for act in acts)


def _acts(dialog: list[Any]) -> Iterator[tuple[str, Any]]:
    """Every act, and where it stands."""
    for place, item in enumerate(dialog):
        if isinstance(item, list):
            yield from ((f"dialog[{place}][{number}]", act) for number, act in enumerate(item))
        else:
            yield f"dialog[{place}]", item


def _parse(
    record: Record, source: Source, *, metadata: dict[str, Any] | None = None
) -> Iterable[Dialogue]:
    content = _DECODER.decode(record.raw)
    if not isinstance(content.get("dialog"), list):
        raise RecordError("is missing or no list", field="dialog", seen=content.get("dialog"))
    turns = [_turn(act, place) for place, act in _acts(content["dialog"])]
    if not turns:
        raise RecordError("holds no act", field="dialog", seen=content["dialog"])
    agent = agent_among(turn.speaker for turn in turns)
    for turn in turns:
        turn.role = "agent" if turn.speaker == agent else "partner"
    rest = {key: value for key, value in content.items() if key not in ("dialog", *_IDS) and value}
    if metadata:
        rest["metadata"] = metadata
    if rest:
        turns[0].meta = {**(turns[0].meta or {}), "record": rest}
    yield Dialogue(
        system=source.stem,
        agent=agent,
        dialog=name_in(content, _IDS) or f"{source.stem}-{record.number}",
        turns=turns,
    )


def _turn(act: object, place: str) -> Turn:
    if not isinstance(act, dict):
        raise RecordError("is wrong: expected an object", field=place, seen=act)
    for key in ("id", "text"):
        if not isinstance(act.get(key), str):
            what = "is wrong: expected a string" if key in act else "is missing"
            raise RecordError(what, field=f"{place}.{key}", seen=act.get(key))
    rest = {key: value for key, value in act.items() if key not in ("id", "text")}
    return Turn(act["id"], "", act["text"], meta={"act": rest} if rest else None)


@dataclass(frozen=True)
class ParlaiReader(RecordReader):
    """A record reader that first looks for the metadata beside the file."""

    def read(self, source: Source, intake: Intake) -> Iterator[Tables]:
        """Whole dialogues in batches; bad records go to `intake`."""
        parse = partial(_parse, metadata=_metadata(source))
        plain = RecordReader(self.name, self.summary, self.example, self.recognises, parse)
        return replace(plain, records=self.records).read(source, intake)


def _metadata(source: Source) -> dict[str, Any] | None:
    path = source.path
    if path.suffix in (".gz", ".bz2", ".xz", ".zst"):
        path = path.with_suffix("")
    path = path.with_suffix(".metadata")
    try:
        content = _DECODER.decode(path.read_bytes())
    except (OSError, *UNDECODABLE):
        return None
    options = content.get("opt")
    chosen = {key: options[key] for key in _OPTIONS if key in options} if options else {}
    return {**{key: content[key] for key in _NOTED if key in content}, **chosen} or None


PARLAI = ParlaiReader(
    name="parlai",
    summary='ParlAI conversations: JSONL with {"dialog": [[{"id": …, "text": …}, …]]}',
    example=(
        '{"dialog": [[{"id": "human", "text": "Hello!"}, '
        '{"id": "bot_1", "text": "Hello, how are you?"}]]}\n'
    ),
    recognises=_recognises,
    parse=_parse,
)
