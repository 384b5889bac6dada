"""A corpus: three tables, scanned lazily, and the folder they are kept in."""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec
import polars as pl

from dialens.base import (
    Advance,
    DialensError,
    TableSink,
    counted,
    first_line,
    html_table,
    list_files,
    sha256_file,
)
from dialens.corpus._dialogue import Dialogue, batches
from dialens.corpus._intake import Intake
from dialens.corpus._marks import LEFT_OUT, is_cut_off
from dialens.corpus._reading import check
from dialens.corpus._tables import SCHEMAS, Tables, whole_dialogs

MANIFEST = "manifest.json"
REJECTS = "rejects.jsonl"
_KIND = "dialens-corpus"
_BATCH_TURNS = 100_000
_AGENTS_SHOWN = 20

Origin = Callable[[], dict[str, Any]]
"""Gives what a manifest says of a source: its name, format and hash."""


class _File(msgspec.Struct):
    bytes: int
    sha256: str


class _Manifest(msgspec.Struct):
    """What has to be in a manifest, as far as it is used."""

    counts: dict[str, int]
    files: dict[str, _File]
    source: dict[str, Any] = {}
    notes: list[str] = []


@dataclass(frozen=True, repr=False)
class Corpus:
    """Conversations with their ratings and references.

    Attributes:
        turns: One row an utterance, the turns of a dialogue together and in order.
        ratings: One row a judgement.
        references: One row a reference response.
        manifest: Where it came from, how much there is, hashes.

    Examples:
        >>> from dialens.corpus._dialogue import Turn
        >>> corpus = Corpus.of([Dialogue("s", "bot", "d1", [Turn("B", "agent", "hey")])])
        >>> corpus
        Corpus: 1 turn in 1 dialogue of 1 agent
    """

    turns: pl.LazyFrame
    ratings: pl.LazyFrame
    references: pl.LazyFrame
    manifest: dict[str, Any] = field(default_factory=dict)

    def __repr__(self) -> str:
        return self._in_words()

    def _repr_html_(self) -> str:
        agents = (
            self.turns.group_by("system", "agent", maintain_order=True)
            .agg(dialogs=pl.col("dialog").n_unique(), turns=pl.len())
            .head(_AGENTS_SHOWN)
            .collect(engine="streaming")
        )
        rows = [[system, agent, f"{d:,}", f"{t:,}"] for system, agent, d, t in agents.iter_rows()]
        return html_table(self._in_words(), ["system", "agent", "dialogues", "turns"], rows)

    def _in_words(self) -> str:
        """What is there, from the manifest where it says it, and where it came from."""
        counts = self.manifest.get("counts", {})
        if not {"turns", "dialogs", "agents", "ratings", "references"} <= counts.keys():
            counts = {
                **self.turns.select(
                    turns=pl.len(),
                    dialogs=pl.col("dialog").n_unique(),
                    agents=pl.struct("system", "agent").n_unique(),
                )
                .collect(engine="streaming")
                .row(0, named=True),
                "ratings": self.ratings.select(pl.len()).collect().item(),
                "references": self.references.select(pl.len()).collect().item(),
            }
        said = (
            f"Corpus: {counted(counts['turns'], 'turn')} in "
            f"{counted(counts['dialogs'], 'dialogue')} of {counted(counts['agents'], 'agent')}"
        )
        for noun in ("rating", "reference"):
            if found := counts[f"{noun}s"]:
                said += f", {counted(found, noun)}"
        source = self.manifest.get("source", {})
        if source.get("name"):
            said += f"; from {source['name']}"
        notes = self.manifest.get("notes", ())
        return f"{said}; {counted(len(notes), 'note')} in .manifest['notes']" if notes else said

    @classmethod
    def of(cls, dialogues: Iterable[Dialogue]) -> "Corpus":
        """A corpus of dialogues made in Python, checked like any that are read."""
        dialogues = list(dialogues)
        intake = Intake()
        for number, talk in enumerate(dialogues):
            check(talk)
            intake.claim(talk.dialog, Path("dialogue"), number)
        return cls.from_tables(batches(dialogues))

    @classmethod
    def from_tables(
        cls, parts: Iterable[Tables], manifest: dict[str, Any] | None = None
    ) -> "Corpus":
        """A corpus held in memory."""
        parts = list(parts)
        turns, ratings, references = (
            pl.concat([schema.to_frame(), *(getattr(part, name) for part in parts)]).lazy()
            for name, schema in SCHEMAS.items()
        )
        return cls(turns, ratings, references, manifest or {})

    @classmethod
    def open(cls, folder: Path) -> "Corpus":
        """A corpus folder, its files checked against the manifest."""
        manifest = _read_manifest(folder)
        try:
            files = msgspec.convert(manifest, _Manifest).files
        except (msgspec.ValidationError, UnicodeEncodeError) as error:
            raise DialensError(
                f"{folder / MANIFEST} is not whole: {first_line(error)}. Convert the source again "
                "with `dialens convert`."
            ) from error
        turns, ratings, references = (
            _verified(folder / f"{name}.parquet", files.get(f"{name}.parquet"), schema)
            for name, schema in SCHEMAS.items()
        )
        return cls(turns, ratings, references, manifest)

    def whole_turns(self) -> "Corpus":
        """The same, but replies that were cut off (`finish` in `meta`) are context alone.

        They are said, and what follows answers them, but no metric counts them as the agent's.

        Examples:
            >>> from dialens.corpus._dialogue import Turn
            >>> cut = Turn("B", "agent", "Well, I thi", meta={"finish": "length"})
            >>> corpus = Corpus.of([Dialogue("s", "b", "d1", [cut, Turn("B", "agent", "Yes.")])])
            >>> corpus.whole_turns().turns.collect()["role"].to_list()
            ['left_out', 'agent']
        """
        role = pl.when(is_cut_off()).then(pl.lit(LEFT_OUT)).otherwise("role")
        return replace(self, turns=self.turns.with_columns(role=role))

    def batches(self, *, turns: int = _BATCH_TURNS) -> Iterator[pl.DataFrame]:
        """The turns in batches of about `turns` rows, no dialogue cut in two.

        Examples:
            >>> from dialens.corpus._dialogue import Turn
            >>> talk = [Turn("U", "partner", "hi"), Turn("B", "agent", "hey")]
            >>> corpus = Corpus.of([Dialogue("s", "b", name, talk) for name in "xyz"])
            >>> [batch.height for batch in corpus.batches(turns=3)]
            [2, 2, 2]
        """
        return whole_dialogs(
            self.turns.collect_batches(chunk_size=turns, maintain_order=True), rows=turns
        )


