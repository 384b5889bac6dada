"""A connection to SQLite or PostgreSQL under which a commit is a promise.

SQLite: write-ahead log, fsync at every commit, one writer at a time from the first statement on
(`BEGIN IMMEDIATE`), deleted rows overwritten. PostgreSQL: row locks, synchronous commit.
"""

import os
import re
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, QueuePool, create_engine, event, make_url, text
from sqlalchemy.exc import ArgumentError, DBAPIError, TimeoutError

from dialens.base import DialensError, first_line, listed
from dialens.studies.store import migrations
from dialens.studies.store._database_file import DatabaseFile
from dialens.studies.store._postgresql import DRIVER, DRIVERS, postgresql_engine
from dialens.studies.store._problems import StoreUnavailable
from dialens.studies.store._tables import metadata

_WAIT_S = 30
_AGAIN_S = 0.05
_MAGIC = b"SQLite format 3\0"
_READING = "dialens_reading"
# Any number will do, as long as every dialens takes the same.
_MIGRATION_LOCK = 7_305_808_868_224_117


@dataclass(frozen=True)
class Database:
    """An engine, and the two ways to use it."""

    engine: Engine
    _writer: AbstractContextManager[Any]
    _open_file: DatabaseFile | None = None
    _unscrubbed: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def open(cls, url: str, *, create: bool) -> "Database":
        """Connect, and bring the tables up to date.

        Args:
            url: `sqlite:///path` or `postgresql://user:password@host/name`.
            create: Whether an SQLite file that is not there is made.
        """
        place = database_url(url)
        if place.get_backend_name() == "sqlite":
            file = _sqlite_file(Path(place.database or ""), create=create)
            database = cls(_sqlite(place, file), threading.Lock(), file)
        else:
            database = cls(postgresql_engine(place, wait_s=_WAIT_S), nullcontext())
        return database._upgraded()

    @classmethod
    def in_memory(cls) -> "Database":
        """A database that is gone when it is closed; one transaction at a time."""
        engine = create_engine(
            "sqlite://",
            connect_args={"check_same_thread": False},
            poolclass=QueuePool,
            pool_size=1,  # another connection would be another database
            max_overflow=0,
            pool_timeout=_WAIT_S,
            hide_parameters=True,
        )
        prepare_sqlite(engine)
        return cls(engine, threading.Lock())._upgraded()

    def _upgraded(self) -> "Database":
        """The same, with the tables of today; closed if that fails."""
        try:
            with self.writing() as connection:
                if not self.is_sqlite:
                    connection.execute(
                        text("SELECT pg_advisory_xact_lock(:key)"), {"key": _MIGRATION_LOCK}
                    )
                migrations.upgrade(connection)
            self._scrub_for_others()
        except DBAPIError as error:
            self.close()
            raise self._damaged(str(first_line(error.orig or error))) from error
        except BaseException:
            self.close()
            raise
        return self

    def check(self) -> None:
        """Look through SQLite's file for damage, before people's answers are put into it.

        Raises:
            DialensError: It is damaged.
        """
        if not self.is_sqlite:
            return
        with self.reading() as connection:
            try:
                found = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
            except DBAPIError as error:
                found = first_line(error.orig or error)
        if found != "ok":
            raise self._damaged(str(found))

    def _damaged(self, why: str) -> DialensError:
        return DialensError(
            f"{self.engine.url.render_as_string()} is damaged, or not the database of a study "
            f"({' '.join(why.split())}). Put a backup back: dialens study restore."
        )

    @property
    def is_sqlite(self) -> bool:
        """Whether this is SQLite."""
        return self.engine.dialect.name == "sqlite"

    @property
    def file(self) -> Path | None:
        """The file of an SQLite database."""
        name = self.engine.url.database
        return Path(name) if self.is_sqlite and name else None

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """One transaction that may write; committed and on disk when the block ends.

        Raises:
            StoreUnavailable: It cannot be, or is in a file that is in its place no more.
        """
        # Threads of one process queue here: SQLite's own waiting is polling, and unfair.
        with self._writer, _unavailable(self.engine), self.engine.begin() as connection:
            yield connection
        self.check_place()
        if self._unscrubbed.is_set():
            self.scrub()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """One transaction that sees a single state of the database and keeps no writer waiting."""
        level = {} if self.is_sqlite else {"isolation_level": "REPEATABLE READ"}
        with _unavailable(self.engine), self.engine.connect() as connection:
            chosen = connection.execution_options(**{_READING: True}, **level)
            with chosen.begin():
                yield chosen

    def check_place(self) -> None:
        """Look whether what was written can be found again where SQLite's file should be.

        Raises:
            DatabaseFileGone: The file was deleted, moved or replaced.
        """
        if self._open_file is not None:
            self._open_file.check()

    def try_writing(self) -> None:
        """Write something, and wait for the disk, to see that answers could be stored.

        Raises:
            StoreUnavailable: Nothing can be written now.
        """
        once = text(
            "INSERT INTO settings (name, value) VALUES ('tried', :mark) "
            "ON CONFLICT (name) DO UPDATE SET value = excluded.value"
        )
        with self.writing() as connection:
            # Another value each time: SQLite does not write what is there already.
            connection.execute(once, {"mark": os.urandom(8).hex()})
        self._scrub_for_others()

    def scrub(self, *, patience_s: float = 0.0) -> bool:
        """Leave nothing of deleted rows in SQLite's files; whether that is so.

        It is not while somebody reads (a backup, another program): what they see has to stay. It is
        tried again for a while, and then after each write and whenever the database is opened or
        tried. SQLite's own waiting would keep others from writing. Of PostgreSQL's files see
        `vacuum`.

        Args:
            patience_s: How long to try.
        """
        if not self.is_sqlite:
            return False
        until = time.monotonic() + patience_s
        while not (scrubbed := self._scrub_once()) and time.monotonic() < until:
            time.sleep(_AGAIN_S)
        if scrubbed and self._unscrubbed.is_set():
            self._unscrubbed.clear()
            self._mark("DELETE FROM settings WHERE name = 'to scrub'")
        elif not scrubbed and not self._unscrubbed.is_set():
            self._mark("INSERT INTO settings VALUES ('to scrub', '') ON CONFLICT DO NOTHING")
            self._unscrubbed.set()
        return scrubbed

    def _mark(self, statement: str) -> None:
        with self.writing() as connection:
            connection.exec_driver_sql(statement)

    def _scrub_for_others(self) -> None:
        """Do what another process could not, since somebody was reading."""
        if self.is_sqlite and not _is_frozen(Path(self.engine.url.database or "")):
            with self.reading() as connection:
                query = "SELECT 1 FROM settings WHERE name = 'to scrub'"
                left = connection.exec_driver_sql(query).first() is not None
            if left:
                self._unscrubbed.set()
                self.scrub()

    def _scrub_once(self) -> bool:
        with _unavailable(self.engine):
            raw = self.engine.raw_connection()
            try:
                cursor = raw.cursor()
                cursor.execute("PRAGMA busy_timeout=0")
                (busy, *_) = cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                cursor.execute(f"PRAGMA busy_timeout={_WAIT_S * 1000}")
            finally:
                raw.close()
        return not busy

    def vacuum(self) -> None:
        """Rewrite PostgreSQL's tables, so that nothing of deleted rows is left in their files.

        Nobody can use a table while it is rewritten. The server's log of changes (WAL), its
        archives and its backups keep what was deleted until they are recycled.
        """
        if self.is_sqlite:
            return
        level = {"isolation_level": "AUTOCOMMIT"}
        with _unavailable(self.engine), self.engine.connect() as connection:
            free = connection.execution_options(**level)
            for table in metadata.sorted_tables:
                free.exec_driver_sql(f'VACUUM FULL "{table.name}"')
            free.exec_driver_sql("CHECKPOINT")

    def close(self) -> None:
        """Give all connections back."""
        self.engine.dispose()


