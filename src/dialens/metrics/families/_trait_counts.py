"""Trait models over counted words: n-grams and topics of a batch, for all models in one go.

Words are numbered by the models' own vocabulary, n-grams of up to three become one integer each,
and a sorted search finds those that a model knows. A turn's counts add up to its dialogue's, so a
dialogue is scored from the text of all its turns, though n-grams never cross turns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from dialens.base import DialensError
from dialens.metrics._batch import Ints, TurnBatch
from dialens.metrics._state import Floats
from dialens.models.topics import TopicTable
from dialens.models.traits import TraitModel, standardise, tfidf
from dialens.text import LONGEST_NGRAM, NGRAM_BITS, known_ngrams, ngram_keys

_ROWS = 256  # units whose topics are dense at a time: they stay in the cache


@dataclass(frozen=True, eq=False)
class Counts:
    """How often each known n-gram and each topic word occurs, a row a unit."""

    ngrams: Mapping[int, sparse.csr_array]
    topics: sparse.csr_array | None

    def pooled(self, member: sparse.csr_array) -> "Counts":
        """The counts of larger units, `member` saying which rows each has."""
        return Counts(
            {key: sparse.csr_array(member @ counts) for key, counts in self.ngrams.items()},
            None if self.topics is None else sparse.csr_array(member @ self.topics),
        )


class TraitScorer:
    """Scores units on several traits from the same counts.

    Models that share their n-grams and idf (as those fitted on the same people do) share the
    work.

    Args:
        models: By trait.
    """

    def __init__(self, models: Mapping[str, TraitModel]) -> None:
        self.traits = tuple(models)
        self._models = tuple(models.values())
        check_together(self._models)
        self._shared: list[list[int]] = []
        for number, model in enumerate(self._models):
            if not len(model.terms):
                continue
            for group in self._shared:
                if _alike(self._models[group[0]], model):
                    group.append(number)
                    break
            else:
                self._shared.append([number])
        terms = [self._models[group[0]].terms for group in self._shared]
        self._table = next((m.topics for m in self._models if m.uses_topics), None)
        words = [series.str.split(" ").explode() for series in terms]
        topic_words = [] if self._table is None else [self._table.terms]
        none = pl.Series(dtype=pl.String)
        every = pl.concat([none, *words, *topic_words]).unique().sort()
        self._words = every.alias("word").to_frame().with_row_index("number", offset=1)
        self._keys = [self._index(series) for series in terms]
        self._topic_column = np.full(len(every) + 1, -1, np.int64)
        if self._table is not None:
            place = self._numbers(self._table.terms)
            self._topic_column[place] = np.arange(len(place))

    def _numbers(self, words: pl.Series) -> Ints:
        """The number of each word in the models' vocabulary; 0 for one that no model knows."""
        numbers = (
            words.alias("word")
            .to_frame()
            .join(self._words, on="word", how="left", maintain_order="left")
        )
        return numbers["number"].fill_null(0).to_numpy().astype(np.int64)

    def _index(self, terms: pl.Series) -> tuple[Ints, Ints]:
        """The n-grams of a model as sorted numbers, and the column of each."""
        parts = terms.str.split(" ").list.to_struct(fields=["a", "b", "c"]).struct.unnest()
        keys = np.zeros(len(terms), np.int64)
        for place, name in enumerate(parts.columns):
            numbers = self._numbers(parts[name].fill_null(""))
            keys |= np.where(parts[name].is_null().to_numpy(), 0, numbers) << (NGRAM_BITS * place)
        order = np.argsort(keys)
        return keys[order], order

    def word_numbers(self, words: pl.Series) -> Floats:
        """What a run's table of words holds for each: its number here."""
        return self._numbers(words)[:, None].astype(np.float64)

    def counts(self, batch: TurnBatch, rows: Ints) -> Counts:
        """Counts of some turns of a batch."""
        words = batch.words  # encoded before their table is asked for
        table = batch.known.table_of(self.word_numbers).matrix()
        lengths = np.diff(batch.offsets)[rows]
        unit = np.repeat(np.arange(len(rows)), lengths)
        place = np.repeat(batch.offsets[rows] - np.cumsum(lengths) + lengths, lengths)
        numbers = table[words[place + np.arange(len(unit))], 0].astype(np.int64)
        keys, units = ngram_keys(numbers, unit)
        ngrams = {}
        for group, (vocabulary, columns) in zip(self._shared, self._keys, strict=True):
            of, place = known_ngrams(keys, units, vocabulary)
            ngrams[group[0]] = _counted(of, columns[place], len(rows), len(vocabulary))
        topics = None
        if self._table is not None:
            column = self._topic_column[numbers]
            in_table = column >= 0
            topics = _counted(unit[in_table], column[in_table], len(rows), len(self._table.terms))
        return Counts(ngrams, topics)

    def scores(self, counts: Counts) -> Floats:
        """One row a unit, one column a trait; NaN where a model knows nothing of the words."""
        height = next(iter(counts.ngrams.values()), counts.topics).shape[0]  # type: ignore[union-attr]
        values = np.empty((height, len(self._models)))
        defined = np.zeros(values.shape, np.bool_)
        values[:] = [model.intercept for model in self._models]
        for group in self._shared:
            ngrams = counts.ngrams[group[0]]
            weights = np.column_stack([self._models[n].coefficients for n in group])
            values[:, group] += tfidf(ngrams, self._models[group[0]].idf) @ weights
            defined[:, group] = (np.diff(ngrams.indptr) > 0)[:, None]
        if self._table is not None:
            assert counts.topics is not None
            for start in range(0, height, _ROWS):
                rows = slice(start, start + _ROWS)
                self._add_topics(self._table, counts.topics[rows], values[rows], defined[rows])
        return np.where(defined, values, np.nan)

    def _add_topics(
        self,
        table: TopicTable,
        counts: sparse.csr_array,
        values: Floats,
        defined: NDArray[np.bool_],
    ) -> None:
        loadings = table.loadings_of_counts(counts)
        for number, model in enumerate(self._models):
            if not model.uses_topics:
                continue
            standard = standardise(loadings, model.topic_mean, model.topic_spread)
            values[:, number] += standard @ model.topic_coefficients
            if not len(model.terms):
                defined[:, number] = ~np.isnan(loadings[:, 0])


