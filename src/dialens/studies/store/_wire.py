"""A pg8000 connection that asks once a statement, and whose every failure is pg8000's own error.

pg8000 sends parse, bind and execute one after the other and waits for each. Sent together they take
a third of the time, which is most of what storing an answer takes. It also looks for placeholders
anew, letter by letter, each time a statement runs; here once. This leans on how pg8000 is made
inside, so that its version is held in `pyproject.toml`; the tests of the store run through it.
"""

from functools import lru_cache
from typing import Any

from pg8000.converters import make_params  # type: ignore[import-untyped]
from pg8000.core import NULL_BYTE, SYNC_MSG, Context  # type: ignore[import-untyped]
from pg8000.dbapi import (  # type: ignore[import-untyped]
    Connection,
    Cursor,
    InterfaceError,
    convert_paramstyle,
)


class PipelinedConnection(Connection):  # type: ignore[misc]
    """A connection of the DB-API, for SQLAlchemy's dialect of pg8000.

    SQLAlchemy knows a lost connection, and throws it away, by pg8000's error alone; some of the
    socket's get past pg8000.
    """

    def __init__(self, **arguments: Any) -> None:
        try:
            super().__init__(**arguments)
        except OSError as error:
            raise _lost(error) from error

    def cursor(self) -> "_Cursor":
        """What statements are run with."""
        return _Cursor(self)

    def execute_unnamed(
        self, statement: str, vals: Any = (), oids: Any = (), stream: Any = None
    ) -> Any:
        """Run a statement: parse, describe, bind and execute go out together."""
        if self._sock is None:
            raise InterfaceError("connection is closed")
        context = Context(statement, stream=stream)
        try:
            self.send_PARSE(NULL_BYTE, statement, oids)
            self.send_DESCRIBE_STATEMENT(NULL_BYTE)
            self.send_BIND(NULL_BYTE, make_params(self.py_types, vals))
            self.send_EXECUTE()
            self._sock.write(SYNC_MSG)
            self._sock.flush()
        except OSError as error:
            raise _lost(error) from error
        self.handle_messages(context)
        return context

    def handle_messages(self, context: Any) -> None:
        """Read what the server answers, until it is ready for more."""
        try:
            super().handle_messages(context)
        except OSError as error:
            raise _lost(error) from error

    def close(self) -> None:
        """Say goodbye; to a server that is gone there is nothing to say."""
        try:
            super().close()
        except InterfaceError:
            return  # the socket is closed all the same


class _Cursor(Cursor):  # type: ignore[misc]
    _input_oids: Any

    def execute(self, operation: str, args: Any = (), stream: Any = None) -> None:
        connection = self._c
        if not args or stream is not None or connection is None:
            super().execute(operation, args, stream)
            return
        if not connection._in_transaction and not connection.autocommit:
            connection.execute_simple("begin transaction")
        self._context = connection.execute_unnamed(_numbered(operation), args, self._input_oids)
        rows = self._context.rows
        self._row_iter = None if rows is None else iter(rows)
        self._input_oids = ()


@lru_cache(maxsize=512)
def _numbered(operation: str) -> str:
    """A statement with PostgreSQL's own placeholders.

    Examples:
        >>> _numbered("SELECT 1 WHERE a = %s AND b = %s")
        'SELECT 1 WHERE a = $1 AND b = $2'
    """
    made: str = convert_paramstyle("format", operation, ())[0]
    return made


def _lost(error: OSError) -> Exception:
    """The words by which SQLAlchemy's dialect knows a lost connection."""
    lost: Exception = InterfaceError(f"network error: {error}")
    return lost
