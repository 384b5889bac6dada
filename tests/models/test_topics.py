"""Topic tables: the formula, the readers, the file that ships."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from dialens.base import DialensError
from dialens.models import topics
from dialens.models.topics import as_tokens, count_matrix, ngrams

ENTRIES = [
    ("tea", "0", 0.75),
    ("tea", "10", 0.25),
    ("bus", "2", 1.0),
    ("nan", "10", 1.0),
    ("a*", "2", 1.0),
]


@pytest.fixture
def entries() -> pl.DataFrame:
    return pl.DataFrame(ENTRIES, schema=["term", "category", "weight"], orient="row")


def test_loadings_are_the_published_formula(entries: pl.DataFrame) -> None:
    table = topics.from_entries("t", entries)
    texts = ["Tea, tea on the bus!", "BUS", "nothing known", "", None]
    found = table.loadings(texts)

    weight = {(term, topic): value for term, topic, value in ENTRIES}
    for row, words in enumerate([["tea", "tea", "bus"], ["bus"]]):
        for column, topic in enumerate(table.topics):
            expected = sum(weight.get((word, topic), 0.0) for word in words) / len(words)
            assert found[row, column] == pytest.approx(expected)
    assert np.isnan(found[2:]).all(), "a text without a known word has no loadings"
    assert found[:2].sum(axis=1) == pytest.approx(1.0)


def test_texts_tokens_and_series_agree(entries: pl.DataFrame) -> None:
    table = topics.from_entries("t", entries)
    texts = ["tea bus", "nan tea"]
    expected = table.loadings(texts)
    tokens = [["tea", "bus"], ["nan", "tea"]]
    for other in (tokens, pl.Series(texts), pl.Series(tokens)):
        np.testing.assert_array_equal(table.loadings(other), expected)


def test_numbers_are_no_texts() -> None:
    with pytest.raises(DialensError, match="Int64"):
        as_tokens(pl.Series([1, 2]))


def test_topics_are_in_numerical_order(entries: pl.DataFrame) -> None:
    assert topics.from_entries("t", entries).topics == ("0", "2", "10")


@pytest.mark.parametrize("kind", ["tsv", "csv", "sqlite", "own"])
def test_every_reader_gives_the_same_table(
    kind: str, entries: pl.DataFrame, tmp_path: Path
) -> None:
    expected = topics.from_entries("t", entries)
    path: Path | str = tmp_path / f"t.{kind}"
    if kind == "sqlite":
        with sqlite3.connect(path) as base:
            base.execute(
                "CREATE TABLE fb2000_cp (id INTEGER, term TEXT, category TEXT, weight DOUBLE)"
            )
            base.execute("CREATE TABLE other (id INTEGER, term TEXT, category TEXT, weight DOUBLE)")
            base.executemany("INSERT INTO fb2000_cp VALUES (0, ?, ?, ?)", ENTRIES)
        base.close()
        path = f"{path}::fb2000_cp"
    elif kind == "own":
        topics.save(expected, tmp_path / "own")
        path = tmp_path / "own"
    else:
        separator = {"tsv": "\t", "csv": ","}[kind]
        entries.write_csv(path, separator=separator)
    read = topics.load(path)
    assert read.topics == expected.topics
    assert read.terms.to_list() == expected.terms.to_list()
    assert abs(read.weights - expected.weights).max() < 1 / 255


def test_a_table_that_was_written_is_stable(entries: pl.DataFrame, tmp_path: Path) -> None:
    topics.save(topics.from_entries("t", entries), tmp_path / "one")
    once = topics.load(tmp_path / "one")
    topics.save(once, tmp_path / "two")
    assert topics.load(tmp_path / "two").sha256 == once.sha256
    files = [(tmp_path / name / topics.TABLE_FILE).read_bytes() for name in ("one", "two")]
    assert files[0] == files[1], "the same table must give the same bytes"


def test_a_damaged_file_is_refused(entries: pl.DataFrame, tmp_path: Path) -> None:
    topics.save(topics.from_entries("t", entries), tmp_path)
    file = tmp_path / topics.TABLE_FILE
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    with pytest.raises(DialensError, match="damaged"):
        topics.load(tmp_path)


def test_negative_weights_are_refused() -> None:
    bad = pl.DataFrame({"term": ["tea"], "category": ["1"], "weight": [-0.5]})
    with pytest.raises(DialensError, match=r"'tea' in topic '1' is -0\.5"):
        topics.from_entries("t", bad)


def test_ngrams_stay_within_their_text() -> None:
    counts = ngrams(pl.Series([["a", "b"], [], ["c", "a", "b"], None]), 3)
    assert set(counts.select("row", "term").rows()) == {
        (0, "a"), (0, "b"), (0, "a b"),
        (2, "a"), (2, "b"), (2, "c"), (2, "c a"), (2, "a b"), (2, "c a b"),
    }  # fmt: skip
    matrix = count_matrix(counts, pl.Series(["a b", "zz"]), 4).toarray()
    assert matrix.tolist() == [[1, 0], [0, 0], [1, 0], [0, 0]]


def test_the_table_that_ships() -> None:
    table = topics.load()
    assert len(table.topics) >= 100
    assert len(table.terms) > 10_000
    assert np.asarray(table.weights.sum(axis=1)).ravel() == pytest.approx(1.0)
    assert table.terms.str.contains(r"^[a-z][a-z'\-]*$").all(), "plain words only: no names, links"
    loadings = table.loadings(["I love this movie and its actors", "the war killed many people"])
    assert not np.isnan(loadings).any()
    size = sum(one.stat().st_size for one in topics.SHIPPED.iterdir())
    assert size < 5_000_000
