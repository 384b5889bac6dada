"""What is known about each word of a vocabulary, as one dense table that grows with it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from threading import Lock

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.text._vocabulary import Vocabulary

Extractor = Callable[[pl.Series], NDArray[np.float64]]
"""Takes distinct words, returns one row of numbers a word (a lexicon's ``weights``, say)."""


class WordTable:
    """Properties of words by id: ``len(vocabulary) × columns``, computed once per word.

    Extractors must treat words one by one (the same word always gives the same row); then the
    table does not depend on how the words arrived in batches. Safe to use from several threads.

    Examples:
        >>> from dialens.text._lexicon import Lexicon
        >>> vocabulary = Vocabulary()
        >>> joy = Lexicon.from_entries("joy", [("happ*", "joy", 1)])
        >>> table = WordTable(vocabulary, [joy.weights])
        >>> ids = vocabulary.encode(pl.Series(["so", "happy", "so"]))
        >>> table.matrix()[ids].ravel().tolist()
        [0.0, 1.0, 0.0]
    """

    def __init__(self, vocabulary: Vocabulary, extractors: Sequence[Extractor]) -> None:
        """Remember where words come from and what to ask about them."""
        self.vocabulary = vocabulary
        self._extractors = tuple(extractors)
        self._lock = Lock()
        nothing = pl.Series("word", [], dtype=pl.String)
        self._blocks = [extract(nothing).shape[1] for extract in self._extractors]
        self._buffer = np.zeros((0, sum(self._blocks)), dtype=np.float64)
        self._filled = 0

    @property
    def columns(self) -> list[slice]:
        """The columns of each extractor, in the order they were given."""
        ends = np.cumsum(self._blocks).tolist()
        return [slice(end - width, end) for end, width in zip(ends, self._blocks, strict=True)]

    def matrix(self) -> NDArray[np.float64]:
        """Return the table up to the words the vocabulary has now; a view, not to be written.

        Rows already returned never change, so a view taken earlier stays right.
        """
        with self._lock:
            size = len(self.vocabulary)
            if size > self._filled:
                self._grow(size)
                words = self.vocabulary.words(self._filled).head(size - self._filled)
                for place, extract in zip(self.columns, self._extractors, strict=True):
                    self._buffer[self._filled : size, place] = extract(words)
                self._filled = size
            view = self._buffer[: self._filled]
        view.flags.writeable = False
        return view

    def _grow(self, size: int) -> None:
        capacity = len(self._buffer)
        if size > capacity:  # at least half as much again: copying stays linear over a run
            grown = np.zeros((max(size, capacity + capacity // 2), self._buffer.shape[1]))
            grown[: self._filled] = self._buffer[: self._filled]
            self._buffer = grown
