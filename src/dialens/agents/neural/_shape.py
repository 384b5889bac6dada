"""How large a network is, and how long it learns: what a folder's configuration says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any, Final

from dialens.base import DialensError, did_you_mean

KINDS: Final = ("seq2seq", "hred", "thred")
"""The networks that can be trained."""

PAD, UNKNOWN, BEGIN, END, TURN = range(5)
SPECIAL: Final = ("<pad>", "<unk>", "<s>", "</s>", "<turn>")
"""Subwords that are no text, at the head of every vocabulary: padding, unknown, where a reply
begins and ends, where a turn of the context ends."""


@dataclass(frozen=True)
class Shape:
    """The size of a network.

    Attributes:
        kind: `seq2seq`, `hred` or `thred`.
        vocabulary: Subwords.
        embedding: Numbers a subword.
        hidden: Numbers of the decoder's state and of an annotation (both directions together).
        attention: Numbers in which query and memory are compared.
        context_turns: Turns of the conversation that are read, at most.
        turn_tokens: Subwords of a turn that are read, at most.
        reply_tokens: Subwords of a reply, at most.
        topics: Topics a context is said to be about (THRED).
        topic_words: Words a topic (THRED).

    Examples:
        >>> Shape("hred", vocabulary=100, hidden=8).annotation
        4
    """

    kind: str
    vocabulary: int
    embedding: int = 384
    hidden: int = 640
    attention: int = 256
    context_turns: int = 4
    turn_tokens: int = 48
    reply_tokens: int = 40
    topics: int = 3
    topic_words: int = 10

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise DialensError(
                f"There is no agent {self.kind!r} to train. {did_you_mean(self.kind, KINDS)}"
                f"There are: {', '.join(KINDS)}."
            )
        for one in fields(self):
            value = getattr(self, one.name)
            if one.name != "kind" and (not isinstance(value, int) or value < 1):
                raise DialensError(f"{one.name} of a network is {value!r}; it must be at least 1.")
        if self.hidden % 2:
            raise DialensError(
                f"hidden is {self.hidden}; it must be even: two directions share it."
            )

    @property
    def annotation(self) -> int:
        """Numbers of one direction of the utterance encoder."""
        return self.hidden // 2

    def as_dict(self) -> dict[str, Any]:
        """What `config.json` holds."""
        return asdict(self)

    @classmethod
    def of(cls, stored: Mapping[str, Any]) -> Shape:
        """The shape that `config.json` describes; what it does not know is left alone."""
        known = {one.name for one in fields(cls)}
        return cls(**{name: value for name, value in stored.items() if name in known})


@dataclass(frozen=True)
class TrainingPlan:
    """How long and how fast to learn.

    Attributes:
        epochs: Passes over the data; the best by held-out perplexity is kept.
        batch: Replies a step.
        rate: Highest learning rate.
        warm_up: Steps over which the rate rises; it falls as a cosine afterwards.
        dropout: Share of embeddings and read-outs that is hidden while learning.
        no_context: Share of replies learned without their context, which is what the guard
            against dull replies asks the model about.
        smoothing: Of the targets.
        decay: Of the weights.
        clip: Largest norm of a gradient.
        seed: Of weights, order and dropout.
        checkpoint_every: Steps between two checkpoints.
        check_every: Steps between two looks at the held-out threads; 0 for the end of each epoch.
        seconds: Where a machine is rented: the rate also falls with time and training ends in it.

    Examples:
        >>> TrainingPlan(epochs=2).batch
        128
    """

    epochs: int = 8
    batch: int = 128
    rate: float = 1e-3
    warm_up: int = 300
    dropout: float = 0.2
    no_context: float = 0.05
    smoothing: float = 0.0
    decay: float = 0.01
    clip: float = 1.0
    seed: int = 0
    checkpoint_every: int = 500
    check_every: int = 0
    seconds: float | None = None

    def __post_init__(self) -> None:
        for name in ("epochs", "batch", "checkpoint_every"):
            if getattr(self, name) < 1:
                raise DialensError(f"{name} is {getattr(self, name)}; it must be at least 1.")
        if self.rate <= 0:
            raise DialensError(f"rate is {self.rate:g}; it must be above 0.")
        if self.seconds is not None and self.seconds <= 0:
            raise DialensError(f"The time to learn is {self.seconds:g} s; it must be above 0.")
        for name in ("decay", "warm_up", "check_every"):
            if getattr(self, name) < 0:
                raise DialensError(f"{name} is {getattr(self, name):g}; it must be at least 0.")
        for name in ("dropout", "no_context", "smoothing"):
            if not 0 <= getattr(self, name) < 1:
                raise DialensError(f"{name} is {getattr(self, name):g}; it must be from 0 to 1.")
