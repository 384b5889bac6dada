"""Cells of files of ratings: their columns, decimal commas, and why a file is none."""

import csv
import io
import json
from collections.abc import Mapping, Sequence

import polars as pl

from dialens.base import DialensError, listed
from dialens.corpus import RATINGS, Source, json_records
from dialens.statistics.rating_files._taken import Cells

NEEDED = "item (or dialog) and value, and for most questions rater, agent and quality as well"
"""Columns of a table of ratings, in words."""

_ENDINGS = (".csv", ".tsv")
_DECIMAL = r"^\s*([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)\s*$"
_PERHAPS_THOUSANDS = r"^\s*[+-]?[1-9]\d{0,2},\d{3}\s*$"
_NUMBER = r"^\s*[+-]?\d+(?:[.,]\d+)?\s*$"
_PARQUET = b"PAR1"


def header_of(source: Source) -> tuple[str, list[str]]:
    """The delimiter of a file and the columns that its first line names."""
    text = source.head.decode(errors="replace")
    header = text.split("\n", 1)[0].strip()
    delimiter = max(",;\t", key=header.count)
    cells = next(csv.reader(io.StringIO(text), delimiter=delimiter), [])
    return delimiter, [cell.strip() for cell in cells]


def read_cells(source: Source) -> Cells:
    """Every cell of a file as text: CSV, TSV, JSON, JSONL or Parquet."""
    name = str(source.path)
    if source.head.startswith(_PARQUET):
        return Cells(_texts(pl.read_parquet(source.path)), name, 1, "row")
    if source.first is not None:
        return Cells(_texts(from_json(source)), name, 1, "record")
    delimiter, columns = header_of(source)
    named = not (columns and all(_is_number(cell) for cell in columns))
    content = b"".join(source.chunks())
    try:
        frame = pl.read_csv(content, separator=delimiter, infer_schema=False, has_header=named)
    except pl.exceptions.PolarsError as error:
        raise DialensError(ragged(source, content, delimiter, error)) from error
    if not named:
        frame = frame.rename({old: str(n) for n, old in enumerate(frame.columns, start=1)})
    frame = frame.rename({column: column.strip() for column in frame.columns})
    if delimiter != ",":
        mostly = [c for c in frame.columns if _has_decimals(frame[c])]
        frame = frame.with_columns(_pointed(frame[c], source) for c in mostly)
    return Cells(frame, name, 2 if named else 1, "line", named)


def from_json(source: Source) -> pl.DataFrame:
    """The records of a JSON file as a table; a line that is no JSON is named."""
    content = b"".join(source.chunks())
    read_rows = pl.read_json if content.lstrip()[:1] == b"[" else pl.read_ndjson
    try:
        return read_rows(io.BytesIO(content), infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        for record in json_records(source):
            try:
                json.loads(record.raw)
            except (ValueError, RecursionError):
                line = f"{source.path}, line {record.line} is not JSON"
                seen = record.raw[:80].decode(errors="replace")
                raise DialensError(f"{line}; seen: {seen}. Mend it or leave it out.") from error
        raise DialensError(f"{source.path} is not a whole table of ratings: {error}.") from error


def ragged(source: Source, content: bytes, delimiter: str, error: Exception) -> str:
    """Which line of a table has too many or too few cells."""
    rows = csv.reader(io.StringIO(content.decode(errors="replace")), delimiter=delimiter)
    width = len(next(rows, []))
    for cells in rows:
        if cells and len(cells) != width:
            return (
                f"{source.path}, line {rows.line_num}: has {len(cells)} cells where the header "
                f"has {width}. Put quotes around cells that hold the delimiter."
            )
    return f"{source.path} cannot be read as a table: {error}."


def line_of(source: Source, row: int) -> int:
    """The line on which a row of a delimited file begins, whatever line breaks its cells hold."""
    delimiter, _ = header_of(source)
    text = b"".join(source.chunks()).decode(errors="replace")
    rows = csv.reader(io.StringIO(text), delimiter=delimiter)
    next(rows, None)
    begins = rows.line_num + 1
    number = 0
    for cells in rows:
        if cells:
            if number == row:
                return begins
            number += 1
        begins = rows.line_num + 1
    return begins


def _texts(frame: pl.DataFrame) -> pl.DataFrame:
    """All columns as text, nested ones as JSON."""
    return frame.with_columns(
        pl.Series(
            c.name,
            [None if v is None else json.dumps(v, ensure_ascii=False) for v in c.to_list()],
            pl.String,
        )
        if isinstance(c.dtype, pl.Struct | pl.List)
        else c.cast(pl.String)
        for c in frame
    )


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return True


def _has_decimals(column: pl.Series) -> bool:
    """Whether a column holds numbers, some of them with decimal commas."""
    known = column.drop_nulls().str.strip_chars()
    known = known.filter(~known.str.to_lowercase().is_in(["", "na", "n/a", "nan", "-"]))
    numbers = known.str.contains(_NUMBER)
    return len(known) > 0 and bool(numbers.all()) and bool(known.str.contains(_DECIMAL).any())


def is_wrong_table(source: Source) -> bool:
    """Whether a file that nothing could read was meant as a table, and not of turns."""
    meant = set(_ENDINGS) & {suffix.lower() for suffix in source.path.suffixes}
    return bool(meant) and "text" not in {name.lower() for name in header_of(source)[1]}


def no_table(source: Source) -> str:
    """What a table of ratings needs, and what was found instead."""
    columns = [name for name in header_of(source)[1] if name]
    found = f"found: {listed(columns)}" if columns else "the file is empty"
    remedy = (
        " Map other names: --column item=COLUMN --column value=COLUMN. If a row is an item and a "
        "column a rater: --format wide; a row a rater and a column an item: --format matrix."
        if columns
        else ""
    )
    return f"{source.path} is no table of ratings: it needs the columns {NEEDED}; {found}.{remedy}"


def without_decimal_commas(
    table: pl.DataFrame, names: Mapping[str, str], source: Source
) -> pl.DataFrame:
    """Numbers such as `3,7` with a point, in the columns that hold numbers with decimals.

    Args:
        table: Cells as text, from a file that is not delimited by commas.
        names: Our name for every column.
        source: The file, for messages.
    """
    decimals = [name for name, dtype in RATINGS.items() if dtype.is_float()]
    columns = [column for column in table.columns if names[column] in decimals]
    return table.with_columns(_pointed(table[column], source) for column in columns)


def _pointed(column: pl.Series, source: Source) -> pl.Series:
    with_comma = column.filter(column.str.contains(_DECIMAL).fill_null(value=False))
    if len(with_comma) and with_comma.str.contains(_PERHAPS_THOUSANDS).all():
        raise DialensError(
            f"{source.path}, field `{column.name}`: {with_comma[0].strip()!r} may be a number with "
            "decimals or one with thousands set apart. Write numbers without the comma, or with a "
            "point."
        )
    return column.str.replace(_DECIMAL, "${1}.${2}")


def no_rows(source: Source, columns: Sequence[str]) -> str:
    """Why a table or a corpus without ratings is refused."""
    found = f"found: {listed(list(columns))}, and no row below them" if columns else "found: none"
    return (
        f"{source.path} holds no ratings. A table of ratings needs the columns {NEEDED}; {found}."
    )
