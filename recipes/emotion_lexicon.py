"""Build the emotion lexicon that dialens ships, from GoEmotions, and write its card.

    python -m recipes.emotion_lexicon GOEMOTIONS_FOLDER [--compare NRC_FILE] [--out FOLDER]

The folder holds ``train.tsv``, ``dev.tsv``, ``test.tsv`` (or ``.gz``: text, label numbers, id) and
``labels.txt``. Words are counted on *train*, the three settings are chosen on *dev*, and *test* is
looked at once, with the lexicon as written. The result depends on nothing but the data and --seed.

A word's weight for an emotion is its log-odds ratio between the comments that show the emotion and
all others, with an informative Dirichlet prior (Monroe, Colaresi & Quinn 2008, eq. 16); only words
whose ratio is positive and, in standard errors (their eq. 22), large enough are kept.
"""

from __future__ import annotations

import argparse
import gzip
import hashlib
import json
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.base import DialensError
from dialens.text import PLUTCHIK, VERSION, Lexicon, Vocabulary, read_emotion_lexicon, tokenise

NAME = "plutchik-goemotions"
REPEATS = 1000
Floats = NDArray[np.float64]

# Grounds: the level on Plutchik's wheel, his dyads of two emotions, or else GoEmotions' own groups.
MAPPING: dict[str, dict[str, str]] = {
    "anger": {
        "anger": "the emotion itself",
        "annoyance": "mild anger on the wheel",
        "disapproval": "grouped with anger by Demszky et al. 2020",
    },
    "anticipation": {
        "curiosity": "interest, mild anticipation on the wheel",
        "desire": "wishing for what is to come",
        "excitement": "eagerness: keen anticipation with joy",
        "optimism": "dyad anticipation + joy",
    },
    "disgust": {"disgust": "the emotion itself"},
    "fear": {"fear": "the emotion itself", "nervousness": "apprehension, mild fear on the wheel"},
    "joy": {
        "joy": "the emotion itself",
        "amusement": "grouped with joy by Demszky et al. 2020",
        "excitement": "grouped with joy by Demszky et al. 2020",
        "love": "dyad joy + trust",
        "optimism": "dyad anticipation + joy",
        "pride": "grouped with joy by Demszky et al. 2020",
        "relief": "serenity, mild joy on the wheel",
    },
    "sadness": {
        "sadness": "the emotion itself",
        "grief": "intense sadness on the wheel",
        "disappointment": "grouped with sadness by Demszky et al. 2020",
        "remorse": "dyad sadness + disgust",
        "embarrassment": "grouped with sadness by Demszky et al. 2020",
    },
    "surprise": {
        "surprise": "the emotion itself",
        "realization": "grouped with surprise by Demszky et al. 2020",
        "confusion": "distraction, mild surprise on the wheel",
    },
    "trust": {
        "admiration": "intense trust on the wheel",
        "approval": "acceptance, mild trust on the wheel",
        "caring": "mutual support, what trust brings about in Plutchik's scheme",
        "gratitude": "mutual support, what trust brings about in Plutchik's scheme",
        "love": "dyad joy + trust",
    },
}

_CARD: dict[str, Any] = {
    "name": "plutchik-goemotions",
    "task": (
        "Weights of words, emoticons and emoji for Plutchik's eight basic emotions, to be "
        "summed over a text."
    ),
    "method": (
        "Log-odds ratio with an informative Dirichlet prior (Monroe, Colaresi & Quinn 2008, "
        "eq. 16) of the number of comments a word stands in, comments with the emotion "
        "against all others; only positive ratios, cut at a minimum count and a minimum z. "
        "Built on train, settings chosen on dev, test looked at once."
    ),
    "source": (
        "GoEmotions (Demszky, Movshovitz-Attias, Ko, Cowen, Nemade & Ravi 2020, ACL), Reddit "
        "comments labelled by people"
    ),
    "licence": "CC BY 4.0",
    "attribution": (
        "Derived from GoEmotions, Copyright Google LLC, CC BY 4.0; changed: labels grouped "
        "into eight, comments reduced to word weights."
    ),
    "command": "python -m recipes.emotion_lexicon GOEMOTIONS_FOLDER --compare NRC_FILE",
    "references": [
        (
            "Plutchik, R. (1980). A general psychoevolutionary theory of emotion. In Emotion: "
            "Theory, Research, and Experience, vol. 1."
        ),
        "Demszky, D. et al. (2020). GoEmotions: A Dataset of Fine-Grained Emotions. ACL.",
        (
            "Monroe, B. L., Colaresi, M. P. & Quinn, K. M. (2008). Fightin' Words. Political "
            "Analysis 16(4)."
        ),
    ],
    "intended_use": (
        "The emotion metrics of dialens out of the box: profiles and entropy of English "
        "conversational text, compared between agents scored with the same lexicon."
    ),
    "limits": [
        (
            "English Reddit comments, chosen to be short and emotional; other registers and "
            "languages are untested."
        ),
        "A bag of words: negation, irony and who feels the emotion are not seen.",
        (
            "It is not the NRC Hashtag Emotion Lexicon and agrees with it only in part (see "
            "agreement): figures made with the two must not be mixed, and figures published "
            "with NRC's are reproduced with NRC's only."
        ),
        (
            "Anticipation and trust have no label of their own in GoEmotions; they stand on "
            "the mapping."
        ),
        (
            "Swear words and slurs are in the data and in the list; weights follow what "
            "English-speaking annotators in India saw in them."
        ),
        (
            "Names of people were masked in the data; place names and brands were not and may "
            "carry the weight of their time."
        ),
    ],
}

