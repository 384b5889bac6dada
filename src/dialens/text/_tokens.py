"""Tokens of conversational text: one regular expression, applied by Polars.

The expression is written in the syntax of Rust's ``regex`` crate (linear time, no look-around), so
one pass over the text finds every token. Alternatives are tried in the order of :data:`_PARTS`; the
first that matches at a position wins. What it does, in words:

* text is lower-cased and typographic apostrophes (``’ ‘ ʼ ＇``) become ``'``, so that ``Don’t`` and
  ``don't`` are the same word to a lexicon;
* contractions stay whole (``don't``, ``it's``, ``y'all``); clitics that a corpus has already split
  off (``it 's``, ``do n't``) are tokens of their own;
* URLs, e-mail addresses, @mentions, #hashtags, Reddit's ``r/name`` and ``u/name``, HTML entities,
  numbers (``3.50``, ``10:30``), emoticons and emoji (with skin tone, ZWJ sequence or flag) are one
  token each;
* runs of ``!`` and ``?`` (also mixed), of ``.``, ``-``, ``*`` and ``~`` are one token, all other
  punctuation is one token a character;
* letters of every script form words; an ideograph (Han) is a word by itself, because those texts
  have no spaces;
* white space and invisible format characters are in no token.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Final

import polars as pl

VERSION: Final = "dialens-1"
"""Name of this tokenisation; part of every score's signature. Change it when a token can change."""

_LETTER = r"[\p{L}\p{N}--\p{Han}]"
_INNER = r"[\p{L}\p{M}\p{N}\u{200C}\u{200D}--\p{Han}]"
_URL_REST = r"[^\s<>\x22]*[^\s<>\x22'.,;:!?)\]}*]"  # the full stop after it is not part of it
_END = r"(?-u:\b)"  # ASCII only: the Unicode boundary would leave the fast path of the engine
_PICTURE = r"\p{Extended_Pictographic}[\u{FE0F}\p{Emoji_Modifier}\u{E0020}-\u{E007F}]*"

_PARTS: Final[tuple[tuple[str, str], ...]] = (
    ("url", rf"[a-z][a-z0-9+.]*://{_URL_REST}|www\.{_URL_REST}"),
    (
        "email",
        r"[\p{L}\p{N}][\p{L}\p{N}._%+\-]*@[\p{L}\p{N}\-]+(?:\.[\p{L}\p{N}\-]+)*\.\p{L}+",
    ),
    ("mention or hashtag", r"[@#][\p{L}\p{M}\p{N}_]+"),
    ("subreddit or user", r"/?[ur]/[a-z0-9_]+"),
    ("html entity", r"&(?:[a-z]+|#[0-9]+);"),
    ("keycap", r"[0-9#*]\u{FE0F}?\u{20E3}"),
    ("number", r"\p{Nd}+(?:[.,:]\p{Nd}+)+"),
    ("ideograph", r"\p{Han}"),
    ("word", rf"{_LETTER}{_INNER}*(?:['_\-]{_INNER}+)*"),
    ("clitic", rf"'(?:s|m|d|ll|re|ve|t|em|til|cause|cuz|bout|tis|twas){_END}"),
    ("emoticon", rf"</?3+|[:;=]['o^\-]?(?:[)(\]\[/\\|*]+|[dpo3]{_END})|\^[_.\-]*\^"),
    ("emoji", rf"{_PICTURE}(?:\u{{200D}}{_PICTURE})*|\p{{Regional_Indicator}}{{2}}"),
    ("punctuation", r"[!?]+|\.+|-+|\*+|~+"),
    ("anything else", r"[^\s\u{AD}\u{200B}-\u{200F}\u{2060}\u{FEFF}]"),
)

PATTERN: Final[str] = "|".join(part for _, part in _PARTS)
"""The regular expression (Rust syntax) that finds tokens in lower-cased text."""

_APOSTROPHES: Final = "[’‘ʼ＇]"
_WORD_START: Final = r"^['@#/]?[\p{L}\p{N}]"


