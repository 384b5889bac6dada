"""Labelled texts, read from a file and put in order: who wrote what, and whose the label is."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from dialens.base import DialensError, did_you_mean, first_line
from dialens.corpus import Source, json_records

Vector = NDArray[np.float64]
Rows = NDArray[np.intp]
_FEWEST_PEOPLE_A_FOLD = 2
_PARQUET = b"PAR1"
_NOT_GIVEN = ("", "na", "n/a", "nan", "null", "none", "-")


@dataclass(frozen=True, eq=False)
class Labelled:
    """Texts with a label, and the units a model is fitted on.

    Attributes:
        texts: The texts, sorted by person, so that the order of the user's rows does not matter.
        text_person: Whose text it is, as a row of ``names``.
        text_target: The label of each text (that of its person, if the unit is ``person``).
        names: The people.
        unit: ``person`` or ``text``.
        unit_person: Whose unit it is.
        unit_target: The label of each unit.
        dropped: How many rows were left out for want of a text, a label or a person.
    """

    texts: pl.Series = field(repr=False)
    text_person: Rows = field(repr=False)
    text_target: Vector = field(repr=False)
    names: pl.Series = field(repr=False)
    unit: str
    unit_person: Rows = field(repr=False)
    unit_target: Vector = field(repr=False)
    dropped: Mapping[str, int] = field(default_factory=dict)

    def pool(self, texts: sparse.csr_array) -> sparse.csr_array:
        """Sum rows of texts to rows of units."""
        if self.unit == "text":
            return texts
        place = (self.text_person, np.arange(len(self.text_person)))
        shape = (len(self.names), len(self.text_person))
        whose = sparse.csr_array((np.ones(len(self.text_person)), place), shape=shape)
        pooled = sparse.csr_array(whose @ texts)
        pooled.sort_indices()
        return pooled

    def by_person(self, units: Vector) -> Vector:
        """Average units to people, leaving out NaN; NaN for a person with nothing else."""
        known = ~np.isnan(units)
        total = np.bincount(self.unit_person[known], units[known], minlength=len(self.names))
        n = np.bincount(self.unit_person[known], minlength=len(self.names))
        mean: Vector = np.divide(total, n, out=np.full(len(n), np.nan), where=n > 0)
        return mean

    @property
    def person_target(self) -> Vector:
        """The label of each person (mean over texts, if the unit is ``text``)."""
        return self.by_person(self.unit_target)


def labelled(table: pl.DataFrame, *, text: str, target: str, group: str, folds: int) -> Labelled:
    """Check a table and put it in order.

    Rows without text (null or blank), target or group are left out and counted by the first that
    is missing. If the target never varies within a group it is a trait and the unit is the person,
    else it is a state and the unit is the text.

    Raises:
        DialensError: A column is missing, the target is not numeric or constant, or there are fewer
            than two people a fold.

    Examples:
        >>> table = pl.DataFrame({"who": ["b", "a", "b", "c"], "says": ["x", "y", "z", None]})
        >>> data = labelled(
        ...     table.with_columns(score=pl.Series([1, 2, 1, 3])),
        ...     text="says",
        ...     target="score",
        ...     group="who",
        ...     folds=1,
        ... )
        >>> data.unit, data.names.to_list(), data.unit_target.tolist(), data.dropped
        ('person', ['a', 'b'], [2.0, 1.0], {'no text': 1})
    """
    for column in (text, target, group):
        if column not in table.columns:
            raise DialensError(
                f"the table has no column {column!r}. {did_you_mean(column, table.columns)}"
                f"Its columns are {', '.join(table.columns)}"
            )
    kind = table.schema[target]
    if not (kind.is_numeric() or kind == pl.Boolean):
        raise DialensError(f"the target {target!r} is of type {kind}; it must be numeric")
    rows, dropped = _without_gaps(
        table.select(
            text=pl.col(text).cast(pl.String),
            target=pl.col(target).cast(pl.Float64).fill_nan(None),
            group=pl.col(group).cast(pl.String),
        )
    )
    if rows["target"].is_infinite().any():
        raise DialensError(f"the target {target!r} holds infinite values; mend or leave them out")
    rows = rows.sort("group", "text", "target")
    names = rows["group"].unique().sort()
    if len(names) < max(2, folds * _FEWEST_PEOPLE_A_FOLD):
        gaps = "".join(f", {n} rows with {what} left out" for what, n in dropped.items())
        most = len(names) // _FEWEST_PEOPLE_A_FOLD
        remedy = f"give more people or at most {most} folds" if most > 1 else "give more people"
        raise DialensError(
            f"{len(names)} people in the column {group!r} are too few for {folds} folds"
            f" ({rows.height} usable texts{gaps}); {remedy}"
        )
    if rows["target"].n_unique() < 2:
        raise DialensError(
            f"the target {target!r} is {rows['target'][0]:g} in every row: there is nothing to fit"
        )
    person = rows["group"].rank("dense").to_numpy().astype(np.intp) - 1
    values = rows["target"].to_numpy()
    varies = rows.group_by("group").agg(n=pl.col("target").n_unique())["n"].max()
    trait = varies == 1
    first = np.unique(person, return_index=True)[1]
    return Labelled(
        texts=rows["text"],
        text_person=person,
        text_target=values,
        names=names,
        unit="person" if trait else "text",
        unit_person=np.arange(len(names)) if trait else person,
        unit_target=values[first] if trait else values,
        dropped=dropped,
    )


def _without_gaps(rows: pl.DataFrame) -> tuple[pl.DataFrame, dict[str, int]]:
    """Leave out rows in which something is missing; count each by the first thing missing."""
    blank = pl.col("text").is_null() | (pl.col("text").str.strip_chars() == "")
    missing = {
        "no text": blank,
        "no target": pl.col("target").is_null(),
        "no group": pl.col("group").is_null() | (pl.col("group").str.strip_chars() == ""),
    }
    dropped = {}
    for what, gap in missing.items():
        kept = rows.filter(~gap)
        if kept.height < rows.height:
            dropped[what] = rows.height - kept.height
        rows = kept
    return rows, dropped


def read_labelled(path: Path, *, text: str, target: str, group: str) -> pl.DataFrame:
    r"""Read the three columns that a trait model is fitted on.

    The target may be left empty or say NA or NaN; such rows are kept with null, for
    :func:`~dialens.models.traits.fit` to count.

    Args:
        path: The file.
        text: Column of texts.
        target: Column of numbers.
        group: Column that says whose text it is.

    Raises:
        DialensError: The file or a column is missing or there twice, it cannot be read, or a target
            is no number.

    Examples:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "t.csv"
        >>> _ = file.write_text("who,says,warm\na,hi,3\nb,bye,NA\n")
        >>> read_labelled(file, text="says", target="warm", group="who").rows()
        [('hi', 3.0, 'a'), ('bye', None, 'b')]
    """
    if len({text, target, group}) < 3:
        raise DialensError(
            f"text, target and group must be three columns; seen: {text}, {target}, {group}"
        )
    if not path.is_file():
        raise DialensError(f"{path} is not there: give a CSV, TSV, JSONL or Parquet file.")
    try:
        table = _table(Source(path), (text, target, group))
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DialensError(f"{path} cannot be read as a table: {first_line(error)}") from error
    for column in (text, target, group):
        if column not in table.columns:
            raise DialensError(
                f"{path} has no column {column!r}. {did_you_mean(column, table.columns)}"
                f"Its columns: {', '.join(table.columns)}."
            )
    for column in (text, group):
        if table.schema[column].is_nested():
            raise DialensError(
                f"{path}: the column {column!r} holds {table.schema[column]}; it must be plain text"
            )
    return pl.DataFrame(
        {
            text: table[text].cast(pl.String),
            target: _numbers(table[target], path),
            group: table[group].cast(pl.String),
        }
    )


def _table(source: Source, wanted: Sequence[str]) -> pl.DataFrame:
    if source.head.startswith(_PARQUET):
        return pl.read_parquet(source.path)
    content = b"".join(source.chunks())
    if not content.strip():
        raise DialensError(f"{source.path} is empty.")
    if content.lstrip().startswith(b"{") or source.first is not None:
        return pl.from_dicts(_objects(source), infer_schema_length=None, strict=False)
    header = content.split(b"\n", 1)[0].decode(errors="replace")
    delimiter = max(",;\t", key=header.count)
    named = io.TextIOWrapper(io.BytesIO(content), "utf-8", "replace", newline="")
    counted = Counter(next(csv.reader(named, delimiter=delimiter)))
    for column in wanted:
        if counted[column] > 1:
            raise DialensError(
                f"{source.path} has {counted[column]} columns {column!r}: name them apart, or "
                "leave out all but one."
            )
    return pl.read_csv(content, separator=delimiter, infer_schema=False)


def _objects(source: Source) -> list[dict[str, object]]:
    """Return the objects of a JSON file; NaN is a number here, as many programs write it."""
    objects = []
    for record in json_records(source):
        wrong = None if record.problem is None else record.problem.what
        value: object = None
        try:
            value = json.loads(record.raw) if wrong is None else None
        except UnicodeDecodeError:
            wrong = "is not UTF-8"
        except json.JSONDecodeError as error:
            wrong = f"is not JSON ({error.msg}, character {error.pos + 1})"
        if not isinstance(value, dict):
            raise DialensError(
                f"{source.path}, line {record.line} {wrong or 'is no JSON object'}: mend it or "
                "leave it out. Give one object a row, with a value for each column."
            )
        objects.append(value)
    return objects


def _numbers(column: pl.Series, path: Path) -> pl.Series:
    """Return the target as numbers; a word that is none is named with its row."""
    kind = column.dtype
    if kind.is_numeric() or kind == pl.Boolean:
        return column.cast(pl.Float64).fill_nan(None)
    if kind != pl.String and kind != pl.Null:
        raise DialensError(f"{path}: the target {column.name!r} is of type {kind}; give numbers")
    plain = column.cast(pl.String).str.strip_chars()
    stated = plain.set(plain.str.to_lowercase().is_in(list(_NOT_GIVEN)), None)
    numbers = stated.cast(pl.Float64, strict=False)
    wrong = (stated.is_not_null() & numbers.is_null()).arg_true()
    if len(wrong):
        row = int(wrong[0])
        raise DialensError(
            f"{path}, row {row + 1}: the target {column.name!r} is {stated[row]!r}, which is not a "
            f"number ({len(wrong)} such rows). Give numbers, or leave the cell empty."
        )
    return numbers
