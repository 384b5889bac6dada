"""Tables written batch by batch, so that they need not fit in memory."""

import queue
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Self

import polars as pl
from polars.io.plugins import register_io_source

_ROW_GROUP = 131_072


class TableSink:
    """A Parquet file that grows batch by batch, so that a table need not fit in memory.

    Polars pulls its input, and a reader pushes several tables at once; a thread with a short
    queue turns the one into the other.

    Examples:
        >>> import tempfile
        >>> p = Path(tempfile.mkdtemp()) / "t.parquet"
        >>> with TableSink(p, pl.Schema({"a": pl.Int64})) as sink:
        ...     sink.write(pl.DataFrame({"a": [1]}))
        ...     sink.write(pl.DataFrame({"a": [2]}))
        >>> pl.read_parquet(p)["a"].to_list()
        [1, 2]
    """

    def __init__(
        self,
        path: Path,
        schema: pl.Schema,
        *,
        row_group: int = _ROW_GROUP,
        level: int | None = None,
    ) -> None:
        """Open `path` for tables of `schema`, packed by zstandard at a level or at its usual."""
        self.rows = 0
        self._path = path
        self._schema = schema
        self._row_group, self._level = row_group, level
        self._queue: queue.Queue[pl.DataFrame | None] = queue.Queue(maxsize=2)
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._sink, daemon=True)
        self._thread.start()

    def write(self, table: pl.DataFrame) -> None:
        """Append rows; they must have the columns and types the sink was opened with."""
        if table.height == 0:
            return
        self.rows += table.height
        table = table.select(self._schema.names())
        while True:
            if self._failure is not None:
                raise self._failure
            try:
                self._queue.put(table, timeout=0.2)
            except queue.Full:
                continue
            return

    def __enter__(self) -> Self:
        """The sink itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Finish the file; the folder around it is thrown away if the block failed."""
        while self._thread.is_alive():
            try:
                self._queue.put(None, timeout=0.2)
            except queue.Full:
                continue
            break
        self._thread.join()
        if error is None and self._failure is not None:
            raise self._failure

    def _sink(self) -> None:
        try:
            register_io_source(self._drain, schema=self._schema).sink_parquet(
                self._path, row_group_size=self._row_group, compression_level=self._level
            )
        except BaseException as failure:  # handed to the writing thread
            self._failure = failure

    def _drain(self, *_: object) -> Iterator[pl.DataFrame]:
        yield pl.DataFrame(schema=self._schema)
        while (table := self._queue.get()) is not None:
            yield table
