"""Turns whose words follow each other as in a file of somebody's text, a text a line.

A word is followed by one that follows it in the file, so that words and neighbours are as frequent
as there, while longer phrases keep being new. Lengths are those of the file's lines. One word in a
hundred is one that was never seen: names, numbers and slips make every vocabulary grow.
"""

from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.compute as pc

from scale_parts.words import Texts, invented

_LONGEST = 80
_NEW_WORDS = 0.01
_RANKS = 2_000_000_000


class WordChain:
    """Draws turns from the chain of words of a file.

    Args:
        file: Text in UTF-8, a text a line.
    """

    def __init__(self, file: Path) -> None:
        lines = pl.Series(file.read_text("utf-8").splitlines())
        texts = lines.str.extract_all(r"\S+")
        texts = texts.filter(texts.list.len() > 0)
        words = texts.explode()
        self._words = words.unique(maintain_order=True)
        ids = words.replace_strict(self._words, np.arange(len(self._words)), return_dtype=pl.Int64)
        self._lengths = np.minimum(texts.list.len().to_numpy(), _LONGEST).astype(np.int64)
        order, ends = ids.to_numpy(), np.cumsum(texts.list.len().to_numpy())
        inner = np.ones(len(order), dtype=bool)
        inner[ends - 1] = False  # the last word of a text is followed by none
        here = np.flatnonzero(inner)
        by_word = here[np.argsort(order[here], kind="stable")]
        self._next = order[by_word + 1]
        self._counts = np.bincount(order[here], minlength=len(self._words))
        self._starts = np.cumsum(self._counts) - self._counts
        self._all = order

    def __call__(self, turns: int, rng: np.random.Generator) -> Texts:
        """Draw so many turns."""
        lengths = self._lengths[rng.integers(0, len(self._lengths), turns)]
        longest_first = np.argsort(-lengths, kind="stable")
        starts = np.concatenate([[0], np.cumsum(lengths)])
        drawn = np.empty(starts[-1], dtype=np.int64)
        now = self._all[rng.integers(0, len(self._all), turns)]
        for place in range(int(lengths.max())):
            going = int(np.count_nonzero(lengths > place))
            now = now[:going]
            drawn[starts[longest_first[:going]] + place] = now
            counts = self._counts[now]
            chosen = self._starts[now] + (rng.random(going) * counts).astype(np.int64)
            anywhere = self._all[rng.integers(0, len(self._all), going)]
            followed = self._next[np.minimum(chosen, len(self._next) - 1)]
            now = np.where(counts > 0, followed, anywhere)
        new = np.flatnonzero(rng.random(len(drawn)) < _NEW_WORDS)
        drawn[new] = len(self._words) + np.arange(len(new))
        invented_here = [invented(rank) for rank in rng.integers(0, _RANKS, len(new)).tolist()]
        known = pa.concat_arrays([pa.array(self._words.to_list()), pa.array(invented_here)])
        lists = pa.ListArray.from_arrays(pa.array(starts.astype(np.int32)), known.take(drawn))
        return Texts(pl.Series("text", pl.from_arrow(pc.binary_join(lists, " "))), lengths)
