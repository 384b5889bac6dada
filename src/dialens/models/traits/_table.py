"""Labelled texts from a user's file: CSV, TSV, JSONL or Parquet, packed or not."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import polars as pl

from dialens.base import DialensError, did_you_mean
from dialens.corpus import Source, json_records

_PARQUET = b"PAR1"
_NOT_GIVEN = ("", "na", "n/a", "nan", "null", "none", "-")


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
        first = str(error).strip().splitlines()[0]
        raise DialensError(f"{path} cannot be read as a table: {first}") from error
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
    found = []
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
        found.append(value)
    return found


def _numbers(column: pl.Series, path: Path) -> pl.Series:
    """Return the target as numbers; a word that is none is named with its row."""
    kind = column.dtype
    if kind.is_numeric() or kind == pl.Boolean:
        return column.cast(pl.Float64).fill_nan(None)
    if kind != pl.String and kind != pl.Null:
        raise DialensError(f"{path}: the target {column.name!r} is of type {kind}; give numbers")
    plain = column.cast(pl.String).str.strip_chars()
    given = plain.set(plain.str.to_lowercase().is_in(list(_NOT_GIVEN)), None)
    numbers = given.cast(pl.Float64, strict=False)
    wrong = (given.is_not_null() & numbers.is_null()).arg_true()
    if len(wrong):
        row = int(wrong[0])
        raise DialensError(
            f"{path}, row {row + 1}: the target {column.name!r} is {given[row]!r}, which is not a "
            f"number ({len(wrong)} such rows). Give numbers, or leave the cell empty."
        )
    return numbers
