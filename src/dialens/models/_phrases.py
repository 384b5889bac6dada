"""A linear model over the n-grams of sentences, asked for many sentences at once."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.text import NGRAM_BITS, known_ngrams, ngram_keys, tokenise

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

IGNORED = (".", ",")
"""Tokens that are in no n-gram."""


class Phrases:
    """A linear model over the n-grams of a sentence, each counted once, in unit length.

    Args:
        weights: Inverse document frequency and weight of each n-gram.
        bias: Of a sentence without any of them.

    Examples:
        >>> phrases = Phrases({"so sorry": (2.0, 3.0), "sorry": (1.0, 0.5)}, bias=-1.0)
        >>> phrases.logits(["So sorry.", "Hi."]).round(3).tolist()
        [1.907, -1.0]
    """

    def __init__(self, weights: Mapping[str, tuple[float, float]], bias: float) -> None:
        self._bias = bias
        parts = [ngram.split(" ") for ngram in weights]
        words = [*IGNORED, *sorted({word for ngram in parts for word in ngram}.difference(IGNORED))]
        self._words = pl.Enum(words)
        numbers = {word: number for number, word in enumerate(words)}
        keys = np.array([_key([numbers[word] for word in ngram]) for ngram in parts], np.int64)
        order = np.argsort(keys)
        self._keys = keys[order]
        self._rarity, self._weight = np.array(list(weights.values()), np.float64)[order].T

    @classmethod
    def load(cls, file: Path) -> Phrases:
        """Read what the recipe wrote."""
        with np.load(file, allow_pickle=False) as parts:
            names = parts["phrases"].tobytes().decode("utf-8").split("\n")
            rarity = parts["rarity"].astype(np.float64).tolist()
            weights = parts["weights"].astype(np.float64).tolist()
            bias = float(parts["bias"])
        return cls(dict(zip(names, zip(rarity, weights, strict=True), strict=True)), bias)

    def logits(self, texts: Sequence[str]) -> Floats:
        """Return the logit of each text."""
        units, found = self._known(texts)
        ends = np.searchsorted(units, np.arange(len(texts)), side="right").tolist()
        rarity = self._rarity[found].tolist()
        products = (self._rarity[found] * self._weight[found]).tolist()
        logits, start = np.full(len(texts), self._bias), 0
        for row, end in enumerate(ends):
            # Python's own sums, a sentence each: their last bit depends on how they are made.
            length = math.hypot(*rarity[start:end])
            if length:
                logits[row] = self._bias + sum(products[start:end]) / length
            start = end
        return logits

    def _known(self, texts: Sequence[str]) -> tuple[Ints, Ints]:
        """Texts with the n-grams that they have, each once: single words first, in their order."""
        tokens = (
            pl.Series("text", texts, dtype=pl.String).to_frame().select(tokenise("text"))["text"]
        )
        words = tokens.explode(empty_as_null=False).cast(self._words, strict=False).to_physical()
        numbers = words.cast(pl.Int64).fill_null(-1).to_numpy()
        unit = np.repeat(np.arange(len(texts)), tokens.list.len().to_numpy())
        kept = (numbers < 0) | (numbers >= len(IGNORED))
        keys, units = ngram_keys(np.maximum(numbers[kept], 0), unit[kept])
        units, found = known_ngrams(keys, units, self._keys)
        _, first = np.unique(units * len(self._keys) + found, return_index=True)
        first.sort()
        order = first[np.argsort(units[first], kind="stable")]
        return units[order], found[order]


def _key(numbers: list[int]) -> int:
    key = 0
    for number in reversed(numbers):
        key = key << NGRAM_BITS | number
    return key
