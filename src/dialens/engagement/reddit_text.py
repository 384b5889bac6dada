"""What a reader sees of a comment, and what can be told from its text: counts and flags.

All of it is computed here, once, when a dump is read: text functions differ between engines
(lower-casing ``İ`` changes token counts), so the later steps see ids and numbers only.

Words are those of :mod:`dialens.text`. Tokens never span white space, so a text is split at its
blanks, and what was counted in a piece is remembered: the same counts at a quarter of the time.
"""

import html
from collections.abc import Callable
from typing import Final

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.text import is_word, stop_words, tokenise

_Pairs = NDArray[np.int64]

VERSION: Final = "reddit-text-1"
"""Name of these readings; change it when a cleaned text, a count or a flag can change."""

ASCII_LETTERS: Final = 0.9
"""English: at least this share of the letters is ASCII, and"""
ENGLISH_STOP_WORDS: Final = 0.12
"""at least this share of the words are English stop words,"""
ENGLISH_FROM_WORDS: Final = 8
"""which is asked of texts with this many words; English ones have about one in two."""

GONE: Final = ("[deleted]", "[removed]")

# Python counts U+001C to U+001F as white space, Rust does not.
_SPACE = r"[\s\x1c-\x1f]"
_NOT_SPACE = r"[^\s\x1c-\x1f]"
_MARKED_UP = r"[*_~^`#\[]|https?://|www\."
_LINK = r"\[([^\]]*)\]\([^)]*\)"
_BEGINS_URL = r"https?://|www\."
_URL = rf"(?:{_BEGINS_URL}){_NOT_SPACE}+"
_ESCAPED: Final = {"&gt;": ">", "&lt;": "<", "&amp;": "&"}
_PLAINLY_ESCAPED = r"&(?:gt;|lt;|amp;(?:\x20|$))"
_WIDE_SPACE = rf"[\s\x1c-\x1f--\x20]{_SPACE}*|\x20{_SPACE}+"
_NEEDS_CLEANING = rf"&|{_MARKED_UP}|[\s\x1c-\x1f--\x20]|\x20{_SPACE}|^\x20|\x20$"
# Marks go, except the last of a run before white space: `^` and `#` there are no mark-up, nor is
# a mark that stands alone. Two blanks between words, so that two lone marks share none. Few texts
# have such marks, and what keeps them is dear.
_MARKS = r"[*_~^`#]+"
_MARKS_THAT_STAY = rf"[\^#](?:{_SPACE}|$)|(?:^|{_SPACE})[*_~`](?:{_SPACE}|$)"
_MARKS_TO_SORT = r"[*_~^`#]*([\^#])(\x20|$)|(^|\x20)([*_~`])(\x20|$)|[*_~^`#]+"
_MARKS_KEPT = "${1}${2}${3}${4}${5}"
_QUOTED_LINE = rf"(?:^|[\n\r\x0b\x0c\x1c-\x1e\u{{85}}\u{{2028}}\u{{2029}}]){_SPACE}*>"
_BOT_NAME = r"(?i:^automoderator$|bot$|^bot|_bot)"
_BOT_TEXT = r"(?i:(?-u:\b)I(?:'| a)m a bot(?-u:\b)|performed automatically|beep boop)"
_HALF = 32
_LOWER_HALF = 2**_HALF - 1
# Counts of a piece in a byte, four bits each, and how they are drawn apart to be summed. A piece
# is told by the other 56 bits of its hash.
_CODE_BITS = np.uint64(8)
_CODE = np.uint64(2**8 - 1)
_HASH = ~_CODE
_CONTENT_BITS = np.uint64(4)
_MOST_WORDS = 15
_APART = np.uint64(_HALF) - _CONTENT_BITS
_PAIR = np.uint64(_MOST_WORDS << _HALF | _MOST_WORDS)
_AT_ONCE = 2**15
_LETTER = r"\p{L}"
_ASCII_LETTER = "[A-Za-z]"
_ASCII_WORD = "^[A-Za-z]+$"
_PUNCTUATION = ".,!?"


def is_plain(raw: pl.Series) -> pl.Series:
    """Whether a text says nothing but its words: nothing to clean, no quote, no word of a bot.

    One pass tells for most texts what would take one each.

    Examples:
        >>> is_plain(pl.Series(["Well, yes.", "*Well*", "a > b", "Beep boop"])).to_list()
        [True, False, False, False]
    """
    return ~raw.str.contains(f"{_NEEDS_CLEANING}|>|{_BOT_TEXT}")


def clean(raw: pl.Series) -> pl.Series:
    r"""Return the words a reader would see: links and mark-up resolved, white space collapsed.

    The same as :func:`dialens.models.training.reddit.clean`, text by text.

    Examples:
        >>> clean(pl.Series(["**See** [this](http://x.y) &amp; that\n\nhttp://x.y"])).to_list()
        ['See this & that']
    """
    return _replaced(raw, raw.str.contains(_NEEDS_CLEANING), clean_marked)


