r"""Fits the empathy heads on a shipped encoder, frozen, and adds them to its folder.

python -m recipes.empathy.fit src/dialens/models/data/small --pool pool.txt --taught pool.npz \
    --default
python -m recipes.empathy.fit src/dialens/models/data/small --figures small.json

Everything is learned from ``written.txt``. Five linear heads read the mean of the encoder's last
states of a text: *warm* (does the sentence show the speaker's own warmth, concern or joy for the
other?), *celebrates*, *consoles*, *bad* and *good* (how it stands with who said it). A
linear model over n-grams learns *warm* a second time, because one word may decide ("sorry") that a
mean over words passes over; it also learns from what the teachers (`recipes.empathy.teach`) say of
the pool's sentences. The folder's graphs get one more output, its weights stay as they are.
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
from dialens.models._empathy import EMPATHY_FORMULA, PHRASES_FILE, ngrams
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
PHRASES_PENALTY = 3.0
LEAST_OFTEN = 20  # an n-gram of the pool that is rarer is left out
OWN_WEIGHT = 10.0  # of a sentence that was written for it, against one of the pool
SURE = 0.98  # warmth beyond this counts as this, so that logits stay finite
SHARPNESS = 3.0  # of what is done and how it stands: a doubtful misfit should cost little
SPREAD = 1.5  # of the sum: divides all parts
PHRASES = 1.5  # weight of the n-grams' logit; the encoder's is divided by its spread
CELEBRATING = 12.0
CONSOLING = 2.0
REACTIONS = 0.3
DATA = [
    {
        "name": "Replies, sentences and openings written for dialens (recipes/empathy/written.txt)",
        "use": "empathy",
        "licence": "Apache-2.0",
    },
    {
        "name": "159,866 sentences without labels, which teachers of the former labelled: Reddit "
        "threads, GoEmotions, WASSA 2023 and Empathic Reactions (recipes/empathy/pool.py)",
        "use": "empathy",
        "licence": "of the sentences nothing ships but n-grams that occur often; GoEmotions and "
        "Empathic Reactions: CC BY 4.0",
    },
]
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
    parser.add_argument("--pool", type=Path, help="of recipes.empathy.pool")
    parser.add_argument("--taught", type=Path, help="of recipes.empathy.teach")
    parser.add_argument(
        "--figures", type=Path, help="of recipes.empathy.assess: put them into the card"
    )
    parser.add_argument("--default", action="store_true", help="make it the default for empathy")
    options = parser.parse_args()
    if options.figures is None:
        if options.pool is None or options.taught is None:
            parser.error("give --pool and --taught, or --figures")
        pool = options.pool.read_text("utf-8").splitlines()
        with np.load(options.taught) as taught:
            logits = taught["logits"][:, 0].astype(np.float64)
        fit(options.folder, pool, logits, default=options.default)
        return
    card = json.loads((options.folder / "card.json").read_text("utf-8"))
    figures = json.loads(options.figures.read_text("utf-8"))
    card["tasks"][EMPATHY]["metrics"] = {
        name: {quality: metrics[EMPATHY] for quality, metrics in one.items()}
        for name, one in figures.items()
    }
    _write_json(options.folder / "card.json", card)


def fit(folder: Path, pool: list[str], taught: np.ndarray, *, default: bool) -> None:
    """Fit the heads of one encoder and add them to its graphs, files and card.

    Args:
        folder: Of the encoder.
        pool: Sentences without labels.
        taught: The teachers' logits of their warmth.
        default: Whether to make it the default for empathy.
    """
    written = read()
    card = read_card(folder)
    encoder = Model(card, next(iter(card.tasks)))
    told = [text for _, text in written.told]
    said = [text for *_, text in written.replies] + [text for _, text in written.sentences]
    told_states, said_states = encoder.embed(told), encoder.embed(said)
    heads = _heads(written, told_states.astype(np.float64), said_states.astype(np.float64))
    phrases = _phrases(said, warmth(written), pool, taught)
    np.savez_compressed(folder / PHRASES_FILE, allow_pickle=False, **phrases)
    for graph in card.graphs.values():
        add_head(folder / graph, EMPATHY, *heads)
    warm = said_states @ heads[0][0] + heads[1][0]
    formula = {
        "warm": round(float(warm.std()) * SPREAD, 4),
        "phrases": round(SPREAD / PHRASES, 4),
        "celebrating": round(CELEBRATING / SPREAD, 4),
        "consoling": round(CONSOLING / SPREAD, 4),
        "reactions": round(REACTIONS / SPREAD, 4),
    }
    _write_card(folder, formula, default=default)


def warmth(written: Written) -> np.ndarray:
    """How warm each reply and sentence is, 0 to 1."""
    return np.array(
        [WARMTH_OF_LEVEL[level] for _, level, _ in written.replies]
        + [WARMTH_OF_KIND[kind] for kind, _ in written.sentences]
    )


def does(written: Written) -> np.ndarray:
    """What each reply and sentence answers with warmth: good news, bad news, or nothing."""
    found = [mood if level >= WARM_LEVEL else "" for mood, level, _ in written.replies]
    found += [
        {"celebrate": "good", "console": "bad"}.get(kind, "") for kind, _ in written.sentences
    ]
    return np.array(found)


def _heads(written: Written, told: np.ndarray, said: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Weights and biases over the encoder's states, a row a label."""
    both = np.vstack([told, said])
    center, spread = both.mean(axis=0), both.std(axis=0)
    told, said = (told - center) / spread, (said - center) / spread
    warm = _soft_fit(said, warmth(written), ENCODER_PENALTY)
    answers = does(written)
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


