"""Fits the empathy heads on a shipped encoder, frozen, and adds them to its folder.

python -m recipes.empathy.fit src/dialens/models/data/small --default
python -m recipes.empathy.fit src/dialens/models/data/small --figures small.json

Everything is learned from ``written.txt``. Five linear heads read the mean of the encoder's last
states of a text: *warm* (does the sentence show the speaker's own warmth, concern or joy for the
other?), *celebrates*, *consoles*, *bad* and *good* (how it stands with who said it). A
linear model over n-grams learns *warm* a second time, because one word may decide ("sorry") that a
mean over words passes over. The folder's graphs get one more output, its weights stay as they are.
Nothing is drawn at random, so a second run gives the same files.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression

from dialens.models import EMPATHY, Model, read_card
from dialens.models._empathy import EMPATHY_FORMULA, PHRASES_FILE, Phrases, ngrams
from recipes.empathy.written import Written, read

LABELS = ("warm", "celebrates", "consoles", "bad", "good")
WARMTH_OF_LEVEL = {5: 1.0, 4: 1.0, 3: 0.3, 2: 0.2, 1: 0.05, 0: 0.0}
WARMTH_OF_KIND = {
    "console": 1.0,
    "celebrate": 1.0,
    "warm": 1.0,
    "understanding": 0.3,
    "other": 0.05,
    "cold": 0.0,
}
WARM_LEVEL = 4
ENCODER_PENALTY = 0.03  # scikit-learn's C, the inverse of the penalty
PHRASES_PENALTY = 10.0
SHARPNESS = 3.0  # of what is done and how it stands: a doubtful misfit should cost little
CELEBRATING = 6.0
CONSOLING = 2.0
RELEVANCE = 0.25
DATA = {
    "name": "Replies, sentences and openings written for dialens (recipes/empathy/written.txt)",
    "use": "empathy",
    "licence": "Apache-2.0",
}
INTENDED_USE = (
    "How far an English reply meets the feeling in what was said with warmth, concern or shared "
    "joy; means over many turns, to compare agents and versions."
)
LIMITS = (
    "Research-grade: it was learned from sentences that one hand wrote, and held against two "
    "rated sets (support replies on Reddit, chats with four bots). It reads words, not help: "
    "advice alone scores low however useful, understanding without warmth in between, and a "
    "warm phrase scores high whether it is meant or not, politeness ('I hope that helps') in "
    "between. It does not tell advice from a dismissal: both are near 0. The warmest of the "
    "first forty sentences counts. English only. Not for judging people, nor for anything that "
    "touches someone's safety."
)


def main() -> None:
    """Fit, and write into the folder."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("folder", type=Path, help="a shipped encoder's: gets the heads")
    parser.add_argument(
        "--figures", type=Path, help="of recipes.empathy.assess: put them into the card"
    )
    parser.add_argument("--default", action="store_true", help="make it the default for empathy")
    options = parser.parse_args()
    if options.figures is None:
        fit(options.folder, default=options.default)
        return
    card = json.loads((options.folder / "card.json").read_text("utf-8"))
    figures = json.loads(options.figures.read_text("utf-8"))
    card["tasks"][EMPATHY]["metrics"] = {
        name: {quality: metrics[EMPATHY] for quality, metrics in one.items()}
        for name, one in figures.items()
    }
    _write_json(options.folder / "card.json", card)


def fit(folder: Path, *, default: bool) -> None:
    """Fit the heads of one encoder and add them to its graphs, files and card."""
    written = read()
    card = read_card(folder)
    encoder = Model(card, next(iter(card.tasks)))
    told = [text for _, text in written.told]
    said = [text for *_, text in written.replies] + [text for _, text in written.sentences]
    told_states, said_states = encoder.embed(told), encoder.embed(said)
    heads = _heads(written, told_states.astype(np.float64), said_states.astype(np.float64))
    phrases = _phrases(said, _warmth(written))
    np.savez_compressed(folder / PHRASES_FILE, allow_pickle=False, **phrases)
    for graph in card.graphs.values():
        add_head(folder / graph, EMPATHY, *heads)
    warm = said_states @ heads[0][0] + heads[1][0]
    spread = Phrases.load(folder / PHRASES_FILE).logits(said).std()
    formula = {
        "warm": round(float(warm.std()), 4),
        "phrases": round(float(spread), 4),
        "celebrating": CELEBRATING,
        "consoling": CONSOLING,
        "relevance": RELEVANCE,
    }
    _write_card(folder, formula, default=default)


def _warmth(written: Written) -> np.ndarray:
    return np.array(
        [WARMTH_OF_LEVEL[level] for _, level, _ in written.replies]
        + [WARMTH_OF_KIND[kind] for kind, _ in written.sentences]
    )