def clean_marked(raw: pl.Series) -> pl.Series:
    """The same as :func:`clean`, for texts of which most are known to hold something to change.

    Examples:
        >>> clean_marked(pl.Series(["**See**", "plain"])).to_list()
        ['See', 'plain']
    """
    text = _replaced(raw, raw.str.contains("&", literal=True), _unescaped)
    text = _replaced(text, text.str.contains(_MARKED_UP), _without_marks)
    return text.str.replace_all(_WIDE_SPACE, " ").str.strip_chars(" ")


def _replaced(
    text: pl.Series, where: pl.Series, change: Callable[[pl.Series], pl.Series]
) -> pl.Series:
    # Most comments hold nothing to change: the costly passes see only those that do.
    rows = where.arg_true()
    # `scatter` writes in place: the text as dumped is still needed.
    return text.clone().scatter(rows, change(text.gather(rows))) if len(rows) else text


def _unescaped(text: pl.Series) -> pl.Series:
    plain = text.str.replace_many(list(_ESCAPED), list(_ESCAPED.values()))
    # Nearly all have no other escapes than these, and nothing that reads as one without them.
    others = text.str.count_matches("&", literal=True) != text.str.count_matches(_PLAINLY_ESCAPED)
    rows = others.arg_true()
    if not len(rows):
        return plain
    # Twice, because dumps hold `&amp;gt;` where the reader saw `>`.
    twice = [html.unescape(html.unescape(raw)) for raw in text.gather(rows)]
    return plain.scatter(rows, pl.Series(twice, dtype=pl.String))


def _without_marks(text: pl.Series) -> pl.Series:
    text = _replaced(text, text.str.contains("](", literal=True), _without_links)
    text = _replaced(text, text.str.contains(_BEGINS_URL), _without_urls)
    some_stay = text.str.contains(_MARKS_THAT_STAY)
    without = text.str.replace_all(_MARKS, "")
    if not some_stay.any():
        return without
    rows = some_stay.arg_true()
    return without.scatter(
        rows,
        text.gather(rows)
        .str.replace_all(f"{_SPACE}+", "  ")
        .str.replace_all(_MARKS_TO_SORT, _MARKS_KEPT),
    )


def _without_links(text: pl.Series) -> pl.Series:
    return text.str.replace_all(_LINK, "${1}")


def _without_urls(text: pl.Series) -> pl.Series:
    return text.str.replace_all(_URL, " ")


def is_gone(raw: pl.Series) -> pl.Series:
    """Whether nothing but the note of a deletion is left of a text; so it is with null.

    Examples:
        >>> is_gone(pl.Series(["[deleted]", " [removed]", "gone", None])).to_list()
        [True, True, False, True]
    """
    return raw.str.strip_chars().is_in(GONE).fill_null(True)


def has_quote(raw: pl.Series) -> pl.Series:
    r"""Whether a text as dumped holds `&gt;` or a line that begins with `>`.

    Examples:
        >>> has_quote(pl.Series(["&gt; he said", "No.\n >No?", "a > b"])).to_list()
        [True, True, False]
    """
    found = raw.str.contains("&gt;", literal=True)
    lines = raw.str.contains(">", literal=True)  # few have any: the costly look is for them
    if lines.any():
        lines = lines.clone().scatter(
            lines.arg_true(), raw.filter(lines).str.contains(_QUOTED_LINE)
        )
    return found | lines


def has_bot_name(author: pl.Series) -> pl.Series:
    """Whether the name says that a program wrote it; no name says nothing.

    Examples:
        >>> has_bot_name(pl.Series(["AutoModerator", "anna", None])).to_list()
        [True, False, False]
    """
    return author.str.contains(_BOT_NAME).fill_null(False)


