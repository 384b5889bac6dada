"""Words of many texts: what stands between two blanks is a number, and was mostly seen before.

Tokens never span white space, so a text is cut at its blanks, and what was counted in a piece is
remembered. Texts are joined and looked at as bytes, a quarter of a megabyte at a time: eight bytes
are one number, and most pieces are no longer. No piece becomes a text of its own unless it is new.
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

_Places = NDArray[np.int64]
_Hashes = NDArray[np.uint64]

ASCII_LETTERS: Final = 0.9
"""English: at least this share of the letters is ASCII, and"""
ENGLISH_STOP_WORDS: Final = 0.12
"""at least this share of the words are English stop words,"""
ENGLISH_FROM_WORDS: Final = 8
"""which is asked of texts with this many words; English ones have about one in two."""

_BLANK: Final = 32
_AT_ONCE: Final = 2**18
_WORD_BYTES: Final = 8
_WORD_BITS: Final = np.uint64(64)
_IN_WORD: Final = _WORD_BYTES - 1
_PLACE_BITS: Final = 3
_PADDING: Final = "\0" * 2 * _WORD_BYTES  # words are read in pairs, also at the end
# What stands in a word for bytes beyond the piece: no UTF-8 has this byte.
_BEYOND: Final = np.array(
    [2**64 - 2 ** (8 * size) for size in range(_WORD_BYTES)] + [0], dtype=np.uint64
)
_LONGEST: Final = 8 * _WORD_BYTES
_MIX: Final = np.uint64(0x9E3779B97F4A7C15)
_HALF: Final = 32
_LOWER_HALF: Final = 2**_HALF - 1
_CONTENT: Final = 1 << _HALF
# Counts of a piece in a byte, four bits each, and how they are drawn apart to be summed. A piece
# is told by the other 56 bits of its hash.
_CODE_BITS: Final = np.uint64(8)
_CODE: Final = np.uint64(2**8 - 1)
_HASH: Final = ~_CODE
_CONTENT_BITS: Final = np.uint64(4)
_MOST_WORDS: Final = 15
_APART: Final = np.uint64(_HALF) - _CONTENT_BITS
_PAIR: Final = np.uint64(_MOST_WORDS << _HALF | _MOST_WORDS)
_LETTER: Final = r"\p{L}"
_ASCII_LETTER: Final = "[A-Za-z]"
# For the tokeniser too this is one word, and marks that are none.
_ONE_WORD: Final = re.compile(rb"""["(]*([A-Za-z0-9]+(?:['-][A-Za-z0-9]+)*)[.,!?)"]*""")


@dataclass(frozen=True)
class _Joined:
    """Texts one after another, a blank after each.

    Attributes:
        data: The bytes, with some to spare.
        ends: Where the blank after each text is.
    """

    data: bytes
    ends: _Places

    @classmethod
    def of(cls, text: pl.Series) -> "_Joined":
        padded = text.clone().append(pl.Series([_PADDING]))  # `append` writes in place
        data = padded.str.join(" ").cast(pl.Binary).item()
        return cls(data, np.cumsum(text.str.len_bytes().to_numpy() + 1, dtype=np.int64) - 1)

    @property
    def words(self) -> _Hashes:
        """The bytes, eight a number; the last few are of the padding."""
        return np.frombuffer(self.data, "<u8", len(self.data) // _WORD_BYTES)

    def pieces(self, start: int, stop: int) -> "_Pieces":
        """What stands between blanks in whole texts, from the first byte up to the last blank."""
        near = np.frombuffer(self.data, np.uint8, stop - start, start)
        ends = np.flatnonzero(near == _BLANK) + start
        starts = np.empty_like(ends)
        starts[0] = start
        np.add(ends[:-1], 1, out=starts[1:])
        return _Pieces(starts, ends)

    def hashes(self, pieces: "_Pieces") -> _Hashes:
        """A number for each piece, the same for the same bytes, without its lowest byte."""
        words, starts, sizes = self.words, pieces.starts, pieces.ends - pieces.starts
        found = _first_word(words, starts, sizes)
        found *= _MIX
        done = _WORD_BYTES
        longer = np.flatnonzero(sizes > done)
        while len(longer) and done < _LONGEST:
            mixed = found[longer]
            mixed ^= mixed >> np.uint64(_HALF)
            mixed += _first_word(words, starts[longer] + done, sizes[longer] - done)
            mixed *= _MIX
            found[longer] = mixed
            done += _WORD_BYTES
            longer = longer[sizes[longer] > done]
        for piece in longer.tolist():  # few: what is as long is seldom a word
            found[piece] = hash(self.data[starts[piece] : pieces.ends[piece]]) & (2**64 - 1)
        found ^= found >> np.uint64(_HALF)
        found &= _HASH
        return found


@dataclass(frozen=True)
class _Pieces:
    """Where pieces start, and where the blanks after them are."""

    starts: _Places
    ends: _Places


def _first_word(words: _Hashes, starts: _Places, sizes: _Places) -> _Hashes:
    """Eight bytes from each place on; those beyond the piece are set to what no text holds."""
    place = starts >> _PLACE_BITS
    found = words.take(place, mode="clip")
    place += 1
    after = words.take(place, mode="clip")
    shift = ((starts & _IN_WORD) << _PLACE_BITS).view(np.uint64)
    found >>= shift
    after <<= _WORD_BITS - shift  # by all 64 bits gives 0, as it should
    found |= after
    found |= _BEYOND.take(sizes, mode="clip")
    return found


class WordCounter:
    """Counts words, and remembers what it counted in the pieces between blanks.

    The memory has a fixed number of places, and a piece may take the place of another, which moves
    to a second place before it is forgotten: a dump of any length needs no more, and what is
    forgotten is counted again. Threads may share it: a place is one number, right or absent.

    Examples:
        >>> counter = WordCounter()
        >>> counter.count(pl.Series(["It's the best pizza in Naples!", "Привет"])).rows()
        [(6, 3, True), (1, 1, False)]
    """

    def __init__(self, places: int = 2**21) -> None:
        """Remember at most so many pieces, a power of two."""
        self._shift = np.uint64(64 - (places.bit_length() - 1))
        self._mask = np.uint64(places - 1)
        # The hash of a piece with its counts in the lowest byte, so that one look tells both
        # whether it is known and what was counted.
        self._known = np.zeros(places, np.uint64)
        self._moved = np.zeros(places, np.uint64)

    def count(self, text: pl.Series) -> pl.DataFrame:
        """The columns `words`, `content_words` and `english`, as of :func:`count_words`."""
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

    def _sums(self, joined: _Joined) -> _Places:
        """Words, and above them words that are not stop words, of each text.

        So many bytes at a time that what is made of them stays in the processor's cache.
        """
        ends = joined.ends
        sums = np.empty(len(ends), np.int64)
        new = []
        row = start = 0
        while row < len(ends):
            after = max(row + 1, int(np.searchsorted(ends, start + _AT_ONCE)))
            stop = int(ends[after - 1]) + 1
            pieces = joined.pieces(start, stop)
            hashes = joined.hashes(pieces)
            counts, unknown = self._remembered(hashes)
            last = np.searchsorted(pieces.ends, ends[row:after])
            np.add.reduceat(counts, np.concatenate(([0], last[:-1] + 1)), out=sums[row:after])
            new.append((pieces.starts[unknown], pieces.ends[unknown], hashes[unknown]))
            row, start = after, stop
        starts, stops, hashes = (np.concatenate(part) for part in zip(*new, strict=True))
        if len(starts):
            learned = self._learned(joined, _Pieces(starts, stops), hashes)
            np.add.at(sums, np.searchsorted(ends, starts), learned)
        return sums

    def _remembered(self, hashes: _Hashes) -> tuple[_Places, _Places]:
        """Both counts of every piece, and which pieces are not remembered: those have none."""
        code = self._known.take((hashes >> self._shift).view(np.int64), mode="clip")
        code ^= hashes
        unknown = np.flatnonzero(code > _CODE)
        code[unknown] = moved = self._moved[self._second(hashes[unknown])] ^ hashes[unknown]
        unknown = unknown[moved > _CODE]
        code[unknown] = 0
        code |= code << _APART
        code &= _PAIR
        return code.view(np.int64), unknown

    def _learned(self, joined: _Joined, pieces: _Pieces, hashes: _Hashes) -> _Places:
        """Count pieces that are not remembered, and remember them."""
        new, first, which = np.unique(hashes, return_index=True, return_inverse=True)
        spans = zip(pieces.starts[first].tolist(), pieces.ends[first].tolist(), strict=True)
        found = _counts_of_pieces([joined.data[start:end] for start, end in spans])
        words, content = (found & _LOWER_HALF).astype(np.uint64), (found >> _HALF).astype(np.uint64)
        short = words <= _MOST_WORDS
        coded = (new | words | (content << _CONTENT_BITS))[short]
        places = (coded >> self._shift).astype(np.int64)
        before = self._known[places]
        self._moved[self._second(before)] = before
        self._known[places] = coded
        return found[which]

    def _second(self, hashes: _Hashes) -> _Places:
        """Where a piece is looked for that lost its place: other bits of its hash tell."""
        return ((hashes >> _CODE_BITS) & self._mask).astype(np.int64)


def count_words(text: pl.Series) -> pl.DataFrame:
    """Count words and words that are not stop words in cleaned texts, and tell English ones.

    A text is taken for English unless too few of its letters are ASCII or, in a text long enough
    to tell, too few of its words are English stop words. A text without letters is not refused.

    Args:
        text: What :func:`dialens.engagement.curation._reddit_text.clean` returns; no nulls.

    Returns:
        The columns `words`, `content_words` and `english`.

    Examples:
        >>> count_words(pl.Series(["the best pizza"])).rows()
        [(3, 2, True)]
    """
    return WordCounter().count(text)


def _counts_of_pieces(pieces: Sequence[bytes]) -> _Places:
    """Words in the lower half of a number, those that are not stop words in the upper.

    Two counts share a number, since gathering and summing cost more than the counting.
    """
    # Most are one word and perhaps punctuation, which can be told without the tokeniser.
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


def _counts_of_tokens(pieces: pl.Series) -> _Places:
    tokens = pieces.to_frame("piece").select(tokenise("piece")).to_series()
    of_piece = np.repeat(np.arange(len(pieces)), tokens.list.len().to_numpy())
    token = tokens.explode(empty_as_null=False)
    word = token.to_frame("token").select(is_word("token")).to_series().to_numpy()
    content = word & (stop_words().weights(token)[:, 0] == 0)
    words, contents = (
        np.bincount(of_piece[kind], minlength=len(pieces)) for kind in (word, content)
    )
    return words | (contents << _HALF)
