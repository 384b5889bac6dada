"""Copies of a study in PostgreSQL, by the programs that come with it."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Row, inspect, text

from dialens.base import DialensError, first_line
from dialens.studies.store._postgresql import postgresql_engine
from dialens.studies.store._tables import metadata, studies

DUMP, LOAD = "pg_dump", "pg_restore"
_VERSIONS = "alembic_version"
_WAIT_S = 30.0


def dump(place: URL, file: Path, queries: Sequence[str]) -> list[Sequence[Row[Any]]]:
    """Copy the tables of a study; gives what queries find at the very moment of the copy."""
    _program(DUMP)
    with _connected(place) as connection:
        # pg_dump sees what this transaction sees, until it ends.
        moment = connection.execute(text("SELECT pg_export_snapshot()")).scalar_one()
        schema = connection.execute(text("SELECT current_schema()")).scalar_one()
        found = [connection.execute(text(query)).all() for query in queries]
        # Ours alone: what else is in the database is none of the study's.
        tables = [f'--table="{schema}"."{name}"' for name in (*metadata.tables, _VERSIONS)]
        _run(DUMP, place, f"--snapshot={moment}", "--format=custom", f"--file={file}", *tables)
    return found


def looked_through(file: Path) -> None:
    """Refuse a file of which pg_restore could make nothing."""
    done = subprocess.run(
        [_program(LOAD), "--list", str(file)], capture_output=True, text=True, check=False
    )
    if done.returncode or "TABLE DATA" not in done.stdout:
        raise DialensError(f"{file} is not the whole database of a study: {done.stderr.strip()}.")


def load(place: URL, file: Path, *, replace: bool) -> None:
    """Make the tables of a copy in one transaction: all are there afterwards, or nothing is.

    Args:
        place: Of the database.
        file: What `dump` made.
        replace: Whether tables of a study that are there are replaced.
    """
    _program(LOAD)
    with _connected(place) as connection:
        taken = inspect(connection).has_table(studies.name)
    if taken and not replace:
        raise DialensError(
            f"{place.render_as_string()} holds a study, and people may be in it. Name an empty "
            "database, or add --force to replace what is there."
        )
    clean = ("--clean", "--if-exists") if taken else ()
    _run(LOAD, place, "--single-transaction", "--exit-on-error", *clean, last=str(file))


@contextmanager
def _connected(place: URL) -> Iterator[Connection]:
    engine = postgresql_engine(place, wait_s=_WAIT_S)
    level = {"isolation_level": "REPEATABLE READ"}
    try:
        with engine.connect().execution_options(**level) as connection, connection.begin():
            yield connection
    except DialensError:
        raise
    except Exception as error:
        raise DialensError(
            f"{place.render_as_string()} cannot be used: {first_line(error)}."
        ) from error
    finally:
        engine.dispose()


def _run(program: str, place: URL, *arguments: str, last: str = "") -> None:
    # The password by the environment: other users of the machine can read a command's arguments.
    password = {} if place.password is None else {"PGPASSWORD": str(place.password)}
    address = place.set(drivername="postgresql", password=None).render_as_string()
    command = [_program(program), "--no-owner", f"--dbname={address}", *arguments]
    done = subprocess.run(
        [*command, last] if last else command,
        env=os.environ | password,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        told = " ".join(done.stderr.split())
        raise DialensError(f"{program} failed: {told or done.returncode}.")


def _program(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise DialensError(
            f"{name}, which comes with PostgreSQL, is not on this machine. Install its client "
            "programs (Debian: postgresql-client)."
        )
    return found
