"""Words counted in bytes against the tokeniser: pieces of every length, joined and cut anywhere."""

from __future__ import annotations

import random

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialens.engagement.curation import _word_counter as word_counter
from dialens.engagement.curation._word_counter import WordCounter
from dialens.text import stop_words, tokenise_texts
from tests.engagement.test_ingest_text import plain_counts

# Pieces that share their first or last bytes, or differ in what a word of eight bytes may hide.
NEAR = [
    "",
    "a",
    "a\0",
    "\0a",
    "\0",
    "the",
    "the\0",
    "therefor",
    "therefore",
    "therefore!",
    *("x" * size for size in (7, 8, 9, 15, 16, 17, 63, 64, 65, 72, 73)),
    "x" * 64 + ".x",
    "x" * 64 + ".x.x/x",
    "x.x" * 21 + "x",
    "x.x" * 24,
    "é" * 4,
    "é" * 4 + "a",
    "é" * 40,
    "猫" * 3,
    "猫" * 30,
    "👍",
    "\x7f\x80",
]


def counted(texts: list[str], counter: WordCounter | None = None) -> list[tuple[int, int]]:
    found = (counter or WordCounter()).count(pl.Series(texts, dtype=pl.String))
    return found.select("words", "content_words").rows()


@settings(deadline=None, max_examples=150)
@given(
    batches=st.lists(
        st.lists(st.lists(st.sampled_from(NEAR), max_size=6).map(" ".join), max_size=12),
        max_size=4,
    ),
    slots=st.sampled_from([2, 16, 2**21]),
)
def test_pieces_that_are_nearly_the_same_are_told_apart(
    batches: list[list[str]], slots: int
) -> None:
    counter = WordCounter(slots)
    for texts in batches:
        assert counted(texts, counter) == [plain_counts(text) for text in texts]


# What white space cleaning leaves: blanks only. Surrogates cannot be in a text.
_NO_SPACE = st.text(st.characters(exclude_categories=("Cn", "Co", "Cs")), max_size=90).map(
    lambda text: "".join(text.split())
)


@settings(deadline=None, max_examples=150)
@given(st.lists(st.lists(_NO_SPACE, max_size=4).map(" ".join), max_size=10))
def test_any_text_is_counted_as_by_the_tokeniser(texts: list[str]) -> None:
    counter = WordCounter()
    expected = [plain_counts(text) for text in texts]
    assert counted(texts, counter) == expected
    assert counted(texts, counter) == expected  # now from memory


@settings(deadline=None, max_examples=300)
@given(
    st.one_of(
        st.from_regex(r"""["(]*[A-Za-z0-9]+(?:['-][A-Za-z0-9]+)*[.,!?)"]*""", fullmatch=True),
        st.tuples(
            st.sampled_from(["", '"', "((", '("']),
            st.sampled_from(sorted(stop_words().terms)),
            st.sampled_from(["", ".", "?!", ')."', ",,"]),
        ).map("".join),
    )
)
def test_one_word_is_one_word_for_the_tokeniser_too(piece: str) -> None:
    assert counted([piece]) == [plain_counts(piece)]


def test_texts_are_kept_apart_however_many_are_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(5)
    words = ["the", "pizza", "Naples,", "x" * 70, "don't", "3.50", ":)", "猫が", "of", "forgotten."]
    texts = [" ".join(chance.choices(words, k=chance.randrange(40))) for _ in range(3_000)]
    texts[1_000] = " ".join(["word"] * 100_000)  # longer than what is looked at together
    # Every word by itself, and a text as their sum: tokens do not span blanks.
    each = {word: plain_counts(word) for word in [*words, "word"]}
    expected = [
        tuple(map(sum, zip(*(each[word] for word in text.split()), strict=True))) or (0, 0)
        for text in texts
    ]
    assert counted(texts) == expected
    for at_once in (1, 100, 10**9):
        monkeypatch.setattr(word_counter, "_BATCH_BYTES", at_once)
        assert counted(texts[:300]) == expected[:300]


def test_texts_are_not_written_into() -> None:
    texts = pl.Series(["one", "two"])
    WordCounter().count(texts)
    assert texts.to_list() == ["one", "two"]


def test_no_text_at_all() -> None:
    assert WordCounter().count(pl.Series([], dtype=pl.String)).rows() == []
    assert tokenise_texts([""]) == [[]]
    assert counted(["", ""]) == [(0, 0), (0, 0)]
