"""Embedding metrics over vectors of words: average, extrema, greedy matching (Liu et al. 2016).

Vectors are the user's own (`--weights embedding=glove.6B.300d.txt`), or the word table of the
encoder that ships. Words are those of the package's own tokeniser, in lower
case and without punctuation; one without a vector is passed over.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import numpy as np
import polars as pl

from dialens.metrics._family import Family, NotReadyError, Output, Scorer, ScorerContext, Unit
from dialens.metrics._state import Floats
from dialens.metrics.families._overlap import Pairs
from dialens.metrics.families._vectors import FileVectors, ShippedVectors, WordVectors, check_file
from dialens.text import VERSION, is_word, tokenise

NAME = "embedding"


class EmbeddingScorer:
    """Compares replies with references by their words' vectors; the best of several references."""

    def __init__(self, vectors: WordVectors) -> None:
        self._vectors = vectors
        self._known: dict[str, Floats | None] = {}
        self.signature = f"vectors:{vectors.signature},tok:{VERSION}"

    def prepare(self, references: Iterable[str]) -> None:
        """Nothing to learn."""

    def score(
        self, units: Sequence[Unit], advance: Callable[[int], None] = lambda _: None
    ) -> Floats:
        """Average, extrema, greedy; NaN where one side has no word with a vector.

        A reply that says nothing is nothing like a reference: 0, as in the authors' code.
        """
        pairs = Pairs.of(units)
        texts = self._matrices(pairs.texts)
        averages = [None if text is None else text.mean(axis=0) for text in texts]
        extremes = [None if text is None else _extrema(text) for text in texts]
        unit_rows = [None if text is None else _normed(text) for text in texts]
        scores = np.full((len(pairs.reference), 3), -np.inf)
        both = zip(pairs.response[pairs.owner].tolist(), pairs.reference.tolist(), strict=True)
        for row, (a, b) in enumerate(both):
            first, second = unit_rows[a], unit_rows[b]
            if first is not None and second is not None:
                scores[row] = (
                    _cosine(averages[a], averages[b]),
                    _cosine(extremes[a], extremes[b]),
                    _greedy(first, second),
                )
        advance(len(units))
        best = pairs.best(scores)
        best[[not unit.response.strip() for unit in units]] = 0.0
        return np.where(np.isfinite(best), best, np.nan)

    def _matrices(self, texts: list[str]) -> list[Floats | None]:
        """The vectors of each text's words; none where there are none."""
        column = pl.DataFrame({"text": pl.Series(texts, dtype=pl.String)})
        words = column.select(tokenise("text").list.filter(is_word(pl.element())))["text"]
        fresh = [
            word
            for word in words.explode(empty_as_null=False).unique(maintain_order=True).to_list()
            if word not in self._known
        ]
        if fresh:
            self._known |= zip(fresh, self._vectors.rows(fresh), strict=True)
        tables = []
        for some in words.to_list():
            rows = [row for row in map(self._known.__getitem__, some) if row is not None]
            tables.append(np.stack(rows) if rows else None)
        return tables


def _extrema(words: Floats) -> Floats:
    """In each dimension the number farthest from 0, the positive of two (Forgues et al. 2014)."""
    high, low = words.max(axis=0), words.min(axis=0)
    farthest: Floats = np.where(high >= -low, high, low)
    return farthest


def _normed(rows: Floats) -> Floats:
    lengths = np.linalg.norm(rows, axis=-1, keepdims=True)
    normed: Floats = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return normed


def _cosine(a: Floats | None, b: Floats | None) -> float:
    assert a is not None
    assert b is not None
    length = float(np.linalg.norm(a) * np.linalg.norm(b))
    return float(np.clip(a @ b / length, -1.0, 1.0)) if length else 0.0


def _greedy(a: Floats, b: Floats) -> float:
    """Each word's best match on the other side, averaged; the mean of both directions."""
    alike = np.clip(a @ b.T, -1.0, 1.0)
    return float(alike.max(axis=1).mean() + alike.max(axis=0).mean()) / 2


def _open(context: ScorerContext) -> Scorer:
    place = context.weights.get(NAME)
    vectors: WordVectors = ShippedVectors() if place is None else FileVectors(Path(place))
    return EmbeddingScorer(vectors)


def _ready(context: ScorerContext) -> str | None:
    place = context.weights.get(NAME)
    if place is not None:
        try:
            check_file(Path(place))
        except NotReadyError as error:
            return str(error)
    return None


FAMILY = Family(
    name="embedding",
    label="Embeddings of words",
    outputs=(
        Output(
            "embedding_average", "Cosine of the mean vectors of reply and reference", (-1.0, 1.0)
        ),
        Output(
            "embedding_extrema",
            "Cosine of the most extreme values of reply and reference in each dimension",
            (-1.0, 1.0),
        ),
        Output(
            "embedding_greedy",
            "How near the nearest word on the other side is, on average over both sides",
            (-1.0, 1.0),
        ),
    ),
    open=_open,
    ready=_ready,
    needs=("reference",),
    weights={
        NAME: "a text file of word vectors (GloVe, word2vec, fastText); "
        "the word table of the encoder that ships where none is given"
    },
    citation="Liu et al. 2016, doi:10.18653/v1/D16-1230",
    # 1 averaged padding into words, 2 took unknown words for one and the same, 3 left out replies
    # that say nothing
    version=4,
    scores_silence=True,
    reads=("reference",),
    cached=False,
)


PLACE = 120
METRICS = (FAMILY,)
