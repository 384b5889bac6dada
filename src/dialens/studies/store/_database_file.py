"""Whether the file at a path is still the one that SQLite writes into.

A file that is deleted, moved or replaced stays open: SQLite goes on writing into what nobody will
find again, and reports no error.
"""

import sqlite3
from pathlib import Path

from dialens.studies.store._problems import DatabaseFileGone


class DatabaseFile:
    """An SQLite file, known by device and inode from its first connection on.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "study.db"
        >>> path.touch()
        >>> file = DatabaseFile(path, wait_s=1)
        >>> file.connect().close()
        >>> file.check()
        >>> path.unlink()
        >>> file.check()
        Traceback (most recent call last):
            ...
        dialens.studies.store._problems.DatabaseFileGone: ... was deleted or moved ...
    """

    def __init__(self, path: Path, *, wait_s: float, immutable: bool = False) -> None:
        """Nothing is opened yet.

        Args:
            path: Where it lies; it has to be there.
            wait_s: How long to wait for others who write.
            immutable: Whether nobody can write it, nor a log beside it.
        """
        self.path = path.absolute()
        self._wait_s = wait_s
        # It was there when it was named; SQLite would make another, empty one.
        self._how = "immutable=1" if immutable else "mode=rw"
        self._identity: tuple[int, int] | None = None

    def connect(self) -> sqlite3.Connection:
        """A connection to this file, and to no other that lies there by now."""
        self.check()
        address = f"{self.path.as_uri()}?{self._how}"
        connection = sqlite3.connect(
            address, timeout=self._wait_s, uri=True, check_same_thread=False
        )
        try:
            if self._identity is None:
                # Only now: layered file systems may copy a file when it is opened for writing.
                self._identity = self._found()
            self.check()
        except BaseException:
            connection.close()
            raise
        return connection

    def check(self) -> None:
        """Look whether the file is in its place: one `stat`.

        Raises:
            DatabaseFileGone: It is not, so nothing that was written since may be acknowledged.
        """
        if self._identity is None:
            return
        found = self._found()
        if found is None:
            raise DatabaseFileGone(
                f"{self.path} was deleted or moved while it is in use, so no answer is "
                "accepted. Move it back, with the files -wal and -shm beside it, and the server "
                "goes on; or stop the server, restore a backup and start it again."
            )
        if found != self._identity:
            raise DatabaseFileGone(
                f"{self.path} is another file than the one that the server has open, so no answer "
                "is accepted. Restart the server, and it goes on with the file that is there now."
            )

    def _found(self) -> tuple[int, int] | None:
        try:
            found = self.path.stat()
        except OSError:  # also a folder that is gone, or that may not be entered any more
            return None
        return found.st_dev, found.st_ino
