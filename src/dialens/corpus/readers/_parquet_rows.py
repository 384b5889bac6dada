"""The rows of a Parquet file as they are decoded.

DuckDB gives out rows while it decodes a row group; Polars would hold the whole group, and many
files have only one. Importing it takes a while, so this module is imported when it is needed.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import duckdb

_FETCHED = 1_000
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
    """
    # Times with a zone would ask for another package: they come as text.
    chosen = ", ".join(
        f"CAST({_quoted(name)} AS {types[name].replace(_ZONED, 'VARCHAR')})"
        if _ZONED in types[name]
        else _quoted(name)
        for name in columns
    )
    ending = "" if limit is None else f" LIMIT {limit}"
    try:
        cursor = _query(path, f"SELECT {chosen} FROM read_parquet($path){ending}")
        while rows := cursor.fetchmany(_FETCHED):
            for row in rows:
                yield dict(zip(columns, row, strict=True))
    except duckdb.Error as error:
        raise ValueError(str(error)) from error


def _query(path: Path, query: str) -> duckdb.DuckDBPyConnection:
    # In a pattern a bracket around a character takes it as it is.
    name = re.sub(r"[*?\[]", r"[\g<0>]", str(path))
    return duckdb.connect(config={"threads": _THREADS}).execute(query, {"path": name})


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