def write_corpus(
    parts: Iterable[Tables],
    folder: Path,
    *,
    source: dict[str, Any] | Origin,
    intake: Intake | None = None,
    advance: Advance | None = None,
) -> Corpus:
    """Write tables into an empty folder as they come, then the manifest, and open the result.

    The caller gives an atomic folder (`dialens.base._storage.atomic_folder`) where the result must
    appear whole. What is counted is counted as batches come: nothing grows with their number.

    Args:
        parts: Batches of whole dialogues, each with an id of its own.
        folder: Where to write.
        source: What the manifest says of the source; a function is called when all was read.
        intake: The account of reading.
        advance: Called with the number of turns just written.
    """
    folder.mkdir(parents=True, exist_ok=True)
    met = _Met()
    with ExitStack() as stack:
        sinks = {
            name: stack.enter_context(TableSink(folder / f"{name}.parquet", schema))
            for name, schema in SCHEMAS.items()
        }
        for part in parts:
            met.add(part.turns)
            for name, sink in sinks.items():
                sink.write(getattr(part, name))
            if advance:
                advance(part.turns.height)
    rows = {name: sink.rows for name, sink in sinks.items()}
    files = {}
    for name in SCHEMAS:
        path = folder / f"{name}.parquet"
        size = path.stat().st_size
        files[path.name] = {"sha256": sha256_file(path), "bytes": size, "rows": rows[name]}
    manifest = {
        "kind": _KIND,
        "version": 1,
        "source": source() if callable(source) else source,
        "counts": {**met.counts(), **rows, "rejected": intake.rejected if intake else 0},
        "files": files,
    }
    if intake and intake.rejects:
        write_rejects(intake, folder / REJECTS)
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=2, ensure_ascii=False) + "\n")
    list_files(folder)
    tables = {name: pl.scan_parquet(folder / f"{name}.parquet") for name in SCHEMAS}
    return Corpus(**tables, manifest=_read_manifest(folder))


class _Met:
    """Counts who and what was met while turns go by.

    The turns of a dialogue stand together, so that its borders are counted and no ids are kept.
    """

    def __init__(self) -> None:
        self._agents: set[tuple[str | None, str | None]] = set()
        self._dialogs = 0
        self._last: str | None = None

    def add(self, turns: pl.DataFrame) -> None:
        """Take the next turns."""
        if not turns.height:
            return
        self._agents |= set(turns.select("system", "agent").unique().iter_rows())
        dialog = turns["dialog"]
        borders = int((dialog != dialog.shift()).sum())  # the first is compared with nothing
        self._dialogs += borders + (not self._dialogs or dialog[0] != self._last)
        self._last = dialog[-1]

    def counts(self) -> dict[str, int]:
        """How many systems, agents and dialogues."""
        systems = {system for system, _ in self._agents}
        return {"systems": len(systems), "agents": len(self._agents), "dialogs": self._dialogs}


def write_rejects(intake: Intake, path: Path) -> None:
    """One JSON object a line for every record left out: file, line, field, reason, seen."""
    pl.DataFrame([vars(reject) for reject in intake.rejects]).write_ndjson(path)


def is_corpus_folder(path: Path) -> bool:
    """Whether a folder holds our manifest."""
    try:
        return bool(_read_manifest(path))
    except DialensError:
        return False


def _read_manifest(folder: Path) -> dict[str, Any]:
    path = folder / MANIFEST
    try:
        manifest = json.loads(path.read_text())
    except (OSError, ValueError, RecursionError) as error:
        raise DialensError(f"{folder} is not a corpus folder: no readable {MANIFEST}.") from error
    if not isinstance(manifest, dict) or manifest.get("kind") != _KIND:
        raise DialensError(f"{path} is not the manifest of a dialens corpus.")
    return manifest


def _verified(path: Path, entry: _File | None, schema: pl.Schema) -> pl.LazyFrame:
    """A table of a corpus folder, whose file is the one that the manifest describes."""
    if entry is None or not path.exists():
        raise DialensError(f"{path} is missing. Convert the source again with `dialens convert`.")
    if path.stat().st_size != entry.bytes or sha256_file(path) != entry.sha256:
        raise DialensError(
            f"{path} is not the file its manifest describes: it was changed or damaged. "
            "Convert the source again with `dialens convert`."
        )
    table = pl.scan_parquet(path)
    try:
        found = table.collect_schema()
    except pl.exceptions.PolarsError as error:
        raise DialensError(f"{path} is not a whole Parquet file ({first_line(error)}).") from error
    for name, kind in schema.items():
        if found.get(name) != kind:
            raise DialensError(
                f"{path} is not a table of a corpus: its column {name} is "
                f"{found.get(name, 'missing')}, not {kind}. Convert the source again with "
                "`dialens convert`."
            )
    return table
