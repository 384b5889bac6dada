"""Files and folders written atomically, and tables written batch by batch."""

import hashlib
import os
import queue
import shutil
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

import polars as pl
from polars.io.plugins import register_io_source

from dialens.base._errors import DialensError

_ROW_GROUP = 131_072


@contextmanager
def atomic_file(path: Path) -> Iterator[Path]:
    """Give a scratch path beside `path`; it takes that name only if the block succeeds.

    Examples:
        >>> folder = Path(tempfile.mkdtemp())
        >>> with atomic_file(folder / "a.txt") as scratch:
        ...     _ = scratch.write_text("whole")
        >>> (folder / "a.txt").read_text(), len(list(folder.iterdir()))
        ('whole', 1)
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(
        prefix=f".{path.name}.", suffix=f".partial{path.suffix}", dir=path.parent
    )
    os.close(handle)
    scratch = Path(name)
    try:
        yield scratch
        scratch.chmod(0o666 & ~_umask())
        scratch.replace(path)
    except BaseException:
        scratch.unlink(missing_ok=True)
        raise


@contextmanager
def atomic_folder(path: Path, *, marker: str, force: bool = False) -> Iterator[Path]:
    """Give a scratch folder that replaces `path` only if the block succeeds.

    An existing folder is replaced when it is empty or holds `marker`, the file by which our own
    earlier output is known; anything else is somebody's data and is refused unless `force`.

    Examples:
        >>> target = Path(tempfile.mkdtemp()) / "out"
        >>> with atomic_folder(target, marker="run.json") as scratch:
        ...     _ = (scratch / "run.json").write_text("{}")
        >>> sorted(p.name for p in target.iterdir())
        ['run.json']
    """
    if path.exists() and not force:
        ours = path.is_dir() and ((path / marker).exists() or not any(path.iterdir()))
        if not ours:
            raise DialensError(
                f"{path} exists and was not written by dialens (it has no {marker}). "
                "Name another place, or add --force to replace it."
            )
    path.parent.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".partial", dir=path.parent))
    try:
        yield scratch
        scratch.chmod(0o777 & ~_umask())
        _swap(scratch, path)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _swap(scratch: Path, path: Path) -> None:
    if not path.exists():
        scratch.rename(path)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=".old", dir=path.parent))
    path.rename(old / "old")
    scratch.rename(path)
    shutil.rmtree(old)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def sha256_file(path: Path) -> str:
    """The hex SHA-256 of a file, read in pieces.

    Examples:
        >>> p = Path(tempfile.mkdtemp()) / "empty"
        >>> p.touch()
        >>> sha256_file(p)[:8]
        'e3b0c442'
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


class TableSink:
    """A Parquet file that grows batch by batch, so that a table need not fit in memory.

    Polars pulls its input, and a reader pushes several tables at once; a thread with a short
    queue turns the one into the other.

    Examples:
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
