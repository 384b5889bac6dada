"""Copies of a study's database, made while people take part, and their way back."""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import URL, text

from dialens.base import DialensError, first_line
from dialens.studies.store._database import Database, database_url
from dialens.studies.store._keys import FINGERPRINT
from dialens.studies.store._postgresql_copies import dump, load, looked_through

SQLITE, POSTGRESQL = "sqlite", "postgresql"
_PAGES = 256
_PAUSE_S = 0.005
_COUNTS = "SELECT (SELECT count(*) FROM participants), (SELECT count(*) FROM answers)"
_KEY = f"SELECT value FROM settings WHERE name = '{FINGERPRINT}'"
_STUDIES = "SELECT name, definition, operation FROM studies ORDER BY id"
_QUERIES = (_COUNTS, _KEY, _STUDIES)


@dataclass(frozen=True)
class DatabaseCopy:
    """What is in a copy of a database.

    Attributes:
        kind: `sqlite` or `postgresql`.
        participants: How many people.
        answers: How many of their answers.
        fingerprint: By which the key of the database is known; none if it never had one.
        studies: Name, definition and operation of every version of every study.
    """

    kind: str
    participants: int
    answers: int
    fingerprint: str | None
    studies: tuple[tuple[str, str, str], ...]

    @classmethod
    def of(cls, kind: str, found: Sequence[Sequence[Any]]) -> "DatabaseCopy":
        """What the queries found."""
        ((participants, answers),), keys, studies = found
        key = keys[0][0] if keys else None
        return cls(kind, participants, answers, key, tuple((*row,) for row in studies))


def copy_database(url: str, file: Path) -> DatabaseCopy:
    """Copy a database as it is at one moment; the server may be running, and goes on.

    SQLite is copied by its own backup, which sees the log beside the file that `cp` misses;
    PostgreSQL by `pg_dump`, in the form that `pg_restore` reads.

    Args:
        url: `sqlite:///path` or `postgresql://user:password@host/name`.
        file: The copy, which is empty.
    """
    place = database_url(url)
    file.chmod(0o600)
    if not _is_sqlite(place):
        return DatabaseCopy.of(POSTGRESQL, dump(place, file, _QUERIES))
    source = Path(place.database or "")
    if not source.is_file():
        raise DialensError(f"{source} does not exist. Name the database the study is served from.")
    copy_sqlite(source, file)
    return looked_into(file)


def copy_sqlite(source: Path, target: Path) -> None:
    """Copy any SQLite file with what is in its log, and look through the copy."""
    with (
        _database_errors(source, "cannot be copied"),
        closing(_read_only(source)) as reading,
        closing(sqlite3.connect(target)) as writing,
    ):
        # In steps, so that nobody who writes meanwhile has to wait for the whole of it.
        reading.backup(writing, pages=_PAGES, sleep=_PAUSE_S)
        writing.execute("PRAGMA journal_mode=DELETE")  # one file, whole by itself
        (verdict,) = writing.execute("PRAGMA integrity_check").fetchone()
    if verdict != "ok":
        raise DialensError(f"{source} is damaged: {first_line(ValueError(verdict))}.")


def looked_into(file: Path) -> DatabaseCopy:
    """What is in a copy of SQLite; refused where the copy is damaged, or of something else."""
    with (
        _database_errors(file, "is not the whole database of a study"),
        closing(_read_only(file, "&immutable=1")) as reading,
    ):
        (verdict,) = reading.execute("PRAGMA integrity_check").fetchone()
        if verdict != "ok":
            raise sqlite3.DatabaseError(verdict)
        found = [reading.execute(query).fetchall() for query in _QUERIES]
    return DatabaseCopy.of(SQLITE, found)


def database_size(database: Database) -> tuple[int, int]:
    """How many people and answers are in a database, of all its studies."""
    with database.reading() as connection:
        people, answers = connection.execute(text(_COUNTS)).one()
        return people, answers


def check_copy(file: Path, kind: str) -> None:
    """Refuse a copy that no database could be made of."""
    if kind == SQLITE:
        looked_into(file)
    else:
        looked_through(file)


def put_postgresql(file: Path, url: str, *, replace: bool) -> None:
    """Make tables of a copy, all of them or none.

    Args:
        file: What `copy_database` made.
        url: Of the database, which must not hold a study.
        replace: Whether one that it holds is replaced.
    """
    place = database_url(url)
    if _is_sqlite(place):
        raise DialensError(
            "The backup is of PostgreSQL. Name a database for it: "
            "--db postgresql://user@host/name, with nothing in it."
        )
    load(place, file, replace=replace)


def end_log(file: Path) -> None:
    """Put what is in the log beside an SQLite file into it, so that it can be moved.

    Raises:
        DialensError: Somebody has it open: a server would go on writing into what is moved.
    """
    try:
        with closing(sqlite3.connect(file, timeout=1.0)) as connection:
            connection.execute("PRAGMA journal_mode=DELETE").fetchone()
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            raise DialensError(
                f"{file} is in use, and a server would go on with it. Stop it first; nothing is "
                "restored."
            ) from error
    except sqlite3.DatabaseError:
        return  # damaged, which may be why a backup is restored


def _is_sqlite(place: URL) -> bool:
    return place.get_backend_name() == SQLITE


def _read_only(file: Path, more: str = "") -> sqlite3.Connection:
    # A file that is no database must not become one.
    return sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro{more}", uri=True)


@contextmanager
def _database_errors(file: Path, said: str) -> Iterator[None]:
    try:
        yield
    except sqlite3.DatabaseError as error:
        raise DialensError(f"{file} {said}: {first_line(error)}.") from error
