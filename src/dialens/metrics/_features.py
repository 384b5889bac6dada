"""Features: what is counted in a turn, and how counts become those of a dialogue or an agent.

Most features add up. Those that do not, sets of n-grams and pools of replies, say themselves what
they need of a batch and how batches merge; to a metric all look alike: named columns of numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.metrics._batch import Ints, TurnBatch, group_sums
from dialens.metrics._exact_sums import exact_sums, whole
from dialens.metrics._state import Floats
from dialens.text import Lexicon

_GRAIN = 2.0**20


class Feature(Protocol):
    """Counts of a turn that merge into counts of anything larger.

    Attributes:
        name: The key in `State.own` and `State.other`. Metrics share a feature by giving equal ones
            of one name; different ones of one name are refused.
        adds_up: Whether the counts of dialogues may be added, so that they can be resampled.
    """

    @property
    def name(self) -> str:
        """The key in a state."""
        ...

    @property
    def adds_up(self) -> bool:
        """Whether dialogues may be resampled."""
        ...

    def turns(self, batch: TurnBatch) -> Floats:
        """One row a turn of the batch, whoever spoke it."""
        ...

    def dialogs(self, batch: TurnBatch, turns: Floats, keep: NDArray[np.bool_]) -> Floats:
        """One row a dialogue, from those of its turns that are kept."""
        ...

    def reduce(self, batch: TurnBatch, dialogs: Floats, groups: Ints, count: int) -> "Arrays":
        """What the merger needs of a batch: its dialogues' counts and the group of each are given.

        Groups are below `count`. Nothing in the arrays may depend on word ids, on other batches or
        on the process, since they may be merged in another one.
        """
        ...

    def merger(self, scratch: "Scratch") -> "Merger":
        """A fresh account for groups of dialogues."""
        ...


Arrays = dict[str, NDArray[Any]]
"""What a batch comes to for a feature: arrays by name, which can be sent to another process."""


@dataclass(frozen=True)
class Scratch:
    """How much a merger may hold in memory, and where temporary files go beyond that.

    Attributes:
        memory: In bytes.
        folder: An existing one; the system's for temporary files if not given.
    """

    memory: int = 2**30
    folder: Path | None = None


class Merger(Protocol):
    """Grows the counts of agents (or any groups of dialogues) batch by batch."""

    def merge(self, part: Arrays, numbers: Ints, count: int) -> None:
        """Take in what `Feature.reduce` made of a batch.

        Args:
            part: Of the batch.
            numbers: The number that each group of the batch has here.
            count: How many groups there are by now.
        """
        ...

    def result(self, groups: Ints, count: int) -> Floats:
        """One row for each of `count` larger groups; `groups` says where each group belongs."""
        ...


class Sums:
    """The merger of features that add up."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._total: Floats | None = None

    @staticmethod
    def reduce(dialogs: Floats, groups: Ints, count: int) -> Arrays:
        """The dialogues added up by group, in pieces that are exact."""
        return {"sums": exact_sums(dialogs, groups, count)}

    def merge(self, part: Arrays, numbers: Ints, count: int) -> None:
        """Add the sums of a batch to those of their groups."""
        sums = part["sums"]
        total = np.zeros((count, sums.shape[1]))
        if self._total is not None:
            total[: len(self._total)] = self._total
        total[numbers] += sums
        self._total = total

    def result(self, groups: Ints, count: int) -> Floats:
        """Sums of sums."""
        assert self._total is not None
        return whole(group_sums(self._total, groups, count))


def members_of(groups: Ints, count: int) -> list[list[int]]:
    """Which belong to each of `count` larger groups; `groups` says where each belongs.

    Examples:
        >>> members_of(np.array([0, 1, 0]), 2)
        [[0, 2], [1]]
    """
    members: list[list[int]] = [[] for _ in range(count)]
    for number, target in enumerate(groups.tolist()):
        members[target].append(number)
    return members


class Additive:
    """What adding features share."""

    adds_up = True

    def dialogs(self, batch: TurnBatch, turns: Floats, keep: NDArray[np.bool_]) -> Floats:
        """Sums over the turns that are kept."""
        return batch.by_dialog(np.where(keep[:, None], turns, 0.0))

    def reduce(self, batch: TurnBatch, dialogs: Floats, groups: Ints, count: int) -> Arrays:
        """Sums by group."""
        return Sums.reduce(dialogs, groups, count)

    def merger(self, scratch: Scratch) -> Merger:
        """Sums."""
        return Sums()