_MASKS = re.compile(r"\[(?:name|religion)\]", re.IGNORECASE)  # GoEmotions hides names behind these
_CANDIDATE = r"^'?\p{L}[\p{L}\p{M}'_\-]*$|^(?:</?3+|[:;=].+|\^.*\^)$|^\p{Extended_Pictographic}"


@dataclass(frozen=True)
class Settings:
    """What is chosen on the development set."""

    prior: float
    min_count: int
    min_z: float


@dataclass(frozen=True)
class Comments:
    """One split: which word stands in which comment, and the emotions of each comment."""

    comment: NDArray[np.int64]
    word: NDArray[np.uint32]
    lengths: Floats
    labels: NDArray[np.bool_]

    def scores(self, weights: Floats) -> Floats:
        """Weighted share of tokens per emotion: what the emotion metrics use."""
        columns = [
            np.bincount(self.comment, weights[self.word, e], minlength=len(self.lengths))
            for e in range(weights.shape[1])
        ]
        return np.stack(columns, axis=1) / np.maximum(self.lengths, 1)[:, None]


def read_split(folder: Path, split: str, vocabulary: Vocabulary) -> Comments:
    """Tokenise a split and map its labels to Plutchik's eight."""
    names = (folder / "labels.txt").read_text(encoding="utf-8").split()
    if unknown := {label for group in MAPPING.values() for label in group} - set(names):
        raise DialensError(f"{folder / 'labels.txt'}: no label {', '.join(sorted(unknown))}")
    rows = [line.split("\t") for line in _open(folder, split).splitlines() if line]
    shown = [{names[int(i)] for i in row[1].split(",")} for row in rows]
    labels = np.array(
        [[bool(groups & MAPPING[e].keys()) for e in PLUTCHIK] for groups in shown], dtype=bool
    )
    texts = pl.Series("text", [_MASKS.sub(" ", row[0]) for row in rows], dtype=pl.String)
    tokens = texts.to_frame().select(
        tokenise("text"), comment=pl.int_range(pl.len(), dtype=pl.Int64)
    )
    lengths = tokens["text"].list.len().to_numpy().astype(np.float64)
    long = tokens.explode("text").drop_nulls()
    ids = vocabulary.encode(long["text"])
    return Comments(long["comment"].to_numpy(), ids, lengths, labels)


def log_odds(train: Comments, size: int, prior: float) -> tuple[Floats, Floats, Floats]:
    """Return log-odds ratio and z of each word and emotion, and in how many comments a word is."""
    pairs = np.unique(np.stack([train.comment, train.word.astype(np.int64)]), axis=1)
    comment, word = pairs
    total = np.bincount(word, minlength=size).astype(np.float64)
    share = prior * (total + 0.5) / (total + 0.5).sum()  # never 0, for words not seen in training
    ratios, z = [], []
    for e in range(len(PLUTCHIK)):
        inside = np.bincount(word[train.labels[comment, e]], minlength=size).astype(np.float64)
        outside = total - inside
        a, b = inside + share, outside + share
        ratio = np.log(a / (inside.sum() + prior - a)) - np.log(b / (outside.sum() + prior - b))
        ratios.append(ratio)
        z.append(ratio / np.sqrt(1 / a + 1 / b))
    return np.stack(ratios, axis=1), np.stack(z, axis=1), total


