"""The rows of a Parquet file as they are decoded.

DuckDB gives out rows while it decodes a row group; Polars would hold the whole group, and many
files have only one. Importing it takes a while, so this module is imported when it is needed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import msgspec

from dialens.corpus._row_bombs import row_bomb
from dialens.corpus._unpacking import Bomb, refuse_ratio

_FETCHED = 100  # a row may hold the same long text as all others
_ENCODER = msgspec.json.Encoder(enc_hook=str)
_THREADS = 2  # each decodes a row group of its own, which is what takes memory
_NESTED = ("STRUCT(", "MAP(", "UNION(", "BLOB", "BIT", "VARIANT")
_ZONED = "TIMESTAMP WITH TIME ZONE"


def parquet_types(path: Path) -> dict[str, str]:
    """The columns and their types, in the words of DuckDB.

    Raises:
        ValueError: It is not a whole Parquet file.
    """
    try:
        described = _query(path, "DESCRIBE SELECT * FROM read_parquet($path)").fetchall()
    except duckdb.Error as error:
        raise ValueError(str(error)) from error
    return {str(name): str(kind) for name, kind, *_ in described}


@dataclass(frozen=True)
class Chunk:
    """A column in a row group, as the file describes it.

    Attributes:
        values: How many.
        unpacked: Bytes of its pages.
        repeats: Whether values may stand in a dictionary.
    """

    values: int
    unpacked: int
    repeats: bool


def parquet_chunks(path: Path) -> list[Chunk]:
    """What a file says that it holds.

    Raises:
        ValueError: It is not a whole Parquet file.
    """
    asked = (
        "SELECT greatest(num_values, row_group_num_rows, 0), greatest(total_uncompressed_size, 0), "
        "contains(encodings, 'DICTIONARY') AND type = 'BYTE_ARRAY' FROM parquet_metadata($path)"
    )
    try:
        return [
            Chunk(int(values), int(unpacked), bool(repeats))
            for values, unpacked, repeats in _query(path, asked).fetchall()
        ]
    except duckdb.Error as error:
        raise ValueError(str(error)) from error


def text_bytes(path: Path) -> int:
    """How long the texts of all rows are together, found without holding more than some rows.

    Raises:
        ValueError: The file is damaged.
    """
    texts = [name for name, kind in parquet_types(path).items() if kind == "VARCHAR"]
    if not texts:
        return 0
    lengths = " + ".join(f"coalesce(sum(strlen({_quoted(name)})), 0)" for name in texts)
    try:
        found = _query(path, f"SELECT {lengths} FROM read_parquet($path)").fetchone()
    except duckdb.Error as error:
        raise ValueError(str(error)) from error
    return int(found[0]) if found else 0


def is_plain(kind: str) -> bool:
    """Whether a type is that of one number, text or time.

    Examples:
        >>> [is_plain(kind) for kind in ("VARCHAR", "DOUBLE[]", "STRUCT(a VARCHAR)", "BLOB")]
        [True, False, False, False]
    """
    return not (kind.endswith("]") or kind.startswith(_NESTED))


def parquet_rows(
    path: Path, types: Mapping[str, str], columns: Sequence[str], *, limit: int | None = None
) -> Iterator[dict[str, object]]:
    """The rows, with some of the columns.

    Raises:
        ValueError: The file is damaged.
        DialensError: The rows are far larger than the file.
    """
    # Times with a zone would ask for another package: they come as text.
    chosen = ", ".join(
        f"CAST({_quoted(name)} AS {types[name].replace(_ZONED, 'VARCHAR')})"
        if _ZONED in types[name]
        else _quoted(name)
        for name in columns
    )
    ending = "" if limit is None else f" LIMIT {limit}"
    content, size = 0, path.stat().st_size
    try:
        cursor = _query(path, f"SELECT {chosen} FROM read_parquet($path){ending}")
        while rows := cursor.fetchmany(_FETCHED):
            for row in rows:
                content += _size(row)
                refuse_ratio(content, size)
                yield dict(zip(columns, row, strict=True))
    except Bomb as error:
        raise row_bomb(path, error) from error
    except duckdb.Error as error:
        raise ValueError(str(error)) from error


def _size(row: object) -> int:
    """About how many bytes the values of a row take."""
    try:
        return len(_ENCODER.encode(row))
    except (OverflowError, TypeError, ValueError):  # large numbers, keys that are none in JSON
        return len(repr(row))


def _query(path: Path, query: str) -> duckdb.DuckDBPyConnection:
    # In a pattern a bracket around a character takes it as it is.
    name = re.sub(r"[*?\[]", r"[\g<0>]", str(path))
    connection = duckdb.connect(config={"threads": _THREADS})
    connection.execute("SET enable_progress_bar = false")
    return connection.execute(query, {"path": name})


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
