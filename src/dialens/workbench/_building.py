"""Building the index: one wide table a level, made in passes that need little memory.

Turns are numbered: the number of a turn is that of its dialogue's first plus its place. Values of
metrics, which score folders hold in long tables, are put into their places by that number.
"""

import json
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from dialens.base import DialensError, TableSink, counted, first_line
from dialens.corpus import RATINGS, Corpus
from dialens.metrics import Scores
from dialens.workbench._catalogue import Item
from dialens.workbench._columns import Column, MetricColumns
from dialens.workbench._conversations import Collection
from dialens.workbench._text_search import TextWriter

TURNS, DIALOGS, AGENTS = "turns.parquet", "dialogs.parquet", "agents.parquet"
RATED, TEXTS, ABOUT = "ratings.parquet", "texts.sqlite", "index.json"
_ROW_GROUP = 65_536
_CHUNK = 200_000
_LONGEST = 1_000_000
_TURN = pl.Schema(
    {
        "row": pl.Int64,
        "talk": pl.Int64,
        "source": pl.String,
        "system": pl.String,
        "agent": pl.String,
        "dialog": pl.String,
        "turn": pl.Int32,
        "role": pl.String,
        "speaker": pl.String,
        "words": pl.Int32,
        "text": pl.String,
    }
)
_UNIT = ("source", "system", "agent", "dialog")
_OPENING_CHARACTERS = 400

Report = Callable[[str], None]


@dataclass
class _Base:
    """What the first pass found."""

    rows: int = 0
    talks: int = 0
    dialogs: list[pl.DataFrame] = field(default_factory=list)
    ratings: list[pl.DataFrame] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def build_index(collections: tuple[Collection, ...], folder: Path, report: Report) -> None:
    """Write the index of conversations and their scores into an empty folder."""
    base = _Base()
    with tempfile.TemporaryDirectory(dir=folder) as scratch:
        spool = Path(scratch)
        writer = TextWriter(folder / TEXTS)
        with TableSink(spool / TURNS, _TURN, row_group=_ROW_GROUP, level=1) as sink:
            for place, collection in enumerate(collections):
                report(f"Reading {collection.name}")
                _read(collection, base, sink, writer, spool / f"read{place}")
        report(f"Indexing the words of {counted(base.rows, 'turn')}")
        writer.finish()
        dialogs = pl.concat([_DIALOG.to_frame(), *base.dialogs])
        metrics = MetricColumns()
        values = _Values(spool, base.rows)
        wide, agents = [], []
        for collection in collections:
            own = dialogs.filter(pl.col("source") == collection.name)
            taken: dict[str, str] = {}
            for run in collection.runs:
                report(f"Taking in the scores of {run.name}")
                scores = _opened(run, base.notes)
                if scores is None:
                    continue
                places = metrics.of(run, scores, taken)
                taken |= {name: scores.signatures[name] for name in places if name not in taken}
                here = _named_in(scores, own, collection.stems)
                values.take(scores, here, places)
                wide.append(_dialog_values(scores, here, places))
                agents.append(_agent_values(scores, collection.name, places))
        report("Writing the index")
        at_turn = values.write(spool / TURNS, folder / TURNS)
        merged = _merged(dialogs, wide, ["talk"])
        merged.write_parquet(folder / DIALOGS, row_group_size=_ROW_GROUP)
        of_agents = _merged(_agents_of(dialogs), agents, ["source", "system", "agent"])
        of_agents.with_row_index("row").with_columns(pl.col("row").cast(pl.Int64)).write_parquet(
            folder / AGENTS
        )
        at_level = {
            "turn": at_turn,
            "dialog": {name for name in merged.columns if name[1:].isdigit()},
            "agent": {name for name in of_agents.columns if name[1:].isdigit()},
        }
        _ratings(base.ratings, dialogs).write_parquet(folder / RATED)
        _write_about(folder, base, metrics.columns, at_level, collections)


def _write_about(
    folder: Path,
    base: _Base,
    columns: list[Column],
    at_level: dict[str, set[str]],
    collections: tuple[Collection, ...],
) -> None:
    content = {
        "columns": {
            level: [one.as_json() for one in columns if one.sql in present]
            for level, present in at_level.items()
        },
        "notes": base.notes,
        "sources": [one.name for one in collections],
    }
    (folder / ABOUT).write_text(json.dumps(content, ensure_ascii=False), "utf-8")


def _opened(run: Item, notes: list[str]) -> Scores | None:
    try:
        return Scores.open(run.path)
    except DialensError as error:
        notes.append(first_line(error))
        return None


