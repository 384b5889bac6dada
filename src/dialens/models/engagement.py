"""Engagement of a reply: what the encoder says of reactions and relevance, put together.

The card of the model says how, under ``engagement_formula``:

    {"terms": {"engagement": w, "relevance": w, "log_specificity": w},
     "center": {...}, "spread": {...}}

``engagement`` and any other task of the same folder stand for that task's logit on the pair of
context and reply, ``log_specificity`` for ln(1 + content words of the reply). Then

    z = Σ w · (x − center) / spread,    engagement = 1 / (1 + exp(−z))

Without a formula it is the probability that the engagement task gives. The context is what was said
in the last two turns before the reply, whoever spoke, oldest first, joined by a newline.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.errors import DialensError
from dialens.models.runtime import Model
from dialens.models.store import load
from dialens.text import is_word, stop_words, tokenise

if TYPE_CHECKING:
    from dialens.models.huggingface import TorchModel

Floats = NDArray[np.float64]

TASK = "engagement"
FORMULA = "engagement_formula"
CONTEXT_TURNS = 2
"""How many turns before the reply make its context."""

ENGAGING = ("engaging", "relevant")
"""What the label may be called that counts."""

_SPECIFICITY = "log_specificity"
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
        given = facts.get(FORMULA)
        if given is None:
            return cls({TASK: 1.0})
        try:
            parts = {
                key: {str(name): float(number) for name, number in given.get(key, {}).items()}
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
            self.formula = Formula.of(model.card.facts, where)
            for task in self.formula.tasks:
                if task != TASK and task not in model.card.tasks:
                    raise DialensError(
                        f"{where}: {FORMULA} names {task!r}, and the model has no such task; it "
                        f"has: {', '.join(model.card.tasks)}"
                    )

    @classmethod
    def load(cls, name: str = TASK, **options: Any) -> EngagementScorer:
        """Return a scorer by the name or folder of its model; options as `dialens.models.load`."""
        return cls(load(name, **options))

    def score(
        self, pairs: Sequence[tuple[str, str]], *, advance: Callable[[int], None] | None = None
    ) -> Floats:
        """Return the engagement of each reply, from 0 to 1.

        Args:
            pairs: Context and reply; see `context` for how a context is made.
            advance: Told how many more pairs are done.
        """
        replies = [reply for _, reply in pairs]
        if not isinstance(self.model, Model):
            raw = self.model.run(pairs, advance=advance)
            column = positive_label(self.model.labels, TASK, ENGAGING)
            return self.combine({TASK: margins(raw, column, self.model.config.activation)}, replies)
        tasks = {
            name: self.model.task if name == TASK else self.model.card.tasks[name]
            for name in self.formula.tasks
        }
        outputs = list(dict.fromkeys(task.output for task in tasks.values()))
        found = self.model.run_many(pairs, outputs, advance=advance)
        logits = {
            name: margins(
                found[task.output], positive_label(task.labels, name, ENGAGING), task.activation
            )
            for name, task in tasks.items()
        }
        return self.combine(logits, replies)

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
    frame = pl.DataFrame({"text": pl.Series(texts, dtype=pl.String)}).with_row_index("row")
    tokens = frame.select("row", token=tokenise("text")).explode("token", empty_as_null=False)
    words = tokens.filter(is_word("token"))
    kept = (stop_words().weights(words["token"]) == 0).all(axis=1)
    counted = np.bincount(words["row"].to_numpy()[kept], minlength=len(texts))
    return counted.astype(np.float64)


def sigmoid(logit: Floats) -> Floats:
    """Return 1 / (1 + exp(−logit)).

    Examples:
        >>> sigmoid(np.array([0.0, -1000.0])).round(3).tolist()
        [0.5, 0.0]
    """
    result: Floats = 1 / (1 + np.exp(-np.clip(logit, -_LARGEST, _LARGEST)))
    return result
