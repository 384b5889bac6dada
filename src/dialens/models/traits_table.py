"""Labelled texts from a user's file: CSV, TSV, JSONL or Parquet, packed or not."""

from __future__ import annotations

import io
from pathlib import Path

import polars as pl

from dialens.corpus.source import Source
from dialens.errors import DialensError, did_you_mean

_PARQUET = b"PAR1"
_NOT_GIVEN = ("", "na", "n/a", "nan", "null", "none", "-")


def read_labelled(path: Path, *, text: str, target: str, group: str) -> pl.DataFrame:
    r"""Read the three columns that a trait model is fitted on.

    The target of a CSV file may be left empty or say NA; such rows are kept with null, for
    :func:`~dialens.models.traits.fit` to count.

    Args:
        path: The file.
        text: Column of texts.
        target: Column of numbers.
        group: Column that says whose text it is.

    Raises:
        DialensError: The file or a column is missing, it cannot be read, or a target is no number.

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
        table = _table(Source(path))
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


def _table(source: Source) -> pl.DataFrame:
    if source.head.startswith(_PARQUET):
        return pl.read_parquet(source.path)
    content = b"".join(source.chunks())
    if not content.strip():
        raise DialensError(f"{source.path} is empty.")
    if source.first is not None:
        read_rows = pl.read_json if content.lstrip()[:1] == b"[" else pl.read_ndjson
        return read_rows(io.BytesIO(content), infer_schema_length=None)
    header = content.split(b"\n", 1)[0].decode(errors="replace")
    delimiter = max(",;\t", key=header.count)
    return pl.read_csv(content, separator=delimiter, infer_schema=False)


def _numbers(column: pl.Series, path: Path) -> pl.Series:
    """Return the target as numbers; a word that is none is named with its row."""
    kind = column.dtype
    if kind.is_numeric() or kind == pl.Boolean:
        return column.cast(pl.Float64)
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
