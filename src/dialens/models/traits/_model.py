"""A trait model as it ships: n-grams with weights, topic weights, an intercept. No training code.

The score of a text is

    intercept + Σ_ngram x(ngram) · w(ngram) + Σ_topic z(topic) · v(topic)

with x the usual tf–idf, (1 + ln count) · idf scaled to unit length over the n-grams the model
knows, and z the topic loading p(topic | text), standardised by the training people and cut at ±3:
a turn of three words puts all its weight on a topic or two, far outside of what was trained. A
text with no known n-gram (or, for a model of topics alone, no known topic word) has no score: NaN,
which callers turn into a counted missing value. Where only the topics are unknown, the average
person's topics stand in.
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import sparse

from dialens.base import DialensError, atomic_file, did_you_mean, sha256_file
from dialens.models import topics as topic_tables
from dialens.models._card import check_trait_card
from dialens.models._places import GET_TRAITS, has_trait_models, shipped_folder, shipped_places
from dialens.models.topics import (
    CARD_FILE,
    Texts,
    TopicTable,
    as_tokens,
    checked_card,
    count_matrix,
    ngrams,
    scale_rows,
)
from dialens.text import VERSION as TOKENISER

MODEL_FILE = "model.npz"
_NUMBERS = ("idf", "coefficients", "topic_coefficients", "topic_mean", "topic_spread")
_FARTHEST = 3.0  # standard deviations
Vector = NDArray[np.float64]


def tfidf(counts: sparse.csr_array, idf: Vector) -> sparse.csr_array:
    """Return (1 + ln count) · idf with rows of unit length; an empty row stays empty.

    Examples:
        >>> tfidf(sparse.csr_array([[1.0, 1.0], [0.0, 0.0]]), np.array([3.0, 4.0])).toarray()
        array([[0.6, 0.8],
               [0. , 0. ]])
    """
    data = (1.0 + np.log(counts.data)) * idf[counts.indices]
    raw = sparse.csr_array((data, counts.indices, counts.indptr), shape=counts.shape)
    length = np.sqrt(np.asarray(raw.multiply(raw).sum(axis=1)).ravel())
    return scale_rows(raw, np.divide(1.0, length, out=np.zeros_like(length), where=length > 0))


def standardise(values: NDArray[np.float64], mean: Vector, spread: Vector) -> NDArray[np.float64]:
    """Return z-scores cut at ±3; NaN (nothing known) becomes 0, the average person.

    Examples:
        >>> standardise(np.array([[1.0], [9.0], [np.nan]]), np.zeros(1), np.ones(1)).tolist()
        [[1.0], [3.0], [0.0]]
    """
    return np.nan_to_num(np.clip((values - mean) / spread, -_FARTHEST, _FARTHEST), nan=0.0)


@dataclass(frozen=True, eq=False)
class TraitModel:
    """A linear model from text to a trait.

    Attributes:
        target: Name of the trait.
        terms: Known n-grams (empty for a model of topics alone).
        idf: Their inverse document frequencies.
        coefficients: Their weights.
        longest: Length of the longest n-gram.
        topic_coefficients: Weights of the topics (empty: the model uses none).
        topic_mean: Mean loadings of the training people.
        topic_spread: Their standard deviations.
        intercept: Prediction for a text whose features are all zero.
        topics: The topic table, if the model uses one.
        card: What is known about the model; empty before it is saved.
    """

    target: str
    terms: pl.Series = field(repr=False)
    idf: Vector = field(repr=False)
    coefficients: Vector = field(repr=False)
    longest: int
    topic_coefficients: Vector = field(repr=False)
    topic_mean: Vector = field(repr=False)
    topic_spread: Vector = field(repr=False)
    intercept: float
    topics: TopicTable | None = field(default=None, repr=False)
    card: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def uses_topics(self) -> bool:
        """Whether any topic has a weight."""
        return len(self.topic_coefficients) > 0

    def predict(self, texts: Texts) -> Vector:
        """Return the score of each text; NaN where the model knows nothing of the text.

        Args:
            texts: Strings or lists of tokens. To score a person or an agent, join all their
                texts: the models are fitted on pooled text, and a single turn is a weak sample.

        Examples:
            >>> model = TraitModel(
            ...     "warmth",
            ...     pl.Series(["thank you"]),
            ...     np.ones(1),
            ...     np.array([0.5]),
            ...     2,
            ...     np.zeros(0),
            ...     np.zeros(0),
            ...     np.zeros(0),
            ...     3.0,
            ... )
            >>> model.predict(["Thank you!", "No."]).tolist()
            [3.5, nan]
        """
        tokens = as_tokens(texts)
        score = np.full(len(tokens), self.intercept)
        known = np.zeros(len(tokens), dtype=np.bool_)
        if len(self.terms):
            counts = count_matrix(ngrams(tokens, self.longest), self.terms, len(tokens))
            score += tfidf(counts, self.idf) @ self.coefficients
            known = np.diff(counts.indptr) > 0
        if self.uses_topics:
            if self.topics is None:
                raise DialensError(
                    f"the trait model {self.target!r} needs its topic table; load it with "
                    "traits.load(..., topics=TABLE)"
                )
            loadings = self.topics.loadings(tokens)
            standard = standardise(loadings, self.topic_mean, self.topic_spread)
            score += standard @ self.topic_coefficients
            if not len(self.terms):
                known = ~np.isnan(loadings[:, 0])
        score[~known] = np.nan
        return score

    def strongest(self, n: int = 20) -> pl.DataFrame:
        """Return the n-grams with the largest weights either way: ``term, coefficient``."""
        order = np.argsort(-np.abs(self.coefficients), kind="stable")[:n]
        return pl.DataFrame(
            {"term": self.terms.gather(order), "coefficient": self.coefficients[order]}
        ).sort("coefficient", descending=True)


def save(model: TraitModel, folder: Path, *, card: Mapping[str, Any] | None = None) -> None:
    """Write a model: ``model.npz`` and ``card.json`` with its hash.

    Args:
        model: The model. Its topic table is named by hash, not copied: it may not be yours.
        folder: Where to write.
        card: What the card should say besides name and hash (data, licence, metrics, limits).

    Examples:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> model = TraitModel(
        ...     "warmth",
        ...     pl.Series(["thanks"]),
        ...     np.ones(1),
        ...     np.array([0.5]),
        ...     1,
        ...     np.zeros(0),
        ...     np.zeros(0),
        ...     np.zeros(0),
        ...     3.0,
        ... )
        >>> save(model, folder)
        >>> load(folder).predict(["thanks"]).tolist()
        [3.5]
    """
    with atomic_file(folder / MODEL_FILE) as scratch, scratch.open("wb") as file:
        np.savez_compressed(
            file,
            terms=np.frombuffer("\n".join(model.terms).encode(), dtype=np.uint8),
            idf=model.idf.astype(np.float32),
            coefficients=model.coefficients.astype(np.float32),
            topic_coefficients=model.topic_coefficients.astype(np.float32),
            topic_mean=model.topic_mean.astype(np.float32),
            topic_spread=model.topic_spread.astype(np.float32),
            intercept=np.array(model.intercept),
        )
    content: dict[str, Any] = {"name": f"traits_{model.target}", "task": "regression"}
    content.update(card or {})
    content["target"] = model.target
    content["longest_ngram"] = model.longest
    content["tokeniser"] = TOKENISER
    content["topics_sha256"] = model.topics.sha256 if model.topics and model.uses_topics else None
    content["files"] = {MODEL_FILE: sha256_file(folder / MODEL_FILE)}
    with atomic_file(folder / CARD_FILE) as scratch:
        scratch.write_bytes(msgspec.json.format(msgspec.json.encode(content), indent=2) + b"\n")


def load(path: str | Path, *, topics: TopicTable | None = None) -> TraitModel:
    """Load a model.

    Args:
        path: A folder written by :func:`save`, or the name of a model that is installed
            (``state_empathy``; write ``./state_empathy`` for a folder of that name). Most are in
            the package ``dialens-traits``, for research only.
        topics: The topic table the model was fitted with; by default the file that the card names,
            or the table that ships.

    Raises:
        DialensError: There is no such model, it is damaged, or it needs another topic table.

    Examples:
        >>> np.isnan(load("state_empathy").predict(["I love to help.", "Qzx"])).tolist()
        [False, True]
    """
    folder = Path(path)
    names = shipped()
    if isinstance(path, str) and path in names:
        folder = shipped_folder(f"traits_{path}") or folder
    if not folder.is_dir():
        others = "" if has_trait_models() else f" Others, for research only: {GET_TRAITS}."
        raise DialensError(
            f"there is no trait model {str(path)!r}: neither a folder nor one of "
            f"{', '.join(names)}.{others} {did_you_mean(str(path), names)}".rstrip()
        )
    file = folder / MODEL_FILE
    card = checked_card(folder, file)
    check_trait_card(card, folder / CARD_FILE)
    if card.get("tokeniser") != TOKENISER:
        raise DialensError(
            f"{folder}: the model was fitted on tokens of {card.get('tokeniser')!r}, this version "
            f"has {TOKENISER!r}; fit it again with `dialens traits fit`"
        )
    try:
        with np.load(io.BytesIO(file.read_bytes())) as stored:
            joined = stored["terms"].tobytes().decode()
            numbers = {name: stored[name].astype(np.float64) for name in _NUMBERS}
            intercept = float(stored["intercept"])
    except (KeyError, ValueError, zipfile.BadZipFile) as error:
        raise DialensError(f"{file} is not a trait model ({error})") from error
    return TraitModel(
        target=card["target"],
        terms=pl.Series("term", joined.split("\n") if joined else [], dtype=pl.String),
        longest=card["longest_ngram"],
        intercept=intercept,
        topics=_fitting_table(folder, card, topics),
        card=card,
        **numbers,
    )


def mark_of(model: TraitModel) -> str:
    """Name and hash of a model that was loaded, as signatures hold them.

    Examples:
        >>> mark_of(load("state_empathy")).partition("@")[0]
        'traits_state_empathy'
    """
    return f"{model.card['name']}@{model.card['files'][MODEL_FILE][:8]}"


def shipped() -> list[str]:
    """Return the names of the trait models that are installed, with dialens or beside it.

    Examples:
        >>> "state_empathy" in shipped()
        True
    """
    cards = (card for place in shipped_places() for card in place.glob(f"traits_*/{CARD_FILE}"))
    return sorted({card.parent.name[len("traits_") :] for card in cards})


def _fitting_table(
    folder: Path, card: Mapping[str, Any], topics: TopicTable | None
) -> TopicTable | None:
    wanted = card.get("topics_sha256")
    if wanted is None:
        return None
    table = topics or topic_tables.load(card.get("topics_file"))
    if table.sha256 != wanted:
        raise DialensError(
            f"{folder}: the model was fitted with another topic table (hash {wanted[:12]}…) than "
            f"{table.name!r} ({table.sha256[:12]}…); pass the right one as topics=…"
        )
    return table
