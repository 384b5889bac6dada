"""Features: what is counted in a turn, and how counts become those of a dialogue or an agent.

Most features add up. The two that do not, sets of n-grams and the spread of a value within
dialogues, say themselves how they merge; to a metric they all look alike: named columns of numbers.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.metrics.batch import Ints, TurnBatch, group_sums
from dialens.metrics.state import Floats
from dialens.text import Lexicon

_GRAIN = 2.0**20
_PACKED_BITS = 23


class Feature(Protocol):
    """Counts of a turn that merge into counts of anything larger.

    Attributes:
        name: The key in `State.own` and `State.other`; within a run equal names mean equal features.
        adds_up: Whether the counts of dialogues may be added, so that they can be resampled.
    """

    @property
    def name(self) -> str: ...
    @property
    def adds_up(self) -> bool: ...

    def turns(self, batch: TurnBatch) -> Floats:
        """One row a turn of the batch, whoever spoke it."""
        ...

    def dialogs(self, batch: TurnBatch, turns: Floats, keep: NDArray[np.bool_]) -> Floats:
        """One row a dialogue, from those of its turns that are kept."""
        ...

    def merger(self) -> "Merger":
        """A fresh account for groups of dialogues."""
        ...


class Merger(Protocol):
    """Grows the counts of agents (or any groups of dialogues) batch by batch."""

    def add(self, batch: TurnBatch, dialogs: Floats, groups: Ints, count: int) -> None:
        """Take in a batch: its dialogues' counts and the group of each, below `count`."""
        ...

    def result(self, groups: Ints, count: int) -> Floats:
        """One row for each of `count` larger groups; `groups` says where each group belongs."""
        ...


class Sums:
    """The merger of features that add up."""

    def __init__(self) -> None:
        """Nothing yet."""
        self._total: Floats | None = None

    def add(self, batch: TurnBatch, dialogs: Floats, groups: Ints, count: int) -> None:
        """Add the dialogues to their groups."""
        fresh = group_sums(dialogs, groups, count)
        if self._total is not None:
            fresh[: len(self._total)] += self._total
        self._total = fresh

    def result(self, groups: Ints, count: int) -> Floats:
        """Sums of sums."""
        assert self._total is not None
        return group_sums(self._total, groups, count)


class _Additive:
    """What adding features share."""

    adds_up = True

    def dialogs(self, batch: TurnBatch, turns: Floats, keep: NDArray[np.bool_]) -> Floats:
        """Sums over the turns that are kept."""
        return batch.by_dialog(np.where(keep[:, None], turns, 0.0))

    def merger(self) -> Merger:
        """Sums."""
        return Sums()


@dataclass(frozen=True)
class WordCount(_Additive):
    """Summed numbers of a turn's words.

    `weights` gives the numbers of each distinct word; it is asked once per word of a run.
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

    Example:
        >>> smile = Lexicon.from_entries("smile", [("happy", "joy", 0.5)])
        >>> lexicon_feature("smile", smile).weights(pl.Series(["happy", "day"])).tolist()
        [[0.5, 1.0, 1.0], [0.0, 0.0, 1.0]]
    """

    def weights(words: pl.Series) -> Floats:
        rounded = np.round(lexicon.weights(words) * _GRAIN) / _GRAIN
        hit = (rounded != 0).any(axis=1, keepdims=True).astype(np.float64)
        return np.hstack([rounded, hit, np.ones_like(hit)])

    return WordCount(name, weights)


@dataclass(frozen=True)
class TurnValue(_Additive):
    """A value that each turn has by itself, and larger units as the mean of their turns.

    Columns: the value (0 where missing) and whether there is one.
    """

    name: str
    value: Callable[[TurnBatch], Floats]

    def turns(self, batch: TurnBatch) -> Floats:
        """The value of each turn."""
        value = self.value(batch)
        there = ~np.isnan(value)
        return np.column_stack([np.where(there, value, 0.0), there.astype(np.float64)])


