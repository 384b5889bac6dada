"""What a model's folder says about itself, and whether its files are what the card says."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dialens.base import DialensError, sha256_file

OWN_GRAPHS = {"int8": "int8.onnx", "fp32": "fp32.onnx"}
"""The files of the graphs in the folders that this package writes."""


@dataclass(frozen=True)
class Task:
    """One thing a model tells: its output, labels, thresholds and how to read the numbers.

    ``pair`` is None where a model reads single texts and pairs alike; ``output`` is the name of the
    graph's output, the task's own by default.
    """

    name: str
    labels: tuple[str, ...]
    activation: str
    pair: bool | None
    thresholds: tuple[float, ...]
    metrics: dict[str, Any]
    intended_use: str
    limits: str
    output: str


@dataclass(frozen=True)
class ModelCard:
    """The contents of ``card.json``.

    ``files`` maps a file to the sha256 it must have; ``graphs`` a precision to the file that holds
    its graph.
    """

    name: str
    folder: Path
    tasks: dict[str, Task]
    inputs: tuple[str, ...]
    pad: int
    longest: int
    files: dict[str, str]
    facts: dict[str, Any]
    """Everything else: data and licences, training command, seed, base model."""
    graphs: Mapping[str, str] = field(default_factory=lambda: dict(OWN_GRAPHS))

    @property
    def size(self) -> int:
        """Bytes of all files that are there."""
        files = (self.folder / name for name in self.files)
        return sum(file.stat().st_size for file in files if file.is_file())

    @property
    def signature(self) -> str:
        """A short name of exactly these weights, for the signature of a score."""
        weights = [name for name in self.files if name.endswith((".bin", ".data"))]
        weights = weights or [name for name in self.files if name.endswith(".onnx")]
        return f"{self.name}:{'+'.join(self.files[name][:12] for name in sorted(weights))}"


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
        files = hashes(raw.pop("files"))
        return ModelCard(
            name=raw.pop("name"),
            folder=folder,
            tasks=tasks,
            inputs=tuple(raw.pop("inputs")),
            pad=raw.pop("pad"),
            longest=raw.pop("longest"),
            files=files,
            graphs=raw.pop("graphs", OWN_GRAPHS),
            facts=raw,
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DialensError(f"{file} cannot be read ({error!r}): fetch the model again") from error


def hashes(files: Mapping[str, Any]) -> dict[str, str]:
    """Return the sha256 of each file as cards write it, plainly or under ``sha256``.

    Examples:
        >>> hashes({"a": "0f", "b": {"sha256": "1e"}})
        {'a': '0f', 'b': '1e'}
    """
    return {name: one if isinstance(one, str) else one["sha256"] for name, one in files.items()}


def _task(name: str, entry: dict[str, Any]) -> Task:
    labels = tuple(entry["labels"])
    return Task(
        name=name,
        labels=labels,
        activation=entry.get("activation", "sigmoid"),
        pair=None if entry.get("pair", False) is None else bool(entry.get("pair", False)),
        thresholds=tuple(entry.get("thresholds", [0.5] * len(labels))),
        metrics=entry.get("metrics", {}),
        intended_use=entry.get("intended_use", ""),
        limits=entry.get("limits", ""),
        output=entry.get("output", name),
    )


def check_trait_card(card: Mapping[str, Any], file: Path) -> None:
    """Refuse the card of a trait model that does not say what scoring has to know.

    Raises:
        DialensError: Names what is missing or of the wrong kind.
    """
    kinds = {"target": str, "longest_ngram": int, "topics_sha256": str | None}
    wrong = [name for name, kind in kinds.items() if not isinstance(card.get(name), kind)]
    if wrong:
        problems = ", ".join(f"{name} is {card.get(name)!r}" for name in wrong)
        raise DialensError(f"{file} cannot be used ({problems}): fetch or fit the model again")


def check_file(file: Path, sha256: str) -> None:
    """Refuse a file that is missing or is not the one the card describes.

    Raises:
        DialensError: Names the file and what to do.
    """
    if not file.is_file():
        raise DialensError(f"{file} is missing: install the package or fetch the model again")
    actual = sha256_file(file)
    if actual != sha256:
        raise DialensError(
            f"{file} is damaged: its sha256 begins {actual[:12]}, the card says "
            f"{sha256[:12]}. Install the package or fetch the model again"
        )
