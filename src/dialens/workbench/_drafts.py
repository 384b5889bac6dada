"""An item as it is recognised, before it is known how it stands to the others."""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dialens.base import FILES, RunRecord, listed
from dialens.corpus import ReadOptions

SELF = "."
"""Stands for the file itself among the hashes of what was read."""

DRAWN_FROM = "the conversations that were drawn from"
"""What conversations are to a study whose items were drawn from them."""

_MOST_JSON = 16 * 1_048_576
_PARQUET, _LEAST_PARQUET = b"PAR1", 12


@dataclass(frozen=True)
class Input:
    """Something that a record says was read.

    Attributes:
        place: Its path as it was named, which may be relative to a folder of then, or its address.
        hashes: SHA-256 of its files, by their path below it; of itself by :data:`SELF`.
        word: What it is to the item, in words.
        option: Whether it was named by an option rather than an argument of the command.
        by_name: Whether the place is the name of a study rather than a path.
    """

    place: str
    hashes: Mapping[str, str] = field(default_factory=dict)
    word: str = ""
    option: bool = False
    by_name: bool = False


@dataclass(frozen=True)
class Draft:
    """What was recognised at a place.

    Attributes:
        kind: Of the item.
        path: Its folder or file.
        title: What it is, in one sentence.
        counts: Conversations, agents, turns, metrics, participants, as far as they are known.
        made: When it was made.
        record: Its run record.
        inputs: What it was made from.
        report: Its page.
        damage: What is wrong with it; empty for most.
        label: Told apart from others at the same path by this.
        known_as: Its name to others, where that is not its path.
        last_change: When something came to it last, where its files do not tell.
        options: How what it was made from was read.
        asked: Further options of the command that made it, by their names.
    """

    kind: str
    path: Path
    title: str
    counts: Mapping[str, int] = field(default_factory=dict)
    made: datetime | None = None
    record: RunRecord | None = None
    inputs: tuple[Input, ...] = ()
    report: Path | None = None
    damage: str = ""
    label: str = ""
    known_as: str = ""
    last_change: datetime | None = None
    options: ReadOptions = field(default_factory=ReadOptions)
    asked: Mapping[str, str] = field(default_factory=dict)


def changed_at(path: Path) -> datetime | None:
    """When a file was written last."""
    try:
        return datetime.fromtimestamp(path.stat().st_mtime, UTC)
    except (OSError, OverflowError, ValueError):
        return None


def moment(text: object) -> datetime | None:
    """A time as records hold it.

    Examples:
        >>> moment("2026-11-16T22:47:45+00:00").hour, moment("soon"), moment(None)
        (22, None, None)
    """
    try:
        read = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return read if read.tzinfo is not None else read.replace(tzinfo=UTC)


def read_json(path: Path) -> dict[str, Any] | None:
    """An object in a JSON file; None where there is no such thing."""
    try:
        if path.stat().st_size > _MOST_JSON:
            return None
        content = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError, RecursionError):
        return None
    return content if isinstance(content, dict) else None


def whole(value: object) -> int:
    """A count as records hold it; 0 for anything else.

    Examples:
        >>> whole(42), whole("42"), whole(None)
        (42, 0, 0)
    """
    return value if isinstance(value, int) else 0


def existing(path: Path) -> Path | None:
    """A file, if it is there."""
    return path if path.is_file() else None


def options_of(said: object) -> ReadOptions:
    """How conversations were read, as records and manifests say it.

    Examples:
        >>> options_of({"roles": {"Ann": "agent"}, "agent": None, "columns": 3}).roles
        {'Ann': 'agent'}
    """
    given: Mapping[str, object] = said if isinstance(said, Mapping) else {}
    return ReadOptions(
        system=_text(given.get("system")),
        agent=_text(given.get("agent")),
        columns=_texts(given.get("columns")),
        roles=_texts(given.get("roles")),
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _texts(value: object) -> dict[str, str]:
    return {str(k): str(v) for k, v in value.items()} if isinstance(value, Mapping) else {}


def damage_of(folder: Path, names: Iterable[str]) -> str:
    """Which of some files are missing or, being Parquet, cut off; empty if none is.

    Only the last bytes of a Parquet file are looked at, where its footer ends.
    """
    missing, cut = [], []
    for name in dict.fromkeys(names):
        path = folder / name
        if not path.is_file():
            missing.append(name)
        elif name.endswith(".parquet") and not _is_whole(path):
            cut.append(name)
    parts = [
        f"{listed(files)} {'is' if len(files) == 1 else 'are'} {what}"
        for files, what in ((missing, "missing"), (cut, "cut off"))
        if files
    ]
    return f"{'; '.join(parts)}." if parts else ""


def _is_whole(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            if file.seek(0, os.SEEK_END) <= _LEAST_PARQUET:
                return False
            file.seek(-len(_PARQUET), os.SEEK_END)
            return file.read() == _PARQUET
    except OSError:
        return False


def written_by_us(folder: Path) -> set[str] | None:
    """Files that dialens wrote into a folder; None where no list is kept."""
    try:
        content = json.loads((folder / FILES).read_text("utf-8"))
        return {str(name) for name in content["files"]}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
