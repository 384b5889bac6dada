"""Engagement of a reply: what the encoder says of reactions and relevance, put together.

The card of the model says how, under ``engagement_formula``:

    {"terms": {"engagement": w, "relevance": w, "log_specificity": w},
     "center": {...}, "spread": {...}}

``engagement`` and any other task of the same folder stand for that task's logit on the pair of
context and reply, ``log_specificity`` for ln(1 + content words of the reply). Then

    z = Σ w · (x − center) / spread,    engagement = 1 / (1 + exp(−z))

Without a formula it is the probability that the engagement task gives. The context is what was said
in the last two turns before the reply, whoever spoke, oldest first, joined by a newline.

Where it is known what the speaker was given to speak from (a persona, a fact), the reply is read
twice, after the context and after that background, and the two logits of each task are averaged: a
reply can belong to what was said, to who says it, or to both.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.base import DialensError
from dialens.models._runtime import Model
from dialens.models._store import load
from dialens.text import Vocabulary, is_word, stop_words, tokenise

if TYPE_CHECKING:
    from dialens.models._huggingface import TorchModel

Floats = NDArray[np.float64]

TASK = "engagement"
FORMULA = "engagement_formula"
CONTEXT_TURNS = 2
"""How many turns before the reply make its context."""

ENGAGING = ("engaging", "relevant")
"""What the label may be called that counts."""

_SPECIFICITY = "log_specificity"
_PIECE = 60  # words of a background that leave room for a reply within what encoders read
_LARGEST = 80.0  # logits beyond this are certain in double precision


@dataclass(frozen=True)
class Formula:
    """How the parts make one number.

    Attributes:
        terms: Weight of each part; a part is a task of the model or ``log_specificity``.
        center: What is taken off each part first; 0 where not given.
        spread: What it is divided by then; 1 where not given.

    Examples:
        >>> formula = Formula({"engagement": 1.0, "log_specificity": 0.5}, {"engagement": 1.0})
        >>> parts = {"engagement": np.array([3.0]), "log_specificity": np.array([2.0])}
        >>> formula.logit(parts).tolist()
        [3.0]
    """

    terms: Mapping[str, float]
    center: Mapping[str, float] = field(default_factory=dict)
    spread: Mapping[str, float] = field(default_factory=dict)

    @classmethod
    def of(cls, facts: Mapping[str, Any], where: str) -> Formula:
        """The formula among the facts of a card; the engagement logit alone if there is none.

        Raises:
            DialensError: It lacks terms, or a number is none.
        """
        formula = facts.get(FORMULA)
        if formula is None:
            return cls({TASK: 1.0})
        try:
            parts = {
                key: {str(name): float(number) for name, number in formula.get(key, {}).items()}
                for key in ("terms", "center", "spread")
            }
        except (AttributeError, TypeError, ValueError) as error:
            raise DialensError(
                f"{where}: {FORMULA} cannot be read ({error}); it holds terms, center and spread, "
                "each with a number by name"
            ) from error
        if not parts["terms"] or 0.0 in parts["spread"].values():
            raise DialensError(f"{where}: {FORMULA} has no terms, or a spread of 0")
        return cls(**parts)

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks whose logits it reads."""
        return tuple(name for name in self.terms if name != _SPECIFICITY)

    def logit(self, parts: Mapping[str, Floats]) -> Floats:
        """Return Σ w · (x − center) / spread."""
        total = [
            weight * (parts[name] - self.center.get(name, 0.0)) / self.spread.get(name, 1.0)
            for name, weight in self.terms.items()
        ]
        result: Floats = np.sum(total, axis=0)
        return result


