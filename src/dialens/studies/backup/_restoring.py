"""The way back: a backup is checked as a whole, then put in place as a whole."""

import filecmp
import os
import shutil
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from dialens.base import DialensError, atomic_file, listed, set_aside, sha256_file
from dialens.studies.backup._contents import (
    DATABASES,
    KEY,
    STUDY,
    Contents,
    damaged,
)
from dialens.studies.store import (
    KEY_VARIABLE,
    Secrets,
    Store,
    check_copy,
    database_size,
    database_url,
    end_log,
    put_postgresql,
)

_LOGS = ("", "-wal", "-shm")
"""The files of an SQLite database."""


@dataclass(frozen=True)
class Restored:
    """What came back.

    Attributes:
        study: The study file.
        participants: How many people are in the database.
        answers: How many answers of theirs.
        files: How many files were put in place.
        aside: Files that were there before, under their new names.
        key: The file with the key; none if there is none, or the environment has it.
        with_key: Whether worker ids can be read.
        outside: Files of the study that the backup does not hold.
    """

    study: Path
    participants: int
    answers: int
    files: int
    aside: tuple[str, ...]
    key: Path | None
    with_key: bool
    outside: tuple[str, ...]


def restore(
    folder: Path,
    study: Path,
    *,
    url: str | None = None,
    key: Path | None = None,
    without_key: bool = False,
    force: bool = False,
) -> Restored:
    """Put a backup in place; it is checked whole before anything is written.

    Args:
        folder: What `back_up` made.
        study: The folder of the study; made if it is not there.
        url: Of the database; `study.db` in that folder if not given.
        key: The file with the key, where the backup has none.
        without_key: Whether to go on without one: answers can be read, worker ids cannot.
        force: Whether files that are in the way are renamed (`study.db` to `study.db.1`), and
            tables of PostgreSQL replaced.

    Raises:
        DialensError: It is damaged, or something is in the way; nothing is restored then.
    """
    contents = Contents.read(folder)
    for name, known in contents.files.items():
        if not (folder / name).is_file() or sha256_file(folder / name) != known:
            raise damaged(folder, name)
    copy = folder / DATABASES[contents.database]
    check_copy(copy, contents.database)
    secrets = _key(folder, contents, key, without_key=without_key)
    database = _sqlite_file(url, study) if contents.database == "sqlite" else None
    if database is None and url is None:
        raise DialensError(
            f"{folder} is of PostgreSQL. Name a database for it, with nothing in it: "
            "--db postgresql://user@host/name."
        )
    beside = study / KEY if database is None else Path(f"{database}.key")
    wanted: dict[Path, Path] = {} if database is None else {database: copy}
    for name in contents.files:
        if name.startswith(f"{STUDY}/"):
            wanted[study / name.removeprefix(f"{STUDY}/")] = folder / name
    written = secrets
    if database is None and secrets == Secrets.from_environment(os.environ):
        written = None  # it is where a server looks for it
    taken = _in_the_way(wanted, beside, written)
    if taken and not force:
        raise DialensError(
            f"{listed([str(one) for one in taken[:3]])} {'is' if len(taken) == 1 else 'are'} in "
            "the way, and people may be in there. Name another folder, or add --force to rename "
            "what is there; nothing is restored."
        )
    address = str(url) if database is None else f"sqlite:///{database}"
    if database is None:
        put_postgresql(copy, address, replace=force)
    aside = _put(wanted, taken, beside, written)
    people, answers = _counted(address, secrets)
    return Restored(
        study / contents.file,
        people,
        answers,
        len(wanted),
        aside,
        None if written is None else beside,
        secrets is not None,
        tuple(contents.outside),
    )


def _key(
    folder: Path, contents: Contents, key: Path | None, *, without_key: bool
) -> Secrets | None:
    """The key of the database: a file that is named, that of the backup, the environment's."""
    if key is not None and not key.is_file():
        raise DialensError(f"{key} does not exist.")
    own = key or (folder / KEY if KEY in contents.files else None)
    if own is None:
        secrets = Secrets.from_environment(os.environ)
    else:
        secrets = Secrets.from_file(own, create=False)
    if secrets is None:
        if without_key:
            return None
        raise DialensError(
            f"The key is not in {folder}: worker ids cannot be read without it, and nobody under "
            f"way could go on. Name the file (--key FILE), set {KEY_VARIABLE}, or go on without "
            "(--without-key)."
        )
    if contents.fingerprint not in (None, secrets.fingerprint()):
        raise DialensError(
            f"The key does not fit {folder}: worker ids in it were encrypted with another. Name "
            f"the file it was served with (--key FILE), or set {KEY_VARIABLE} to that key."
        )
    return secrets


def _sqlite_file(url: str | None, study: Path) -> Path:
    if url is None:
        return study / DATABASES["sqlite"]
    place = database_url(url)
    if place.get_backend_name() != "sqlite":
        raise DialensError("The backup is of SQLite. Leave --db out, or name a file: sqlite:///…")
    return Path(place.database or "")


def _in_the_way(wanted: Mapping[Path, Path], beside: Path, secrets: Secrets | None) -> list[Path]:
    """What is there already, and not the same."""
    found = []
    for target, source in wanted.items():
        logs = _LOGS if target.suffix == ".db" else _LOGS[:1]
        there = [one for log in logs if os.path.lexists(one := Path(f"{target}{log}"))]
        if there != [target] or not _same(target, source):
            found += there
    if secrets is None or not beside.exists():
        return found
    same = beside.read_text("ascii", errors="replace").strip() == secrets.to_text()
    return found if same else [*found, beside]


def _same(target: Path, source: Path) -> bool:
    # A database that is the same may be open in a server, and is never taken for equal.
    return (
        target.suffix != ".db" and target.is_file() and filecmp.cmp(target, source, shallow=False)
    )


def _put(
    wanted: Mapping[Path, Path], taken: Sequence[Path], beside: Path, secrets: Secrets | None
) -> tuple[str, ...]:
    """Write everything under other names first, so that a full disk leaves nothing half done."""
    for one in taken:
        if one.suffix == ".db" and one.is_file():
            end_log(one)
    with ExitStack() as stack:
        for target, source in wanted.items():
            if _same(target, source):
                continue
            scratch = stack.enter_context(atomic_file(target))
            if target.suffix == ".db":
                scratch.chmod(0o600)
            shutil.copyfile(source, scratch)
        if secrets is not None:
            scratch = stack.enter_context(atomic_file(beside))
            scratch.chmod(0o600)
            scratch.write_text(secrets.to_text() + "\n", "ascii")
        aside = [new for one in taken for new in set_aside(one.parent, [one.name])]
    return tuple(map(str, aside))


def _counted(url: str, secrets: Secrets | None) -> tuple[int, int]:
    with Store.open(url, create=False, secrets=secrets, needs_key=False) as store:
        return database_size(store.database)
