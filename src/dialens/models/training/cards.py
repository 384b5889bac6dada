r"""What the cards of the shipped models say, beside what was measured.

python -m dialens.models.training.cards small --metrics metrics.json --goemotions FOLDER \
        --out notes.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

DATA = [
    {"name": "GoEmotions", "use": "emotion", "licence": "CC BY 4.0"},
    {"name": "Surge AI toxicity (English)", "use": "toxicity", "licence": "MIT"},
    {"name": "Davidson et al. hate and offensive speech", "use": "toxicity", "licence": "MIT"},
    {
        "name": "Reddit: Pushshift months 2005-12 to 2006-03, threads of 2010 to 2025, "
        "r/changemyview paths, threads of 2015 in 14 subreddits",
        "use": "engagement labels from reactions; unlabelled texts for distillation",
        "licence": "users' own text, not redistributed; names were dropped at reading",
    },
]
BASES = {
    "small": {
        "base_model": "all-MiniLM-L6-v2 (Apache-2.0), all 6 layers",
        "default_for": ["emotion", "toxicity"],
        "command": "python -m dialens.models.training.distil --encoder all-MiniLM-L6-v2 "
        "--batch 192 --rate 4e-4 --epochs 4 --seconds 250 --seed 0 (ended in its third epoch)",
    },
    "base": {
        "base_model": "all-mpnet-base-v2 (Apache-2.0), layers 0 1 3 4 6 8 9 11",
        "default_for": ["engagement"],
        "command": "python -m dialens.models.training.distil --encoder all-mpnet-base-v2 "
        "--layers 0 1 3 4 6 8 9 11 --batch 192 --rate 1.5e-4 --epochs 4 --seconds 310 --seed 0 "
        "(ended in its third epoch, the second was kept)",
    },
}
TASKS: dict[str, dict[str, Any]] = {
    "emotion": {
        "intended_use": "Which of 27 emotions (or none) an English turn expresses; means over many "
        "turns, entropy and matching between speakers.",
        "limits": "Trained on Reddit comments rated by three to five raters from one country; "
        "rare emotions (grief, pride, relief) rest on a handful of examples. Says what a text "
        "expresses, not what a person feels. English only; longer texts are cut at 128 tokens.",
    },
    "toxicity": {
        "labels": ["toxic"],
        "intended_use": "A filter that leaves crude insults and slurs out of training data; a "
        "first look at what an agent says. The threshold was chosen for precision.",
        "limits": "Learned from 17,000 tweets selected by slur words and 700 comments: it reacts "
        "to vocabulary, misses polite or implied harm, and over-reacts to reclaimed and dialect "
        "words. Not for decisions about people. English only.",
    },
    "engagement": {
        "labels": ["engaging"],
        "pair": True,
        "intended_use": "How likely a reply is to engage people, given the last two turns before "
        "it; for comparing systems over many turns.",
        "limits": "Learned from how Reddit's users reacted, not from ratings: it likes what starts "
        "discussion there. It sees relevance and broken text, but on GRADE-DailyDialog it hardly "
        "tells coherent from incoherent replies, and on PersonaChat-USR plain word count predicts "
        "'Engaging' better. English only.",
    },
}
SHIPS = {"small": ("emotion", "toxicity", "engagement"), "base": ("engagement",)}


def notes(name: str, metrics: dict[str, Any], labels: list[str]) -> dict[str, Any]:
    """Return a card without its files."""
    tasks = {}
    for task in SHIPS[name]:
        known = dict(metrics.get(task, {}))
        entry = {"labels": labels, **TASKS[task], "activation": "sigmoid"}
        if "thresholds" in known:
            entry["thresholds"] = known.pop("thresholds")
        tasks[task] = {**entry, "metrics": known}
    base = BASES[name]
    return {
        "name": name,
        "tasks": tasks,
        "default_for": base["default_for"],
        "base_model": base["base_model"],
        "licence": "Apache-2.0",
        "data": DATA,
        "seed": 0,
        "training": {
            "command": base["command"],
            "teachers": "emotion: 4 MPNet seeds; toxicity: 1; engagement: 4 (variant soft, 80,000 "
            "pairs each); one student for all tasks, taught on 457,634 texts and pairs",
            "all_commands": "docs/models.md",
        },
        "format": "int8 weights, one scale per block of 64; activations int8 per row and block "
        "(int8.onnx) or float (fp32.onnx). The float weights before quantisation do not ship.",
    }


def main() -> None:
    """Write the notes of one model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=tuple(BASES))
    parser.add_argument("--metrics", type=Path, required=True)
    parser.add_argument("--goemotions", type=Path, required=True, help="for the label names")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args()
    from dialens.models.training.emotion import read_labels

    metrics = json.loads(given.metrics.read_text("utf-8"))
    made = notes(given.name, metrics, read_labels(given.goemotions))
    given.out.write_text(json.dumps(made, indent=1), "utf-8")


if __name__ == "__main__":
    main()
