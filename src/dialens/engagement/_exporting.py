"""From the best seed to the folder that `dialens.models.load` runs: graphs, tokenizer, card."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import polars as pl

from dialens.engagement._evaluation import CONTEXT_TURNS_FACT, engagement_scores, open_scorer
from dialens.engagement._training import (
    CHOSEN_BY,
    SeedResult,
    TrainingData,
    TrainingPlan,
    best_seed,
    summarise,
)
from dialens.models import TASK
from dialens.statistics import area_under_curve

LABEL = "engaging"
CARD = "card.json"
TRAINING = "training.json"

_USE = (
    "How likely a reply is to engage people, given what was said before it; for comparing systems "
    "over many turns."
)
_LIMITS = (
    "Learned from how people reacted to posts, not from ratings: it likes what starts discussion "
    "where the data comes from. Measure it with `dialens engagement evaluate` before trusting it."
)


def export_model(
    results: Sequence[SeedResult],
    state: Path,
    out: Path,
    *,
    name: str,
    data: TrainingData,
    encoder: Path,
    plan: TrainingPlan,
    sources: Mapping[str, Any],
) -> dict[str, Any]:
    """Write the best seed as a model folder, with its card and the table over seeds.

    Args:
        results: Of all seeds.
        state: Where their weights are.
        out: An empty folder.
        name: Of the model.
        data: What it learned from; the int8 graph is measured on its validation part.
        encoder: Where training started.
        plan: How it was trained.
        sources: What the card says of the data: files and hashes.

    Returns:
        The card.
    """
    from dialens.models.training import export

    best = best_seed(results)
    table = summarise(results)
    weights = state / f"seed{best.seed}"
    shutil.copy(encoder / "tokenizer.json", weights / "tokenizer.json")
    card = {
        "name": name,
        "tasks": {
            TASK: {
                "labels": [LABEL],
                "pair": True,
                "activation": "sigmoid",
                "intended_use": _USE,
                "limits": _LIMITS,
                "metrics": {"this seed, before quantisation": dict(best.measures)},
            }
        },
        CONTEXT_TURNS_FACT: plan.context_turns,
        "base_model": encoder.resolve().name,
        "licence": "not stated: look at the encoder's and at the data's",
        "data": [{"name": "posts labelled by reactions", "use": TASK, **sources}],
        "seed": best.seed,
        "training": {
            "plan": asdict(plan),
            "pairs": best.pairs,
            "epoch kept": best.epoch,
            "chosen by": CHOSEN_BY,
            "over seeds": table.to_dicts(),
        },
        "format": "int8 weights, one scale per output; activations int8 per token (int8.onnx) or "
        "float (fp32.onnx)",
    }
    export(weights, out, {TASK: slice(0, 1)}, card)
    return _measured(out, results, data, plan, table)


def _measured(
    out: Path,
    results: Sequence[SeedResult],
    data: TrainingData,
    plan: TrainingPlan,
    table: pl.DataFrame,
) -> dict[str, Any]:
    """Run the model as its users will, and put what it reaches into the card."""
    own = plan.negatives.seed if plan.negatives else 0
    validation = data.pairs(data.validation, plan, own)
    scores = engagement_scores(open_scorer(out), validation.inputs, label="Measuring int8")
    card: dict[str, Any] = json.loads((out / CARD).read_text("utf-8"))
    card["tasks"][TASK]["metrics"][f"{CHOSEN_BY}, int8"] = area_under_curve(
        scores, validation.target
    )
    (out / CARD).write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", "utf-8")
    record = {"seeds": [asdict(one) for one in results], "summary": table.to_dicts()}
    (out / TRAINING).write_text(json.dumps(record, indent=1) + "\n", "utf-8")
    return card