def _heads(written: Written, told: np.ndarray, said: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights and biases over the encoder's states, a row a label."""
    both = np.vstack([told, said])
    center, spread = both.mean(axis=0), both.std(axis=0)
    told, said = (told - center) / spread, (said - center) / spread
    warm = _soft_fit(said, _warmth(written), ENCODER_PENALTY)
    does = [mood if level >= WARM_LEVEL else "" for mood, level, _ in written.replies]
    does += [{"celebrate": "good", "console": "bad"}.get(kind, "") for kind, _ in written.sentences]
    answers = np.array(does)
    moods = np.array([mood for mood, _ in written.told])
    fits = [
        warm,
        _balanced_fit(said, answers == "good"),
        _balanced_fit(said, answers == "bad"),
        _balanced_fit(told, moods == "bad"),
        _balanced_fit(told, moods == "good"),
    ]
    weights = np.vstack([one.coef_[0] / spread for one in fits])
    biases = np.array([one.intercept_[0] for one in fits]) - weights @ center
    weights[1:] *= SHARPNESS
    biases[1:] *= SHARPNESS
    return weights.astype(np.float32), biases.astype(np.float32)


def _soft_fit(features: Any, targets: np.ndarray, penalty: float) -> LogisticRegression:
    """A logistic regression on shares: each row counts for both classes, as far as it is each."""
    from scipy import sparse

    stack = sparse.vstack if sparse.issparse(features) else np.vstack
    classes = np.repeat([1, 0], len(targets))
    model = LogisticRegression(C=penalty, max_iter=3000)
    return model.fit(stack([features] * 2), classes, np.concatenate([targets, 1 - targets]))


def _balanced_fit(features: np.ndarray, targets: np.ndarray) -> LogisticRegression:
    model = LogisticRegression(C=ENCODER_PENALTY, max_iter=3000, class_weight="balanced")
    return model.fit(features, targets)


def _phrases(texts: list[str], targets: np.ndarray) -> dict[str, np.ndarray]:
    """The n-grams of the texts with their inverse document frequencies and weights."""
    from scipy import sparse

    found = ngrams(texts)
    counts = Counter(ngram for one in found for ngram in one)
    names = sorted(counts)
    place = {name: at for at, name in enumerate(names)}
    rarity = np.array([math.log((1 + len(texts)) / (1 + counts[name])) + 1 for name in names])
    rows = np.repeat(np.arange(len(found)), [len(one) for one in found])
    columns = np.array([place[ngram] for one in found for ngram in one])
    values = rarity[columns]
    lengths = np.sqrt(np.bincount(rows, values**2, minlength=len(found)))
    features = sparse.csr_matrix((values / lengths[rows], (rows, columns)))
    model = _soft_fit(features, targets, PHRASES_PENALTY)
    return {
        "phrases": np.frombuffer("\n".join(names).encode("utf-8"), dtype=np.uint8),
        "rarity": rarity.astype(np.float32),
        "weights": model.coef_[0].astype(np.float32),
        "bias": np.float32(model.intercept_[0]),
    }


def add_head(graph: Path, name: str, weights: np.ndarray, biases: np.ndarray) -> None:
    """Add an output to a graph: weights times the output ``embedding``, plus biases."""
    import onnx
    from onnx import TensorProto, helper, numpy_helper

    model = onnx.load(graph, load_external_data=False)
    parts = (f"{name}.weight", f"{name}.bias")
    for kept, drop in (
        (model.graph.node, lambda one: name in one.output),
        (model.graph.output, lambda one: one.name == name),
        (model.graph.initializer, lambda one: one.name in parts),
    ):
        for one in [one for one in kept if drop(one)]:
            kept.remove(one)
    for part, value in zip(parts, (weights, biases), strict=True):
        model.graph.initializer.append(numpy_helper.from_array(value, part))
    model.graph.node.append(helper.make_node("Gemm", ["embedding", *parts], [name], transB=1))
    size = len(biases)
    model.graph.output.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n", size]))
    graph.write_bytes(model.SerializeToString())


def _write_card(folder: Path, formula: dict[str, float], *, default: bool) -> None:
    file = folder / "card.json"
    card = json.loads(file.read_text("utf-8"))
    card["tasks"][EMPATHY] = {
        "labels": list(LABELS),
        "pair": False,
        "research_grade": True,
        "intended_use": INTENDED_USE,
        "limits": LIMITS,
        "activation": "sigmoid",
        "command": f"python -m recipes.empathy.fit {folder.name}",
        "metrics": {},
    }
    if default and EMPATHY not in card["default_for"]:
        card["default_for"].append(EMPATHY)
    card[EMPATHY_FORMULA] = formula
    card["data"] = [one for one in card["data"] if one.get("use") != EMPATHY] + [DATA]
    for name in [*card["files"], PHRASES_FILE]:
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        card["files"][name] = {"sha256": digest}
    _write_json(file, card)


def _write_json(file: Path, card: dict[str, Any]) -> None:
    file.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
