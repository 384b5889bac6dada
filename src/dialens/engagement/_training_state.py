"""What a training depends on: an interrupted one is gone on with only if all of it is the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from dialens.base import sha256_file
from dialens.engagement._evaluation import RatedReplies
from dialens.engagement._training import ENCODER_FILES, TrainingData, TrainingPlan


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
