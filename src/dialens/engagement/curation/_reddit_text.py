"""What a reader sees of a comment, and what can be told from its text: counts and flags.

All of it is computed here, once, when a dump is read: text functions differ between engines
(lower-casing ``İ`` changes token counts), so the later steps see ids and numbers only.

Words are counted in :mod:`dialens.engagement.curation._word_counter`.
"""

import html
from collections.abc import Callable
from typing import Final, TypeVar

import polars as pl

_Text = TypeVar("_Text", pl.Series, pl.Expr)

VERSION: Final = "reddit-text-1"
"""Name of these readings; change it when a cleaned text, a count or a flag can change."""

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


def is_plain(raw: _Text) -> _Text:
    """Whether a text says nothing but its words: nothing to clean, no quote, no word of a bot.

    One pass tells for most texts what would take one each.

    Examples:
        >>> is_plain(pl.Series(["Well, yes.", "*Well*", "a > b", "Beep boop"])).to_list()
        [True, False, False, False]
    """
    return ~raw.str.contains(f"{_NEEDS_CLEANING}|>|{_BOT_TEXT}")


def clean(raw: pl.Series) -> pl.Series:
    r"""Return the words a reader would see: links and mark-up resolved, white space collapsed.

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
    text = text.str.replace_all(_WIDE_SPACE, " ")
    at_an_end = text.str.starts_with(" ") | text.str.ends_with(" ")
    return _replaced(text, at_an_end, lambda some: some.str.strip_chars(" "))


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


def is_gone(raw: _Text) -> _Text:
    """Whether nothing but the note of a deletion is left of a text; so it is with null.

    Examples:
        >>> is_gone(pl.Series(["[deleted]", " [removed]", "gone", None])).to_list()
        [True, True, False, True]
    """
    return raw.str.strip_chars().is_in(GONE).fill_null(value=True)


def has_quote(raw: _Text) -> _Text:
    r"""Whether a text as dumped holds `&gt;` or a line that begins with `>`.

    Examples:
        >>> has_quote(pl.Series(["&gt; he said", "No.\n >No?", "a > b"])).to_list()
        [True, True, False]
    """
    return raw.str.contains("&gt;", literal=True) | raw.str.contains(_QUOTED_LINE)


def has_bot_name(author: _Text) -> _Text:
    """Whether the name says that a program wrote it; no name says nothing.

    Examples:
        >>> has_bot_name(pl.Series(["AutoModerator", "anna", None])).to_list()
        [True, False, False]
    """
    return author.str.contains(_BOT_NAME).fill_null(value=False)


def says_bot(raw: _Text) -> _Text:
    """Whether the text says that a program wrote it.

    Examples:
        >>> says_bot(pl.Series(["Beep boop, I am a bot.", "I am a botanist."])).to_list()
        [True, False]
    """
    return raw.str.contains(_BOT_TEXT)
