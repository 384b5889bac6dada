"""Counts the words of many texts with a cache, since most pieces between blanks were seen before.

Tokens never span white space, so a text is split at its blanks, and the counts of each piece are
cached by its hash. Texts are joined and hashed as bytes in NumPy, a quarter of a megabyte at a
time: eight bytes are one number, and most pieces are no longer. No piece becomes a Python object
unless it is missing in the cache. :class:`dialens.text.Vocabulary` does the same in a few lines,
but takes a quarter more time for the whole of ingest, and its memory is not bounded.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.text import is_word, stop_words, tokenise

_Integers = NDArray[np.int64]
_Hashes = NDArray[np.uint64]

ASCII_LETTERS: Final = 0.9
"""English: at least this share of the letters is ASCII, and"""
ENGLISH_STOP_WORDS: Final = 0.12
"""at least this share of the words are English stop words,"""
ENGLISH_FROM_WORDS: Final = 8
"""which is asked of texts with this many words; English ones have about one in two."""

_BLANK: Final = 32
_BATCH_BYTES: Final = 2**18
_WORD_BYTES: Final = 8
_WORD_BITS: Final = np.uint64(64)
_IN_WORD: Final = _WORD_BYTES - 1
_OFFSET_BITS: Final = 3
_PADDING: Final = "\0" * 2 * _WORD_BYTES  # words are read in pairs, also at the end
# Fills a word of eight bytes beyond the end of the piece: no UTF-8 has this byte.
_BEYOND: Final = np.array(
    [2**64 - 2 ** (8 * size) for size in range(_WORD_BYTES)] + [0], dtype=np.uint64
)
_LONGEST: Final = 8 * _WORD_BYTES
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = 32
_LOWER_HALF: Final = 2**_HALF - 1
_CONTENT: Final = 1 << _HALF
# Both counts of a piece are packed into one byte, four bits each, and unpacked into the halves of
# a number to be summed. A piece is identified by the other 56 bits of its hash.
_CODE_BITS: Final = np.uint64(8)
_CODE: Final = np.uint64(2**8 - 1)
_HASH: Final = ~_CODE
_CONTENT_BITS: Final = np.uint64(4)
_MOST_WORDS: Final = 15
_UNPACK: Final = np.uint64(_HALF) - _CONTENT_BITS
_PAIR: Final = np.uint64(_MOST_WORDS << _HALF | _MOST_WORDS)
_LETTER: Final = r"\p{L}"
_ASCII_LETTER: Final = "[A-Za-z]"
# For the tokeniser too this is one word, and punctuation.
_ONE_WORD: Final = re.compile(rb"""["(]*([A-Za-z0-9]+(?:['-][A-Za-z0-9]+)*)[.,!?)"]*""")


@dataclass(frozen=True)
class _Joined:
    """Texts one after another, a blank after each.

    Attributes:
        data: The bytes, with padding.
        ends: Where the blank after each text is.
    """

    data: bytes
    ends: _Integers

    @classmethod
    def of(cls, text: pl.Series) -> "_Joined":
        padded = text.clone().append(pl.Series([_PADDING]))  # `append` writes in place
        data = padded.str.join(" ").cast(pl.Binary).item()
        return cls(data, np.cumsum(text.str.len_bytes().to_numpy() + 1, dtype=np.int64) - 1)

    @property
    def words(self) -> _Hashes:
        """The bytes, eight a number; the last few are padding."""
        return np.frombuffer(self.data, "<u8", len(self.data) // _WORD_BYTES)

    def pieces(self, start: int, stop: int) -> "_Pieces":
        """The pieces between blanks, from the first byte up to the last blank."""
        near = np.frombuffer(self.data, np.uint8, stop - start, start)
        ends = np.flatnonzero(near == _BLANK) + start
        starts = np.empty_like(ends)
        starts[0] = start
        np.add(ends[:-1], 1, out=starts[1:])
        return _Pieces(starts, ends)

    def hashes(self, pieces: "_Pieces") -> _Hashes:
        """A number for each piece, the same for the same bytes, without its lowest byte."""
        words, starts, sizes = self.words, pieces.starts, pieces.ends - pieces.starts
        hashes = _first_word(words, starts, sizes)
        hashes *= _MIX
        done = _WORD_BYTES
        longer = np.flatnonzero(sizes > done)
        while len(longer) and done < _LONGEST:
            mixed = hashes[longer]
            mixed ^= mixed >> np.uint64(_HALF)
            mixed += _first_word(words, starts[longer] + done, sizes[longer] - done)
            mixed *= _MIX
            hashes[longer] = mixed
            done += _WORD_BYTES
            longer = longer[sizes[longer] > done]
        for piece in longer.tolist():  # few: what is as long is seldom a word
            hashes[piece] = hash(self.data[starts[piece] : pieces.ends[piece]]) & (2**64 - 1)
        hashes ^= hashes >> np.uint64(_HALF)
        hashes &= _HASH
        return hashes


@dataclass(frozen=True)
class _Pieces:
    """Where pieces start, and where the blanks after them are."""

    starts: _Integers
    ends: _Integers


def _first_word(words: _Hashes, starts: _Integers, sizes: _Integers) -> _Hashes:
    """Eight bytes from each start on; those beyond the piece are set to a byte no text has."""
    index = starts >> _OFFSET_BITS
    word = words.take(index, mode="clip")
    index += 1
    after = words.take(index, mode="clip")
    shift = ((starts & _IN_WORD) << _OFFSET_BITS).view(np.uint64)
    word >>= shift
    after <<= _WORD_BITS - shift  # by all 64 bits gives 0, as it should
    word |= after
    word |= _BEYOND.take(sizes, mode="clip")
    return word


class WordCounter:
    """Counts words, with a cache of the counts of pieces between blanks.

    The cache has a fixed number of slots. A piece that is evicted moves to a second table (a victim
    cache) before it is dropped, and a dropped one is counted again: a dump of any length needs no
    more memory. Threads may share it without a lock: a slot is one number, right or absent.

    Examples:
        >>> counter = WordCounter()
        >>> counter.count(pl.Series(["It's the best pizza in Naples!", "Привет"])).rows()
        [(6, 3, True), (1, 1, False)]
    """

    def __init__(self, slots: int = 2**21) -> None:
        """Cache the counts of at most so many pieces, a power of two."""
        self._shift = np.uint64(64 - (slots.bit_length() - 1))
        self._mask = np.uint64(slots - 1)
        # A slot is the hash of a piece with its counts in the lowest byte, so that one lookup
        # gives both whether it is cached and its counts.
        self._cache = np.zeros(slots, np.uint64)
        self._victims = np.zeros(slots, np.uint64)

    def count(self, text: pl.Series) -> pl.DataFrame:
        """Count words and words that are not stop words in cleaned texts, and find English ones.

        A text is taken for English unless too few of its letters are ASCII or, in a text that is
        long enough, too few of its words are English stop words. A text without letters counts as
        English.

        Args:
            text: What :func:`dialens.engagement.curation._reddit_text.clean` returns; no nulls.

        Returns:
            The columns `words`, `content_words` and `english`.
        """
        if not len(text):
            schema = {"words": pl.Int32, "content_words": pl.Int32, "english": pl.Boolean}
            return pl.DataFrame(schema=schema)
        pairs = self._sums(_Joined.of(text))
        words, content = pairs & _LOWER_HALF, pairs >> _HALF
        english = (words < ENGLISH_FROM_WORDS) | (words - content >= ENGLISH_STOP_WORDS * words)
        # Letters beyond ASCII take more than a byte: only texts that have some are looked at.
        wide = (text.str.len_bytes() != text.str.len_chars()).arg_true()
        if len(wide):
            letters, ascii_letters = (
                text.gather(wide).str.count_matches(kind).to_numpy()
                for kind in (_LETTER, _ASCII_LETTER)
            )
            english[wide.to_numpy()] &= ascii_letters >= ASCII_LETTERS * letters
        return pl.DataFrame(
            {
                "words": words.astype(np.int32),
                "content_words": content.astype(np.int32),
                "english": english,
            }
        )

    def _sums(self, joined: _Joined) -> _Integers:
        """Words, and above them words that are not stop words, of each text.

        In batches of bytes that stay in the processor's cache.
        """
        ends = joined.ends
        sums = np.empty(len(ends), np.int64)
        misses = []
        row = start = 0
        while row < len(ends):
            after = max(row + 1, int(np.searchsorted(ends, start + _BATCH_BYTES)))
            stop = int(ends[after - 1]) + 1
            pieces = joined.pieces(start, stop)
            hashes = joined.hashes(pieces)
            counts, missing = self._cached(hashes)
            last = np.searchsorted(pieces.ends, ends[row:after])
            np.add.reduceat(counts, np.concatenate(([0], last[:-1] + 1)), out=sums[row:after])
            misses.append((pieces.starts[missing], pieces.ends[missing], hashes[missing]))
            row, start = after, stop
        starts, stops, hashes = (np.concatenate(part) for part in zip(*misses, strict=True))
        if len(starts):
            counts = self._count_and_cache(joined, _Pieces(starts, stops), hashes)
            np.add.at(sums, np.searchsorted(ends, starts), counts)
        return sums

    def _cached(self, hashes: _Hashes) -> tuple[_Integers, _Integers]:
        """Both counts of every piece, and the pieces that are not in the cache: those have 0."""
        code = self._cache.take((hashes >> self._shift).view(np.int64), mode="clip")
        code ^= hashes
        missing = np.flatnonzero(code > _CODE)
        code[missing] = second = self._victims[self._second(hashes[missing])] ^ hashes[missing]
        missing = missing[second > _CODE]
        code[missing] = 0
        code |= code << _UNPACK
        code &= _PAIR
        return code.view(np.int64), missing

    def _count_and_cache(self, joined: _Joined, pieces: _Pieces, hashes: _Hashes) -> _Integers:
        """Count pieces that are not in the cache, and add them to it."""
        new, first, which = np.unique(hashes, return_index=True, return_inverse=True)
        spans = zip(pieces.starts[first].tolist(), pieces.ends[first].tolist(), strict=True)
        counts = _counts_of_pieces([joined.data[start:end] for start, end in spans])
        words, content = (
            (counts & _LOWER_HALF).astype(np.uint64),
            (counts >> _HALF).astype(np.uint64),
        )
        short = words <= _MOST_WORDS
        coded = (new | words | (content << _CONTENT_BITS))[short]
        slots = (coded >> self._shift).astype(np.int64)
        evicted = self._cache[slots]
        self._victims[self._second(evicted)] = evicted
        self._cache[slots] = coded
        return counts[which]

    def _second(self, hashes: _Hashes) -> _Integers:
        """The slots of evicted pieces, by other bits of the hash."""
        return ((hashes >> _CODE_BITS) & self._mask).astype(np.int64)


def _counts_of_pieces(pieces: Sequence[bytes]) -> _Integers:
    """Words in the lower half of a number, those that are not stop words in the upper.

    Two counts share a number, since gathering and summing cost more than the counting.
    """
    # Most are one word and perhaps punctuation, which needs no tokeniser.
    stops = _stop_words()
    content, others = [], []
    for number, piece in enumerate(pieces):
        one_word = _ONE_WORD.fullmatch(piece)
        if one_word is None:
            others.append(number)
        elif one_word[1].lower() not in stops:
            content.append(number)
    counts = np.ones(len(pieces), np.int64)
    counts[content] |= _CONTENT
    if others:
        texts = pl.Series([pieces[number] for number in others], dtype=pl.Binary)
        counts[others] = _counts_of_tokens(texts.cast(pl.String))
    return counts


@cache
def _stop_words() -> frozenset[bytes]:
    return frozenset(term.encode() for term in stop_words().terms)


def _counts_of_tokens(pieces: pl.Series) -> _Integers:
    tokens = pieces.to_frame("piece").select(tokenise("piece")).to_series()
    of_piece = np.repeat(np.arange(len(pieces)), tokens.list.len().to_numpy())
    token = tokens.explode(empty_as_null=False)
    word = token.to_frame("token").select(is_word("token")).to_series().to_numpy()
    content = word & (stop_words().weights(token)[:, 0] == 0)
    words, contents = (
        np.bincount(of_piece[kind], minlength=len(pieces)) for kind in (word, content)
    )
    return words | (contents << _HALF)
