"""Ids are stable, shared between threads, and mean nothing by their order."""

from __future__ import annotations

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dialens.base import DialensError
from dialens.text import Lexicon, Vocabulary, WordTable

batches = st.lists(st.lists(st.text(max_size=3), max_size=20), max_size=5)


def column(words: list[str]) -> pl.Series:
    return pl.Series("token", words, dtype=pl.String)


@given(batches)
def test_decoding_gives_the_words_back(lists: list[list[str]]) -> None:
    vocabulary = Vocabulary()
    encoded = [vocabulary.encode(column(words)) for words in lists]
    known = vocabulary.words().to_list()
    assert [[known[i] for i in ids] for ids in encoded] == lists
    assert len(set(known)) == len(known) == len(vocabulary)
    assert set(known) == {word for words in lists for word in words}


def test_ids_outlive_the_batches_they_came_from() -> None:
    vocabulary = Vocabulary()
    vocabulary.encode(column(["a", "b"]))
    gc.collect()  # Polars forgets categories that nothing refers to
    assert vocabulary.encode(column(["c", "b"])).tolist() == [2, 1]


def test_words_from_an_id_on() -> None:
    vocabulary = Vocabulary()
    vocabulary.encode(column(["a", "b"]))
    vocabulary.encode(column(["c"]))
    assert vocabulary.words(2).to_list() == ["c"]
    assert vocabulary.words(3).to_list() == []


def test_two_vocabularies_do_not_share_ids() -> None:
    first, second = Vocabulary(), Vocabulary()
    first.encode(column(["a", "b"]))
    assert second.encode(column(["b"])).tolist() == [0]


def test_ids_are_unsigned_integers_and_nulls_are_refused() -> None:
    vocabulary = Vocabulary()
    assert vocabulary.encode(column(["a"])).dtype == np.uint32
    with pytest.raises(DialensError, match="1 of 2 tokens are null"):
        vocabulary.encode(pl.Series(["a", None]))


def _lengths(words: pl.Series) -> np.ndarray:
    return words.str.len_chars().to_numpy().astype(np.float64)[:, None]


def test_threads_share_one_numbering_and_one_table() -> None:
    vocabulary = Vocabulary()
    table = WordTable(vocabulary, [_lengths])
    texts = [[f"{'x' * (i % 7)}{(i * k) % 501}" for i in range(4000)] for k in range(1, 17)]

    def work(words: list[str]) -> np.ndarray:
        ids = vocabulary.encode(column(words))
        return table.matrix()[ids, 0]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(work, texts))
    for words, lengths in zip(texts, found, strict=True):
        assert lengths.tolist() == [len(word) for word in words]
    assert len(vocabulary) == len({word for words in texts for word in words})


@given(batches)
def test_the_table_does_not_depend_on_the_order_of_batches(lists: list[list[str]]) -> None:
    joy = Lexicon.from_entries("joy", [("a*", "joy", 0.5), ("b", "trust", 2.0)])

    def gathered(order: list[int]) -> dict[int, list[list[float]]]:
        vocabulary = Vocabulary()
        table = WordTable(vocabulary, [joy.weights, _lengths])
        rows = {}
        for i in order:
            ids = vocabulary.encode(column(lists[i]))
            rows[i] = table.matrix()[ids].tolist()
        return rows

    order = list(range(len(lists)))
    assert gathered(order) == gathered(order[::-1])


def test_each_word_is_looked_up_once_and_columns_stand_in_order() -> None:
    asked: list[str] = []

    def spy(words: pl.Series) -> np.ndarray:
        asked.extend(words)
        return np.ones((len(words), 2))

    vocabulary = Vocabulary()
    table = WordTable(vocabulary, [spy, _lengths])
    vocabulary.encode(column(["to", "be", "to"]))
    early = table.matrix()
    vocabulary.encode(column(["be", "question"]))
    late = table.matrix()
    assert asked == ["to", "be", "question"]
    assert late.tolist() == [[1, 1, 2], [1, 1, 2], [1, 1, 8]]
    assert early.tolist() == [[1, 1, 2], [1, 1, 2]]
    assert table.columns == [slice(0, 2), slice(2, 3)]
    with pytest.raises(ValueError, match="read-only"):
        late[0, 0] = 5.0