@dataclass(frozen=True)
class WordCount(Additive):
    """Summed numbers of a turn's words.

    `weights` gives the numbers of each distinct word; it is asked once per word of a run. Two
    features of one name must have the same `weights`: a function of a module, or an object that
    knows when it equals another.
    """

    name: str
    weights: Callable[[pl.Series], Floats]

    def turns(self, batch: TurnBatch) -> Floats:
        """Sums over each turn's words."""
        return batch.word_sums(self.name)


def lexicon_feature(name: str, lexicon: Lexicon) -> WordCount:
    """Counts in a lexicon: its categories, then tokens with any category, then all tokens.

    Weights are rounded to multiples of 2⁻²⁰ (a millionth): sums are then exact in floating point,
    and the same whatever the order of rows, the size of batches or the number of threads.

    Examples:
        >>> smile = Lexicon.from_entries("smile", [("happy", "joy", 0.5)])
        >>> lexicon_feature("smile", smile).weights(pl.Series(["happy", "day"])).tolist()
        [[0.5, 1.0, 1.0], [0.0, 0.0, 1.0]]
    """
    return WordCount(name, _LexiconWeights(lexicon))


@dataclass(frozen=True)
class _LexiconWeights:
    """The numbers of a word in a lexicon; equal for equal lexicons."""

    lexicon: Lexicon

    def __call__(self, words: pl.Series) -> Floats:
        rounded = quantised(self.lexicon.weights(words))
        hit = (rounded != 0).any(axis=1, keepdims=True).astype(np.float64)
        return np.hstack([rounded, hit, np.ones_like(hit)])


def quantised(values: Floats) -> Floats:
    """Round to multiples of 2⁻²⁰, whose sums are exact in any order; NaN stays.

    Examples:
        >>> float(quantised(np.array([0.1]))[0]) * 2**20
        104858.0
    """
    rounded: Floats = np.round(values * _GRAIN) / _GRAIN
    return rounded


@dataclass(frozen=True)
class TurnValue(Additive):
    """A value that each turn has by itself, and larger units as the mean of their turns.

    Columns: the value (0 where missing) and whether there is one.
    """

    name: str
    value: Callable[[TurnBatch], Floats]

    def turns(self, batch: TurnBatch) -> Floats:
        """The value of each turn."""
        value = self.value(batch)
        present = ~np.isnan(value)
        return np.column_stack([np.where(present, value, 0.0), present.astype(np.float64)])


@dataclass(frozen=True)
class Spread:
    """How much a turn's value moves within a dialogue: squares about the dialogue's own mean.

    Columns: the sum of squares, its degrees of freedom, the number of turns with a value. Pooled
    over dialogues they give the within-dialogue standard deviation, whatever the means.
    """

    base: str
    value: Callable[[TurnBatch], Floats]
    adds_up = True

    @property
    def name(self) -> str:
        """The key in a state."""
        return f"spread:{self.base}"

    def turns(self, batch: TurnBatch) -> Floats:
        """The value itself; a single turn has no spread."""
        value = self.value(batch)
        present = (~np.isnan(value)).astype(np.float64)
        return np.column_stack([np.nan_to_num(value), np.zeros_like(present), present])

    def dialogs(self, batch: TurnBatch, turns: Floats, keep: NDArray[np.bool_]) -> Floats:
        """Squares about each dialogue's mean."""
        value, present = turns[:, 0], (turns[:, 2] > 0) & keep
        n = np.add.reduceat(present.astype(np.float64), batch.dialog_starts)
        total = np.add.reduceat(np.where(present, value, 0.0), batch.dialog_starts)
        mean = total / np.maximum(n, 1)
        away = np.where(present, value - mean[batch.dialog_of_turn], 0.0)
        squares = np.add.reduceat(away**2, batch.dialog_starts)
        return np.column_stack([squares, np.maximum(n - 1, 0), n])

    def reduce(self, batch: TurnBatch, dialogs: Floats, groups: Ints, count: int) -> Arrays:
        """Sums over dialogues."""
        return Sums.reduce(dialogs, groups, count)

    def merger(self, scratch: Scratch) -> Merger:
        """Sums over dialogues."""
        return Sums()
