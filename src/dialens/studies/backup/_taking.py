"""A backup: database, key and the study's files together, taken while people take part."""

import os
import shutil
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from dialens.base import DialensError, atomic_folder, sha256_file
from dialens.studies._files import study_file
from dialens.studies._study import Study, load_study
from dialens.studies.backup._contents import (
    DATABASES,
    KEY,
    MANIFEST,
    STUDY,
    Contents,
    study_files,
)
from dialens.studies.judges import LEDGER
from dialens.studies.store import (
    KEY_VARIABLE,
    DatabaseCopy,
    Secrets,
    copy_database,
    copy_sqlite,
    database_url,
)


@dataclass(frozen=True)
class Backup:
    """A backup that was taken.

    Attributes:
        folder: Where it is.
        size: In bytes.
        participants: How many people are in it.
        answers: How many answers of theirs.
        files: How many files of the study's folder.
        with_key: Whether it holds the key, so that worker ids can be read by whoever has it.
        outside: Files of the study that are not in it, since they lie elsewhere.
    """

    folder: Path
    size: int
    participants: int
    answers: int
    files: int
    with_key: bool
    outside: tuple[str, ...]


def back_up(study: Path, url: str, folder: Path, *, now: datetime, with_key: bool = True) -> Backup:
    """Take a backup of a study; the server may be running, and goes on.

    Nobody but the owner may read it.

    Args:
        study: The study file, or its folder.
        url: Of the database.
        folder: The backup, which must not exist.
        now: The time.
        with_key: Whether the key is part of it.
    """
    if folder.exists():
        raise DialensError(f"{folder} exists; a backup is not overwritten. Name another place.")
    file = study_file(study)
    loaded = load_study(file)
    with atomic_folder(folder, private=True) as scratch:
        copied = _database(url, scratch)
        needed = [study_files(one, file) for one in (loaded, *_versions(copied, loaded.name))]
        inside, outside = (sorted(set().union(*names)) for names in zip(*needed, strict=True))
        if with_key:
            secrets = _key(url, copied)
            (scratch / KEY).write_text(secrets.to_text() + "\n", "ascii")
        for name in inside:
            target = scratch / STUDY / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if name == LEDGER:  # judges may be at work
                copy_sqlite(file.parent / name, target)
            else:
                shutil.copyfile(file.parent / name, target)
        for one in scratch.rglob("*"):
            one.chmod(0o700 if one.is_dir() else 0o600)
        written = sorted(one for one in scratch.rglob("*") if one.is_file())
        hashes = {one.relative_to(scratch).as_posix(): sha256_file(one) for one in written}
        size = sum(one.stat().st_size for one in written)
        Contents(
            loaded.name,
            file.name,
            now.isoformat(),
            copied.kind,
            copied.participants,
            copied.answers,
            copied.fingerprint,
            hashes,
            outside,
        ).write(scratch)
        size += (scratch / MANIFEST).stat().st_size
    return Backup(
        folder, size, copied.participants, copied.answers, len(inside), with_key, tuple(outside)
    )


def _versions(copied: DatabaseCopy, name: str) -> list[Study]:
    """All versions that people took: whoever is in one still sees its pictures."""
    found = []
    for own, definition, operation in copied.studies:
        if own == name:
            with suppress(DialensError, ValueError, KeyError, TypeError):  # of another dialens
                found.append(Study.from_definition(definition, operation))
    return found


def _database(url: str, scratch: Path) -> DatabaseCopy:
    target = scratch / DATABASES[database_url(url).get_backend_name()]
    target.touch(mode=0o600)
    return copy_database(url, target)


def _key(url: str, copied: DatabaseCopy) -> Secrets:
    """The key that the database is served with."""
    secrets = Secrets.from_environment(os.environ)
    place = database_url(url)
    beside = Path(f"{place.database}.key")
    if secrets is None and place.get_backend_name() == "sqlite" and beside.is_file():
        secrets = Secrets.from_file(beside, create=False)
    if secrets is None or copied.fingerprint not in (None, secrets.fingerprint()):
        raise DialensError(
            f"The key of the database is not there, or another one than it was served with: set "
            f"{KEY_VARIABLE}, or take the backup without it (--without-key)."
        )
    return secrets
