"""What people write while they look: flags, notes, a code book and saved views.

It lies beside the data as `workbench.sqlite`, the only file of a folder that the workbench writes.
Two workbenches may use it at once; each sees what the other wrote.
"""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import polars as pl

from dialens.base import DialensError

NOTEBOOK = "workbench.sqlite"
WHOLE = -1
"""The turn of a flag or note on a whole conversation."""

_VERSION = 1
_SCHEMA = """
create table if not exists codes (
    number integer primary key check (number between 1 and 9),
    name text not null, meaning text not null default ''
);
create table if not exists flags (
    source text not null, dialog text not null, turn integer not null,
    code integer not null, coder text not null, at text not null,
    primary key (source, dialog, turn, code, coder)
) without rowid;
create table if not exists notes (
    source text not null, dialog text not null, turn integer not null,
    coder text not null, note text not null, at text not null,
    primary key (source, dialog, turn, coder)
) without rowid;
create table if not exists views (
    name text primary key, address text not null, at text not null
);
"""
_LONGEST_NOTE = 10_000
_LONGEST_NAME = 200
_BUSY_SECONDS = 10.0


@dataclass(frozen=True)
class Unit:
    """A turn, or a whole conversation (`turn` is `WHOLE`)."""

    source: str
    dialog: str
    turn: int = WHOLE


@dataclass(frozen=True)
class Code:
    """An entry of the code book."""

    number: int
    name: str
    meaning: str = ""


@dataclass(frozen=True)
class SavedView:
    """A view that was given a name."""

    name: str
    address: str


