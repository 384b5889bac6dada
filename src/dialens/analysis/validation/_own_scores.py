"""Scores that somebody computed elsewhere, as metrics beside ours."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from dialens.base import DialensError, counted, listed, sha256_file
from dialens.corpus import Corpus, Source
from dialens.metrics import SCORES, Definition, MetricCard, Resources, ScoredMetric, Scores
from dialens.statistics.rating_files import NOT_GIVEN, Cells, read_cells

OWN = "own"
"""The family of metrics that were computed elsewhere."""


def is_own(card: MetricCard) -> bool:
    """Whether a metric was computed elsewhere: from a file of scores, or by judges."""
    return card.family == OWN or card.given is not None


_NAMES = {
    "dialog": ("dialog", "dialog_id", "dialogue", "dialogue_id", "conversation_id", "unit_id",
               "item", "item_id", "id"),
    "turn": ("turn", "turn_id", "turn_index"),
    "system": ("system",),
    "agent": ("agent", "model"),
    "metric": ("metric", "metric_name"),
    "value": ("value", "score"),
}  # fmt: skip
_MOST_NAMED = 3
_LOOKED_AT = 10_000


@dataclass(frozen=True)
class OwnScores:
    """Values from a file, joined with the conversations.

    Attributes:
        scores: As `dialens score` would have made them.
        notes: How many rows were used and which were not, in sentences.
    """

    scores: Scores
    notes: tuple[str, ...]


def own_scores(path: str | Path, corpus: Corpus, *, skip: bool = False) -> OwnScores:
    """Read scores from a table: CSV, TSV, JSONL or Parquet.

    A row is about a turn (columns dialog and turn) or, without turn, about a dialogue. Every other
    column of numbers is a metric; `metric` and `value` may say the same in rows. Values of turns
    are averaged over dialogues, agents and systems, those of dialogues over agents and systems.

    Args:
        path: The table.
        corpus: The conversations that were scored.
        skip: Whether rows about nothing in the corpus are left out and counted; they are an error
            otherwise.
    """
    source = Source(Path(path))
    if not source.path.is_file():
        raise DialensError(f"--scores {path}: there is no such file.")
    cells = read_cells(source)
    names = _named(cells)
    rows = _numbers(cells, names)
    of_turns = "turn" in names.values()
    turns = corpus.turns.select("system", "agent", "dialog", "turn")
    named_here = pl.col("dialog").is_in(rows["dialog"].unique().implode())
    units = turns.filter(named_here).collect(engine="streaming")
    first = turns.select("dialog").head(_LOOKED_AT).collect()["dialog"].unique(maintain_order=True)
    rows, notes = _matched(rows, units, first, source.path, of_turns=of_turns, skip=skip)
    table = pl.concat([_at_levels(rows, units), SCORES.to_frame()])
    metrics = table["metric"].unique(maintain_order=True).to_list()
    mark = sha256_file(source.path)[:12]
    signatures = {name: f"{name}|v1|{source.path.name}|{mark}" for name in metrics}
    table = table.with_columns(signature=pl.col("metric").replace_strict(signatures))
    levels = dict(table.group_by("metric").agg(pl.col("level").unique()).iter_rows())
    found = [
        ScoredMetric(_card(name, source.path.name, levels[name]), signatures[name], ())
        for name in metrics
    ]
    dialogs = units.select("system", "agent", "dialog").unique(maintain_order=True)
    scores = Scores(table.lazy(), dialogs.lazy(), dialogs.lazy(), SCORES.to_frame(), tuple(found))
    said = f"{source.path.name}: {counted(len(metrics), 'metric')} ({listed(metrics[:4])})"
    return OwnScores(scores, (f"{said} for {counted(rows.height, 'value')}.", *notes))


def joined(scores: Scores | None, own: Sequence[OwnScores]) -> Scores:
    """Scores of a run and scores from files as one."""
    parts = [*([scores] if scores is not None else []), *(one.scores for one in own)]
    names: list[str] = []
    for part in parts:
        for name in part.names:
            if name in names:
                raise DialensError(
                    f"Two metrics are called {name!r}. Rename the column of your own scores."
                )
            names.append(name)
    if len(parts) == 1:
        return parts[0]
    first = parts[0]
    tables = pl.concat([part.table.select(SCORES.names()) for part in parts])
    metrics = tuple(metric for part in parts for metric in part.metrics)
    return Scores(tables, first.states, first.dialogs, first.positions, metrics)


def _named(cells: Cells) -> dict[str, str]:
    """Our name for the columns that say what a row is about."""
    plain = {re.sub(r"[\s\-]+", "_", c.strip().lower()): c for c in cells.columns}
    found: dict[str, str] = {}
    for ours, theirs in _NAMES.items():
        column = next((plain[name] for name in theirs if name in plain), None)
        if column is not None and column not in found:
            found[column] = ours
    if "dialog" not in found.values():
        raise DialensError(
            f"--scores {cells.name}: no column says which dialogue a row is about. It needs dialog "
            f"(and turn for scores of turns) and a column for each metric; found: "
            f"{listed(cells.columns)}."
        )
    if "metric" not in found.values():
        return {c: ours for c, ours in found.items() if ours != "value"}
    return found


def _numbers(cells: Cells, names: Mapping[str, str]) -> pl.DataFrame:
    """One row a value: dialog, turn, metric, value, and where it stands."""
    frame = cells.frame.with_columns(cells.places().alias("place"))
    ids = [frame[c].str.strip_chars().alias(ours) for c, ours in names.items()]
    base = pl.DataFrame([*ids, frame["place"]])
    if "turn" in base.columns:
        base = base.with_columns(turn=_whole(base, cells.name))
    else:
        base = base.with_columns(turn=pl.lit(None, pl.Int32))
    if {"metric", "value"} <= set(base.columns):
        return _parsed(base.select("dialog", "turn", "metric", "value", "place"), cells.name)
    metrics = [c for c in cells.columns if c not in names and _is_numeric(frame[c])]
    if not metrics:
        raise DialensError(
            f"--scores {cells.name}: no column of numbers beside {listed(list(names))}. Columns: "
            f"{listed(cells.columns)}."
        )
    keys = base.select("dialog", "turn", "place")
    parts = [
        keys.with_columns(value=frame[column], metric=pl.lit(column.strip())) for column in metrics
    ]
    return _parsed(
        pl.concat(part.select("dialog", "turn", "metric", "value", "place") for part in parts),
        cells.name,
    )


def _whole(base: pl.DataFrame, name: str) -> pl.Series:
    texts = base["turn"].set(base["turn"] == "", None).str.replace(r"\.0+$", "")
    turns = texts.cast(pl.Int32, strict=False)
    wrong = base.with_columns(seen=texts).filter(texts.is_not_null() & turns.is_null())
    if wrong.height:
        first = wrong.row(0, named=True)
        raise DialensError(
            f"--scores {name}, {first['place']}: turn {first['seen']!r} is no whole number."
        )
    return turns


def _is_numeric(column: pl.Series) -> bool:
    known = column.str.strip_chars().drop_nulls()
    known = known.filter(~known.str.to_lowercase().is_in(NOT_GIVEN))
    if not len(known):
        return False
    return known.cast(pl.Float64, strict=False).null_count() < len(known) / 2


def _parsed(rows: pl.DataFrame, name: str) -> pl.DataFrame:
    """Values as numbers, null where there is none; anything else is named."""
    texts = rows["value"].cast(pl.String).str.strip_chars()
    texts = texts.set(texts.str.to_lowercase().is_in(NOT_GIVEN), None)
    values = texts.cast(pl.Float64, strict=False)
    wrong = rows.with_columns(seen=texts).filter(texts.is_not_null() & values.is_null())
    if wrong.height:
        first = wrong.row(0, named=True)
        raise DialensError(
            f"--scores {name}, {first['place']}: {first['metric']} is {first['seen']!r}, no "
            "number. Write a number there, or NA where there is none."
        )
    return rows.with_columns(value=values.set(~values.is_finite(), None))


def _matched(
    rows: pl.DataFrame,
    units: pl.DataFrame,
    first_dialogs: pl.Series,
    path: Path,
    *,
    of_turns: bool,
    skip: bool,
) -> tuple[pl.DataFrame, list[str]]:
    """Rows whose dialogue and turn are in the corpus; others are named."""
    dialogs = rows.filter(~pl.col("dialog").is_in(units["dialog"].unique().implode()))
    notes = []
    if dialogs.height:
        there = first_dialogs[:_MOST_NAMED].to_list()
        unknown = dialogs["dialog"].unique(maintain_order=True)
        text = (
            f"{counted(len(unknown), 'dialogue')} of {path.name} "
            f"{'is' if len(unknown) == 1 else 'are'} not in the corpus: "
            f"{listed(unknown[:_MOST_NAMED].to_list())}{' …' if len(unknown) > _MOST_NAMED else ''}"
        )
        if not skip or len(unknown) == rows["dialog"].n_unique():
            raise DialensError(
                f"{text} (first: {dialogs['place'][0]}). The corpus calls its dialogues "
                f"{listed(there)}{' …' if len(first_dialogs) > _MOST_NAMED else ''}. "
                "Use its ids, or leave such rows out with --on-error skip."
            )
        notes.append(f"{text}; {counted(dialogs.height, 'value')} left out.")
        rows = rows.filter(pl.col("dialog").is_in(units["dialog"].unique().implode()))
    if of_turns:
        keys = units.select("dialog", "turn").with_columns(known=pl.lit(value=True))
        rows = rows.join(keys, on=["dialog", "turn"], how="left", maintain_order="left")
        wrong = rows.filter(pl.col("turn").is_not_null() & pl.col("known").is_null())
        if wrong.height:
            first = wrong.row(0, named=True)
            last = max(units.filter(pl.col("dialog") == first["dialog"])["turn"].to_list())
            text = (
                f"{counted(wrong.height, 'value')} of {path.name} "
                f"{'is' if wrong.height == 1 else 'are'} about turns that are not there, the first "
                f"at {first['place']}: dialogue {first['dialog']} has no turn {first['turn']} "
                f"(turns are counted from 0, the last is {last})"
            )
            if not skip:
                raise DialensError(f"{text}. Mend it, or leave it out with --on-error skip.")
            notes.append(f"{text}; left out.")
            rows = rows.filter(pl.col("turn").is_null() | pl.col("known").is_not_null())
        rows = rows.drop("known")
    twice = rows.filter(pl.struct("dialog", "turn", "metric").is_duplicated())
    if twice.height:
        first = twice.row(0, named=True)
        about = first["dialog"] + ("" if first["turn"] is None else f", turn {first['turn']}")
        raise DialensError(
            f"--scores {path}: {first['metric']} of {about} stands there more than once (first: "
            f"{first['place']}). Leave one value of each."
        )
    return rows, notes


def _at_levels(rows: pl.DataFrame, units: pl.DataFrame) -> pl.DataFrame:
    """The values of turns and dialogues as given, and their means above."""
    whose = units.select("dialog", "turn", "system", "agent")
    first = whose.unique("dialog", keep="first", maintain_order=True).drop("turn")
    turns = rows.filter(pl.col("turn").is_not_null()).join(whose, on=["dialog", "turn"])
    whole = rows.filter(pl.col("turn").is_null()).join(first, on="dialog")
    given = set(whole["metric"].unique())
    from_turns = turns.filter(~pl.col("metric").is_in(list(given)))
    parts = [
        _level(turns, "turn", ["system", "agent", "dialog", "turn"]),
        _level(whole, "dialog", ["system", "agent", "dialog"]),
        _level(from_turns, "dialog", ["system", "agent", "dialog"]),
    ]
    for level, keys in (("agent", ["system", "agent"]), ("system", ["system"])):
        parts += [_level(whole, level, keys), _level(from_turns, level, keys)]
    return pl.concat(parts)


def _level(rows: pl.DataFrame, level: str, keys: Sequence[str]) -> pl.DataFrame:
    means = rows.group_by("metric", *keys, maintain_order=True).agg(
        pl.col("value").mean(),
        n=pl.col("value").count().cast(pl.Int64),
        n_missing=pl.col("value").null_count().cast(pl.Int64),
    )
    empty = pl.col("value").is_null()
    return means.select(
        "metric",
        pl.lit(level).alias("level"),
        *(
            pl.col(key) if key in keys else pl.lit(None, SCORES[key]).alias(key)
            for key in ("system", "agent", "dialog", "turn")
        ),
        "value",
        "n",
        "n_missing",
        pl.when(empty).then(pl.lit("no value in the file")).alias("reason"),
        pl.lit(None, pl.String).alias("signature"),
    )


def _card(name: str, file: str, levels: Sequence[str]) -> MetricCard:
    def make(_: Resources) -> Definition:
        raise DialensError(f"{name} was computed elsewhere ({file}) and cannot be computed here.")

    return MetricCard(
        name,
        f"Your own score, from {file}.",
        OWN,
        make,
        levels=tuple(levels),
        label=name,
        family_label="Your own scores",
    )
