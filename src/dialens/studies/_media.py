"""Pictures, sounds and films of items: files beside the study, known by what they hold."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from dialens.base import DialensError
from dialens.studies._types import JSON
from dialens.studies.design import ItemEntry, MediaEntry

if TYPE_CHECKING:
    from dialens.studies._study import Study

MEDIA_TYPES: dict[str, str] = {
    ".png": "image/png",
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".gif": "image/gif",
    ".webp": "image/webp",
    ".avif": "image/avif",
    ".mp3": "audio/mpeg",
    ".m4a": "audio/mp4",
    ".ogg": "audio/ogg",
    ".opus": "audio/ogg",
    ".wav": "audio/wav",
    ".flac": "audio/flac",
    ".mp4": "video/mp4",
    ".webm": "video/webm",
}
"""What can be shown, by the end of the file's name."""

_DIGITS = 32


@dataclass(frozen=True)
class Media:
    """A picture, sound or film.

    Attributes:
        file: Where it lies, from the study file on.
        name: What it is asked for by: a hash of its content, so that it tells nothing.
        alt: What is read by who cannot see or hear it.
        of: The candidate it belongs to; none for the context.
    """

    file: str
    name: str
    alt: str
    of: str | None = None

    def block(self) -> dict[str, JSON]:
        """As a part of a screen."""
        kind = MEDIA_TYPES[PurePath(self.name).suffix].partition("/")[0]
        return {"kind": "media", "type": kind, "name": self.name, "alt": self.alt}


def load_media(entry: ItemEntry, folder: Path) -> tuple[Media, ...]:
    """The media of an item, each file read once to know its hash.

    Args:
        entry: As the study file writes it.
        folder: Where the study file lies.
    """
    for one in entry.media:
        if one.of is not None and one.of not in entry.responses:
            known = ", ".join(entry.responses) or "none"
            raise DialensError(
                f"The item {entry.id!r}: media of {one.of!r}, which is no response. Responses: "
                f"{known}."
            )
    return tuple(_loaded(entry, one, folder) for one in entry.media)


def _loaded(entry: ItemEntry, one: MediaEntry, folder: Path) -> Media:
    path = _path(one.file, folder, f"The item {entry.id!r}")
    suffix = path.suffix.lower()
    if suffix not in MEDIA_TYPES:
        raise DialensError(
            f"The item {entry.id!r}: {one.file} is none of {', '.join(MEDIA_TYPES)}, which "
            "browsers can show."
        )
    return Media(one.file, _name(path), one.alt, one.of)


def _name(path: Path) -> str:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return f"{digest[:_DIGITS]}{path.suffix.lower()}"


def _path(file: str, folder: Path, whose: str) -> Path:
    path = (folder / file).resolve()
    if not path.is_relative_to(folder.resolve()):
        raise DialensError(f"{whose}: {file} does not lie beside the study. Put it there.")
    if not path.is_file():
        raise DialensError(f"{whose}: {folder / file} does not exist.")
    return path


def media_files(study: "Study", folder: Path) -> Mapping[str, Path]:
    """Where the media of a study lie, by name.

    Args:
        study: The study.
        folder: Where its file lies.

    Raises:
        DialensError: If a file is gone, or holds something else than when the study was loaded.
    """
    found = {
        one.name: one.file
        for own in (study, *study.translations.values())
        for item in (*own.items, *own.practice, *own.gold)
        for one in item.media
    }
    paths = {name: _path(file, folder, "Media") for name, file in found.items()}
    for name, path in paths.items():
        if _name(path) != name:
            raise DialensError(
                f"{path} has changed. Leave files of earlier versions as they are, and give "
                "another picture or sound another name."
            )
    return paths


def names_of(media: Iterable[Media], of: str | None) -> list[str]:
    """What the media of a candidate, or of the context, are asked for by."""
    return [one.name for one in media if one.of == of]
