"""ConvoKit's folder: `utterances.jsonl` (or `.json`) with speakers, conversations and an index.

A conversation becomes a dialogue, its utterances in the order of their times where all have one,
of the file otherwise. `reply_to` keeps the id of the utterance answered, `meta` the utterance's
own id (`utterance_id`) and metadata; a conversation's metadata stands with its first turn. Old
folders, with `user`, `root` and `reply-to`, read alike.

Since version 5 ConvoKit marks speakers that are machines (`is_ai`). The agent is the one of them
who assists (`ai_meta.role`), else the first to speak, and is called by its model where `ai_meta`
names one. What private assistants sent stays in `meta`, since it was no part of the conversation.
Where nobody is marked, the agent is found as in a transcript, and named only if the name says that
a machine speaks. A folder that our own writer made says all that itself, under
`dialens` in the metadata, and brings `ratings.jsonl` and `references.jsonl`.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from dialens.base import DialensError
from dialens.corpus._checks import FLAW, LINE
from dialens.corpus._intake import Intake, RecordError, message
from dialens.corpus._reading import UNREADABLE, as_record_error
from dialens.corpus._roles import UNKNOWN, sounds_like_agent
from dialens.corpus._source import Record, Source, json_records, lines
from dialens.corpus._tables import RATINGS, REFERENCES, TURNS, Tables
from dialens.corpus._tabular import gathered, read_rows
from dialens.corpus.readers._fields import object_in, text_in

OURS = "dialens"
"""The key of the metadata under which our writer keeps what ConvoKit has no place for."""

_UTTERANCES = ("utterances.jsonl", "utterances.json")
_ROWS = 50_000
_MOST_TURNS = 2**31 - 1
_ID = "_id"


class _Utterance(msgspec.Struct):
    id: str | int
    text: str
    speaker: str | int | None = None
    user: str | int | None = None
    conversation_id: str | int | None = None
    root: str | int | None = None
    reply_to: str | int | None = None
    reply_to_old: str | int | None = msgspec.field(name="reply-to", default=None)
    timestamp: float | str | None = None
    meta: dict[str, Any] | None = None


_DECODER = msgspec.json.Decoder(_Utterance)
_OBJECT = msgspec.json.Decoder(dict[str, Any])
_FOREIGN: dict[str, pl.DataType | type[pl.DataType]] = {
    "dialog": pl.String,
    "speaker": pl.String,
    "text": pl.String,
    "created_at": TURNS["created_at"],
    "reply_to": pl.String,
    "meta": pl.String,
    _ID: pl.String,
    LINE: pl.Int64,
    FLAW: pl.Boolean,
}
_OWN = {**_FOREIGN, "turn": pl.Int32, "role": pl.String}


@dataclass(frozen=True)
class ConvoKitReader:
    """Reads a folder that ConvoKit dumped, or that we wrote for it."""

    name: str = "convokit"
    summary: str = "ConvoKit folder: utterances.jsonl, speakers.json, conversations.json …"
    example: str = (
        "talks/\n  utterances.jsonl\n  speakers.json\n  conversations.json\n  corpus.json\n"
        "  index.json\n"
        'utterances.jsonl: {"id": "u1", "conversation_id": "u1", "speaker": "ann", '
        '"reply_to": null, "timestamp": null, "text": "Hello!", "meta": {}}\n'
    )

    def recognises(self, source: Source) -> bool:
        """Whether the folder holds utterances and what ConvoKit puts beside them."""
        return source.is_folder and _file(source) is not None

    def read(self, source: Source, intake: Intake) -> Iterator[Tables]:
        """Whole dialogues in batches, then ratings and references if we wrote the folder."""
        file = _file(source)
        if file is None:
            raise DialensError(f"{source.path} holds no {' or '.join(_UTTERANCES)}.")
        own = OURS in _json(source.path / "corpus.json")
        utterances = Source(file, source.stem)
        conversations = _json(source.path / "conversations.json")
        flaws: dict[int, RecordError] = {}
        schema = pl.Schema(_OWN if own else _FOREIGN)
        frames = _frames(utterances, schema, flaws, own=own)
        with gathered(frames, schema, size=file.stat().st_size) as rows:
            rows = _without_repeated_ids(rows, flaws)
            unit = "line" if _has_lines(utterances) else "record"
            parts = read_rows(rows, utterances, intake, unit=unit, flaws=flaws, by_time=not own)
            machines = {} if own else _machines(_json(source.path / "speakers.json"))
            for part in parts:
                turns = _with_conversations(part.turns, conversations, own=own)
                yield Tables.of(_with_machines(turns, machines))
        if own:
            yield from _beside(source.path, intake)


def _file(source: Source) -> Path | None:
    return next((source.path / name for name in _UTTERANCES if (source.path / name).exists()), None)


def _has_lines(source: Source) -> bool:
    """Whether utterances stand one a line; in an array they are known by their number."""
    return source.path.suffix == ".jsonl"


def _json(path: Path) -> dict[str, Any]:
    """The object in a file beside the utterances; an empty one where there is none."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise DialensError(f"{path} cannot be read: {error.strerror}.") from error
    try:
        return _OBJECT.decode(raw)
    except UNREADABLE as error:
        wrong = as_record_error(error, Record(1, raw))
        wrong.remedy = "Mend the file, or take it away: the conversations are read without it."
        raise DialensError(message(path, 0, wrong)) from error


