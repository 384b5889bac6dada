"""Words as integers: every distinct token gets an id that stays the same within a vocabulary.

A corpus has millions of tokens and tens of thousands of words. What is known about a *word* (its
weights in a lexicon, whether it is a stop word) is looked up once per word and then gathered by id.
Ids are handed out in order of first appearance, so they depend on which batch came first, and a run
begins a fresh vocabulary when one is large; nothing that outlives a batch may depend on them.
"""

from __future__ import annotations

from threading import Lock

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.base import DialensError


class Vocabulary:
    """The words seen so far, numbered. Safe to use from several threads.

    Polars keeps the mapping (a ``Categorical`` over categories of its own), so encoding runs at
    the speed of a hash table in Rust.

    Examples:
        >>> vocabulary = Vocabulary()
        >>> vocabulary.encode(pl.Series(["a", "b", "a"])).tolist()
        [0, 1, 0]
        >>> vocabulary.encode(pl.Series(["c", "b"])).tolist()
        [2, 1]
        >>> vocabulary.words().to_list(), len(vocabulary)
        (['a', 'b', 'c'], 3)
    """

    def __init__(self) -> None:
        """Start with no words."""
        self._dtype = pl.Categorical(pl.Categories.random())
        # Polars forgets categories that no series refers to: this empty one keeps them.
        self._anchor = pl.Series([], dtype=self._dtype)
        self._lock = Lock()
        self._size = 0

    def __len__(self) -> int:
        """Return the number of distinct words seen."""
        return self._size

    def encode(self, tokens: pl.Series) -> NDArray[np.uint32]:
        """Return the id of each token; new words are added.

        Args:
            tokens: Strings, without nulls (explode lists of tokens with empty ones left out).

        Raises:
            DialensError: A token is null.
        """
        if tokens.null_count():
            raise DialensError(
                f"{tokens.null_count()} of {len(tokens)} tokens are null; "
                "drop nulls (empty texts explode to null) before encoding"
            )
        # Within the lock, so that no id is reserved by another thread but not yet named.
        with self._lock:
            ids = tokens.cast(self._dtype).to_physical().to_numpy()
            if len(ids):
                self._size = max(self._size, int(ids.max()) + 1)
        return ids.astype(np.uint32, copy=False)

    def words(self, start: int = 0) -> pl.Series:
        """Return the words in the order of their ids, from id ``start`` on."""
        with self._lock:
            ids = pl.Series("word", np.arange(start, self._size, dtype=np.uint32))
            return ids.cat.to(self._dtype).cast(pl.String)
