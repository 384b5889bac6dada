"""Lexicon tables of DLATK: an SQLite file whose tables have the columns term and category."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import polars as pl

from dialens.base import DialensError


def looks_like_sqlite(content: bytes) -> bool:
    """Tell an SQLite file by its first bytes."""
    return content.startswith(b"SQLite format 3\x00")


def parse_sqlite(file: Path, table: str | None, wanted: Sequence[str]) -> tuple[str, pl.DataFrame]:
    """Read one table; return its name and its rows as ``term, category, weight``.

    Without a name the only table is taken, or the only one that has all wanted categories.
    """
    uri = f"{file.resolve().as_uri()}?mode=ro&immutable=1"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            tables = _lexicon_tables(connection)
            chosen = _choose(file, connection, tables, table, wanted)
            weight = _quoted("weight") if "weight" in tables[chosen] else "1.0"
            rows = connection.execute(
                f"SELECT term, category, coalesce({weight}, 1.0), rowid FROM {_quoted(chosen)}"
            ).fetchall()
    except sqlite3.Error as error:
        raise DialensError(f"{file}: SQLite cannot read it ({error}); fetch it again") from error
    entries = []
    for term, category, value, row in rows:
        if term is None or category is None or not isinstance(value, int | float):
            raise DialensError(
                f"{file}, table {chosen}, row {row}: term {term!r}, category {category!r}, weight "
                f"{value!r}; every row needs a term, a category and a number (or no weight)"
            )
        entries.append((str(term), str(category), float(value)))
    if not entries:
        raise DialensError(f"{file}: the table {chosen} has no row; choose another table")
    schema = {"term": pl.String, "category": pl.String, "weight": pl.Float64}
    return chosen, pl.DataFrame(entries, schema=schema, orient="row")


def _lexicon_tables(connection: sqlite3.Connection) -> dict[str, set[str]]:
    names = connection.execute(
        "SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY name"
    ).fetchall()
    columns = {
        name: {row[1] for row in connection.execute(f"PRAGMA table_info({_quoted(name)})")}
        for (name,) in names
    }
    return {name: heads for name, heads in columns.items() if {"term", "category"} <= heads}


def _choose(
    file: Path,
    connection: sqlite3.Connection,
    tables: dict[str, set[str]],
    table: str | None,
    wanted: Sequence[str],
) -> str:
    if not tables:
        raise DialensError(
            f"{file}: no table with the columns term and category; is it a lexicon of DLATK?"
        )
    listing = ", ".join(tables)
    if table is not None:
        if table not in tables:
            raise DialensError(f"{file}: no lexicon table {table!r}; choose one of {listing}")
        return table
    if len(tables) == 1:
        return next(iter(tables))
    fitting = []
    if wanted:
        need = {category.lower() for category in wanted}
        for name in tables:
            query = f"SELECT DISTINCT category FROM {_quoted(name)}"
            have = {str(row[0]).strip().lower() for row in connection.execute(query)}
            if need <= have:
                fitting.append(name)
    if len(fitting) == 1:
        return fitting[0]
    raise DialensError(
        f"{file}: {len(tables)} lexicon tables; say which one as {file.name}::TABLE "
        f"(or table=…): {listing}"
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
