"""Token ids of texts by way of their words, each of which is tokenised once.

A tokenizer of BERT's kind cuts at blanks and looks at nothing beyond a word, so that the tokens of
a text are those of its words, one after another. Conversations repeat their words: to look them up
takes a tenth of the time of tokenising every text, which would keep a graphics card waiting.
"""

from __future__ import annotations

import re
from itertools import chain
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.text import Vocabulary

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_MOST_WORDS = 1_000_000  # then it begins anew
_PLAIN = "^[!-;=-Z\\\\-~]+$"  # ASCII, but for what special tokens ([MASK], <s>) begin with
_NEVER = "[^\\s\\S]"
_PARTS = re.compile("[A-Za-z0-9]+|[^A-Za-z0-9]")  # each mark by itself, as BERT cuts them


def cuts_at_blanks(tokenizer: Tokenizer) -> bool:
    """Tell whether the tokens of a text are those of its words, for certain."""
    parts = (tokenizer.normalizer, tokenizer.pre_tokenizer, tokenizer.model)
    return [type(part).__name__ for part in parts] == [
        "BertNormalizer",
        "BertPreTokenizer",
        "WordPiece",
    ]


class WordPieces:
    """The tokens of words seen so far; may be used from several threads.

    Args:
        tokenizer: Of BERT's kind, see :func:`cuts_at_blanks`.
        most_words: How many words are remembered.
    """

    def __init__(self, tokenizer: Tokenizer, *, most_words: int = _MOST_WORDS) -> None:
        self._tokenizer = tokenizer
        self._split = tokenizer.model.tokenize
        self._lowers = bool(tokenizer.normalizer.lowercase)
        special = [token.content for token in tokenizer.get_added_tokens_decoder().values()]
        self._plain = _PLAIN if all(name[:1] in ("[", "<") for name in special) else _NEVER
        self._most_words = most_words
        self._lock = Lock()
        self._forget()

    def _forget(self) -> None:
        self._words = Vocabulary()
        self._tokens = np.empty(0, dtype=np.int32)
        self._lengths = np.empty(0, dtype=np.int64)
        self._starts = np.empty(0, dtype=np.int64)

    def encode(self, texts: list[str]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Return the tokens of all texts, one after another, and how many each has."""
        words = pl.Series(texts, dtype=pl.String).str.split(" ")
        counts = words.list.len().cast(pl.Int64).to_numpy()
        with self._lock:
            if len(self._words) > self._most_words:
                self._forget()
            ids = self._words.encode(words.explode(empty_as_null=False))
            self._learn()
            starts, lengths, tokens = self._starts[ids], self._lengths[ids], self._tokens
        ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        borders = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])
        of_text: NDArray[np.int64] = np.diff(ends[borders])
        places = np.arange(ends[-1]) + np.repeat(starts - ends[:-1], lengths)
        return tokens[places], of_text

    def _plain_tokens(self, word: str) -> list[int]:
        """The tokens of a word of ASCII, without the tokenizer's steps for all other scripts."""
        word = word.lower() if self._lowers else word
        return [token.id for part in _PARTS.findall(word) for token in self._split(part)]

    def _learn(self) -> None:
        """Tokenise the words that were not there before."""
        known = len(self._lengths)
        if known == len(self._words):
            return
        fresh = self._words.words(known)
        plain = fresh.str.contains(self._plain)
        others = fresh.filter(~plain).to_list()
        encoded = iter(self._tokenizer.encode_batch_fast(others, add_special_tokens=False))
        ids = [
            self._plain_tokens(word) if is_plain else next(encoded).ids
            for word, is_plain in zip(fresh.to_list(), plain.to_list(), strict=True)
        ]
        lengths = np.fromiter(map(len, ids), np.int64, len(ids))
        tokens = np.fromiter(chain.from_iterable(ids), np.int32, int(lengths.sum()))
        self._tokens = np.concatenate([self._tokens, tokens])
        self._lengths = np.concatenate([self._lengths, lengths])
        self._starts = np.cumsum(self._lengths) - self._lengths