def choose(train: Comments, dev: Comments, vocabulary: Vocabulary) -> tuple[Settings, Floats]:
    """Return the settings with the best mean AUC on the development set, and their weights."""
    words = vocabulary.words()
    candidate = words.to_frame().select(pl.col("word").str.contains(_CANDIDATE)).to_series()
    best: tuple[float, Settings, Floats] | None = None
    for prior in (100.0, 1000.0, 10000.0):
        ratio, z, count = log_odds(train, len(words), prior)
        for min_count, min_z in product((3, 5, 10), (0.0, 1.0, 1.645, 1.96, 2.576)):
            keep = candidate.to_numpy()[:, None] & (count >= min_count)[:, None]
            weights = np.where(keep & (ratio > 0) & (z >= min_z), ratio.round(3), 0.0)
            scores = dev.scores(weights)
            value = np.mean([auc(scores[:, e], dev.labels[:, e]) for e in range(len(PLUTCHIK))])
            if best is None or value > best[0]:
                best = (float(value), Settings(prior, min_count, min_z), weights)
    if best is None:
        raise DialensError("no setting gave a lexicon")
    return best[1], best[2]


def auc(score: Floats, truth: NDArray[np.bool_], times: Floats | None = None) -> float:
    """Area under the ROC curve, ties at half; ``times`` says how often each row was drawn."""
    negatives, positives = _by_score(score, truth, times)
    below = np.cumsum(negatives) - negatives
    pairs = float(positives.sum() * negatives.sum())
    return float((positives * (below + negatives / 2)).sum() / pairs) if pairs else float("nan")


def average_precision(
    score: Floats, truth: NDArray[np.bool_], times: Floats | None = None
) -> float:
    """Mean precision over the recall steps, tied rows entering together."""
    negatives, positives = (counts[::-1] for counts in _by_score(score, truth, times))
    found = np.cumsum(positives)
    seen = found + np.cumsum(negatives)
    gain = np.divide(positives * found, seen, out=np.zeros_like(found), where=seen > 0)
    return float(gain.sum() / found[-1]) if found[-1] else float("nan")


def pearson(x: Floats, y: Floats, times: Floats | None = None) -> float:
    """Pearson correlation; ``times`` says how often each row was drawn."""
    cov = np.cov(x, y, aweights=np.ones_like(x) if times is None else times)
    spread = float(np.sqrt(cov[0, 0] * cov[1, 1]))
    return float(cov[0, 1] / spread) if spread else float("nan")


def entropies(scores: Floats) -> Floats:
    """Shannon entropy (nats) of each row scaled to sum 1; NaN without any emotion word."""
    total = scores.sum(axis=1, keepdims=True)
    share = np.divide(scores, total, out=np.full_like(scores, np.nan), where=total > 0)
    logs = np.log(share, out=np.zeros_like(share), where=share > 0)
    return np.asarray(-(share * logs).sum(axis=1), dtype=np.float64)


def interval(measure: Callable[..., float], *columns: NDArray[Any], seed: int) -> dict[str, Any]:
    """Return a measure of some columns and its percentile interval over resampled rows."""
    rng = np.random.default_rng(seed)
    n = len(columns[0])
    drawn = [
        measure(*columns, np.bincount(rng.integers(0, n, n), minlength=n).astype(np.float64))
        for _ in range(REPEATS)
    ]
    low, high = (round(float(v), 4) for v in np.nanquantile(drawn, [0.025, 0.975]))
    return {"estimate": round(measure(*columns), 4), "ci95": [low, high]}


def evaluate(test: Comments, weights: Floats, seed: int) -> dict[str, Any]:
    """Measure the lexicon on the test set."""
    n = len(test.lengths)
    scores = test.scores(weights)
    known = np.asarray(weights.any(axis=1))
    result: dict[str, Any] = {
        "n_comments": n,
        "share_of_comments_with_an_emotion_word": round(float((scores.sum(axis=1) > 0).mean()), 4),
        "share_of_tokens_in_lexicon": round(float(known[test.word].mean()), 4),
        "bootstrap": f"{REPEATS} resamples of comments, percentile interval",
        "per_emotion": {},
    }
    for e, emotion in enumerate(PLUTCHIK):
        score, truth = scores[:, e], test.labels[:, e]
        result["per_emotion"][emotion] = {
            "n_positive": int(truth.sum()),
            "auc": interval(auc, score, truth, seed=seed),
            "auc_by_chance": 0.5,
            "average_precision": interval(average_precision, score, truth, seed=seed),
            "average_precision_by_chance": round(float(truth.mean()), 4),
        }
    aucs = [figures["auc"]["estimate"] for figures in result["per_emotion"].values()]
    return result | {"mean_auc": round(float(np.mean(aucs)), 4)}