@dataclass(frozen=True)
class DistinctNgrams:
    """How many different n-grams of tokens there are, and how many in all.

    Merging unites sets: the count of an agent is not the sum of its dialogues' counts.
    """

    n: int
    adds_up = False

    @property
    def name(self) -> str:
        """The key in a state."""
        return f"distinct-{self.n}"

    def keys(self, batch: TurnBatch) -> tuple[NDArray[np.uint64], Ints]:
        """Every n-gram as a number, and the turn it stands in; none runs across turns."""
        words = batch.words.astype(np.uint64)
        turn = np.repeat(np.arange(batch.turns.height), np.diff(batch.offsets))
        if self.n == 1:
            return words, turn
        inside = turn[1:] == turn[:-1]
        return (words[:-1] << np.uint64(32) | words[1:])[inside], turn[:-1][inside]

    def turns(self, batch: TurnBatch) -> Floats:
        """Different and all n-grams of each turn."""
        keys, turn = self.keys(batch)
        return count_distinct(keys, turn, batch.turns.height)

    def dialogs(self, batch: TurnBatch, turns: Floats, keep: NDArray[np.bool_]) -> Floats:
        """Different and all n-grams of the turns that are kept."""
        keys, turn = self.keys(batch)
        kept = keep[turn]
        dialog = batch.dialog_of_turn[turn[kept]]
        return count_distinct(keys[kept], dialog, len(batch.dialog_starts))

    def merger(self) -> Merger:
        """Unions."""
        return _Unions(self)


class _Unions:
    """Sets of n-grams by group, compacted whenever they have doubled."""

    def __init__(self, feature: DistinctNgrams) -> None:
        self._feature = feature
        self._sets: dict[int, NDArray[np.uint64]] = {}
        self._waiting: dict[int, list[NDArray[np.uint64]]] = {}
        self._total = Sums()

    def add(self, batch: TurnBatch, dialogs: Floats, groups: Ints, count: int) -> None:
        self._total.add(batch, dialogs, groups, count)
        keys, turn = self._feature.keys(batch)
        kept = batch.is_agent[turn]
        keys, group = keys[kept], groups[batch.dialog_of_turn[turn[kept]]]
        for number in np.unique(group).tolist():
            waiting = self._waiting.setdefault(number, [])
            waiting.append(_unique(keys[group == number]))
            if sum(map(len, waiting)) > len(self._sets.get(number, ())):
                self._compact(number)

    def _compact(self, number: int) -> None:
        empty = np.empty(0, np.uint64)
        waiting = self._waiting.pop(number, [])
        self._sets[number] = _unique(np.concatenate([self._sets.get(number, empty), *waiting]))

    def result(self, groups: Ints, count: int) -> Floats:
        for number in list(self._waiting):
            self._compact(number)
        total = self._total.result(groups, count)
        for target in range(count):
            members = [self._sets[g] for g in np.flatnonzero(groups == target) if g in self._sets]
            total[target, 0] = len(_unique(np.concatenate(members))) if members else 0
        return total


def _unique(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Sorted and distinct; plain sorting is several times faster here than hashing."""
    keys = np.sort(keys)
    if not len(keys):
        return keys
    return keys[np.append(True, keys[1:] != keys[:-1])]


def count_distinct(keys: NDArray[np.uint64], groups: Ints, count: int) -> Floats:
    """For each of `count` groups, how many different keys and how many keys.

    Example:
        >>> count_distinct(np.array([7, 7, 8], np.uint64), np.array([0, 0, 1]), 2).tolist()
        [[1.0, 2.0], [1.0, 1.0]]
    """
    total = np.bincount(groups, minlength=count).astype(np.float64)
    if not len(keys):
        return np.column_stack([total, total])
    mask = np.uint64(2**_PACKED_BITS - 1)
    high, low = keys >> np.uint64(32), keys & np.uint64(2**32 - 1)
    if max(high.max(), low.max()) <= mask and count <= 2 ** (64 - 2 * _PACKED_BITS):
        shift = np.uint64(_PACKED_BITS)
        packed = _unique(((groups.astype(np.uint64) << shift | high) << shift) | low)
        kept = (packed >> np.uint64(2 * _PACKED_BITS)).astype(np.int64)
    else:
        kept = pl.DataFrame({"group": groups, "key": keys}).unique()["group"].to_numpy()
    return np.column_stack([np.bincount(kept, minlength=count).astype(np.float64), total])


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
        there = (~np.isnan(value)).astype(np.float64)
        return np.column_stack([np.nan_to_num(value), np.zeros_like(there), there])

    def dialogs(self, batch: TurnBatch, turns: Floats, keep: NDArray[np.bool_]) -> Floats:
        """Squares about each dialogue's mean."""
        value, there = turns[:, 0], (turns[:, 2] > 0) & keep
        n = np.add.reduceat(there.astype(np.float64), batch.dialog_starts)
        total = np.add.reduceat(np.where(there, value, 0.0), batch.dialog_starts)
        mean = total / np.maximum(n, 1)
        away = np.where(there, value - mean[batch.dialog_of_turn], 0.0)
        squares = np.add.reduceat(away**2, batch.dialog_starts)
        return np.column_stack([squares, np.maximum(n - 1, 0), n])

    def merger(self) -> Merger:
        """Sums over dialogues."""
        return Sums()
