"""Rows as one parameter: however many there are, they take one statement.

They go to the database as a text in JSON, and it takes them apart itself. Statement by statement,
or parameter by parameter, most of the time would be spent in Python.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec
from sqlalchemy import (
    Column,
    Connection,
    Executable,
    FromClause,
    Table,
    Text,
    bindparam,
    cast,
    column,
    func,
    literal_column,
    select,
    true,
)
from sqlalchemy.dialects.postgresql import JSON
from sqlalchemy.dialects.postgresql import insert as postgresql_insert
from sqlalchemy.dialects.sqlite import insert as sqlite_insert

DIALECTS = ("sqlite", "postgresql")

_INSERT: Mapping[str, Any] = {"sqlite": sqlite_insert, "postgresql": postgresql_insert}
_ROWS = bindparam("rows", type_=Text)

Row = Mapping[str, str | int | None]


def rowset(dialect: str, columns: Iterable[Column[Any]]) -> FromClause:
    """Rows that come with the parameter `rows`, to be used as a table called `batch`.

    Args:
        dialect: `sqlite` or `postgresql`.
        columns: What the rows have; names and types are theirs.

    Examples:
        >>> from sqlalchemy import Integer
        >>> print(select(rowset("sqlite", [Column("id", Integer)]).c.id))
        SELECT batch.id
        FROM (SELECT json_extract(value, '$.id') AS id
        FROM json_each(:rows) AS one) AS batch
    """
    if dialect == "postgresql":
        typed = [column(one.name, one.type) for one in columns]
        records = func.json_to_recordset(cast(_ROWS, JSON)).table_valued(*typed)
        return records.render_derived("batch", with_types=True)
    parts = [
        literal_column(f"json_extract(value, '$.{one.name}')", one.type).label(one.name)
        for one in columns
    ]
    each = func.json_each(_ROWS).table_valued("value", name="one")
    return select(*parts).select_from(each).subquery("batch")


def adding(dialect: str, table: Table, *, skip_existing: bool = False) -> Executable:
    """A statement that adds rows with all their columns.

    Args:
        dialect: `sqlite` or `postgresql`.
        table: Where they go.
        skip_existing: Whether rows that are there already are passed over.
    """
    batch = rowset(dialect, table.c)
    # Always true: without a condition SQLite takes `ON CONFLICT` for a part of the query.
    chosen = select(*batch.c).where(true())
    insert = _INSERT[dialect](table).from_select([one.name for one in table.c], chosen)
    statement: Executable = insert.on_conflict_do_nothing() if skip_existing else insert
    return statement


def rows_parameter(rows: Sequence[Row]) -> dict[str, str]:
    """The parameter.

    Examples:
        >>> rows_parameter([{"id": 1, "name": "é"}])
        {'rows': '[{"id":1,"name":"é"}]'}
    """
    return {"rows": msgspec.json.encode(rows).decode("utf-8")}


def add(connection: Connection, statements: Mapping[str, Executable], rows: Sequence[Row]) -> None:
    """Run the dialect's statement with these rows; without any there is nothing to do."""
    if rows:
        connection.execute(statements[connection.dialect.name], rows_parameter(rows))
