"""Which dialogues make a difference between two agents.

A mean is a sum of parts: where both answered the same contexts, the mean difference is the sum of
each context's difference by their number; where they did not, the distance of an agent's dialogues
from the mean of the other adds up to the same. A unit's share is its part of that sum. It says
where the difference comes from in these data, not why it is there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from dialens.analysis.comparison import run_names, side_dialogs
from dialens.metrics import Scores
from dialens.workbench._catalogue import Item
from dialens.workbench._columns import Column
from dialens.workbench._comparisons import Comparison
from dialens.workbench._conversations import Collection
from dialens.workbench._index import Index

SHOWN = 10
_AGAINST = 5
_LEAST_BALANCE = 0.1
_NOTHING = 1e-12


@dataclass(frozen=True)
class Part:
    """A unit of a difference: a context that both answered, or one dialogue.

    Attributes:
        talk: Number of a dialogue of it in the index; of the first side where it has both.
        other: Number of a dialogue of the second side, if it has one.
        value_a: The first side's mean in it.
        value_b: The second side's: in it, or of all its dialogues.
        difference: Value a − value b.
        share: Its part in the difference of all; None where shares say nothing.
    """

    talk: int
    other: int | None
    value_a: float
    value_b: float
    difference: float
    share: float | None


@dataclass(frozen=True)
class Parts:
    """The units of one side, or of both where they are paired.

    Attributes:
        units: How many there are.
        missing: Units without a value.
        difference: The mean over units, a − b.
        first: Those that add most to it, the largest first.
        against: Those that take most away, the largest first.
        for_it: How many go the same way as the whole.
        balance: How far units agree: 1 if all go one way, 0 if they cancel out.
        first_share: What the first have together; None where shares say nothing.
    """

    units: int
    missing: int
    difference: float
    first: tuple[Part, ...]
    against: tuple[Part, ...]
    for_it: int
    balance: float
    first_share: float | None


@dataclass(frozen=True)
class Behind:
    """What a row of a comparison rests on.

    Attributes:
        paired: Whether contexts are the units.
        parts: One where paired, else one a side; none where no unit has values.
        columns: The column of each side in the index.
        sources: The collection of each side.
        agents: The agents of each side; none where systems are compared.
        changed: That the scores are no longer those that were compared, in words; or empty.
    """

    paired: bool
    parts: tuple[Parts, ...]
    columns: tuple[Column, Column]
    sources: tuple[str, str]
    agents: tuple[tuple[str, ...], tuple[str, ...]]
    changed: str


def paired_parts(values: pl.DataFrame) -> Parts | None:
    """The contexts that both sides answered, by what each adds to the mean difference.

    Args:
        values: A row a dialogue: `side` (a or b), `context`, `talk` and `value`.

    Examples:
        >>> values = pl.DataFrame(
        ...     {
        ...         "side": ["a", "b", "a", "b"],
        ...         "context": [1, 1, 2, 2],
        ...         "talk": [0, 1, 2, 3],
        ...         "value": [4.0, 1.0, 2.0, 1.0],
        ...     }
        ... )
        >>> [(part.difference, part.share) for part in paired_parts(values).first]
        [(3.0, 0.75), (1.0, 0.25)]
    """
    sides = [
        values.filter(side=side)
        .group_by("context")
        .agg(pl.col("value").mean(), pl.col("talk").min())
        for side in ("a", "b")
    ]
    both = sides[0].join(sides[1], on="context", suffix="_b").rename({"value": "value_a"})
    kept = both.drop_nulls(["value_a", "value_b"])
    return _parts(kept.select("talk", "value_a", "value_b", other="talk_b", d=_gap()), both.height)


def unpaired_parts(values: pl.DataFrame) -> tuple[Parts, ...]:
    """The dialogues of each side, by how far each is from the mean of the other side.

    Args:
        values: A row a dialogue: `side` (a or b), `talk` and `value`.

    Examples:
        >>> values = pl.DataFrame(
        ...     {"side": ["a", "a", "b", "b"], "talk": [0, 1, 2, 3], "value": [5.0, 3.0, 1.0, 1.0]}
        ... )
        >>> [[part.share for part in one.first] for one in unpaired_parts(values)]
        [[0.6666666666666666, 0.3333333333333333], [0.5, 0.5]]
    """
    a, b = (values.filter(side=side) for side in ("a", "b"))
    mean_a, mean_b = (side.select(pl.col("value").mean()).item() for side in (a, b))
    if mean_a is None or mean_b is None:
        return ()
    none = pl.lit(None, pl.Int64)
    own = [
        a.select("talk", value_a="value", value_b=pl.lit(mean_b), other=none),
        b.select("talk", value_a=pl.lit(mean_a), value_b="value", other=none),
    ]
    made = [
        _parts(side.drop_nulls(["value_a", "value_b"]).with_columns(d=_gap()), side.height)
        for side in own
    ]
    return tuple(one for one in made if one is not None)


def _gap() -> pl.Expr:
    return pl.col("value_a") - pl.col("value_b")


def _parts(units: pl.DataFrame, every: int) -> Parts | None:
    if not units.height:
        return None
    total, size = float(units["d"].sum()), float(units["d"].abs().sum())
    largest = max(float(units[name].abs().max() or 0) for name in ("value_a", "value_b"))  # type: ignore[arg-type]
    balance = abs(total) / size if size > _NOTHING * max(1.0, largest) else 0.0
    shared = balance >= _LEAST_BALANCE
    way = 1 if total >= 0 else -1
    ordered = units.with_columns(towards=pl.col("d") * way).sort(
        ["towards", "talk"], descending=[True, False]
    )

    def part(row: Mapping[str, Any]) -> Part:
        share = row["d"] / total if shared else None
        return Part(row["talk"], row["other"], row["value_a"], row["value_b"], row["d"], share)

    first = ordered.filter(pl.col("towards") > 0).head(SHOWN)
    against = ordered.filter(pl.col("towards") < 0).reverse().head(_AGAINST)
    return Parts(
        units.height,
        every - units.height,
        total / units.height,
        tuple(part(row) for row in first.iter_rows(named=True)),
        tuple(part(row) for row in against.iter_rows(named=True)),
        int((ordered["towards"] > 0).sum()),
        balance,
        float(first["d"].sum()) / total if shared else None,
    )


def column_of_run(index: Index, run: Item, metric: str) -> Column | None:
    """The column of dialogues that holds what a run computed; None if there is none."""
    columns = index.columns("dialog")
    return columns.get(f"{metric}@{run.name}") or columns.get(metric)


def behind(
    comparison: Comparison,
    row: Mapping[str, Any],
    index: Index,
    collections: Sequence[Collection],
) -> Behind | str:
    """The dialogues behind a row of a comparison, or why they cannot be shown.

    Args:
        comparison: What was compared.
        row: One of its rows.
        index: Of the folder.
        collections: Of the folder.
    """
    if comparison.unseen:
        return comparison.unseen
    names = run_names([run.path for run in comparison.runs])
    runs = dict(zip(names, comparison.runs, strict=True))
    sides = side_dialogs(
        {name: Scores.open(run.path) for name, run in runs.items()}, level=row["level"]
    )
    tables, columns, sources, agents = [], [], [], []
    for side, name in (("a", row["a"]), ("b", row["b"])):
        own = sides.filter(side=name)
        if not own.height:
            return f"{name} is not among the scores as they are now. Compare them again."
        run = runs[own["run"][0]]
        source = source_of_run(run, collections)
        column = column_of_run(index, run, row["metric"])
        if source is None or column is None:
            return (
                f"{run.name} has no values of single dialogues for this metric. Score again with "
                "the level dialog."
            )
        found = index.sql(f'select dialog, talk, "{column.sql}" from dialogs where source = ?',
                          (source,))  # fmt: skip
        schema = {"dialog": pl.String, "talk": pl.Int64, "value": pl.Float64}
        known = pl.DataFrame(found, schema=schema, orient="row")
        joined = own.join(known, on="dialog", how="inner").with_columns(side=pl.lit(side))
        tables.append(joined.select("side", "context", "talk", "value"))
        columns.append(column)
        sources.append(source)
        agents.append(tuple(own["agent"].unique().sort()) if row["level"] == "agent" else ())
    values = pl.concat(tables)
    if row["paired"]:
        paired = paired_parts(values)
        parts: tuple[Parts, ...] = (paired,) if paired is not None else ()
    else:
        parts = unpaired_parts(values)
    return Behind(
        bool(row["paired"]),
        parts,
        (columns[0], columns[1]),
        (sources[0], sources[1]),
        (agents[0], agents[1]),
        _changed(row, tables),
    )


def source_of_run(run: Item, collections: Sequence[Collection]) -> str | None:
    """The collection of conversations that a run scored; None if there is none."""
    found = (one.name for one in collections if run.name in (known.name for known in one.runs))
    return next(found, None)


def _changed(row: Mapping[str, Any], tables: Sequence[pl.DataFrame]) -> str:
    """That there are other dialogues now than when they were compared."""
    now = [table.height for table in tables]
    if now == [row["n_a"], row["n_b"]]:
        return ""
    return (
        f"The comparison had {row['n_a']:,} and {row['n_b']:,} dialogues, the scores have "
        f"{now[0]:,} and {now[1]:,} now: what follows is of these. Compare again."
    )