def _phrases(
    own: list[str], targets: np.ndarray, pool: list[str], taught: np.ndarray
) -> dict[str, np.ndarray]:
    """N-grams with their inverse document frequencies and weights, by ridge regression."""
    from scipy import sparse
    from sklearn.linear_model import Ridge

    found = ngrams([*own, *pool])
    counts = Counter(ngram for one in found for ngram in one)
    written = {ngram for one in found[: len(own)] for ngram in one}
    names = sorted(
        name
        for name, count in counts.items()
        if count >= LEAST_OFTEN or (count > 1 and name in written)
    )
    place = {name: at for at, name in enumerate(names)}
    rarity = np.array([math.log((1 + len(found)) / (1 + counts[name])) + 1 for name in names])
    kept = [[place[ngram] for ngram in one if ngram in place] for one in found]
    rows = np.repeat(np.arange(len(kept)), [len(one) for one in kept])
    columns = np.array([column for one in kept for column in one])
    values = rarity[columns]
    lengths = np.sqrt(np.bincount(rows, values**2, minlength=len(found)))
    features = sparse.csr_matrix(
        (values / lengths[rows], (rows, columns)), shape=(len(found), len(names))
    )
    chances = np.clip(np.concatenate([targets, 1 / (1 + np.exp(-taught))]), 1 - SURE, SURE)
    weights = np.repeat([OWN_WEIGHT, 1.0], [len(own), len(pool)])
    model = Ridge(alpha=PHRASES_PENALTY, solver="sparse_cg", tol=1e-3, max_iter=200)
    model.fit(features, np.log(chances / (1 - chances)), sample_weight=weights)
    return {
        "phrases": np.frombuffer("\n".join(names).encode("utf-8"), dtype=np.uint8),
        "rarity": rarity.astype(np.float32),
        "weights": model.coef_.astype(np.float32),
        "bias": np.float32(model.intercept_),
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
        "command": f"python -m recipes.empathy.fit {folder.name} --pool pool.txt --taught pool.npz",
        "metrics": {},
    }
    if default and EMPATHY not in card["default_for"]:
        card["default_for"].append(EMPATHY)
    card[EMPATHY_FORMULA] = formula
    card["data"] = [one for one in card["data"] if one.get("use") != EMPATHY] + DATA
    for name in [*card["files"], PHRASES_FILE]:
        digest = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        card["files"][name] = {"sha256": digest}
    _write_json(file, card)


def _write_json(file: Path, card: dict[str, Any]) -> None:
    file.write_text(json.dumps(card, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