class EngagementScorer:
    """Scores replies in their context.

    Args:
        model: That gives the task ``engagement``; of a model without a card, the probability it
            gives is the score.
    """

    def __init__(self, model: Model | TorchModel) -> None:
        self.model = model
        self.formula = Formula({TASK: 1.0})
        if isinstance(model, Model):
            where = str(model.card.folder / "card.json")
            check_chances(model.task.activation, TASK, model.card.folder)
            self.formula = Formula.of(model.card.facts, where)
            for task in self.formula.tasks:
                if task != TASK and task not in model.card.tasks:
                    raise DialensError(
                        f"{where}: {FORMULA} names {task!r}, and the model has no such task; it "
                        f"has: {', '.join(model.card.tasks)}"
                    )
        else:
            check_chances(model.config.activation, TASK, model.folder)

    @classmethod
    def load(cls, name: str = TASK, **options: Any) -> EngagementScorer:
        """Return a scorer by the name or folder of its model; options as `dialens.models.load`."""
        return cls(load(name, **options))

    def score(
        self,
        pairs: Sequence[tuple[str, str]],
        *,
        backgrounds: Sequence[str | None] | None = None,
        advance: Callable[[int], None] | None = None,
    ) -> Floats:
        """Return the engagement of each reply, from 0 to 1.

        Args:
            pairs: Context and reply; see `context` for how a context is made.
            backgrounds: What the speaker of each reply was given to speak from, where known.
            advance: Called with the number of readings just done: pairs and `background_pairs`.
        """
        replies = [reply for _, reply in pairs]
        rows, read = background_pairs(replies, backgrounds or [None] * len(replies))
        logits = self._logits([*pairs, *read], advance)
        parts = {
            task: averaged(values[: len(pairs)], largest(values[len(pairs) :], rows, len(pairs)))
            for task, values in logits.items()
        }
        return self.combine(parts, replies)

    def _logits(
        self, pairs: Sequence[tuple[str, str]], advance: Callable[[int], None] | None
    ) -> dict[str, Floats]:
        if not isinstance(self.model, Model):
            raw = self.model.run(pairs, advance=advance)
            column = positive_label(self.model.labels, TASK, ENGAGING)
            return {TASK: margins(raw, column, self.model.config.activation)}
        tasks = {
            name: self.model.task if name == TASK else self.model.card.tasks[name]
            for name in self.formula.tasks
        }
        outputs = list(dict.fromkeys(task.output for task in tasks.values()))
        logits = self.model.run_many(pairs, outputs, advance=advance)
        return {
            name: margins(
                logits[task.output], positive_label(task.labels, name, ENGAGING), task.activation
            )
            for name, task in tasks.items()
        }

    def combine(self, logits: Mapping[str, Floats], replies: Sequence[str]) -> Floats:
        """Return the engagement of replies whose logits are known."""
        parts = dict(logits)
        if _SPECIFICITY in self.formula.terms:
            parts[_SPECIFICITY] = np.log1p(content_words(replies))
        return sigmoid(self.formula.logit(parts))


def context(before: Sequence[str]) -> str:
    r"""Return the context of a reply from the turns before it, as the model was taught to read it.

    Examples:
        >>> context(["Hi!", "Hello.", "What did you do?"])
        'Hello.\nWhat did you do?'
    """
    return "\n".join(before[-CONTEXT_TURNS:])


def background_pairs(
    replies: Sequence[str], backgrounds: Sequence[str | None]
) -> tuple[list[int], list[tuple[str, str]]]:
    """Return which reply is read after which piece of its background: rows, and pairs to read.

    Examples:
        >>> background_pairs(["Hi", "Aye"], [None, "I sail."])
        ([1], [('I sail.', 'Aye')])
    """
    read = [
        (row, (piece, reply))
        for row, (reply, background) in enumerate(zip(replies, backgrounds, strict=True))
        for piece in (pieces(background) if background else ())
    ]
    return [row for row, _ in read], [pair for _, pair in read]


def pieces(background: str, *, most: int = _PIECE) -> list[str]:
    r"""Return a background in pieces of at most so many words, whole lines as far as they fit.

    Examples:
        >>> pieces("I sail.\nI have two dogs.\nI cook.", most=6)
        ['I sail.\nI have two dogs.', 'I cook.']
    """
    chunks: list[list[str]] = []
    room = 0
    for line in background.splitlines():
        words = line.split()
        for start in range(0, len(words), most):
            part = words[start : start + most]
            if len(part) > room:
                chunks.append([])
                room = most
            chunks[-1].append(" ".join(part))
            room -= len(part)
    return ["\n".join(lines) for lines in chunks]


