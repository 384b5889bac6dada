"""From tables to files that others read: OpenAI JSONL, a ConvoKit folder, CSV.

Writers take batches as they come and keep nothing but counts, so that a corpus need not fit in
memory. What a format has no place for is counted and said, never dropped in silence.
"""

import gzip
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Protocol

import msgspec
import polars as pl

from dialens.base import DialensError, atomic_file, atomic_folder, did_you_mean
from dialens.corpus._corpus import REJECTS, Origin, write_corpus
from dialens.corpus._intake import Intake
from dialens.corpus._tables import RATINGS, REFERENCES, TURNS, Tables
from dialens.corpus.readers import OURS, SPEAKERS, beside

_ENCODER = msgspec.json.Encoder()
_OBJECT = msgspec.json.Decoder(dict[str, Any])
_ROLES = {"agent": "assistant", "partner": "user"}
_RESTORED = frozenset({"before", "after", "message", "content", "record"})
_OWN_KEYS = frozenset({"id", "model", "metadata", "messages"})
_TIME = "%Y-%m-%dT%H:%M:%S%.6f%:z"


@dataclass
class Written:
    """What a writer has written and had to leave out; `rejects` is its own list of rejects."""

    dialogs: int = 0
    turns: int = 0
    ratings: int = 0
    references: int = 0
    rejects: Path | None = None
    left_out: Counter[str] = field(default_factory=Counter)

    def count(self, part: Tables) -> None:
        """Add a batch; its dialogues are whole."""
        self.dialogs += part.turns["dialog"].n_unique()
        self.turns += part.turns.height
        self.ratings += part.ratings.height
        self.references += part.references.height


class Writer(Protocol):
    """What writes one format."""

    @property
    def name(self) -> str:
        """What `--to` takes."""
        ...

    @property
    def summary(self) -> str:
        """One line."""
        ...

    def write(
        self,
        parts: Iterable[Tables],
        target: Path,
        *,
        source: Origin,
        intake: Intake,
        force: bool,
    ) -> Written:
        """Write all batches; `target` appears when all is well, or not at all."""
        ...


@dataclass(frozen=True)
class CorpusWriter:
    """Writes our own folder."""

    name: str = "corpus"
    summary: str = "Our own folder; holds everything"

    def write(
        self,
        parts: Iterable[Tables],
        target: Path,
        *,
        source: Origin,
        intake: Intake,
        force: bool,
    ) -> Written:
        """Write the three tables and the manifest."""
        with atomic_folder(target, force=force) as scratch:
            counts = write_corpus(parts, scratch, source=source, intake=intake).manifest["counts"]
        kept = ("dialogs", "turns", "ratings", "references")
        return Written(**{name: counts[name] for name in kept}, rejects=target / REJECTS)


@dataclass(frozen=True)
class OpenAIWriter:
    """Writes one conversation a line; messages that a reader kept aside go back to their place."""

    name: str = "openai"
    summary: str = "OpenAI messages JSONL; no ratings, references or times"

    def write(
        self,
        parts: Iterable[Tables],
        target: Path,
        *,
        source: Origin,
        intake: Intake,
        force: bool,
    ) -> Written:
        """Write the conversations."""
        _refuse_existing(target, force=force)
        written = Written()
        with atomic_file(target) as scratch, _open(scratch, target) as file:
            for part in parts:
                written.count(part)
                for talk in _talks(part.turns):
                    file.write(_ENCODER.encode(_record(talk, written.left_out)) + b"\n")
        _leave_out(written, "ratings")
        _leave_out(written, "references")
        return written