class Notebook:
    """The file; thread-safe. It is made when something is first written."""

    def __init__(self, folder: Path) -> None:
        """The notebook of a folder."""
        self.path = folder / NOTEBOOK
        self._lock = threading.Lock()
        self._database: sqlite3.Connection | None = None
        if self.path.exists():
            self._database = self._opened()

    def _opened(self) -> sqlite3.Connection:
        try:
            database = sqlite3.connect(
                self.path, timeout=_BUSY_SECONDS, check_same_thread=False, isolation_level=None
            )
            found = database.execute("pragma user_version").fetchone()[0]
            if found > _VERSION:
                raise DialensError(
                    f"{self.path} was written by a newer dialens. Open the folder with that one."
                )
            if found < _VERSION:
                database.executescript(f"{_SCHEMA} pragma user_version = {_VERSION};")
        except sqlite3.Error as error:
            raise _unusable(self.path, error) from error
        return database

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        with self._lock:
            if self._database is None:
                self._database = self._opened()
            try:
                with self._database:
                    self._database.execute("begin immediate")
                    yield self._database
            except sqlite3.Error as error:
                raise _unusable(self.path, error) from error

    def _rows(self, asked: str, values: tuple[object, ...] = ()) -> list[tuple[object, ...]]:
        with self._lock:
            if self._database is None:
                if not self.path.exists():
                    return []
                self._database = self._opened()
            try:
                return self._database.execute(asked, values).fetchall()
            except sqlite3.Error as error:
                raise _unusable(self.path, error) from error

    def version(self) -> tuple[int, int]:
        """Changes whenever anybody wrote; to see what another workbench did."""
        with self._lock:
            if self._database is None and self.path.exists():  # another workbench made it
                self._database = self._opened()
            if self._database is None:
                return (0, 0)
            seen = self._database.execute("pragma data_version").fetchone()[0]
            return (int(seen), self._database.total_changes)

    def flag(self, unit: Unit, code: int, coder: str, *, on: bool = True) -> None:
        """Set a flag, or take it away; either may be done twice."""
        if not 1 <= code <= 9:
            raise DialensError(f"There is no flag {code}. Flags are 1 to 9.")
        key = (unit.source, unit.dialog, unit.turn, code, coder)
        with self._writing() as database:
            if on:
                database.execute(
                    "insert or ignore into flags values (?, ?, ?, ?, ?, ?)", (*key, _now())
                )
            else:
                database.execute(
                    "delete from flags where (source, dialog, turn, code, coder) = (?, ?, ?, ?, ?)",
                    key,
                )

    def clear(self, unit: Unit, coder: str) -> None:
        """Take away all flags of a coder on a unit."""
        with self._writing() as database:
            database.execute(
                "delete from flags where (source, dialog, turn, coder) = (?, ?, ?, ?)",
                (unit.source, unit.dialog, unit.turn, coder),
            )

    def write_note(self, unit: Unit, note: str, coder: str) -> None:
        """Write a note in place of an earlier one of the same coder; an empty one deletes it."""
        note = note.strip()
        if len(note) > _LONGEST_NOTE:
            raise DialensError(f"A note has at most {_LONGEST_NOTE:,} characters.")
        key = (unit.source, unit.dialog, unit.turn, coder)
        with self._writing() as database:
            if note:
                database.execute(
                    "replace into notes values (?, ?, ?, ?, ?, ?)", (*key, note, _now())
                )
            else:
                database.execute(
                    "delete from notes where (source, dialog, turn, coder) = (?, ?, ?, ?)", key
                )

    def flags(self) -> pl.DataFrame:
        """All flags: source, dialog, turn, code, coder, at."""
        rows = self._rows("select source, dialog, turn, code, coder, at from flags order by at")
        return pl.DataFrame(rows, schema=_FLAGS, orient="row")

    def notes(self) -> pl.DataFrame:
        """All notes: source, dialog, turn, coder, note, at."""
        rows = self._rows("select source, dialog, turn, coder, note, at from notes order by at")
        return pl.DataFrame(rows, schema=_NOTES, orient="row")

    def of_dialog(
        self, source: str, dialog: str
    ) -> tuple[list[tuple[int, int, str]], list[tuple[int, str, str]]]:
        """Flags (turn, code, coder) and notes (turn, coder, note) of one conversation."""
        key = (source, dialog)
        flags = self._rows(
            "select turn, code, coder from flags where (source, dialog) = (?, ?) "
            "order by turn, code, coder",
            key,
        )
        notes = self._rows(
            "select turn, coder, note from notes where (source, dialog) = (?, ?) "
            "order by turn, coder",
            key,
        )
        return flags, notes  # type: ignore[return-value]

    def codes(self) -> tuple[Code, ...]:
        """The code book, by number."""
        rows = self._rows("select number, name, meaning from codes order by number")
        return tuple(Code(*row) for row in rows)  # type: ignore[arg-type]

    def write_code(self, code: Code) -> None:
        """Name a flag; without a name it is taken out of the code book."""
        if not 1 <= code.number <= 9:
            raise DialensError(f"There is no flag {code.number}. Flags are 1 to 9.")
        if len(code.name) > _LONGEST_NAME:
            raise DialensError(f"A flag's name has at most {_LONGEST_NAME} characters.")
        with self._writing() as database:
            if code.name.strip():
                database.execute(
                    "replace into codes values (?, ?, ?)",
                    (code.number, code.name.strip(), code.meaning.strip()),
                )
            else:
                database.execute("delete from codes where number = ?", (code.number,))

    def views(self) -> tuple[SavedView, ...]:
        """Views that were given a name."""
        rows = self._rows("select name, address from views order by name")
        return tuple(SavedView(*row) for row in rows)  # type: ignore[arg-type]

    def save_view(self, name: str, address: str) -> None:
        """Keep a view by name, in place of an earlier one; without an address it is deleted."""
        name = name.strip()
        if not name or len(name) > _LONGEST_NAME:
            raise DialensError(f"A view's name has 1 to {_LONGEST_NAME} characters.")
        with self._writing() as database:
            if address:
                database.execute("replace into views values (?, ?, ?)", (name, address, _now()))
            else:
                database.execute("delete from views where name = ?", (name,))

    def close(self) -> None:
        """Close the file."""
        with self._lock:
            if self._database is not None:
                self._database.close()
                self._database = None


_FLAGS = pl.Schema(
    {
        "source": pl.String,
        "dialog": pl.String,
        "turn": pl.Int64,
        "code": pl.Int64,
        "coder": pl.String,
        "at": pl.String,
    }
)
_NOTES = pl.Schema(
    {
        "source": pl.String,
        "dialog": pl.String,
        "turn": pl.Int64,
        "coder": pl.String,
        "note": pl.String,
        "at": pl.String,
    }
)


def _now() -> str:
    """The time, fine enough that what one person does after another thing stands after it."""
    return datetime.now(UTC).isoformat(timespec="microseconds")


def _unusable(path: Path, error: sqlite3.Error) -> DialensError:
    return DialensError(
        f"{path} cannot be used: {error}. What was written before is kept; see whether the disk is "
        "full or the folder may not be written, and try again."
    )