def database_url(url: str) -> URL:
    """A URL with the driver we use.

    Examples:
        >>> database_url("postgresql://study@localhost/ratings").drivername
        'postgresql+psycopg'
        >>> database_url("mysql://localhost/x")
        Traceback (most recent call last):
            ...
        dialens.DialensError: Studies are kept in sqlite:///path or postgresql://…; seen: ...
    """
    try:
        parsed = make_url(url)
    except (ArgumentError, ValueError) as error:  # an address that is none, or a port
        raise _not_a_place(_without_password(url)) from error
    if parsed.drivername in DRIVERS:
        return parsed.set(drivername=DRIVER)
    if parsed.drivername == "sqlite" and parsed.database not in (None, "", ":memory:"):
        return parsed
    raise _not_a_place(parsed.render_as_string())


def _without_password(url: str) -> str:
    """An address that cannot be taken apart, as it may be shown."""
    return re.sub(r"//[^/]*@", "//***@", url)


def _not_a_place(url: str) -> DialensError:
    return DialensError(f"Studies are kept in sqlite:///path or postgresql://…; seen: {url!r}.")


def _sqlite_file(path: Path, *, create: bool) -> DatabaseFile:
    if not path.exists():
        if not create:
            others = sorted(other.name for other in path.parent.glob("*.db"))
            there = ""
            if others:
                there = f" There is {listed(others)}: --db sqlite:///{path.parent / others[0]}."
            raise DialensError(
                f"{path} does not exist. Name the database the study was served from, or serve it."
                f"{there}"
            )
        if not path.parent.is_dir():
            raise DialensError(
                f"The folder {path.parent} for the database {path.name} does not exist. Make it, "
                "or name another."
            )
        path.touch(mode=0o600)  # people's answers; the log beside it takes the same mode
    check_is_sqlite(path)
    # Without a log beside it, which nobody could make, SQLite reads it only when told so.
    return DatabaseFile(path, wait_s=_WAIT_S, immutable=_is_frozen(path))