@dataclass(frozen=True)
class ConvoKitWriter:
    """Writes a folder that ConvoKit loads; what it has no place for stands under `dialens`."""

    name: str = "convokit"
    summary: str = "ConvoKit folder; holds everything"

    def write(
        self,
        parts: Iterable[Tables],
        target: Path,
        *,
        source: Origin,
        intake: Intake,
        force: bool,
    ) -> Written:
        """Write utterances, conversations, speakers and the index."""
        written = Written()
        index: dict[str, set[str]] = {"utterances": {OURS}, "conversations": {OURS}}
        speakers: set[str] = set()
        with atomic_folder(target, force=force) as scratch:
            with ExitStack() as stack:
                utterances = stack.enter_context((scratch / "utterances.jsonl").open("wb"))
                talks = stack.enter_context((scratch / "conversations.json").open("wb"))
                beside_it = _Beside(scratch, stack)
                for part in parts:
                    for talk in _talks(part.turns):
                        comma = b",\n" if written.dialogs else b"{\n"
                        talks.write(comma + _conversation(talk[0]))
                        written.dialogs += 1
                        for utterance in _utterances(talk):
                            index["utterances"].update(utterance["meta"])
                            speakers.add(utterance["speaker"])
                            utterances.write(_ENCODER.encode(utterance) + b"\n")
                    written.turns += part.turns.height
                    written.ratings += beside_it.write("ratings", part.ratings)
                    written.references += beside_it.write("references", part.references)
                talks.write(b"\n}\n" if written.dialogs else b"{}\n")
            _write_json(scratch / "speakers.json", dict.fromkeys(sorted(speakers), _EMPTY))
            _write_json(scratch / "corpus.json", {OURS: {"version": 1, "source": source()}})
            _write_json(scratch / "index.json", _index(index))
        return written


@dataclass(frozen=True)
class CSVWriter:
    """Writes the turns, and beside them ratings and references where there are any."""

    name: str = "csv"
    summary: str = "CSV of turns, NAME.ratings.csv and NAME.references.csv; holds everything"

    def write(
        self,
        parts: Iterable[Tables],
        target: Path,
        *,
        source: Origin,
        intake: Intake,
        force: bool,
    ) -> Written:
        """Write up to three files."""
        places = {
            "turns": target,
            "ratings": beside(target, "ratings"),
            "references": beside(target, "references"),
        }
        schemas = {"turns": TURNS, "ratings": RATINGS, "references": REFERENCES}
        for path in places.values():
            _refuse_existing(path, force=force)
        written = Written()
        with ExitStack() as whole:
            scratch = {
                name: whole.enter_context(_wanted_file(path, written, name))
                for name, path in places.items()
            }
            with ExitStack() as stack:
                files = {
                    name: stack.enter_context(_open(path, places[name]))
                    for name, path in scratch.items()
                }
                for name, file in files.items():
                    file.write((",".join(schemas[name]) + "\n").encode())
                for part in parts:
                    written.count(part)
                    for name, file in files.items():
                        getattr(part, name).write_csv(
                            file, include_header=False, datetime_format=_TIME
                        )
        return written


WRITERS: tuple[Writer, ...] = (CorpusWriter(), OpenAIWriter(), ConvoKitWriter(), CSVWriter())


def writer_for(target: Path, name: str | None) -> Writer:
    """The writer called `name`, or the one that the target's ending asks for.

    Examples:
        >>> writer_for(Path("talks.jsonl.gz"), None).name, writer_for(Path("talks"), None).name
        ('openai', 'corpus')
    """
    if name is None:
        ending = Path(target.name.removesuffix(".gz")).suffix.lower()
        name = {".jsonl": "openai", ".csv": "csv"}.get(ending, "corpus")
    for writer in WRITERS:
        if writer.name == name:
            return writer
    formats = [writer.name for writer in WRITERS]
    raise DialensError(
        f"dialens cannot write {name!r}. {did_you_mean(name, formats)}"
        f"It writes: {', '.join(formats)}."
    )


def _refuse_existing(path: Path, *, force: bool) -> None:
    if path.is_dir():
        raise DialensError(f"{path} is a folder, and a file is to be written there.")
    if path.exists() and not force:
        raise DialensError(f"{path} exists. Name another place, or add --force to replace it.")


@contextmanager
def _wanted_file(path: Path, written: Written, kind: str) -> Iterator[Path]:
    """As `atomic_file`, but without rows there is no file, and an old one is removed."""
    try:
        with atomic_file(path) as scratch:
            yield scratch
            if not getattr(written, kind):
                raise _Unwanted
    except _Unwanted:
        path.unlink(missing_ok=True)


class _Unwanted(Exception):
    pass


@contextmanager
def _open(scratch: Path, target: Path) -> Iterator[IO[bytes]]:
    """Open for writing, compressed as the ending says; no time stamp, so that equal is equal."""
    with scratch.open("wb") as plain:
        if target.suffix != ".gz":
            yield plain
            return
        with gzip.GzipFile(fileobj=plain, mode="wb", filename="", mtime=0) as packed:
            yield packed  # type: ignore[misc]


def _leave_out(written: Written, kind: str) -> None:
    written.left_out[kind] += getattr(written, kind)
    setattr(written, kind, 0)


