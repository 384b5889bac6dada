"""Turns of made-up words, as frequent as words are.

Words follow a law of Zipf and Mandelbrot whose tail has no end, so that the vocabulary keeps
growing as that of real text does (Heaps): about 140,000 distinct words in 3 million turns, 280,000
in 10 million. The commonest are words that the shipped lexicons know. Turns have 12 words on
average, from one to 80.
"""

from typing import NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from dialens.text import emotion_lexicon, function_words

_SHIFT, _SLOPE = 30.0, 0.6  # of Zipf and Mandelbrot: P(rank > r) = (1 + r / shift) ** -slope
_HIGHEST = 20_000_000
_LETTERS = np.array(list("abcdefghiklmnoprstuw"))
_MARKS = np.array([".", ".", "?", "!", ""])


class Texts(NamedTuple):
    """Turns and how many words each has."""

    texts: pl.Series
    lengths: np.ndarray[tuple[int], np.dtype[np.int64]]


class MadeUpWords:
    """Draws turns of made-up words.

    Args:
        seed: Of the order of known words.
    """

    def __init__(self, seed: int) -> None:
        self._known = _known_words(seed)

    def __call__(self, turns: int, rng: np.random.Generator) -> Texts:
        """Draw so many turns."""
        known = self._known
        lengths = np.clip(rng.lognormal(np.log(9), 0.75, turns), 1, 80).astype(np.int64)
        tail = rng.random(int(lengths.sum()))
        ranks = np.minimum(_SHIFT * ((1 - tail) ** (-1 / _SLOPE) - 1), _HIGHEST).astype(np.int64)
        distinct, place = np.unique(ranks, return_inverse=True)
        words = pa.array([known[r] if r < len(known) else invented(r) for r in distinct.tolist()])
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
        lists = pa.ListArray.from_arrays(offsets, words.take(pa.array(place)))
        marks = pa.array(_MARKS[rng.integers(0, len(_MARKS), turns)])
        texts = pc.binary_join_element_wise(pc.binary_join(lists, " "), marks, "")
        return Texts(pl.Series("text", pl.from_arrow(texts), dtype=pl.String), lengths)


def _known_words(seed: int) -> list[str]:
    """What the shipped lexicons know: function words first, as in any English text."""
    rng = np.random.default_rng(seed)
    function = sorted(filter(str.isalpha, function_words().terms))
    others = sorted(filter(str.isalpha, emotion_lexicon().terms - function_words().terms))
    rng.shuffle(function)
    rng.shuffle(others)
    return function + others


def invented(rank: int) -> str:
    """A word for a rank, another for each.

    Examples:
        >>> invented(5_000), invented(5_001)
        ('qaln', 'qbln')
    """
    letters: list[str] = []
    while rank:
        rank, digit = divmod(rank, len(_LETTERS))
        letters.append(_LETTERS[digit])
    return "q" + "".join(letters)
