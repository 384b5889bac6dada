"""Replies with their contexts as numbers: what is learned, in batches of like length.

Only NumPy is needed here, so that prepared data can be trained on wherever there is PyTorch.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from dialens.agents.neural._shape import BEGIN, END, PAD, TURN, Shape
from dialens.models import shuffled_batches

Ints = NDArray[np.int64]
_POOL: Final = 64  # batches that are sorted by length together


@dataclass(frozen=True, eq=False)
class Batch:
    """Some replies with their contexts, padded.

    Attributes:
        context: Subwords, ``replies × turns × subwords``; each turn ends with its mark, and turns
            that are not there are all padding, at the end.
        reply_in: What the decoder reads, ``replies × subwords``: the reply behind its beginning.
        reply_out: What it is to say: the reply before its end.
        topics: Topic words, ``replies × words``; padding where there are fewer.
    """

    context: Ints
    reply_in: Ints
    reply_out: Ints
    topics: Ints


@dataclass(frozen=True, eq=False)
class Examples:
    """Turns as subwords, and which of them are learned as replies.

    Attributes:
        ids: The subwords of all turns, one after the other.
        offsets: Where each turn begins; one more than there are turns.
        parents: Row of the turn that was answered, −1 for none.
        threads: Thread of each turn.
        replies: Rows of the turns that are learned as replies.
        lengths: Subwords of each of these that are learned; a long reply ends with a sentence.
        held_out: Of each of these, whether its thread is held out.
        topics: Of each of these, the rows of `topic_table` that its context is about.
        topic_table: Subwords of the words of each topic, padded; row 0 is no topic.
    """

    ids: NDArray[np.uint16] = field(repr=False)
    offsets: NDArray[np.int64] = field(repr=False)
    parents: NDArray[np.int32] = field(repr=False)
    threads: NDArray[np.int32] = field(repr=False)
    replies: NDArray[np.int32] = field(repr=False)
    lengths: NDArray[np.int32] = field(repr=False)
    held_out: NDArray[np.bool_] = field(repr=False)
    topics: NDArray[np.uint16] = field(repr=False)
    topic_table: NDArray[np.uint16] = field(repr=False)

    def turn(self, row: int, most: int) -> NDArray[np.uint16]:
        """The first subwords of a turn."""
        start = self.offsets[row]
        return self.ids[start : min(self.offsets[row + 1], start + most)]

    def context(self, row: int, turns: int) -> list[int]:
        """The rows of the turns before a turn, the oldest first; empty turns end a context."""
        rows: list[int] = []
        above = int(self.parents[row])
        while above >= 0 and len(rows) < turns and self.offsets[above + 1] > self.offsets[above]:
            rows.append(above)
            above = int(self.parents[above])
        return rows[::-1]

    def part(self, *, held_out: bool) -> Ints:
        """Which replies belong to a part of the data."""
        return np.flatnonzero(self.held_out == held_out)

    def batch(self, chosen: Ints, shape: Shape, *, alone: NDArray[np.bool_] | None = None) -> Batch:
        """Replies as arrays.

        Args:
            chosen: Which replies.
            shape: How much context is read.
            alone: Of each of them, whether its context is left out.
        """
        contexts: list[list[NDArray[np.uint16]]] = []
        for place, one in enumerate(chosen):
            if alone is not None and alone[place]:
                contexts.append([])
                continue
            above = self.context(int(self.replies[one]), shape.context_turns)
            contexts.append([self.turn(row, shape.turn_tokens) for row in above])
        replies = [self.turn(int(self.replies[one]), int(self.lengths[one])) for one in chosen]
        longest = max(map(len, replies)) + 1
        reply_in = np.full((len(chosen), longest), PAD)
        reply_out = reply_in.copy()
        for place, reply in enumerate(replies):
            reply_in[place, : len(reply) + 1] = [BEGIN, *reply]
            reply_out[place, : len(reply) + 1] = [*reply, END]
        topics = distinct(self.topic_table[self.topics[chosen]].reshape(len(chosen), -1))
        if alone is not None:
            topics[alone] = PAD
        return Batch(pad_contexts(contexts), reply_in, reply_out, topics)

    def save(self, file: Path) -> None:
        """Write everything into one compressed file."""
        np.savez_compressed(file, **vars(self))

    @classmethod
    def load(cls, file: Path) -> Examples:
        """Read what was saved."""
        with np.load(file) as stored:
            return cls(**{name: stored[name] for name in stored.files})


def pad_contexts(contexts: list[list[NDArray[np.uint16]]]) -> Ints:
    """Contexts as one array; a context without a turn is one turn that says nothing.

    Examples:
        >>> pad_contexts([[np.array([7, 8], np.uint16), np.array([9], np.uint16)], []]).tolist()
        [[[7, 8, 4], [9, 4, 0]], [[4, 0, 0], [0, 0, 0]]]
    """
    turns = max(1, *map(len, contexts))
    words = max((len(turn) for context in contexts for turn in context), default=0) + 1
    padded = np.full((len(contexts), turns, words), PAD)
    for row, context in enumerate(contexts):
        for place, turn in enumerate(context):
            padded[row, place, : len(turn)] = turn
            padded[row, place, len(turn)] = TURN
        if not context:
            padded[row, 0, 0] = TURN
    return padded


def distinct(topics: NDArray[np.uint16]) -> Ints:
    """Topic words with each word once, sorted, the padding first; order means nothing to attention.

    Examples:
        >>> distinct(np.array([[9, 7, 9, 0]], np.uint16)).tolist()
        [[0, 0, 7, 9]]
    """
    ordered = np.sort(topics.astype(np.int64), axis=1)
    ordered[:, 1:][ordered[:, 1:] == ordered[:, :-1]] = PAD
    return np.sort(ordered, axis=1)


def batches(examples: Examples, chosen: Ints, size: int, *, seed: int, epoch: int) -> list[Ints]:
    """Shuffled batches of replies of like length; the same for the same seed and epoch.

    Examples:
        >>> from dialens.agents.neural._examples import _example
        >>> drawn = batches(_example(), np.arange(5), 2, seed=1, epoch=0)
        >>> sorted(int(one) for batch in drawn for one in batch)
        [0, 1, 2, 3, 4]
    """
    generator = np.random.default_rng([seed, epoch])
    drawn = shuffled_batches(examples.lengths[chosen], size, generator, pool=_POOL)
    return [chosen[rows] for rows in drawn]


def in_order(examples: Examples, chosen: Ints, size: int) -> Iterator[Ints]:
    """Batches of replies sorted by length, for measuring."""
    order = chosen[np.argsort(examples.lengths[chosen], kind="stable")]
    for start in range(0, len(order), size):
        yield order[start : start + size]


def _example() -> Examples:
    """A chain of six turns, for the examples above."""
    ids = np.arange(5, 26, dtype=np.uint16)
    offsets = np.array([0, 1, 3, 6, 10, 15, 21])
    parents = np.arange(-1, 5, dtype=np.int32)
    rows = np.arange(1, 6, dtype=np.int32)
    nothing = np.zeros((5, 1), np.uint16)
    zeros = np.zeros(6, np.int32)
    return Examples(
        ids,
        offsets,
        parents,
        zeros,
        rows,
        np.arange(2, 7, dtype=np.int32),
        np.zeros(5, bool),
        nothing,
        np.zeros((1, 2), np.uint16),
    )
