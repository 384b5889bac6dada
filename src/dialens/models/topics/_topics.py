"""Topics: how strongly a text speaks of each of some hundred themes.

A topic table holds P(topic | word). The loading of a text on a topic is

    p(topic | text) = Σ_word p(topic | word) · p(word | text)

(Schwartz et al. 2013, PLoS ONE 8(9), e73791), where p(word | text) is the share of a word among the
words of the text that the table knows; so the loadings of a text add up to 1. A text with no known
word has no loadings (a row of NaN).

The table that ships was fitted on Reddit text by ``recipes/topics.py``; its card says how. Own
tables are read from DLATK's SQLite files (``FILE::fb2000_cp``) and from TSV or CSV with the columns
``term, category, weight``.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from dialens.base import DialensError, atomic_file, sha256_file
from dialens.models._card import hashes
from dialens.models._places import PACKAGED
from dialens.models.topics._counts import Texts, as_tokens, count_matrix, ngrams, scale_rows
from dialens.text import read_lexicon

SHIPPED = PACKAGED / "topics"
"""The folder of the table that comes with the package."""

TABLE_FILE = "topics.npz"
CARD_FILE = "card.json"
_LEVELS = 255  # weights are stored in one byte; rows are rescaled to add up to 1 on reading
_ROW_SUM_TOLERANCE = 1e-3


@dataclass(frozen=True, eq=False)
class TopicTable:
    """P(topic | word) for the words it knows.

    Attributes:
        name: What reports and signatures call it.
        terms: The words, in the order of the rows.
        topics: Names of the topics, in the order of the columns.
        weights: Sparse ``words × topics``; each row adds up to 1.
        licence: Licence of the table, as far as known.
        notes: What was changed while reading, in words, with counts.
    """

    name: str
    terms: pl.Series = field(repr=False)
    topics: tuple[str, ...] = field(repr=False)
    weights: sparse.csr_array = field(repr=False)
    licence: str = "unknown"
    notes: tuple[str, ...] = ()

    @cached_property
    def sha256(self) -> str:
        """Hash of what the table says (words, topics, weights), whatever file said it."""
        digest = hashlib.sha256("\n".join([*self.topics, "", *self.terms]).encode())
        for part in (self.weights.indptr, self.weights.indices):
            digest.update(part.astype("<i8").tobytes())
        digest.update(self.weights.data.astype("<f4").tobytes())
        return digest.hexdigest()

    def counts(self, texts: Texts) -> sparse.csr_array:
        """Return how often each known word occurs in each text, ``texts × words``."""
        tokens = as_tokens(texts)
        return count_matrix(ngrams(tokens, 1), self.terms, len(tokens))

    def loadings(self, texts: Texts) -> NDArray[np.float64]:
        """Return p(topic | text), ``texts × topics``; NaN where no word is known.

        Args:
            texts: Strings, or lists of tokens as the tokeniser gives them.

        Examples:
            >>> entries = pl.DataFrame(
            ...     {"term": ["cat", "dog", "dog"], "category": ["a", "a", "b"]}
            ... ).with_columns(weight=pl.Series([1.0, 0.5, 0.5]))
            >>> table = from_entries("pets", entries)
            >>> table.loadings(["Cat, dog!", "car"]).tolist()
            [[0.75, 0.25], [nan, nan]]
        """
        return self.loadings_of_counts(self.counts(texts))

    def loadings_of_counts(self, counts: sparse.csr_array) -> NDArray[np.float64]:
        """Return the loadings of texts whose words were counted (:meth:`counts`) or summed."""
        total = np.asarray(counts.sum(axis=1)).ravel()
        known = total > 0
        share = scale_rows(counts, np.divide(1.0, total, out=np.zeros_like(total), where=known))
        result: NDArray[np.float64] = (share @ self.weights).toarray()
        result[~known] = np.nan
        return result

    def top_words(self, topic: int, n: int = 10, *, prior: NDArray[np.float64]) -> list[str]:
        """Return the words with the largest P(topic | word) · prior(word).

        Args:
            topic: Column of the topic.
            n: How many words.
            prior: Frequency of each word; P(topic | word) alone would favour rare words.
        """
        column = self.weights[:, [topic]].toarray().ravel() * prior
        return [str(self.terms[int(row)]) for row in np.argsort(-column, kind="stable")[:n]]


def from_entries(
    name: str, entries: pl.DataFrame, *, licence: str = "unknown", notes: tuple[str, ...] = ()
) -> TopicTable:
    """Make a table from rows ``term, category, weight``.

    Rows of a word that do not add up to 1 (a table of P(word | topic), say) are rescaled to do so,
    which is Bayes' rule with equally frequent topics; a note counts them.

    Args:
        name: Name of the table.
        entries: One row a word and topic; weights must not be negative.
        licence: Licence of the table.
        notes: Remarks of the reader.

    Raises:
        DialensError: A weight is negative or not a number, or there is no row.

    Examples:
        >>> entries = pl.DataFrame({"term": ["tea"], "category": ["7"], "weight": [0.2]})
        >>> from_entries("t", entries).notes
        ('the weights of 1 of 1 words did not add up to 1 and were rescaled',)
    """
    bad = entries.filter(~pl.col("weight").is_finite() | (pl.col("weight") < 0))
    if bad.height:
        row = bad.row(0, named=True)
        raise DialensError(
            f"topic table {name!r}: the weight of {row['term']!r} in topic {row['category']!r} is "
            f"{row['weight']}; P(topic | word) must be a number from 0 to 1"
        )
    entries = entries.filter(pl.col("weight") > 0)
    if not entries.height:
        raise DialensError(f"topic table {name!r} has no word with a positive weight")
    cells = entries.group_by("term", "category").agg(pl.col("weight").sum())
    terms = cells["term"].unique().sort()
    numbered = cells["category"].str.contains(r"^\d+$").all()
    order = pl.col("category").cast(pl.Int64) if numbered else pl.col("category")
    topics = cells.select("category").unique().sort(order)["category"]
    counts = cells.rename({"category": "topic"}).join(
        terms.to_frame().with_row_index("row"), on="term"
    )
    counts = counts.join(topics.alias("topic").to_frame().with_row_index("column"), on="topic")
    weights = sparse.csr_array(
        (
            counts["weight"].to_numpy(),
            (
                counts["row"].to_numpy().astype(np.int32),
                counts["column"].to_numpy().astype(np.int32),
            ),
        ),
        shape=(len(terms), len(topics)),
    )
    weights.sort_indices()
    sums = np.asarray(weights.sum(axis=1)).ravel()
    off = int((np.abs(sums - 1.0) > _ROW_SUM_TOLERANCE).sum())
    if off:
        notes = (
            *notes,
            f"the weights of {off} of {len(terms)} words did not add up to 1 and were rescaled",
        )
    weights = scale_rows(weights, 1.0 / sums)
    return TopicTable(name, terms, tuple(topics.to_list()), weights, licence, notes)


def load(path: str | Path | None = None) -> TopicTable:
    r"""Load a topic table.

    Args:
        path: A folder or ``.npz`` file written by :func:`save`; an SQLite file of DLATK
            (``FILE::TABLE``); a TSV or CSV with ``term, category, weight``. ``None``: the table
            that comes with the package.

    Raises:
        DialensError: The file is missing, damaged or not a topic table.

    Examples:
        >>> import tempfile
        >>> file = Path(tempfile.mkdtemp()) / "mine.tsv"
        >>> _ = file.write_text("term\tcategory\tweight\ntea\tdrinks\t1.0\nbus\ttravel\t1.0\n")
        >>> load(file).loadings(["tea on the bus"]).tolist()
        [[0.5, 0.5]]
    """
    if path is None:
        path = SHIPPED
    if str(path).endswith(".npz") or Path(path).is_dir():
        return _load_own(Path(path))
    lexicon = read_lexicon(path)
    star = pl.when("wildcard").then(pl.lit("*")).otherwise(pl.lit(""))
    entries = lexicon.entries.with_columns(term=pl.col("term") + star)
    return from_entries(lexicon.name, entries, licence=lexicon.licence, notes=lexicon.notes)


def save(table: TopicTable, folder: Path, *, card: Mapping[str, Any] | None = None) -> None:
    """Write a table compactly: weights in one byte each, and a card with the file's hash.

    Args:
        table: The table.
        folder: Where to write ``topics.npz`` and ``card.json``.
        card: What the card should say besides name, licence and hash.

    Examples:
        >>> import tempfile
        >>> entries = pl.DataFrame({"term": ["tea"], "category": ["0"], "weight": [1.0]})
        >>> folder = Path(tempfile.mkdtemp())
        >>> save(from_entries("mine", entries), folder)
        >>> load(folder).name
        'mine'
    """
    with atomic_file(folder / TABLE_FILE) as scratch, scratch.open("wb") as file:
        np.savez_compressed(
            file,
            terms=np.frombuffer("\n".join(table.terms).encode(), dtype=np.uint8),
            topics=np.frombuffer("\n".join(table.topics).encode(), dtype=np.uint8),
            indptr=table.weights.indptr.astype(np.int32),
            indices=table.weights.indices.astype(np.uint16),
            data=np.maximum(1, np.rint(table.weights.data * _LEVELS)).astype(np.uint8),
        )
    content = {"name": table.name, "licence": table.licence, **(card or {})}
    content["files"] = {TABLE_FILE: sha256_file(folder / TABLE_FILE)}
    with atomic_file(folder / CARD_FILE) as scratch:
        scratch.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")


def _load_own(path: Path) -> TopicTable:
    folder, file = (path, path / TABLE_FILE) if path.is_dir() else (path.parent, path)
    card = checked_card(folder, file)
    try:
        with np.load(io.BytesIO(file.read_bytes())) as stored:
            terms = stored["terms"].tobytes().decode().split("\n")
            topics = stored["topics"].tobytes().decode().split("\n")
            data = stored["data"].astype(np.float64)
            parts = (data, stored["indices"].astype(np.int32), stored["indptr"])
            weights = sparse.csr_array(parts, shape=(len(terms), len(topics)))
        name, licence = str(card["name"]), str(card["licence"])
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise DialensError(
            f"{file} is not a topic table ({error}); write one with dialens.models.topics.save"
        ) from error
    weights = scale_rows(weights, 1.0 / np.asarray(weights.sum(axis=1)).ravel())
    return TopicTable(name, pl.Series("term", terms), tuple(topics), weights, licence)


def checked_card(folder: Path, file: Path) -> dict[str, Any]:
    """Return the card of a folder after comparing a file with the hash it names.

    Raises:
        DialensError: Card or file is missing, or the file is not the one the card describes.
    """
    for needed in (folder / CARD_FILE, file):
        if not needed.is_file():
            raise DialensError(f"{needed} is missing; fetch or write the model again")
    try:
        card = msgspec.json.decode((folder / CARD_FILE).read_bytes(), type=dict[str, Any])
        named = hashes(card.get("files", {}))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise DialensError(
            f"{folder / CARD_FILE} cannot be read ({error}): fetch or write the model again"
        ) from error
    seen = sha256_file(file)
    if named.get(file.name) != seen:
        raise DialensError(
            f"{file} is damaged or was changed: its SHA-256 is {seen[:12]}…, not the one in "
            f"{CARD_FILE}; fetch or write it again"
        )
    return card
