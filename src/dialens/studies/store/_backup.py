"""Copies of a study's database, made while people take part."""

import os
import shutil
import sqlite3
import subprocess
from dataclasses import dataclass
from pathlib import Path

from sqlalchemy import URL

from dialens.base import DialensError, atomic_file, first_line, listed
from dialens.studies._study import Study
from dialens.studies.store._database import database_url
from dialens.studies.store._keys import FINGERPRINT
from dialens.studies.store._problems import WrongKey
from dialens.studies.store._secrets import KEY_VARIABLE, Secrets

DUMP = "pg_dump"
_PAGES = 256
_PAUSE_S = 0.005


@dataclass(frozen=True)
class Backup:
    """A copy of a database.

    Attributes:
        file: Where it is.
        size: In bytes.
        key: The file with the key of the database, which is not in the copy; none where the key
            is in the environment.
    """

    file: Path
    size: int
    key: Path | None


def back_up(url: str, file: Path) -> Backup:
    """Copy a database as it is at one moment; the server may be running, and goes on.

    SQLite is copied by its own backup, which sees the log beside the file that `cp` misses;
    PostgreSQL by `pg_dump`, in the form that `pg_restore` reads.

    Args:
        url: `sqlite:///path` or `postgresql://user:password@host/name`.
        file: The copy, which must not exist.
    """
    if file.exists():
        raise DialensError(f"{file} exists; a backup is not overwritten. Name another file.")
    place = database_url(url)
    file.parent.mkdir(parents=True, exist_ok=True)
    if place.get_backend_name() != "sqlite":
        with atomic_file(file) as scratch:
            _dump(place, scratch)
        return Backup(file, file.stat().st_size, None)
    source = Path(place.database or "")
    if not source.is_file():
        raise DialensError(f"{source} does not exist. Name the database the study is served from.")
    with atomic_file(file) as scratch:
        _copy(source, scratch)
    key = Path(f"{source}.key")
    return Backup(file, file.stat().st_size, key if key.exists() else None)


def restore(file: Path, database: Path, *, key: Path | None) -> None:
    """Put a backup of SQLite where a study is to be served from.

    Args:
        file: What `back_up` made.
        database: Where to; must not exist.
        key: The key of the database it was made from; none if it is in the environment.

    Raises:
        DialensError: If the key is missing or another one; nothing is restored then.
    """
    if not file.is_file():
        raise DialensError(f"{file} does not exist.")
    if database.exists():
        raise DialensError(
            f"{database} exists, and people may be in it: a backup does not replace it. Move it "
            "away first."
        )
    beside = Path(f"{database}.key")
    if key is not None and beside.exists() and beside.read_bytes() != key.read_bytes():
        raise DialensError(f"{beside} exists and is another key. Move it away first.")
    with atomic_file(database) as scratch:
        _copy(file, scratch)
        _check_key(scratch, file, key or beside)
    if key is not None and not beside.exists():
        with atomic_file(beside) as scratch:
            scratch.chmod(0o600)
            scratch.write_bytes(key.read_bytes())


def check_belongs(file: Path, study: Study, place: Path) -> None:
    """Refuse a backup that holds nothing of a study as its file defines it.

    Args:
        file: What `back_up` made.
        study: That is to go on with it.
        place: Where its file is.
    """
    if not file.is_file():
        raise DialensError(f"{file} does not exist.")
    reading = sqlite3.connect(f"{file.resolve().as_uri()}?mode=ro", uri=True)
    try:
        held = reading.execute("SELECT name, version, hash FROM studies ORDER BY id").fetchall()
    except sqlite3.DatabaseError as error:
        raise DialensError(f"{file} is not a backup of a study: {first_line(error)}.") from error
    finally:
        reading.close()
    if study.hash in {known for _, _, known in held}:
        return
    holds = listed([f"{name}, version {version}" for name, version, _ in held]) or "no study"
    raise DialensError(
        f"{file} holds {holds}. {place} is {study.name}, version {study.design.version}, and "
        "defines another study than people took. Copy the study's folder (study.yaml and its "
        "files) as it was served there first; nothing is restored."
    )


def _check_key(copy: Path, backup: Path, key: Path) -> None:
    """Refuse a backup that could not be opened where it is put."""
    secrets = Secrets.from_environment(os.environ)
    if secrets is None and not key.exists():
        raise DialensError(
            f"The key of {backup} is missing: worker ids cannot be read without it, and nobody "
            f"under way could go on. Name the file (--key FILE), or set {KEY_VARIABLE}."
        )
    secrets = secrets or Secrets.from_file(key, create=False)
    connection = sqlite3.connect(copy)
    try:
        query = "SELECT value FROM settings WHERE name = ?"
        known = connection.execute(query, (FINGERPRINT,)).fetchone()
    finally:
        connection.close()
    if known is not None and known[0] != secrets.fingerprint():
        raise WrongKey(
            f"The key does not fit {backup}: worker ids in it were encrypted with another. Name "
            f"the file it was served with (--key FILE), or set {KEY_VARIABLE} to that key."
        )


def _copy(source: Path, target: Path) -> None:
    target.chmod(0o600)
    # Read-only: a file that is no database must not become one.
    reading = sqlite3.connect(f"{source.resolve().as_uri()}?mode=ro", uri=True)
    writing = sqlite3.connect(target)
    try:
        # In steps, so that nobody who writes meanwhile has to wait for the whole of it.
        reading.backup(writing, pages=_PAGES, sleep=_PAUSE_S)
        writing.execute("PRAGMA journal_mode=DELETE")  # one file, whole by itself
        (verdict,) = writing.execute("PRAGMA integrity_check").fetchone()
        known = writing.execute("SELECT count(*) FROM sqlite_master WHERE name = 'studies'")
        (is_study,) = known.fetchone()
    except sqlite3.DatabaseError as error:
        raise DialensError(f"{source} cannot be copied: {first_line(error)}.") from error
    finally:
        writing.close()
        reading.close()
    if verdict != "ok" or not is_study:
        raise DialensError(f"{source} is not the whole database of a study: {verdict}.")


def _dump(place: URL, file: Path) -> None:
    program = shutil.which(DUMP)
    if program is None:
        raise DialensError(
            f"{DUMP}, which comes with PostgreSQL, is not on this machine. Run it where it is: "
            f"{DUMP} --format=custom --file=FILE DATABASE."
        )
    file.chmod(0o600)
    # The password by the environment: other users of the machine can read a command's arguments.
    password = {} if place.password is None else {"PGPASSWORD": str(place.password)}
    address = place.set(drivername="postgresql", password=None).render_as_string()
    done = subprocess.run(
        [program, "--format=custom", "--no-owner", f"--file={file}", f"--dbname={address}"],
        env=os.environ | password,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise DialensError(f"{DUMP} failed: {done.stderr.strip() or done.returncode}.")
