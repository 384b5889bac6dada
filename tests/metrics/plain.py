"""The metrics once more, in plain loops over plain objects: slow, short, and independent."""

import math
from collections.abc import Iterable
from fractions import Fraction
from functools import cache

import polars as pl
from scipy import stats

from dialens.corpus import Dialogue
from dialens.text import (
    FUNCTION_WORD_CATEGORIES,
    PLUTCHIK,
    Lexicon,
    emotion_lexicon,
    function_words,
    stop_words,
    tokenise_texts,
)

Counts = dict[str, float]


@cache
def weights_of(lexicon: Lexicon, token: str) -> dict[str, float]:
    row = lexicon.weights(pl.Series([token]))[0]
    return {name: float(w) for name, w in zip(lexicon.categories, row, strict=True) if w}


def emotion_vector(texts: Iterable[str]) -> list[float]:
    """Exact sums of the weights as written, so that equal sums are equal."""
    total = dict.fromkeys(PLUTCHIK, Fraction())
    for tokens in tokenise_texts(list(texts)):
        for token in tokens:
            for name, weight in weights_of(emotion_lexicon(), token).items():
                total[name] += Fraction(str(round(weight, 6)))
    return [float(total[name]) for name in PLUTCHIK]


def entropy(texts: Iterable[str]) -> float | None:
    vector = emotion_vector(texts)
    return float(stats.entropy(vector)) if sum(vector) else None


def matching(own: Iterable[str], other: Iterable[str]) -> float | None:
    a, b = emotion_vector(own), emotion_vector(other)
    if not sum(a) or not sum(b) or len(set(a)) == 1 or len(set(b)) == 1:
        return None
    return float(stats.spearmanr(a, b).statistic)


def style_shares(texts: Iterable[str]) -> list[float] | None:
    tokens = [token for text in tokenise_texts(list(texts)) for token in text]
    if not tokens:
        return None
    found = [weights_of(function_words(), token) for token in tokens]
    return [sum(name in w for w in found) / len(tokens) for name in FUNCTION_WORD_CATEGORIES]


def style_matching(own: Iterable[str], other: Iterable[str]) -> float | None:
    a, b = style_shares(own), style_shares(other)
    if a is None or b is None:
        return None
    parts = [1 - abs(x - y) / (x + y + 0.0001) for x, y in zip(a, b, strict=True)]
    return math.fsum(parts) / 9


def distinct(texts: Iterable[str], n: int) -> float | None:
    grams = [
        tuple(tokens[i : i + n])
        for tokens in tokenise_texts(list(texts))
        for i in range(len(tokens) - n + 1)
    ]
    return len(set(grams)) / len(grams) if grams else None


def specificity(text: str) -> int:
    tokens = tokenise_texts([text])[0]
    words = [token for token in tokens if token.lstrip("'@#/")[:1].isalnum()]
    return sum(not weights_of(stop_words(), word) for word in words)


def said(talks: Iterable[Dialogue], role: str) -> list[str]:
    return [turn.text for talk in talks for turn in talk.turns if turn.role == role]