_DIALOG = pl.Schema(
    {
        "talk": pl.Int64,
        "first": pl.Int64,
        "source": pl.String,
        "system": pl.String,
        "agent": pl.String,
        "dialog": pl.String,
        "turns": pl.Int64,
        "agent_turns": pl.Int64,
        "words": pl.Int64,
        "opening": pl.UInt64,
        "opening_text": pl.String,
    }
)


def _read(
    collection: Collection, base: _Base, sink: TableSink, writer: TextWriter, spool: Path
) -> None:
    """Number the turns of a collection, and write them with their texts."""
    try:
        if collection.paths:
            corpus = collection.corpus(spool)
            batches: Iterator[pl.DataFrame] = corpus.batches()
            base.ratings.append(
                corpus.ratings.with_columns(source=pl.lit(collection.name)).collect()
            )
        else:
            base.notes.append(collection.missing)
            batches = iter([_without_texts(collection, base.notes)])
        for batch in batches:
            _write_turns(batch, collection.name, base, sink, writer)
    except DialensError as error:
        base.notes.append(f"{collection.name} could not be read: {first_line(error)}")


def _without_texts(collection: Collection, notes: list[str]) -> pl.DataFrame:
    """Turns as score folders name them, where the conversations are gone."""
    found = []
    for run in collection.runs:
        scores = _opened(run, notes)
        if scores is not None:
            turns = scores.table.filter(level="turn").select("system", "agent", "dialog", "turn")
            talks = scores.dialogs.select("system", "agent", "dialog").with_columns(
                turn=pl.lit(0, pl.Int32)
            )
            found.append(pl.concat([turns, talks]).unique().collect(engine="streaming"))
    if not found:
        return Corpus.of([]).turns.collect()
    return (
        pl.concat(found)
        .unique()
        .sort("dialog", "turn")
        .with_columns(speaker=pl.lit(""), role=pl.lit("agent"), text=pl.lit(""))
    )


def _write_turns(
    batch: pl.DataFrame, source: str, base: _Base, sink: TableSink, writer: TextWriter
) -> None:
    if not batch.height:
        return
    if batch["turn"].max() > _LONGEST or batch["turn"].min() < 0:  # type: ignore[operator]
        raise DialensError(f"turns of {source} are not numbered from 0 on.")
    text = pl.col("text").fill_null("")
    numbered = batch.select(
        "system", "agent", "dialog", "turn", "role", "speaker", text=text
    ).with_columns(
        source=pl.lit(source),
        number=pl.col("dialog").rle_id().cast(pl.Int64),
        words=text.str.count_matches(r"\S+").cast(pl.Int32),
    )
    firsts = (
        numbered.group_by("number", maintain_order=True)
        .agg(length=pl.col("turn").max().cast(pl.Int64) + 1)
        .with_columns(first=base.rows + pl.col("length").cum_sum() - pl.col("length"))
    )
    numbered = numbered.join(firsts, on="number", maintain_order="left").with_columns(
        row=pl.col("first") + pl.col("turn"), talk=base.talks + pl.col("number")
    )
    sink.write(numbered.select(_TURN.names()))
    writer.add(numbered["row"], numbered["text"])
    base.dialogs.append(_dialogs_of(numbered))
    base.rows += int(firsts["length"].sum())
    base.talks += firsts.height


def _dialogs_of(turns: pl.DataFrame) -> pl.DataFrame:
    """A row a dialogue, with what its agent was first given to answer."""
    is_agent = pl.col("role") == "agent"
    before = (is_agent.cum_sum() == 0) & ~is_agent
    opening = pl.col("text").filter(before).str.join("\n")
    return (
        turns.group_by("talk", maintain_order=True)
        .agg(
            pl.col("first", *_UNIT).first(),
            turns=pl.len().cast(pl.Int64),
            agent_turns=is_agent.sum().cast(pl.Int64),
            words=pl.col("words").filter(is_agent).sum().cast(pl.Int64),
            opening_text=opening,
        )
        .with_columns(
            opening=pl.when(pl.col("opening_text") != "").then(pl.col("opening_text").hash(seed=0)),
            opening_text=pl.col("opening_text").str.slice(0, _OPENING_CHARACTERS),
        )
        .select(_DIALOG.names())
    )