def _talks(turns: pl.DataFrame) -> Iterator[list[dict[str, Any]]]:
    dialogue: list[dict[str, Any]] = []
    for row in turns.iter_rows(named=True):
        if dialogue and row["dialog"] != dialogue[0]["dialog"]:
            yield dialogue
            dialogue = []
        dialogue.append(row)
    if dialogue:
        yield dialogue


def _record(talk: list[dict[str, Any]], left_out: Counter[str]) -> dict[str, Any]:
    first = talk[0]
    messages: list[Any] = []
    rest: dict[str, Any] = {}
    for row in talk:
        meta = _OBJECT.decode(row["meta"]) if row["meta"] else {}
        kept = _kept_aside(meta)
        messages += kept.get("before", [])
        messages.append(_message(row, kept))
        messages += kept.get("after", [])
        if row is first:
            rest = kept.get("record", {})
        left_out["meta of turns"] += bool(meta.keys() - kept.keys())
        left_out["created_at of turns"] += row["created_at"] is not None
        left_out["reply_to of turns"] += row["reply_to"] is not None
    noted = rest.get("metadata")
    noted = noted if isinstance(noted, dict) else {}
    return {
        "id": first["dialog"],
        "model": first["agent"],
        "metadata": {**noted, "system": first["system"]},
        "messages": messages,
        **{key: value for key, value in rest.items() if key not in _OWN_KEYS},
    }


def _kept_aside(meta: dict[str, Any]) -> dict[str, Any]:
    """What a reader of messages kept, if it is of the shape it keeps."""
    lists, objects = ("before", "after"), ("message", "record")
    return {
        key: value
        for key, value in meta.items()
        if key in _RESTORED
        and not (key in lists and not isinstance(value, list))
        and not (key in objects and not isinstance(value, dict))
    }


def _message(row: dict[str, Any], kept: dict[str, Any]) -> dict[str, Any]:
    role = _ROLES[row["role"]]
    named = {} if row["speaker"] == SPEAKERS[row["role"]] else {"name": row["speaker"]}
    content = kept["content"] if "content" in kept else row["text"]
    return {"role": role, "content": content, **named, **kept.get("message", {})}


_EMPTY: dict[str, Any] = {"meta": {}, "vectors": []}


def _conversation(first: dict[str, Any]) -> bytes:
    ours = {OURS: {"system": first["system"], "agent": first["agent"]}}
    return _ENCODER.encode(first["dialog"]) + b": " + _ENCODER.encode({"meta": ours, "vectors": []})


def _utterances(talk: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """ConvoKit wants a chain of replies whose root has the conversation's id."""
    before: str | None = None
    for row in talk:
        name = f"{row['dialog']}#{row['turn']}" if row["turn"] else row["dialog"]
        meta = _OBJECT.decode(row["meta"]) if row["meta"] else {}
        ours = {"turn": row["turn"], "role": row["role"], "reply_to": row["reply_to"]}
        moment = row["created_at"]
        yield {
            "id": name,
            "conversation_id": row["dialog"],
            "speaker": row["speaker"],
            "reply_to": before,
            "timestamp": None if moment is None else moment.timestamp(),
            "text": row["text"],
            "meta": {**meta, OURS: ours},
            "vectors": [],
        }
        before = name


class _Beside:
    """Ratings and references in files of their own, made when the first row comes."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack
        self._files: dict[str, IO[bytes]] = {}

    def write(self, name: str, table: pl.DataFrame) -> int:
        if table.height:
            if name not in self._files:
                file = (self._folder / f"{name}.jsonl").open("wb")
                self._files[name] = self._stack.enter_context(file)
            times = [key for key, dtype in table.schema.items() if dtype.is_temporal()]
            plain = table.with_columns(pl.col(key).dt.to_string(_TIME) for key in times)
            plain.write_ndjson(self._files[name])
        return table.height


def _index(index: dict[str, set[str]]) -> dict[str, Any]:
    def kinds(names: Iterable[str]) -> dict[str, list[str]]:
        return {name: ["<class 'dict'>" if name == OURS else "<class 'str'>"] for name in names}

    return {
        "utterances-index": kinds(sorted(index["utterances"])),
        "speakers-index": {},
        "conversations-index": kinds(sorted(index["conversations"])),
        "overall-index": kinds([OURS]),
        "version": 1,
        "vectors": [],
    }


def _write_json(path: Path, value: object) -> None:
    path.write_bytes(msgspec.json.format(_ENCODER.encode(value), indent=2) + b"\n")
