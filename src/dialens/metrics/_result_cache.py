"""Results that were computed before, by what they were computed from: a killed run goes on.

One SQLite file, to which any number of processes may write. Rows are keyed by a hash of the
scorer's signature and the content, so that nothing is ever out of date; the file may be deleted
at any time.
"""

import hashlib
import os
import sqlite3
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import TypeVar

import numpy as np

from dialens.base import DialensError, DialensWarning
from dialens.metrics._state import Floats

T = TypeVar("T")

FILE = "scores.sqlite"
_WAIT_S = 60.0  # for another process that is writing
_ASKED_AT_ONCE = 500
_TABLE = "CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID"


def default_folder() -> Path:
    """Where results are kept if the user says nothing: `dialens` in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "dialens"


def content_key(signature: str, parts: Iterable[str]) -> bytes:
    """A hash of a signature and some texts, in which no two lists of texts run together.

    Examples:
        >>> content_key("bleu", ["a", "b"]) == content_key("bleu", ["ab", ""])
        False
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in (signature, *parts):
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.digest()


class ResultCache:
    """Rows of numbers by key, on disk.

    Args:
        folder: Where the file lies; without one, a file that disappears at the end serves.

    Examples:
        >>> cache = ResultCache()
        >>> cache.put({b"k": np.array([1.0, np.nan])})
        >>> cache.get([b"k", b"other"])
        {b'k': array([ 1., nan])}
    """

    def __init__(self, folder: Path | None = None) -> None:
        self._path = None if folder is None else folder / FILE
        self._lock = Lock()
        self._opened: sqlite3.Connection | None = None

    def get(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        """Those of the keys that are known, with their rows."""
        return self._tried(lambda: self._read(keys))

    def put(self, rows: Mapping[bytes, Floats]) -> None:
        """Keep rows; they are on disk when this returns."""
        self._tried(lambda: self._write(rows))

    def _tried(self, work: Callable[[], T]) -> T:
        """Do it; if the file turns out to be damaged, once more with a fresh one."""
        with self._lock:
            try:
                try:
                    return work()
                except sqlite3.DatabaseError as error:
                    if self._path is None or isinstance(error, sqlite3.OperationalError):
                        raise  # no room, no permission, locked for long: the file itself is sound
                    self._set_aside(self._path, error)
                    return work()
            except (OSError, sqlite3.Error) as error:
                raise DialensError(
                    f"Results cannot be kept in {self._path} ({error}). Name another folder with "
                    "--cache, or do without: --no-cache."
                ) from error

    def close(self) -> None:
        """Release the file; it is opened again when it is needed."""
        with self._lock:
            self._disconnect()

    def _read(self, keys: Sequence[bytes]) -> dict[bytes, Floats]:
        connection = self._connection()
        results: dict[bytes, Floats] = {}
        for start in range(0, len(keys), _ASKED_AT_ONCE):
            some = list(keys[start : start + _ASKED_AT_ONCE])
            marks = ",".join("?" * len(some))
            rows = connection.execute(f"SELECT key, value FROM rows WHERE key IN ({marks})", some)
            results |= {key: np.frombuffer(value, np.float64) for key, value in rows}
        return results

    def _write(self, rows: Mapping[bytes, Floats]) -> None:
        connection = self._connection()
        with connection:
            connection.executemany(
                "INSERT OR REPLACE INTO rows VALUES (?, ?)",
                [(key, np.asarray(row, np.float64).tobytes()) for key, row in rows.items()],
            )

    def _connection(self) -> sqlite3.Connection:
        if self._opened is None:
            if self._path is None:
                connection = sqlite3.connect("", check_same_thread=False)
            else:
                self._path.parent.mkdir(parents=True, exist_ok=True)
                connection = sqlite3.connect(self._path, timeout=_WAIT_S, check_same_thread=False)
            try:
                if self._path is not None:
                    connection.execute("PRAGMA journal_mode=WAL")
                    connection.execute("PRAGMA synchronous=NORMAL")
                connection.execute(_TABLE)
            except sqlite3.Error:
                connection.close()
                raise
            self._opened = connection
        return self._opened

    def _set_aside(self, path: Path, error: sqlite3.DatabaseError) -> None:
        """Move a file that cannot be read out of the way, unless another process has."""
        self._disconnect()
        if self._sound():
            return
        self._disconnect()
        stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
        aside = path.with_name(f"{path.name}.damaged-{stamp}")
        for end in ("-wal", "-shm"):
            path.with_name(path.name + end).unlink(missing_ok=True)
        path.replace(aside)
        warnings.warn(
            f"The cache of results {path} is damaged ({error}); it was moved to {aside.name}, and "
            "what it held is computed again.",
            DialensWarning,
            stacklevel=4,
        )

    def _sound(self) -> bool:
        try:
            checked = self._connection().execute("PRAGMA quick_check(1)").fetchone()
        except sqlite3.DatabaseError:
            return False
        return bool(checked == ("ok",))

    def _disconnect(self) -> None:
        if self._opened is not None:
            self._opened.close()
            self._opened = None
