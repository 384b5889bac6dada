"""Trained seeds of a teacher, and what they say together."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from dialens.base import DialensError

if TYPE_CHECKING:
    from dialens.models.training import TokenTable


def teacher_folders(folder: Path) -> list[Path]:
    """Return the seeds' folders of a teacher, in order."""
    found = sorted(folder.glob("seed*/model.safetensors"))
    if not found:
        raise DialensError(f"{folder} holds no trained seeds")
    return [file.parent for file in found]


def best_teachers(folder: Path, most: int) -> list[Path]:
    """Return the seeds' folders that did best in validation."""
    value = {
        one: json.loads((one / "report.json").read_text())["validation"]
        for one in teacher_folders(folder)
    }
    return sorted(value, key=lambda one: -value[one])[:most]


def ensemble(folders: list[Path], table: TokenTable, outputs: int) -> np.ndarray:
    """Return the mean probability of several teachers for encoded inputs."""
    from dialens.models import sigmoid
    from dialens.models.training import best_device, load_encoder, predict

    total = np.zeros((len(table), outputs), dtype=np.float32)
    for folder in folders:
        model = load_encoder(folder, outputs).to(best_device())
        total += sigmoid(predict(model, table))
    result: np.ndarray = total / len(folders)
    return result