def says_bot(raw: pl.Series) -> pl.Series:
    """Whether the text says that a program wrote it.

    Examples:
        >>> says_bot(pl.Series(["Beep boop, I am a bot.", "I am a botanist."])).to_list()
        [True, False]
    """
    return raw.str.contains(_BOT_TEXT)


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
        pieces = text.str.split(" ")
        ends = np.cumsum(pieces.list.len().to_numpy(), dtype=np.int64)
        pairs = self._sums(pieces.explode(), ends)
        words, content = pairs & _LOWER_HALF, pairs >> _HALF
        english = (words < ENGLISH_FROM_WORDS) | (words - content >= ENGLISH_STOP_WORDS * words)
        # Letters beyond ASCII take more than a byte: only texts that have some are looked at.
        wide = (text.str.len_bytes() != text.str.len_chars()).arg_true()
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

    def _sums(self, pieces: pl.Series, ends: _Pairs) -> _Pairs:
        """Words, and above them words that are not stop words, of the pieces of each text.

        Texts are looked at some thousand pieces at a time, which stay in the processor's cache:
        that makes the difference between a second and a third of one for a million comments.
        """
        hashes = pieces.hash().to_numpy() & _HASH
        starts = np.concatenate(([0], ends[:-1]))
        sums = np.empty(len(ends), np.int64)
        unknown = []
        longest = int((ends - starts).max())
        codes, looked_at, differs = (
            np.empty(_AT_ONCE + longest, kind) for kind in (np.uint64, np.uint64, np.bool_)
        )
        row = 0
        while row < len(ends):
            start = starts[row]
            after = max(row + 1, int(np.searchsorted(ends, start + _AT_ONCE, "right")))
            own = hashes[start : ends[after - 1]]
            code, look, differ = (held[: len(own)] for held in (codes, looked_at, differs))
            np.right_shift(own, self._shift, out=look)
            np.take(self._known, look.view(np.int64), out=code, mode="clip")
            np.bitwise_xor(code, own, out=code)
            np.greater(code, _CODE, out=differ)
            new = np.flatnonzero(differ)
            code[new] = moved = self._moved[self._second(own[new])] ^ own[new]
            new = new[moved > _CODE]
            code[new] = 0
            unknown.append(new + start)
            np.left_shift(code, _APART, out=look)
            np.bitwise_or(code, look, out=code)
            np.bitwise_and(code, _PAIR, out=code)
            np.add.reduceat(code.view(np.int64), starts[row:after] - start, out=sums[row:after])
            row = after
        self._add_unknown(np.concatenate(unknown), pieces, hashes, ends, sums)
        return sums

    def _add_unknown(
        self,
        unknown: _Pairs,
        pieces: pl.Series,
        hashes: NDArray[np.uint64],
        ends: _Pairs,
        sums: _Pairs,
    ) -> None:
        """Count pieces that were not remembered, and remember them."""
        if not len(unknown):
            return
        new, first, which = np.unique(hashes[unknown], return_index=True, return_inverse=True)
        found = _counts_of_pieces(pieces.gather(unknown[first]))
        np.add.at(sums, np.searchsorted(ends, unknown, "right"), found[which])
        words, content = (found & _LOWER_HALF).astype(np.uint64), (found >> _HALF).astype(np.uint64)
        short = words <= _MOST_WORDS
        coded = (new | words | (content << _CONTENT_BITS))[short]
        places = (coded >> self._shift).astype(np.int64)
        before = self._known[places]
        self._moved[self._second(before)] = before
        self._known[places] = coded

    def _second(self, hashes: NDArray[np.uint64]) -> _Pairs:
        """Where a piece is looked for that lost its place: other bits of its hash tell."""
        return ((hashes >> _CODE_BITS) & self._mask).astype(np.int64)


def count_words(text: pl.Series) -> pl.DataFrame:
    """Count words and words that are not stop words in cleaned texts, and tell English ones.

    A text is taken for English unless too few of its letters are ASCII or, in a text long enough
    to tell, too few of its words are English stop words. A text without letters is not refused.

    Args:
        text: What :func:`clean` returns; no nulls.

    Returns:
        The columns `words`, `content_words` and `english`.

    Examples:
        >>> count_words(pl.Series(["the best pizza"])).rows()
        [(3, 2, True)]
    """
    return WordCounter().count(text)


def _counts_of_pieces(pieces: pl.Series) -> _Pairs:
    """Words in the lower half of a number, those that are not stop words in the upper.

    Two counts share a number, since gathering and summing cost more than the counting.
    """
    # Most are one word and perhaps punctuation, which can be told without the tokeniser.
    words = pieces.str.strip_chars_end(_PUNCTUATION)
    one_word = words.str.contains(_ASCII_WORD).to_numpy()
    counts = np.ones(len(pieces), np.int64)
    of_lexicon = stop_words().weights(words.filter(one_word).str.to_lowercase())[:, 0]
    counts[one_word] |= (of_lexicon == 0).astype(np.int64) << _HALF
    counts[~one_word] = _counts_of_tokens(pieces.filter(~one_word))
    return counts


def _counts_of_tokens(pieces: pl.Series) -> _Pairs:
    if not len(pieces):
        return np.zeros(0, np.int64)
    tokens = pieces.to_frame("piece").select(tokenise("piece")).to_series()
    of_piece = np.repeat(np.arange(len(pieces)), tokens.list.len().to_numpy())
    token = tokens.explode(empty_as_null=False)
    word = token.to_frame("token").select(is_word("token")).to_series().to_numpy()
    content = word & (stop_words().weights(token)[:, 0] == 0)
    words, contents = (
        np.bincount(of_piece[kind], minlength=len(pieces)) for kind in (word, content)
    )
    return words | (contents << _HALF)