def largest(values: Floats, rows: Sequence[int] | NDArray[np.int64], count: int) -> Floats:
    """Return the largest value of each of so many rows; NaN for a row that has none.

    Examples:
        >>> largest(np.array([1.0, 3.0, 2.0]), [0, 2, 2], 3).tolist()
        [1.0, nan, 3.0]
    """
    result = np.full((count, *values.shape[1:]), np.nan)
    np.fmax.at(result, np.asarray(rows, dtype=np.int64), values)
    return result


def averaged(after_context: Floats, after_background: Floats) -> Floats:
    """Return the mean of two readings; the first alone where there is no second.

    Examples:
        >>> averaged(np.array([1.0, 1.0]), np.array([3.0, np.nan])).tolist()
        [2.0, 1.0]
    """
    second = np.where(np.isnan(after_background), after_context, after_background)
    result: Floats = (after_context + second) / 2
    return result


def positive_label(labels: Sequence[str], task: str, names: Sequence[str]) -> int:
    """Return the column that tells how far a text is what a task asks for.

    It is the label with one of the names, the only one, or the second of two.

    Raises:
        DialensError: None of that holds.

    Examples:
        >>> positive_label(["fine", "toxic", "spam"], "toxicity", ["toxic"])
        1
        >>> positive_label(["LABEL_0", "LABEL_1"], "toxicity", ["toxic"])
        1
    """
    for column, label in enumerate(labels):
        if label.lower() in (task, *names):
            return column
    if len(labels) <= 2:
        return len(labels) - 1
    raise DialensError(
        f"a model for {task} has the labels {', '.join(labels)}; one of them must be called "
        f"{' or '.join([task, *names])}"
    )


def check_chances(activation: str, task: str, place: object) -> None:
    """Refuse a head whose numbers are no chances, where a task is about the chance of a label.

    Raises:
        DialensError: It gives plain numbers, as a regression does.

    Examples:
        >>> check_chances("softmax", "toxicity", "my/model")
        >>> check_chances("none", "toxicity", "my/model")
        Traceback (most recent call last):
        dialens.DialensError: the model my/model cannot do toxicity: ...
    """
    if activation not in ("sigmoid", "softmax"):
        raise DialensError(
            f"the model {place} cannot do {task}: it gives plain numbers, as a regression does, "
            f"and {task} needs the probability of a label. Give a classifier"
        )


def margins(raw: NDArray[np.floating[Any]], column: int, activation: str) -> Floats:
    """Return the logit of one label: ln(p / (1 − p)), from what the graph gives.

    Examples:
        >>> margins(np.array([[1.0, 3.0]], np.float32), 1, "softmax").tolist()
        [2.0]
    """
    wide = raw.astype(np.float64)
    if activation != "softmax" or wide.shape[1] < 2:
        own: Floats = wide[:, column]
        return own
    others = np.delete(wide, column, axis=1)
    most = others.max(axis=1, keepdims=True)
    rest = most[:, 0] + np.log(np.exp(others - most).sum(axis=1))
    result: Floats = wide[:, column] - rest
    return result


def content_words(texts: Sequence[str]) -> Floats:
    """Return how many words of each text are not stop words, by the list that ships.

    Examples:
        >>> content_words(["The castle!", ""]).tolist()
        [1.0, 0.0]
    """
    tokens = pl.Series("text", texts, dtype=pl.String).to_frame().select(tokenise("text"))["text"]
    vocabulary = Vocabulary()
    word_of = vocabulary.encode(tokens.explode(empty_as_null=False))
    words = vocabulary.words()
    counts = words.to_frame().select(is_word("word")).to_series().to_numpy()
    counts = counts & (stop_words().weights(words) == 0).all(axis=1)
    row_of = np.repeat(np.arange(len(texts)), tokens.list.len().to_numpy())
    counted = np.bincount(row_of[counts[word_of]], minlength=len(texts))
    return counted.astype(np.float64)


def sigmoid(logit: Floats) -> Floats:
    """Return 1 / (1 + exp(−logit)).

    Examples:
        >>> sigmoid(np.array([0.0, -1000.0])).round(3).tolist()
        [0.5, 0.0]
    """
    result: Floats = 1 / (1 + np.exp(-np.clip(logit, -_LARGEST, _LARGEST)))
    return result
