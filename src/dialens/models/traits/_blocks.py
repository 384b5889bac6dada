"""Features of labelled texts in blocks: what the training people define is learnt from them alone.

Every block holds its features twice: of the units a model is fitted on (pooled people, or texts)
and of single texts, which are scored too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from dialens.base import DialensError
from dialens.models.topics import TopicTable, count_matrix, ngrams
from dialens.models.traits._labels import Labelled, Rows
from dialens.models.traits._model import standardise, tfidf
from dialens.models.traits._ridge import Features, Vector

_NO_SPREAD = 1e-9


@dataclass(frozen=True, eq=False)
class NgramBlock:
    """Counts of n-grams; which are known, and their idf, depends on the training people."""

    terms: pl.Series
    units: sparse.csr_array
    texts: sparse.csr_array
    unit_person: Rows
    min_persons: int

    def learn(self, train: Rows) -> tuple[Rows, Vector]:
        """Return the columns used by enough training people, and their idf over units."""
        counts = self.units[train]
        present = counts.copy()
        present.data = np.ones_like(present.data)
        _, person = np.unique(self.unit_person[train], return_inverse=True)
        pool = sparse.csr_array(
            (np.ones(len(person)), (person, np.arange(len(person)))),
            shape=(int(person.max()) + 1, len(person)),
        )
        people = np.bincount((pool @ present).indices, minlength=len(self.terms))
        columns = np.flatnonzero(people >= self.min_persons)
        frequency = np.bincount(counts.indices, minlength=len(self.terms))[columns]
        return columns, np.log(len(train) / np.maximum(frequency, 1)) + 1.0

    def features(self, train: Rows) -> tuple[Features, Features]:
        """Return the features of all units and all texts as the training people define them."""
        columns, idf = self.learn(train)
        return tfidf(self.units[:, columns], idf), tfidf(self.texts[:, columns], idf)


@dataclass(frozen=True, eq=False)
class DenseBlock:
    """Features that are there already (topic loadings, embeddings), standardised in training.

    Standardising lets a rare topic count as much as a common one. NaN rows become the mean.
    """

    units: NDArray[np.float64]
    texts: NDArray[np.float64]

    def learn(self, train: Rows) -> tuple[Vector, Vector]:
        """Return mean and standard deviation over training units that have the features."""
        rows = self.units[train]
        known = rows[~np.isnan(rows[:, 0])]
        if not len(known):
            return np.zeros(rows.shape[1]), np.ones(rows.shape[1])
        spread = known.std(axis=0)
        return known.mean(axis=0), np.where(spread > _NO_SPREAD, spread, np.inf)

    def features(self, train: Rows) -> tuple[Features, Features]:
        """Return the features of all units and all texts."""
        mean, spread = self.learn(train)
        return standardise(self.units, mean, spread), standardise(self.texts, mean, spread)


Block = NgramBlock | DenseBlock


def known_rows(features: Features) -> NDArray[np.bool_]:
    """Tell which rows have any known feature; a row without one has no prediction."""
    if isinstance(features, sparse.csr_array):
        return np.diff(features.indptr) > 0
    return np.ones(features.shape[0], dtype=np.bool_)


def make_blocks(
    data: Labelled,
    tokens: pl.Series,
    features: Sequence[str],
    table: TopicTable | None,
    longest: int,
    min_persons: int,
) -> list[Block]:
    """Count n-grams and topic words once, for all folds.

    Raises:
        DialensError: No n-gram is used by enough people.
    """
    blocks: list[Block] = []
    if "ngrams" in features:
        counts = ngrams(tokens, longest)
        person = pl.Series("person", data.text_person)
        used = counts.with_columns(person=person.gather(counts["row"])).group_by("term")
        terms = used.agg(n=pl.col("person").n_unique()).filter(pl.col("n") >= min_persons)
        if not terms.height:
            raise DialensError(
                f"no word is used by {min_persons} people or more; give more texts or lower "
                "min_persons"
            )
        texts = count_matrix(counts, terms["term"].sort(), len(tokens))
        blocks.append(
            NgramBlock(
                terms["term"].sort(),
                data.pool(texts),
                texts,
                data.unit_person,
                min_persons,
            )
        )
    if table is not None:
        words = table.counts(tokens)
        blocks.append(
            DenseBlock(table.loadings_of_counts(data.pool(words)), table.loadings_of_counts(words))
        )
    return blocks
