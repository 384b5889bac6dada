"""SQLite files of others, to look at."""

import sqlite3
from pathlib import Path

_WAIT_S = 5.0


def sqlite_to_read(path: Path, *, wait_s: float = _WAIT_S) -> sqlite3.Connection:
    """A connection that writes nothing, makes no file and keeps no writer waiting.

    In a write-ahead log readers and writers do not see each other. Without a log beside the file
    nobody has it open, and it is read without any lock: SQLite would have to make a log otherwise.

    Args:
        path: The database.
        wait_s: How long to wait for a lock.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.db"
        >>> made = sqlite3.connect(path)
        >>> _ = made.execute("create table t (x)")
        >>> made.close()
        >>> sqlite_to_read(path).execute("insert into t values (1)")
        Traceback (most recent call last):
        ...
        sqlite3.OperationalError: attempt to write a readonly database
    """
    live = any(Path(f"{path}{end}").exists() for end in ("-wal", "-journal"))
    address = f"{path.absolute().as_uri()}?mode=ro{'' if live else '&immutable=1'}"
    return sqlite3.connect(address, uri=True, timeout=wait_s, check_same_thread=False)
