r"""What the cards of the shipped models say, beside what was measured.

python -m recipes.encoder.cards small --metrics metrics.json --goemotions FOLDER \
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
        "use": "engagement labels from reactions; replies given and not given; unlabelled texts "
        "for distillation",
        "licence": "users' own text, not redistributed; names were dropped at reading",
    },
    {
        "name": "Ji et al. 2022, rated chats with agents",
        "use": "appeal (interesting, fun); replies people gave",
        "licence": "MIT",
    },
    {
        "name": "DBDC3 (English), breakdown annotations",
        "use": "appeal (no breakdown); replies people gave",
        "licence": "MIT",
    },
]
BASES = {
    "small": {
        "base_model": "all-MiniLM-L6-v2 (Apache-2.0), all 6 layers",
        "default_for": ["emotion", "toxicity", "validity"],
        "command": "python -m recipes.encoder.distil --encoder all-MiniLM-L6-v2 "
        "--batch 192 --rate 4e-4 --epochs 4 --seed 0",
    },
    "base": {
        "base_model": "all-mpnet-base-v2 (Apache-2.0), layers 0 1 3 4 6 8 9 11",
        "default_for": ["engagement", "relevance", "appeal"],
        "command": "python -m recipes.encoder.distil --encoder all-mpnet-base-v2 "
        "--layers 0 1 3 4 6 8 9 11 --batch 192 --rate 1.5e-4 --epochs 3 --seed 0",
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
        "headline": "better: engagement, pearson",
        "intended_use": "How engaging a reply is, given the last two turns before it and, where "
        "known, what its speaker was given to speak from; for comparing agents over many turns. "
        "The mean of four parts on one scale: would it draw reactions (this task), does it belong "
        "here (relevance), would people in a chat like it (appeal), does it say something (log of "
        "its content words).",
        "limits": "Learned from how Reddit's users reacted and from chats with agents of 2017 to "
        "2022. Where raters know a persona or a fact and the model does not, plain word count "
        "predicts their 'Engaging' better (PersonaChat-USR); on GRADE-DailyDialog it is only "
        "weakly related to coherence, for which relevance alone is the better number. Longer "
        "replies score higher, as they do with people. Its four parts were put together with "
        "these sets in sight (not trained on them), so the figures flatter it. English only; "
        "pairs are cut at 128 tokens.",
    },
    "relevance": {
        "labels": ["relevant"],
        "pair": True,
        "part_of": "engagement",
        "intended_use": "Whether a reply was given to this context or to another one.",
        "limits": "It sees topics and wording more than logic; a contradiction passes.",
    },
    "appeal": {
        "labels": ["appealing"],
        "pair": True,
        "part_of": "engagement",
        "intended_use": "Whether people who chatted with an agent would have liked this reply.",
        "limits": "Learned mostly from ratings of whole dialogues, in the style of PersonaChat.",
    },
    "validity": {
        "labels": ["whole"],
        "intended_use": "Whether a text is whole or has words missing, added, looped or mixed up.",
        "limits": "Knows four rules of breaking a text; fluent nonsense passes.",
    },
}
SHIPS = {
    "small": ("emotion", "toxicity", "engagement", "relevance", "appeal", "validity"),
    "base": ("engagement", "relevance", "appeal"),
}


def notes(
    name: str, metrics: dict[str, Any], formula: dict[str, Any] | None, labels: list[str]
) -> dict[str, Any]:
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
        **({} if formula is None else {"engagement_formula": formula}),
        "base_model": base["base_model"],
        "licence": "Apache-2.0",
        "data": DATA,
        "seed": 0,
        "training": {
            "command": base["command"],
            "teachers": "MPNet, 12 layers. emotion: 4 seeds; toxicity: 1; engagement: 5 (3 of "
            "variant nsr, 40,582 pairs each; 2 of variant soft, 80,000); relevance: 1 (195,000 "
            "pairs); appeal: 2 (33,084). One student for all tasks, taught on 503,384 texts and "
            "pairs",
            "all_commands": "docs/models.md",
        },
        "format": "int8 weights, one scale per output (the word table: per block of 64), within "
        "±63 so that processors without VNNI do not overflow; activations int8 per token "
        "(int8.onnx) or float (fp32.onnx). The float weights before quantisation do not ship.",
    }


def main() -> None:
    """Write the notes of one model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", choices=tuple(BASES))
    parser.add_argument("--metrics", type=Path, help="from assess")
    parser.add_argument("--formula", type=Path, help="from formula")
    parser.add_argument("--goemotions", type=Path, required=True, help="for the label names")
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    from recipes.encoder.emotion import read_labels

    metrics, formula = (
        json.loads(file.read_text("utf-8")) if file else None
        for file in (options.metrics, options.formula)
    )
    made = notes(options.name, metrics or {}, formula, read_labels(options.goemotions))
    options.out.write_text(json.dumps(made, indent=1), "utf-8")


if __name__ == "__main__":
    main()
