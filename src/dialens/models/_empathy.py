"""Empathy of a reply: does it meet the feeling in what was said with warmth, and does it belong?

A reply is read sentence by sentence, because one warm sentence among advice is what people notice:

    u = warm / spread + phrases / spread − misfit,
    empathy = sigmoid(largest u + weight · reactions)

``warm`` is the logit that the encoder gives to a sentence, ``phrases`` that of a linear model over
its n-grams (`Phrases`), each divided by its spread over what both learned from. ``misfit`` is taken
off where somebody celebrates bad news or consoles over good news: what the sentence does, and how
the turn that it answers stands, are further labels of the same task. ``reactions`` is the logit
that the reply, after its context, is one that people react to, by the same folder's task
``engagement``: words beside the point comfort nobody.

The card of the model says how, under ``empathy_formula``. A model without it (a user's own) gives
the probability of its warmest sentence.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dialens.base import DialensError
from dialens.models._card import ModelCard, check_file
from dialens.models._engagement import (
    ENGAGING,
    check_chances,
    context,
    largest,
    margins,
    positive_label,
    sigmoid,
)
from dialens.models._engagement import TASK as ENGAGEMENT
from dialens.models._huggingface import TorchModel
from dialens.models._phrases import IGNORED, Phrases
from dialens.models._runtime import Model
from dialens.models._store import load
from dialens.text import LONGEST_NGRAM, tokenise_texts

Floats = NDArray[np.float64]

EMPATHY = "empathy"
EMPATHY_FORMULA = "empathy_formula"
WARM = ("warm", "empathic")
"""What the label may be called that the task is about."""

PHRASES_FILE = "empathy.npz"
_CELEBRATES, _CONSOLES, _BAD, _GOOD = "celebrates", "consoles", "bad", "good"
_MOST_SENTENCES = 40
_END = re.compile(r"(?<=[.!?…])[\"')\]”’]*\s+|\n+")


@dataclass(frozen=True)
class EmpathyFormula:
    """How the parts are put together.

    Attributes:
        warm: Spread of the encoder's logit.
        phrases: Spread of the n-grams' logit.
        celebrating: What celebrating bad news takes off.
        consoling: What consoling over good news takes off.
        reactions: Weight of the logit of reactions.
    """

    warm: float
    phrases: float
    celebrating: float
    consoling: float
    reactions: float

    @classmethod
    def of(cls, card: ModelCard) -> EmpathyFormula | None:
        """Return the formula of a card, None where it has none.

        Raises:
            DialensError: It lacks a number, or one cannot be used.
        """
        raw = card.facts.get(EMPATHY_FORMULA)
        if raw is None:
            return None
        try:
            formula = cls(**{one.name: float(raw[one.name]) for one in fields(cls)})
        except (KeyError, TypeError, ValueError) as error:
            raise DialensError(
                f"{card.folder / 'card.json'}: {EMPATHY_FORMULA} cannot be read ({error!r}); it "
                f"has the numbers {', '.join(one.name for one in fields(cls))}"
            ) from error
        if formula.warm <= 0 or formula.phrases <= 0:
            raise DialensError(
                f"{card.folder / 'card.json'}: {EMPATHY_FORMULA} has a spread of 0 or less"
            )
        return formula


def ngrams(texts: Sequence[str]) -> list[list[str]]:
    """Return the n-grams of one to three words of each text, each once, in order.

    Examples:
        >>> ngrams(["So, so sorry."])
        [['so', 'sorry', 'so so', 'so sorry', 'so so sorry']]
    """
    return [
        list(
            dict.fromkeys(
                " ".join(words[start : start + size])
                for size in range(1, LONGEST_NGRAM + 1)
                for start in range(len(words) - size + 1)
            )
        )
        for words in _words(texts)
    ]


def _words(texts: Sequence[str]) -> list[list[str]]:
    return [[token for token in tokens if token not in IGNORED] for tokens in tokenise_texts(texts)]


def sentences(text: str) -> list[str]:
    """Return the first forty sentences of a text; the text itself where there is no end of one.

    Examples:
        >>> sentences('I am sorry. "Really?" Take care!')
        ['I am sorry.', '"Really?', 'Take care!']
        >>> sentences("hugs")
        ['hugs']
    """
    parts = [part for part in _END.split(text.strip()) if part.strip()]
    return parts[:_MOST_SENTENCES] or [text]


def answered(before: Sequence[str]) -> str:
    """Return the last turn that says something: the one that a reply answers.

    Examples:
        >>> answered(["My dog died.", " "])
        'My dog died.'
    """
    return next((turn for turn in reversed(before) if turn.strip()), "")


@dataclass(frozen=True)
class EmpathyInputs:
    """What is read of some replies: sentences, the turns they answer, and pairs; each once.

    Attributes:
        texts: Sentences and answered turns.
        pairs: Context and reply.
        sentence_rows: For each sentence of each reply, its place among the texts.
        reply_of: For each sentence, which reply it is of.
        answered_rows: For each reply, the place of the turn that it answers.
    """

    texts: list[str]
    pairs: list[tuple[str, str]]
    sentence_rows: NDArray[np.int64]
    reply_of: NDArray[np.int64]
    answered_rows: NDArray[np.int64]

    @classmethod
    def of(cls, replies: Sequence[tuple[Sequence[str], str]]) -> EmpathyInputs:
        """Gather what is to be read; each reply comes with the turns before it."""
        places: dict[str, int] = {}
        sentence_rows, reply_of, answered_rows = [], [], []
        for row, (before, reply) in enumerate(replies):
            for sentence in sentences(reply):
                sentence_rows.append(places.setdefault(sentence, len(places)))
                reply_of.append(row)
            answered_rows.append(places.setdefault(answered(before), len(places)))
        return cls(
            list(places),
            [(context(before), reply) for before, reply in replies],
            np.array(sentence_rows, np.int64),
            np.array(reply_of, np.int64),
            np.array(answered_rows, np.int64),
        )


class EmpathyScorer:
    """Scores replies in their context.

    Args:
        model: That gives the task ``empathy``.
    """

    def __init__(self, model: Model | TorchModel) -> None:
        self.model = model
        self.formula: EmpathyFormula | None = None
        self._phrases: Phrases | None = None
        if not isinstance(model, Model):
            check_chances(model.config.activation, EMPATHY, model.folder)
            self._column = positive_label(model.labels, EMPATHY, WARM)
            return
        check_chances(model.task.activation, EMPATHY, model.card.folder)
        self._column = positive_label(model.labels, EMPATHY, WARM)
        self.formula = EmpathyFormula.of(model.card)
        if self.formula is None:
            return
        parts = (_CELEBRATES, _CONSOLES, _BAD, _GOOD)
        lacking = [one for one in parts if one not in model.labels]
        files = [one for one in (PHRASES_FILE,) if one not in model.card.files]
        tasks = [one for one in (ENGAGEMENT,) if one not in model.card.tasks]
        if lacking or files or tasks:
            raise DialensError(
                f"{model.card.folder / 'card.json'}: {EMPATHY_FORMULA} needs "
                f"{', '.join([*lacking, *files, *tasks])}, which the model does not have"
            )

    @classmethod
    def load(cls, name: str = EMPATHY, **options: Any) -> EmpathyScorer:
        """Return a scorer by the name or folder of its model; options as `dialens.models.load`."""
        return cls(load(name, **options))

    @property
    def signature(self) -> str:
        """What the score depends on beside the encoder's weights; empty without a formula."""
        if self.formula is None or not isinstance(self.model, Model):
            return ""
        card = self.model.card
        # The weights, which are the same in every arithmetic; that is named beside them.
        parts = [card.files[name] for name in (PHRASES_FILE, card.graphs["int8"])]
        made = hashlib.sha256(f"{self.formula}{parts}".encode()).hexdigest()
        return f"formula@{made[:8]}"

    def score(
        self,
        replies: Sequence[tuple[str | Sequence[str], str]],
        *,
        advance: Callable[[int], None] | None = None,
    ) -> Floats:
        """Return the empathy of each reply, from 0 to 1.

        Args:
            replies: What was said before, as a turn or a list of turns, and the reply.
            advance: Called with the number of readings just done.
        """
        turns = [([said] if isinstance(said, str) else said, reply) for said, reply in replies]
        inputs = EmpathyInputs.of(turns)
        if not isinstance(self.model, Model):
            return self.combine(inputs, self.model.run(inputs.texts, advance=advance), None)
        texts = self.model.run(inputs.texts, self.model.task.output, advance=advance)
        reactions = None
        if self.formula is not None:
            task = self.model.card.tasks[ENGAGEMENT]
            raw = self.model.run(inputs.pairs, task.output, advance=advance)
            column = positive_label(task.labels, ENGAGEMENT, ENGAGING)
            reactions = margins(raw, column, task.activation)
        return self.combine(inputs, texts, reactions)

    def combine(
        self, inputs: EmpathyInputs, texts: NDArray[Any], reactions: Floats | None
    ) -> Floats:
        """Return the empathy of replies whose logits are known; NaN where none of them is.

        Args:
            inputs: What was read.
            texts: The logits of the task's labels, a row a text.
            reactions: The logit of reactions to each reply; only read where there is a formula.
        """
        raw = np.asarray(texts, dtype=np.float64)
        activation = (
            self.model.task.activation
            if isinstance(self.model, Model)
            else self.model.config.activation
        )
        warm = margins(raw, self._column, activation)
        count = len(inputs.answered_rows)
        if self.formula is None or reactions is None:
            return sigmoid(largest(warm[inputs.sentence_rows], inputs.reply_of, count))
        said, sentence = np.unique(inputs.sentence_rows, return_inverse=True)
        phrases = self._read_phrases().logits([inputs.texts[row] for row in said.tolist()])
        each = warm[inputs.sentence_rows] / self.formula.warm
        each = each + phrases[sentence] / self.formula.phrases
        celebrates, consoles, bad, good = (
            sigmoid(raw[:, self.model.labels.index(name)])
            for name in (_CELEBRATES, _CONSOLES, _BAD, _GOOD)
        )
        # A turn of which no word is known stands neither well nor badly.
        worse = np.nan_to_num(bad * (1 - good))[inputs.answered_rows][inputs.reply_of]
        better = np.nan_to_num(good * (1 - bad))[inputs.answered_rows][inputs.reply_of]
        each = each - self.formula.celebrating * celebrates[inputs.sentence_rows] * worse
        each = each - self.formula.consoling * consoles[inputs.sentence_rows] * better
        best = largest(each, inputs.reply_of, count)
        return sigmoid(best + self.formula.reactions * reactions)

    def _read_phrases(self) -> Phrases:
        if self._phrases is None:
            assert isinstance(self.model, Model)
            file = self.model.card.folder / PHRASES_FILE
            check_file(file, self.model.card.files[PHRASES_FILE])
            self._phrases = Phrases.load(file)
        return self._phrases