def _alike(first: TraitModel, other: TraitModel) -> bool:
    same_length = len(first.terms) == len(other.terms)
    return same_length and np.array_equal(first.idf, other.idf) and first.terms.equals(other.terms)


def check_together(models: Sequence[TraitModel]) -> None:
    """Refuse models that cannot be scored from the same counts.

    Raises:
        DialensError: One has too long n-grams, or needs another topic table.
    """
    table = next((model.topics for model in models if model.uses_topics), None)
    for model in models:
        if model.longest > LONGEST_NGRAM:
            raise DialensError(
                f"the trait model {model.target!r} has n-grams of {model.longest} words; "
                f"scoring takes up to {LONGEST_NGRAM}. Fit it again with shorter ones."
            )
        if not model.uses_topics or model.topics is table:
            continue
        if model.topics is None or table is None or model.topics.sha256 != table.sha256:
            raise DialensError(
                f"the trait model {model.target!r} needs another topic table than the others of "
                "this run. Score it by itself, with --metrics."
            )


def _counted(units: Ints, columns: Ints, height: int, width: int) -> sparse.csr_array:
    ones: NDArray[np.float64] = np.ones(len(units))
    counts = sparse.csr_array((ones, (units, columns)), shape=(height, width))
    counts.sum_duplicates()
    return counts


def members(groups: Sequence[int] | Ints, count: int) -> sparse.csr_array:
    """The matrix that adds rows up by group.

    Examples:
        >>> members([0, 0, 1], 2).toarray().tolist()
        [[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
    """
    width = len(groups)
    return sparse.csr_array(
        (np.ones(width), (np.asarray(groups), np.arange(width))), shape=(count, width)
    )