def _frames(
    source: Source, schema: pl.Schema, flaws: dict[int, RecordError], *, own: bool
) -> Iterator[pl.DataFrame]:
    by_line = _has_lines(source)
    records = lines(source) if by_line else json_records(source)
    rows = (_row(record, flaws, own=own, by_line=by_line) for record in records)
    while some := list(islice(rows, _ROWS)):
        columns = {name: [row.get(name) for row in some] for name in schema}
        yield pl.DataFrame(columns, schema=schema)


def _row(
    record: Record, flaws: dict[int, RecordError], *, own: bool, by_line: bool
) -> dict[str, object]:
    line = record.line if by_line else record.number
    try:
        if record.problem:
            raise record.problem
        utterance = _DECODER.decode(record.raw)
        return {LINE: line, FLAW: False, **_columns(utterance, own=own)}
    except UNREADABLE as error:
        flaws[line] = as_record_error(error, record)
        return {LINE: line, FLAW: True, "dialog": None}


def _columns(utterance: _Utterance, *, own: bool) -> dict[str, object]:
    speaker = utterance.speaker if utterance.speaker is not None else utterance.user
    dialog = utterance.conversation_id if utterance.conversation_id is not None else utterance.root
    reply_to = utterance.reply_to if utterance.reply_to is not None else utterance.reply_to_old
    if speaker is None:
        raise RecordError("is missing", field="speaker")
    if dialog is None:
        raise RecordError("is missing", field="conversation_id", seen=utterance.id)
    meta = dict(utterance.meta or {})
    columns: dict[str, object] = {
        "dialog": str(dialog),
        "speaker": str(speaker),
        "text": utterance.text,
        "reply_to": None if reply_to is None else str(reply_to),
        _ID: str(utterance.id),
    }
    columns["created_at"], odd = _moment(utterance.timestamp)
    if own:
        ours = meta.pop(OURS, None)
        if not isinstance(ours, dict):
            raise RecordError("is missing", field=f"meta.{OURS}", seen=utterance.meta)
        for name, kind in (("turn", int), ("role", str), ("reply_to", str)):
            value = ours.get(name)
            odd_number = type(value) is int and abs(value) > _MOST_TURNS
            if odd_number or (value is not None and type(value) is not kind):
                wanted = f"a whole number up to {_MOST_TURNS:,}" if kind is int else "text"
                raise RecordError(f"is not {wanted}", field=f"meta.{OURS}.{name}", seen=value)
            columns[name] = value
    else:
        meta = {"utterance_id": str(utterance.id), **meta, **odd}
    columns["meta"] = msgspec.json.encode(meta).decode() if meta else None
    return columns


def _moment(stamp: float | str | None) -> tuple[datetime | None, dict[str, object]]:
    """Seconds since 1970, as a number or as text; anything else is kept as it is."""
    if stamp is None or stamp == "":
        return None, {}
    try:
        return datetime.fromtimestamp(float(stamp), UTC), {}
    except (ValueError, OverflowError, OSError):
        pass
    try:
        moment = datetime.fromisoformat(str(stamp))
    except ValueError:
        return None, {"timestamp": stamp}
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)), {}


def _without_repeated_ids(rows: pl.LazyFrame, flaws: dict[int, RecordError]) -> pl.LazyFrame:
    again = rows.filter(pl.col(_ID).is_not_null() & ~pl.col(_ID).is_first_distinct())
    repeated = again.select(LINE, _ID).collect()
    for line, name in repeated.iter_rows():
        flaws[line] = RecordError("is a duplicate", field="id", seen=name)
    if repeated.height:
        rows = rows.with_columns(pl.col(FLAW) | pl.col(LINE).is_in(repeated[LINE].implode()))
    return rows.drop(_ID)