def normalise(expr: pl.Expr | str) -> pl.Expr:
    """Return the text as the tokeniser sees it: lower case, plain apostrophes.

    Examples:
        >>> import polars as pl
        >>> pl.DataFrame({"text": ["It’s ME"]}).select(normalise("text")).item()
        "it's me"
    """
    column = pl.col(expr) if isinstance(expr, str) else expr
    return column.str.to_lowercase().str.replace_all(_APOSTROPHES, "'")


def tokenise(expr: pl.Expr | str) -> pl.Expr:
    """Return the tokens of a text column as ``List(String)``; null stays null.

    Examples:
        >>> import polars as pl
        >>> turns = pl.DataFrame({"text": ["Don’t go!! :)", None]})
        >>> turns.select(tokenise("text"))["text"].to_list()
        [["don't", 'go', '!!', ':)'], None]
    """
    return normalise(expr).str.extract_all(PATTERN)


def tokenise_texts(texts: Sequence[str]) -> list[list[str]]:
    """Return the tokens of each text.

    Examples:
        >>> tokenise_texts(["it 's 10:30 , ok ?", ""])
        [['it', "'s", '10:30', ',', 'ok', '?'], []]
    """
    column = pl.Series("text", texts, dtype=pl.String)
    tokens: list[list[str]] = column.to_frame().select(tokenise("text"))["text"].to_list()
    return tokens


def is_word(expr: pl.Expr | str) -> pl.Expr:
    """Tell words from punctuation in a column of tokens.

    A word has a letter or digit at its start, after at most one of ``' @ # /``. This counts
    ``'s``, ``@anna``, ``#1`` and URLs, and leaves out emoticons (``:d``, ``<3``) and HTML entities,
    whose letters and digits are drawings.

    Examples:
        >>> import polars as pl
        >>> tokens = pl.DataFrame({"token": ["don't", "'s", "42", "!!", ":d", "<3", "猫"]})
        >>> tokens.select(is_word("token"))["token"].to_list()
        [True, True, True, False, False, False, True]
    """
    column = pl.col(expr) if isinstance(expr, str) else expr
    return column.str.contains(_WORD_START)


def spans(text: str) -> list[tuple[int, int, str]]:
    """Return ``(start, end, token)`` with offsets in characters of the original text.

    The tokens are those of :func:`tokenise`, so a report highlights exactly what was counted.

    Examples:
        >>> spans("İt’s OK")
        [(0, 4, "i̇t's"), (5, 7, 'ok')]
    """
    return spans_of_texts([text])[0]


def spans_of_texts(texts: Sequence[str]) -> list[list[tuple[int, int, str]]]:
    """Return the :func:`spans` of each text, with one call to Polars for all of them.

    Examples:
        >>> spans_of_texts(["Hi !", ""])
        [[(0, 2, 'hi'), (3, 4, '!')], []]
    """
    frame = pl.Series("text", texts, dtype=pl.String).to_frame()
    seen = frame.select(normalised=normalise("text"), tokens=tokenise("text"))
    return [
        _align(text, normalised, tokens)
        for text, normalised, tokens in zip(
            texts, seen["normalised"].to_list(), seen["tokens"].to_list(), strict=True
        )
    ]


def _align(text: str, normalised: str, tokens: list[str]) -> list[tuple[int, int, str]]:
    # Between two tokens stand only characters that cannot begin a token (the last alternative takes
    # everything else), so the next occurrence of a token is the place where it was found.
    origin = _origins(text, normalised)
    result = []
    position = 0
    for token in tokens:
        start = normalised.index(token, position)
        position = start + len(token)
        result.append((origin[start], origin[position - 1] + 1, token))
    return result


def _origins(text: str, normalised: str) -> Sequence[int]:
    # For every character of the normalised text, the character of the original it came from.
    # Lower-casing may lengthen a character ("İ" gives two), never depending on its neighbours
    # (the final sigma changes the letter, not the length); Polars itself says by how much.
    if len(text) == len(normalised):
        return range(len(text))
    lengths = pl.Series("c", list(text)).to_frame().select(normalise("c").str.len_chars())["c"]
    bounds = list(accumulate(lengths.to_list(), initial=0))
    return [i for i in range(len(text)) for _ in range(bounds[i], bounds[i + 1])]
