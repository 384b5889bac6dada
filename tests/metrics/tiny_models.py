"""Tiny encoders with random weights, exported like those that ship: for what depends on no meaning.

`small` reads texts (emotion, toxicity, empathy) and pairs (engagement), `base` pairs (engagement,
relevance) with a formula. The trait models beside them are those installed.
"""

import json
import tempfile
from collections.abc import Mapping
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import tokenizers
from safetensors.numpy import save_file

from dialens.metrics import ModelChoice, Resources, ScorerContext, ScorerSet
from dialens.metrics.families import LABELS
from dialens.models import shipped_places
from dialens.models.training import export
from dialens.models.training._shape import Shape
from tests.metrics.strategies import WORDS

FORMULA = {
    "terms": {"engagement": 0.7, "relevance": 0.4, "log_specificity": 0.5},
    "center": {"engagement": 0.1, "log_specificity": 1.0},
    "spread": {"relevance": 2.0, "log_specificity": 0.8},
}
_SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]")
_kept: list[tempfile.TemporaryDirectory[str]] = []


@cache
def tiny_folder() -> Path:
    """A folder of models, made once a session and removed at its end."""
    holder = tempfile.TemporaryDirectory(prefix="tiny-models-")
    _kept.append(holder)
    folder = Path(holder.name)
    text = {"emotion": list(LABELS), "toxicity": ["toxic"], "empathy": ["warm"]}
    small = make_model(folder / "small", text, {"engagement": ["engaging"]}, seed=1)
    base = make_model(
        folder / "base", {}, {"engagement": ["engaging"], "relevance": ["relevant"]}, seed=2
    )
    add_facts(small, default_for=["emotion", "toxicity", "empathy"])
    add_facts(base, default_for=["engagement", "relevance"], engagement_formula=FORMULA)
    for traits in (model for place in shipped_places() for model in place.glob("traits_*")):
        (folder / traits.name).symlink_to(traits)
    return folder


def tiny_scorers(
    size: str = "default",
    own: Mapping[str, str | Path] | None = None,
    folder: Path | None = None,
    cache_size: int = 1_000,
) -> ScorerSet:
    """Scorers with the tiny models, or with those of another folder."""
    choice = ModelChoice(size, own or {}, folder or tiny_folder(), cache_size)
    return ScorerSet(ScorerContext(models=choice))


def tiny_resources(
    size: str = "default",
    own: Mapping[str, str | Path] | None = None,
    folder: Path | None = None,
) -> Resources:
    """Resources with the tiny models, or with those of another folder."""
    return Resources(scorers=tiny_scorers(size, own, folder))


def make_model(
    out: Path,
    text_tasks: dict[str, list[str]],
    pair_tasks: dict[str, list[str]],
    *,
    seed: int,
    activation: str = "sigmoid",
) -> Path:
    """Write a folder with a random encoder and heads for the tasks, labels by task."""
    rng = np.random.default_rng(seed)
    words = dict.fromkeys([*_SPECIAL, *WORDS, *"abcdefghijklmnopqrstuvwxyz'"])
    shape = Shape(len(words), width=64, layers=2, heads=2, inner=64, positions=140, types=2)
    tasks = {**text_tasks, **pair_tasks}
    outputs = sum(len(labels) for labels in tasks.values())

    def drawn(*size: int, scale: float = 0.3) -> np.ndarray:
        return rng.normal(0, scale, size).astype(np.float32)

    weights = {
        "word.weight": drawn(shape.vocabulary, 64),
        "position.weight": drawn(140, 64, scale=0.1),
        "segment.weight": drawn(2, 64),
        "norm.weight": np.ones(64, np.float32),
        "norm.bias": np.zeros(64, np.float32),
        "head.weight": drawn(outputs, 64),
        "head.bias": drawn(outputs),
    }
    for layer in range(2):
        sizes = {"qkv": (192, 64), "out": (64, 64), "up": (64, 64), "down": (64, 64)}
        for name, size in sizes.items():
            weights[f"layers.{layer}.{name}.weight"] = drawn(*size, scale=0.1)
            weights[f"layers.{layer}.{name}.bias"] = drawn(size[0], scale=0.1)
        for name in ("norm1", "norm2"):
            weights[f"layers.{layer}.{name}.weight"] = np.ones(64, np.float32)
            weights[f"layers.{layer}.{name}.bias"] = np.zeros(64, np.float32)
    vocabulary = {word: number for number, word in enumerate(words)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.normalizer = tokenizers.normalizers.Lowercase()
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
    with tempfile.TemporaryDirectory() as scratch:
        source = Path(scratch)
        save_file(weights, source / "model.safetensors")
        (source / "config.json").write_text(json.dumps({"shape": asdict(shape)}))
        tokenizer.save(str(source / "tokenizer.json"))
        heads, start = {}, 0
        for name, labels in tasks.items():
            heads[name] = slice(start, start + len(labels))
            start += len(labels)
        entries = {
            name: {"labels": labels, "pair": name in pair_tasks, "activation": activation}
            for name, labels in tasks.items()
        }
        export(source, out, heads, {"name": out.name, "tasks": entries})
    return out


def add_facts(folder: Path, **facts: Any) -> None:
    """Let a card say more."""
    file = folder / "card.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **facts}))