def _with_conversations(
    turns: pl.DataFrame, conversations: Mapping[str, Any], *, own: bool
) -> pl.DataFrame:
    """Systems and agents, and a conversation's metadata with its first turn."""
    meta_of_dialog: dict[str, dict[str, Any]] = {}
    for dialog in turns.filter(pl.col("turn") == 0)["dialog"]:
        conversation = object_in(conversations, dialog)
        meta = object_in(conversation, "meta") if "meta" in conversation else conversation
        meta_of_dialog[dialog] = {key: value for key, value in meta.items() if key != "vectors"}
    if own:
        ours = {dialog: object_in(meta, OURS) for dialog, meta in meta_of_dialog.items()}
        return turns.with_columns(
            pl.col("dialog")
            .replace_strict(
                {dialog: text_in(facts, name) for dialog, facts in ours.items()},
                return_dtype=pl.String,
            )
            .fill_null(pl.col(name))
            .alias(name)
            for name in ("system", "agent")
        )
    names = turns["agent"].unique().to_list()
    agents = {name: name if sounds_like_agent(name) else UNKNOWN for name in names}
    metas = [
        _merged(meta, meta_of_dialog[dialog]) if turn == 0 and meta_of_dialog[dialog] else meta
        for dialog, turn, meta in turns.select("dialog", "turn", "meta").iter_rows()
    ]
    return turns.with_columns(
        pl.col("agent").replace_strict(agents), pl.Series("meta", metas, pl.String)
    )


@dataclass(frozen=True)
class _Machine:
    """A speaker whom ConvoKit marks as a machine."""

    name: str
    assists: bool


def _machines(speakers: Mapping[str, Any]) -> dict[str, _Machine]:
    """The marked speakers by id, each with its model's name where that is known."""
    machines: dict[str, _Machine] = {}
    for speaker, entry in speakers.items():
        meta = entry.get("meta", entry) if isinstance(entry, dict) else {}
        if not isinstance(meta, dict) or not meta.get("is_ai"):
            continue
        about = object_in(meta, "ai_meta")
        role = str(about.get("role") or meta.get("role") or "")
        model = object_in(about, "config").get("model")
        machines[speaker] = _Machine(str(model or speaker), "assistant" in role.lower())
    return machines


def _with_machines(turns: pl.DataFrame, machines: Mapping[str, _Machine]) -> pl.DataFrame:
    """Roles and agents of the dialogues in which a marked speaker speaks."""
    if not machines:
        return turns
    agent_of: dict[str, str] = {}
    for dialog, speaker in turns.select("dialog", "speaker").iter_rows():
        if speaker not in machines:
            continue
        known = agent_of.get(dialog)
        if known is None or (machines[speaker].assists and not machines[known].assists):
            agent_of[dialog] = speaker
    agent = pl.col("dialog").replace_strict(agent_of, default=None, return_dtype=pl.String)
    names = {speaker: machine.name for speaker, machine in machines.items()}
    own = pl.when(pl.col("speaker") == agent).then(pl.lit("agent")).otherwise(pl.lit("partner"))
    return turns.with_columns(
        pl.when(agent.is_not_null()).then(own).otherwise("role").alias("role"),
        agent.replace_strict(names, default=None, return_dtype=pl.String)
        .fill_null(pl.col("agent"))
        .alias("agent"),
    )


def _merged(meta: str | None, conversation: dict[str, Any]) -> str:
    content = _OBJECT.decode(meta) if meta else {}
    return msgspec.json.encode({**content, "conversation": conversation}).decode()


def _beside(folder: Path, intake: Intake) -> Iterator[Tables]:
    for name, schema in (("ratings", RATINGS), ("references", REFERENCES)):
        path = folder / f"{name}.jsonl"
        if not path.exists():
            continue
        text = {key: pl.String if dtype.is_temporal() else dtype for key, dtype in schema.items()}
        try:
            table = pl.read_ndjson(path, schema=text)
        except pl.exceptions.PolarsError as error:
            raise DialensError(f"{path} cannot be read ({error}). Convert anew.") from error
        moments = [
            pl.col(key).str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%:z", time_unit="us")
            for key, dtype in schema.items()
            if dtype.is_temporal()
        ]
        known = intake.known(table["dialog"].drop_nulls().unique())
        table = table.with_columns(moments).filter(
            pl.col("dialog").is_null() | pl.col("dialog").is_in(known)
        )
        yield Tables.of(ratings=table) if name == "ratings" else Tables.of(references=table)


CONVOKIT = ConvoKitReader()
