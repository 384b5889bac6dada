"""A lexicon: words and wildcards, each with a weight in one or more categories.

How a word meets an entry:

* ``happy`` matches the word *happy*; ``happ*`` matches every word that begins with *happ*, that is
  *happ* itself, *happy*, *happiness* (the wildcard of LIWC). A star anywhere else is a plain
  character.
* **Unweighted** lexicons (every weight 1) follow LIWC: a word belongs to the *union* of the
  categories of all entries it matches, and counts in each at most once.
* **Weighted** lexicons take the *most specific* entry alone, since adding the weights of nested
  entries would count a word twice: the exact entry if there is one, else the longest prefix. That
  entry describes the word wholly; categories it does not name are 0.

Terms are normalised like tokens (lower case, plain apostrophes). A weight of 0 means "not listed".
Entries of several words
("kind of") cannot match a single token; they are left out and counted in :attr:`Lexicon.notes`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.base import DialensError
from dialens.text._tokens import normalise

Weights = NDArray[np.float64]


class _Index(NamedTuple):
    """The entries as arrays: one row a distinct entry, and where to look each up."""

    weights: Weights
    exact: pl.DataFrame
    by_length: list[tuple[int, pl.DataFrame]]


@dataclass(frozen=True, eq=False)
class Lexicon:
    """Words with weights in named categories. Build one with :meth:`from_entries`.

    Attributes:
        name: What reports and signatures call it.
        categories: Category names; the order of the columns of :meth:`weights`.
        entries: Tidy table ``term, category, weight, wildcard``; a wildcard's term is its prefix.
        licence: Licence of the words, as far as known.
        source: Where the words came from (a file name, a paper).
        notes: What was left out or merged while reading, in words, with counts.
    """

    name: str
    categories: tuple[str, ...]
    entries: pl.DataFrame = field(repr=False)
    licence: str = "unknown"
    source: str = ""
    notes: tuple[str, ...] = ()

    @classmethod
    def from_entries(
        cls,
        name: str,
        entries: Iterable[tuple[str, str, float]] | pl.DataFrame,
        *,
        categories: Sequence[str] | None = None,
        shortest_prefix: int | None = 1,
        licence: str = "unknown",
        source: str = "",
        notes: Sequence[str] = (),
    ) -> Lexicon:
        """Make a lexicon from ``(term, category, weight)`` rows.

        Args:
            name: Name of the lexicon.
            entries: Rows, or a frame with the columns ``term, category, weight``.
            categories: Column order; by default the order of first appearance.
            shortest_prefix: A final star is a wildcard if at least this many characters stand
                before it; ``None``: stars are plain characters.
            licence: Licence of the words.
            source: Where the words came from.
            notes: Remarks of the reader, kept before those made here.

        Examples:
            >>> mood = Lexicon.from_entries("mood", [("happ*", "joy", 1), ("sad", "sadness", 1)])
            >>> mood.weights(pl.Series(["happy", "sad", "table"])).tolist()
            [[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]
        """
        frame = _as_frame(entries)
        order = tuple(categories or frame["category"].unique(maintain_order=True).to_list())
        unknown = set(frame["category"]) - set(order)
        if unknown:
            raise DialensError(
                f"lexicon {name!r}: entries name the categories {sorted(unknown)}, "
                f"which are not among {list(order)}; add them or drop the entries"
            )
        frame, remarks = _clean(name, frame, shortest_prefix)
        return cls(name, order, frame, licence, source, (*notes, *remarks))

    @property
    def weighted(self) -> bool:
        """Whether any weight differs from 1."""
        return bool((self.entries["weight"] != 1.0).any())

    @cached_property
    def sha256(self) -> str:
        """Hash of what the lexicon says (categories, terms, weights), whatever file said it."""
        digest = hashlib.sha256("\t".join(self.categories).encode())
        for term, category, weight, wildcard in self.entries.iter_rows():
            star = "*" if wildcard else ""
            digest.update(f"\n{term}{star}\t{category}\t{weight!r}\t{wildcard}".encode())
        return digest.hexdigest()

    def __len__(self) -> int:
        """Return the number of distinct terms."""
        return self.entries.select("term", "wildcard").n_unique()

    def __eq__(self, other: object) -> bool:
        """Two lexicons are equal if they say the same under the same name."""
        if not isinstance(other, Lexicon):
            return NotImplemented
        return self.name == other.name and self.sha256 == other.sha256

    def __hash__(self) -> int:
        """Hash consistently with equality."""
        return hash((self.name, self.sha256))

    @property
    def terms(self) -> set[str]:
        """All terms, wildcards with their star."""
        star = pl.when("wildcard").then(pl.lit("*")).otherwise(pl.lit(""))
        return set(self.entries.select(pl.col("term") + star).to_series())

    def select(self, categories: Sequence[str]) -> Lexicon:
        """Return the lexicon with only these categories, in this order.

        Examples:
            >>> both = Lexicon.from_entries("x", [("a", "one", 1), ("b", "two", 1)])
            >>> both.select(["two"]).categories
            ('two',)
        """
        kept = self.entries.filter(pl.col("category").is_in(list(categories)))
        return replace(self, categories=tuple(categories), entries=kept)

    def weights(self, words: pl.Series) -> Weights:
        """Return the weight of each word in each category, ``len(words) × len(categories)``.

        Args:
            words: Tokens as the tokeniser gives them (lower case). Null matches nothing.

        Examples:
            >>> nested = [("happ*", "joy", 0.5), ("happen", "change", 0.2)]
            >>> weighted = Lexicon.from_entries("weighted", nested)
            >>> weighted.weights(pl.Series(["happen", "happy"])).tolist()
            [[0.0, 0.2], [0.5, 0.0]]
        """
        index = self._index
        result = np.zeros((len(words), len(self.categories)), dtype=np.float64)
        most_specific_wins = self.weighted
        frame = words.alias("word").to_frame()
        for length, prefixes in index.by_length:  # ascending: a longer prefix overwrites
            keys = frame.select(
                word=pl.when(pl.col("word").str.len_chars() >= length).then(
                    pl.col("word").str.slice(0, length)
                )
            )
            _apply(result, index.weights, _rows(keys, prefixes), overwrite=most_specific_wins)
        _apply(result, index.weights, _rows(frame, index.exact), overwrite=most_specific_wins)
        return result

    @cached_property
    def _index(self) -> _Index:
        distinct = self.entries.select("term", "wildcard").unique(maintain_order=True)
        distinct = distinct.with_columns(row=pl.int_range(pl.len(), dtype=pl.Int64))
        place = {category: i for i, category in enumerate(self.categories)}
        cells = self.entries.join(distinct, on=["term", "wildcard"], how="left")
        column = cells["category"].replace_strict(place, return_dtype=pl.Int64).to_numpy()
        weights = np.zeros((distinct.height, len(self.categories)), dtype=np.float64)
        weights[cells["row"].to_numpy(), column] = cells["weight"].to_numpy()
        exact = distinct.filter(~pl.col("wildcard")).select(word="term", row="row")
        prefixes = distinct.filter("wildcard").select(word="term", row="row")
        lengths = prefixes["word"].str.len_chars()
        by_length = [
            (int(length), prefixes.filter(lengths == length)) for length in lengths.unique().sort()
        ]
        return _Index(weights, exact, by_length)


def _as_frame(entries: Iterable[tuple[str, str, float]] | pl.DataFrame) -> pl.DataFrame:
    schema = {"term": pl.String, "category": pl.String, "weight": pl.Float64}
    if isinstance(entries, pl.DataFrame):
        return entries.select([pl.col(name).cast(dtype) for name, dtype in schema.items()])
    return pl.DataFrame(list(entries), schema=schema, orient="row")


def _clean(
    name: str, frame: pl.DataFrame, shortest_prefix: int | None
) -> tuple[pl.DataFrame, tuple[str, ...]]:
    remarks = []
    bad = frame.filter(pl.col("weight").is_null() | ~pl.col("weight").is_finite())
    if bad.height:
        row = bad.row(0, named=True)
        raise DialensError(
            f"lexicon {name!r}: the weight of {row['term']!r} in {row['category']!r} is "
            f"{row['weight']}; every weight must be a finite number"
        )
    frame = frame.with_columns(normalise(pl.col("term").str.strip_chars()))
    several_words = pl.col("term").str.contains(r"\s")
    dropped = frame.filter(several_words)["term"].n_unique()
    if dropped:
        remarks.append(f"{dropped} entries of several words left out (tokens are single words)")
    star = pl.lit(value=False)
    if shortest_prefix is not None:
        star = pl.col("term").str.contains(rf"^[^*]{{{max(1, shortest_prefix)},}}\*$")
    frame = (
        frame.filter(~several_words, pl.col("term") != "")
        .with_columns(wildcard=star)
        .with_columns(
            term=pl.when("wildcard").then(pl.col("term").str.head(-1)).otherwise(pl.col("term"))
        )
    )
    key = ["term", "category", "wildcard"]
    conflicts = frame.group_by(key).agg(pl.col("weight").n_unique()).filter(pl.col("weight") > 1)
    if conflicts.height:
        remarks.append(
            f"{conflicts.height} entries stood there twice with different weights "
            "(the larger magnitude was kept)"
        )
    frame = (
        frame.sort(pl.col("weight").abs(), descending=True, maintain_order=True)
        .unique(key, keep="first", maintain_order=True)
        .filter(pl.col("weight") != 0.0)
        .sort("term", "wildcard", "category")
        .select("term", "category", "weight", "wildcard")
    )
    return frame, tuple(remarks)


def _rows(words: pl.DataFrame, entries: pl.DataFrame) -> NDArray[np.int64]:
    matches = words.join(entries, on="word", how="left", maintain_order="left")["row"]
    return matches.fill_null(-1).to_numpy().astype(np.int64, copy=False)


def _apply(result: Weights, weights: Weights, rows: NDArray[np.int64], *, overwrite: bool) -> None:
    hit = rows >= 0
    if overwrite:
        result[hit] = weights[rows[hit]]
    else:
        result[hit] = np.maximum(result[hit], weights[rows[hit]])
