"""What a backup holds: which files of a study's folder, and the list with their hashes."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath

from dialens.base import DialensError
from dialens.studies._files import SCHEMA
from dialens.studies._preregistration import FILE as PREREGISTRATION
from dialens.studies._study import Study
from dialens.studies._translation import translation_file
from dialens.studies.judges import JUDGES, LEDGER

MANIFEST = "backup.json"
"""The list of what is in a backup."""
KEY = "study.db.key"
STUDY = "study"
"""The part of a backup with files of the study's folder."""
DATABASES = {"sqlite": "study.db", "postgresql": "study.dump"}
"""The copy of the database, by the kind of database."""


@dataclass(frozen=True)
class Contents:
    """What a backup says of itself.

    Attributes:
        study: The name of the study.
        file: Its study file.
        taken_at: When, as ISO 8601.
        database: `sqlite` or `postgresql`.
        participants: How many people are in it.
        answers: How many answers of theirs.
        fingerprint: By which its key is known.
        files: The SHA-256 of every file, by its place in the backup.
        outside: Files of the study that lie outside of its folder, and are not in the backup.
    """

    study: str
    file: str
    taken_at: str
    database: str
    participants: int
    answers: int
    fingerprint: str | None
    files: Mapping[str, str]
    outside: list[str]

    def write(self, folder: Path) -> None:
        """Write the list, with a hash of its own."""
        said = asdict(self)
        text = json.dumps(said | {"sha256": _hash(said)}, indent=1, ensure_ascii=False)
        (folder / MANIFEST).write_text(text + "\n", "utf-8")

    @classmethod
    def read(cls, folder: Path) -> "Contents":
        """The list of a backup; refused where it is damaged, or leads out of the folder."""
        if not (folder / MANIFEST).is_file():
            raise DialensError(f"{folder} is not a backup: it has no {MANIFEST}. Nothing is done.")
        try:
            said = json.loads((folder / MANIFEST).read_bytes())
            own = said.pop("sha256")
            contents = cls(**said)
            whole = own == _hash(said) and contents.database in DATABASES
            names = [PurePosixPath(name) for name in (*contents.files, contents.file)]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            whole, names = False, []
        if not whole or any(name.is_absolute() or ".." in name.parts for name in names):
            raise damaged(folder, MANIFEST)
        return contents


def damaged(folder: Path, name: str) -> DialensError:
    """What is said of a backup that is not as it was taken."""
    return DialensError(
        f"{folder / name} is not as it was when the backup was taken, so that nothing is restored. "
        "Use another backup."
    )


def study_files(study: Study, file: Path) -> tuple[list[str], list[str]]:
    """The files that a study needs to go on: those in its folder, and those elsewhere.

    Args:
        study: As its file says it.
        file: The study file.

    Examples:
        >>> import tempfile
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies._study import study_of
        >>> place = Path(tempfile.mkdtemp()) / "study.yaml"
        >>> place.touch()
        >>> study_files(study_of(TEA), place)
        (['study.yaml'], [])
    """
    folder = file.parent.resolve()
    inside, outside = set(), set()
    for name in _named(study, file):
        place = (file.parent / name).resolve()
        for one in sorted(place.rglob("*")) if place.is_dir() else [place]:
            if not one.is_file():
                continue
            if one.is_relative_to(folder):
                inside.add(one.relative_to(folder).as_posix())
            else:
                outside.add(str(one))
    return sorted(inside), sorted(outside)


def _named(study: Study, file: Path) -> Iterator[str]:
    yield from (file.name, SCHEMA, PREREGISTRATION, JUDGES, LEDGER)
    for language in study.translations:
        yield translation_file(Path(), file.stem, language).name
    for own in (study, *study.translations.values()):
        items = own.design.items
        yield from (name for name in (items.file, items.corpus) if name)
        for item in (*own.items, *own.practice, *own.gold):
            yield from (one.file for one in item.media)
    talks = study.design.conversations
    if talks is not None:  # an agent may be a file beside: a script, a persona, a model
        yield from (one.target for one in talks.agents if one.target)


def _hash(said: Mapping[str, object]) -> str:
    return hashlib.sha256(json.dumps(said, sort_keys=True).encode()).hexdigest()