def compare(test: Comments, weights: Floats, other: Floats, seed: int) -> dict[str, Any]:
    """Correlate the scores of comments with those of another emotion lexicon."""
    ours, theirs = test.scores(weights), test.scores(other)
    n = len(test.lengths)
    figures: dict[str, Any] = {}
    for e, emotion in enumerate(PLUTCHIK):
        x, y = ours[:, e], theirs[:, e]
        figures[emotion] = {
            "pearson": interval(pearson, x, y, seed=seed),
            "auc_of_the_other": round(auc(y, test.labels[:, e]), 4),
        }
    both = np.stack([entropies(ours), entropies(theirs)])
    x, y = both[:, np.isfinite(both).all(axis=0)]
    figures["emotional_entropy"] = {"n": len(x), "pearson": interval(pearson, x, y, seed=seed)}
    return {"n_comments": n, "level": "comment", "per_emotion": figures}


def main(arguments: Sequence[str] | None = None) -> int:
    """Build, evaluate and write the lexicon and its card."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("folder", type=Path, help="folder of GoEmotions")
    parser.add_argument("--compare", help="another emotion lexicon (FILE or FILE::TABLE)")
    parser.add_argument("--seed", type=int, default=20, help="seed of the bootstrap")
    default = Path(__file__).resolve().parent.parent / "src" / "dialens" / "text" / "data"
    parser.add_argument("--out", type=Path, default=default, help="folder to write to")
    options = parser.parse_args(arguments)

    vocabulary = Vocabulary()
    train, dev, test = (read_split(options.folder, s, vocabulary) for s in ("train", "dev", "test"))
    settings, weights = choose(train, dev, vocabulary)
    rows, columns = np.nonzero(weights)
    entries = pl.DataFrame(
        {
            "term": vocabulary.words().gather(rows),
            "category": [PLUTCHIK[c] for c in columns],
            "weight": weights[rows, columns],
        }
    ).sort("term", "category")
    lexicon = Lexicon.from_entries(NAME, entries, categories=PLUTCHIK, shortest_prefix=2)
    table = "".join(f"{t}\t{c}\t{w:.3f}\n" for t, c, w in entries.iter_rows())
    content = ("term\tcategory\tweight\n" + table).encode()
    splits = (("train", train), ("dev", dev), ("test", test))
    card = _CARD | {
        "mapping": MAPPING,
        "settings": asdict(settings) | {"chosen_by": "mean AUC on dev", "tokeniser": VERSION},
        "data": {name: _describe(options.folder, name, split) for name, split in splits},
        "seed": options.seed,
        "terms": len(lexicon),
        "entries": {e: int((weights[:, i] > 0).sum()) for i, e in enumerate(PLUTCHIK)},
        "file_sha256": hashlib.sha256(content).hexdigest(),
        "sha256": lexicon.sha256,
        "evaluation": evaluate(test, weights, options.seed),
    }
    if options.compare:
        other = read_emotion_lexicon(options.compare)
        figures = compare(test, weights, other.weights(vocabulary.words()), options.seed)
        card["agreement"] = {"with": other.source} | figures
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "emotion_goemotions.tsv").write_bytes(content)
    text = json.dumps(card, ensure_ascii=False, indent=2) + "\n"
    (options.out / "emotion_goemotions.card.json").write_text(text, encoding="utf-8")
    print(f"{len(lexicon)} terms, mean AUC on test {card['evaluation']['mean_auc']}")
    return 0


def _open(folder: Path, split: str) -> str:
    plain = folder / f"{split}.tsv"
    if plain.is_file():
        return plain.read_text(encoding="utf-8")
    try:
        return gzip.decompress((folder / f"{split}.tsv.gz").read_bytes()).decode("utf-8")
    except FileNotFoundError as error:
        raise DialensError(f"{plain}: neither it nor its .gz is there") from error


def _describe(folder: Path, split: str, comments: Comments) -> dict[str, Any]:
    content = _open(folder, split).encode()
    positive = {e: int(comments.labels[:, i].sum()) for i, e in enumerate(PLUTCHIK)}
    digest = hashlib.sha256(content).hexdigest()
    return {"n_comments": len(comments.lengths), "n_positive": positive, "sha256": digest}


def _by_score(
    score: Floats, truth: NDArray[np.bool_], times: Floats | None
) -> tuple[Floats, Floats]:
    _, group = np.unique(score, return_inverse=True)
    weight = np.ones(len(score)) if times is None else times
    counts = [np.bincount(group, weight * side).astype(np.float64) for side in (~truth, truth)]
    return counts[0], counts[1]


if __name__ == "__main__":
    sys.exit(main())
