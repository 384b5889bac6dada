"""What an interrupted training has left, and whether it may be gone on with."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dialens.engagement.evaluation import RatedReplies
from dialens.engagement.training import ENCODER_FILES, TrainingData, TrainingPlan
from dialens.errors import DialensError
from dialens.storage import atomic_file, sha256_file

_STATE = "state.json"


def open_state(folder: Path, about: Mapping[str, Any], *, restart: bool = False) -> bool:
    """Open the state of a run, or begin one; tell whether there was one.

    Args:
        folder: Where seeds leave their results.
        about: What the run depends on: a state of another run is not gone on with.
        restart: Throw an earlier state away.

    Raises:
        DialensError: If the folder is somebody else's or belongs to another run.
    """
    file = folder / _STATE
    if folder.exists() and not file.exists() and any(folder.iterdir()):
        raise DialensError(f"{folder} exists and holds no training state: move it away.")
    if restart and folder.exists():
        shutil.rmtree(folder)
    wanted = json.loads(json.dumps(about))
    if file.exists():
        found = json.loads(file.read_text("utf-8"))
        other = sorted(key for key in {*found, *wanted} if found.get(key) != wanted.get(key))
        if other:
            raise DialensError(
                f"{folder} holds a run that was interrupted and differs in {', '.join(other)}. "
                "Give the same options to go on with it, or --restart to begin anew."
            )
        return True
    with atomic_file(file) as scratch:
        scratch.write_text(json.dumps(wanted, indent=1), "utf-8")
    return False


def depends_on(
    data: TrainingData,
    encoder: Path,
    plan: TrainingPlan,
    seeds: Sequence[int],
    rated: Sequence[RatedReplies] = (),
) -> dict[str, Any]:
    """Return what the results of a run depend on, short enough to compare."""
    tables = {"train": data.train, "validation": data.validation, "posts": data.posts}
    return {
        "plan": asdict(plan),
        "seeds": list(seeds),
        "encoder": {name: sha256_file(encoder / name)[:16] for name in ENCODER_FILES},
        "data": {
            name: [table.height, int(table.hash_rows().sort().hash().sum() or 0)]
            for name, table in tables.items()
            if table is not None
        },
        "ratings": [[one.name, len(one.inputs)] for one in rated],
    }
