"""Tokens: hand-made expectations, and spans that always agree with what was counted."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from dialens.text import is_word, normalise, spans, spans_of_texts, tokenise, tokenise_texts

EXPECTED = {
    # contractions, whole and already split
    "I don't, it's; y'all": ["i", "don't", ",", "it's", ";", "y'all"],
    "Don’t ‘quote’ me": ["don't", "'", "quote", "'", "me"],
    "it 's do n't we 'll": ["it", "'s", "do", "n't", "we", "'ll"],
    "'some' 'tis of 'em": ["'", "some", "'", "'tis", "of", "'em"],
    "rock 'n' roll": ["rock", "'", "n", "'", "roll"],
    # addresses
    "see https://a.org/b_(c)?d=1, ok": ["see", "https://a.org/b_(c)?d=1", ",", "ok"],
    "(http://x.y/z).": ["(", "http://x.y/z", ")", "."],
    "www.x.org! ftp://y.z": ["www.x.org", "!", "ftp://y.z"],
    "mail a.b+c@d-e.co.uk.": ["mail", "a.b+c@d-e.co.uk", "."],
    "@Anna_1 #MeToo r/aww /u/bob &gt;": ["@anna_1", "#metoo", "r/aww", "/u/bob", "&gt;"],
    "and/or": ["and", "/", "or"],
    # pictures
    ":) ;-) =D :P :'( <3 </3 ^_^": [":)", ";-)", "=d", ":p", ":'(", "<3", "</3", "^_^"],
    "note:do :done": ["note", ":", "do", ":", "done"],
    "😂😂 ❤️": ["😂", "😂", "❤️"],
    "👍🏽 👩🏽‍🚀 👨‍👩‍👧": ["👍🏽", "👩🏽‍🚀", "👨‍👩‍👧"],
    "🇩🇪🇫🇷 1️⃣": ["🇩🇪", "🇫🇷", "1️⃣"],
    # numbers and punctuation
    "$3.50, 1,000 at 10:30 2nd": ["$", "3.50", ",", "1,000", "at", "10:30", "2nd"],
    "What?! No!!! Hm...": ["what", "?!", "no", "!!!", "hm", "..."],
    "well-known -- _very_ *sigh*": [
        "well-known", "--", "_", "very", "_", "*", "sigh", "*",
    ],
    # scripts
    "naïve Ünï हिन्दी": ["naïve", "ünï", "हिन्दी"],
    "我爱cat": ["我", "爱", "cat"],
    "می‌خواهم": ["می‌خواهم"],
    # what is nothing
    "": [],
    " \t\n\u200b\ufeff": [],
}  # fmt: skip


@pytest.mark.parametrize("text", EXPECTED)
def test_tokens_are_what_a_reader_would_mark(text: str) -> None:
    assert tokenise_texts([text]) == [EXPECTED[text]]


def test_a_missing_text_has_no_tokens_and_is_not_an_empty_one() -> None:
    column = pl.DataFrame({"text": ["", None]}).select(tokenise("text"))["text"]
    assert column.to_list() == [[], None]
    assert column.dtype == pl.List(pl.String)


def test_an_expression_does_as_well_as_a_name() -> None:
    frame = pl.DataFrame({"a": ["Hi"], "b": ["you"]})
    joined = frame.select(x=tokenise(pl.concat_str("a", "b", separator=" ")))
    assert joined["x"].to_list() == [["hi", "you"]]


def test_words_have_letters_or_digits_and_drawings_have_not() -> None:
    tokens = ["i", "don't", "'s", "42", "@x", "#1", "r/a", "www.x.y", "猫", "я"]
    others = ["!", "...", ":d", "<3", "😂", "'", "&gt;", "$", "@", "#"]
    frame = pl.DataFrame({"token": tokens + others}).select(is_word("token"))
    assert frame["token"].to_list() == [True] * len(tokens) + [False] * len(others)


@given(st.text())
@example("İİ @İ #İ a'İ")  # lower-casing makes two characters of one
@example("ΟΔΟΣ ΟΔΟΣ.")  # the final sigma looks at its neighbours
@example("\x1c\x85\u2028a\u200bb")
def test_spans_are_the_tokens_where_they_stand(text: str) -> None:
    found = spans(text)
    assert [token for *_, token in found] == tokenise_texts([text])[0]
    previous = 0
    for start, end, token in found:
        assert previous <= start < end <= len(text)
        previous = end
        shown = pl.DataFrame({"t": [text[start:end]]}).select(normalise("t")).item()
        # A sigma cut out of its word is a final one.
        assert shown.replace("ς", "σ") == token.replace("ς", "σ")


@given(st.lists(st.text(max_size=20), max_size=5))
def test_spans_of_many_are_the_spans_of_each(texts: list[str]) -> None:
    assert spans_of_texts(texts) == [spans(text) for text in texts]


@given(st.text())
def test_only_blanks_and_invisible_characters_are_in_no_token(text: str) -> None:
    inside = {i for start, end, _ in spans(text) for i in range(start, end)}
    left = "".join(c for i, c in enumerate(text) if i not in inside)
    assert all(c.isspace() or c in "\xad\u2060\ufeff" or "\u200b" <= c <= "\u200f" for c in left)


@given(st.lists(st.text(max_size=20), min_size=1, max_size=4))
def test_a_blank_separates(texts: list[str]) -> None:
    apart = [token for tokens in tokenise_texts(texts) for token in tokens]
    # (the final sigma is the one letter that looks beyond its own token)
    together = tokenise_texts([" ".join(texts)])[0]
    assert [t.replace("ς", "σ") for t in together] == [t.replace("ς", "σ") for t in apart]
