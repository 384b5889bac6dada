"""What makes ingest fast may not change what it finds: memory of words, threads, cuts of bytes."""

from collections.abc import Iterator
from itertools import pairwise

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dialens.engagement.dump import blocks, side_by_side
from dialens.engagement.reddit_text import WordCounter, count_words
from dialens.text import is_word, stop_words, tokenise

_TEXTS = st.lists(
    st.lists(
        st.sampled_from(
            [
                "the",
                "The",
                "pizza",
                "pizza,",
                "Naples...",
                "don't",
                "r/science",
                "www...",
                "3.50",
                ":)",
                "Привет",
                "x.y",
                "I",
                "who?!",
                "a.",
                "ok,ok",
                "«the»",
                "",
            ]
        ),
        max_size=12,
    ).map(" ".join),
    min_size=1,
    max_size=20,
)


def _counted_by_the_tokeniser(text: str) -> tuple[int, int]:
    tokens = pl.DataFrame({"text": [text]}).select(tokenise("text").explode()).drop_nulls()
    words = tokens.filter(is_word("text")).to_series()
    stops = int((stop_words().weights(words)[:, 0] != 0).sum()) if len(words) else 0
    return len(words), len(words) - stops


@settings(deadline=None, max_examples=40)
@given(texts=_TEXTS)
def test_pieces_are_counted_as_the_tokeniser_counts_texts(texts: list[str]) -> None:
    found = count_words(pl.Series(texts)).select("words", "content_words").rows()
    assert found == [_counted_by_the_tokeniser(text) for text in texts]


@settings(deadline=None, max_examples=40)
@given(batches=st.lists(_TEXTS, min_size=1, max_size=4))
def test_what_is_remembered_or_forgotten_changes_nothing(batches: list[list[str]]) -> None:
    tiny, large = WordCounter(places=2), WordCounter()
    for texts in batches:
        expected = count_words(pl.Series(texts))
        assert tiny.count(pl.Series(texts)).equals(expected)
        assert large.count(pl.Series(texts)).equals(expected)


@settings(deadline=None)
@given(
    lines=st.lists(st.binary(max_size=12).map(lambda line: line.replace(b"\n", b"")), max_size=30),
    cuts=st.lists(st.integers(0, 200), max_size=12),
    block_bytes=st.integers(1, 40),
    block_lines=st.integers(1, 6),
)
def test_blocks_do_not_depend_on_how_bytes_arrive(
    lines: list[bytes], cuts: list[int], block_bytes: int, block_lines: int
) -> None:
    data = b"\n".join(lines)
    edges = [0, *sorted(min(cut, len(data)) for cut in cuts), len(data)]
    pieces = [data[a:b] for a, b in pairwise(edges)]

    def made(given: list[bytes]) -> list[tuple[int, int, bytes]]:
        found = blocks(given, block_bytes=block_bytes, block_lines=block_lines)
        return [(block.number, block.first_line, block.data) for block in found]

    assert made(pieces) == made([data])
    assert b"".join(block for _, _, block in made(pieces)) == data


def test_threads_keep_the_order_and_give_what_was_made_before_an_error() -> None:
    def items() -> Iterator[int]:
        yield from range(5)
        raise ValueError("no more")

    squares = side_by_side(lambda n: int(np.square(n)), items(), 2)
    assert [next(squares) for _ in range(5)] == [0, 1, 4, 9, 16]
    with pytest.raises(ValueError, match="no more"):
        next(squares)