class _Values:
    """Values of metrics at turns, in one file a metric until all are known."""

    def __init__(self, folder: Path, rows: int) -> None:
        self._folder, self._rows = folder, rows
        self._files: dict[int, np.memmap[Any, np.dtype[np.float64]]] = {}

    def _file(self, place: int) -> "np.memmap[Any, np.dtype[np.float64]]":
        if place not in self._files:
            made = np.memmap(
                self._folder / f"{place}.values", np.float64, "w+", shape=(max(1, self._rows),)
            )
            made[:] = np.nan
            self._files[place] = made
        return self._files[place]

    def take(self, scores: Scores, dialogs: pl.DataFrame, places: dict[str, int]) -> None:
        """Put the values of a run into their places."""
        keys = dialogs.select("dialog", "first")
        chosen = scores.table.filter(
            (pl.col("level") == "turn")
            & pl.col("metric").is_in(list(places))
            & pl.col("value").is_not_null()
        ).select("metric", "dialog", "turn", "value")
        for chunk in chosen.collect_batches(chunk_size=_CHUNK, maintain_order=False):
            placed = chunk.join(keys, on="dialog").select(
                "metric", row=pl.col("first") + pl.col("turn"), value="value"
            )
            for (name,), rows in placed.group_by("metric"):
                at = rows["row"].to_numpy()
                inside = at < self._rows
                self._file(places[str(name)])[at[inside]] = rows["value"].to_numpy()[inside]

    def write(self, base: Path, target: Path) -> set[str]:
        """Write the wide table; gives the names of the columns with values."""
        names = [f"m{place}" for place in sorted(self._files)]
        schema = pl.Schema({**_TURN, **dict.fromkeys(names, pl.Float64())})
        with TableSink(target, schema, row_group=_ROW_GROUP) as sink:
            turns = pl.scan_parquet(base)
            for batch in turns.collect_batches(chunk_size=_CHUNK // 4, maintain_order=True):
                at = batch["row"].to_numpy()
                columns = [
                    pl.Series(name, self._files[int(name[1:])][at]).fill_nan(None) for name in names
                ]
                sink.write(batch.with_columns(columns))
        return set(names)


def _named_in(scores: Scores, dialogs: pl.DataFrame, stems: Sequence[str]) -> pl.DataFrame:
    """The dialogues of a collection by their names in a run, as far as it scored them.

    Of two files that a run read together and that use the same id, the second's is qualified with
    its file's name: `b/c1`.

    Args:
        scores: Of the run.
        dialogs: Of the collection.
        stems: What the collection's file may be called there.
    """
    known = scores.dialogs.select("agent", "dialog").unique().collect(engine="streaming")
    left, found = dialogs, []
    for stem in (*stems, ""):
        name = pl.lit(f"{stem}/") + pl.col("dialog") if stem else pl.col("dialog")
        named = left.with_columns(dialog=name).join(known, on=["agent", "dialog"], how="semi")
        left = left.join(named, on="talk", how="anti")
        found.append(named)
    return pl.concat(found)


def _dialog_values(scores: Scores, dialogs: pl.DataFrame, places: dict[str, int]) -> pl.DataFrame:
    there = [name for name in places if name in scores.dialogs.collect_schema().names()]
    values = scores.dialogs.select("dialog", *there).collect(engine="streaming")
    renamed = values.rename({name: f"m{places[name]}" for name in there})
    return dialogs.select("talk", "dialog").join(renamed, on="dialog").drop("dialog")


def _agent_values(scores: Scores, source: str, places: dict[str, int]) -> pl.DataFrame:
    rows = scores.table.filter(
        (pl.col("level") == "agent") & pl.col("metric").is_in(list(places))
    ).select("system", "agent", "metric", "value")
    wide = rows.collect(engine="streaming").pivot(
        "metric", index=["system", "agent"], values="value", maintain_order=True
    )
    renamed = {name: f"m{places[name]}" for name in wide.columns if name in places}
    return wide.rename(renamed).with_columns(source=pl.lit(source))


def _agents_of(dialogs: pl.DataFrame) -> pl.DataFrame:
    return dialogs.group_by("source", "system", "agent", maintain_order=True).agg(
        dialogs=pl.len().cast(pl.Int64),
        **{n: pl.col(n).sum() for n in ("turns", "agent_turns", "words")},
    )


def _merged(base: pl.DataFrame, parts: list[pl.DataFrame], on: list[str]) -> pl.DataFrame:
    """A table with the columns of others; of two that have a value the first counts."""
    for part in parts:
        known = [name for name in part.columns if name in base.columns and name not in on]
        base = base.join(part, on=on, how="left", suffix="|new", maintain_order="left")
        base = base.with_columns(
            pl.coalesce(name, f"{name}|new").alias(name) for name in known
        ).drop([f"{name}|new" for name in known])
    return base


def _ratings(tables: list[pl.DataFrame], dialogs: pl.DataFrame) -> pl.DataFrame:
    """The corpora's own ratings, with the numbers of the turns and dialogues they are of."""
    schema = pl.Schema([*RATINGS.items(), ("source", pl.String())])
    found = pl.concat([schema.to_frame(), *(table.select(schema.names()) for table in tables)])
    keys = dialogs.select("source", "dialog", "talk", "first")
    return found.join(
        keys, on=["source", "dialog"], how="left", maintain_order="left"
    ).with_columns(row=pl.col("first") + pl.col("turn"))