def _sqlite(url: URL, file: DatabaseFile) -> Engine:
    engine = create_engine(
        url,
        creator=file.connect,
        pool_size=8,
        max_overflow=64,
        pool_timeout=_WAIT_S,
        hide_parameters=True,  # they are people's answers, and errors go into logs
    )
    prepare_sqlite(engine)
    return engine


def _is_frozen(path: Path) -> bool:
    """Whether a file lies where nothing can be written, and no server has it open."""
    can = {"effective_ids": os.access in os.supports_effective_ids}
    writable = os.access(path, os.W_OK, **can) and os.access(path.parent, os.W_OK, **can)
    return not writable and not Path(f"{path}-wal").exists()


def check_is_sqlite(path: Path) -> None:
    """Refuse a file that is something else; an empty one is a database without tables."""
    try:
        with path.open("rb") as file:
            begins = file.read(len(_MAGIC))
    except OSError as error:
        raise DialensError(f"{path} cannot be read: {error.strerror or error}.") from error
    if begins and begins != _MAGIC:
        raise DialensError(
            f"{path} is not an SQLite database, so it holds no study's data. Move it away, name "
            "another (--db sqlite:///path), or put a backup back with `dialens study restore`."
        )


def prepare_sqlite(engine: Engine) -> None:
    """Let every connection of an engine keep the promise, and begin transactions as we say."""
    # One statement for the answers of a screen: at each, a thread has to get Python's lock back
    # while everybody waits for the one that may write.
    engine.dialect.use_insertmanyvalues_wo_returning = True

    @event.listens_for(engine, "connect")
    def prepare(connection: sqlite3.Connection, _: object) -> None:
        connection.isolation_level = None  # we say when a transaction begins
        cursor = connection.cursor()
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
            "secure_delete=ON",
        ):
            cursor.execute(f"PRAGMA {pragma}")
        cursor.close()

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        reading = connection.get_execution_options().get(_READING)
        connection.exec_driver_sql("BEGIN" if reading else "BEGIN IMMEDIATE")


@contextmanager
def _unavailable(engine: Engine) -> Iterator[None]:
    """Turn failures of the database, rather than of the data, into `StoreUnavailable`.

    Drivers raise `OperationalError` or `InterfaceError` when the server is away, busy, out of
    resources or ends a deadlock: nothing was committed, and trying again is right.
    """
    driver = engine.dialect.loaded_dbapi
    try:
        yield
    except TimeoutError as error:
        raise StoreUnavailable("The database is busy; try again.") from error
    except DBAPIError as error:
        if not error.connection_invalidated and not isinstance(
            error.orig, (driver.OperationalError, driver.InterfaceError)
        ):
            raise
        raise _unavailable_error(error.orig) from error
    except (driver.OperationalError, driver.InterfaceError) as error:
        # The driver's own, as it comes when a connection breaks while it is returned to the pool.
        raise _unavailable_error(error) from error


def _unavailable_error(error: BaseException | None) -> StoreUnavailable:
    reason = first_line(error) if error else "no reason is known"
    return StoreUnavailable(f"The database cannot be used at the moment: {reason}.")
