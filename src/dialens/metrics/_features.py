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

from dialens.metrics._batch import Ints, TurnBatch, group_sums
from dialens.metrics._state import Floats
from dialens.text import Lexicon

_GRAIN = 2.0**20
_PACKED_BITS = 23


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


class Additive:
    """What adding features share."""

    adds_up = True

    def dialogs(self, batch: TurnBatch, turns: Floats, keep: NDArray[np.bool_]) -> Floats:
        """Sums over the turns that are kept."""
        return batch.by_dialog(np.where(keep[:, None], turns, 0.0))

    def merger(self) -> Merger:
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
        """Every n-gram of the agent as a number, and the turn it stands in; none crosses turns."""
        return batch.cached(_ngrams, self.n)

    def turns(self, batch: TurnBatch) -> Floats:
        """Different and all n-grams of each turn of the agent; the partner's are not counted."""
        keys, turn = self.keys(batch)
        _, of_turn = distinct_pairs(keys, turn, batch.turns.height)
        return _counted(of_turn, turn, batch.turns.height)

    def dialogs(self, batch: TurnBatch, turns: Floats, keep: NDArray[np.bool_]) -> Floats:
        """Different and all n-grams of each dialogue."""
        _, turn = self.keys(batch)
        _, of_dialog = self.in_dialogs(batch)
        return _counted(of_dialog, batch.dialog_of_turn[turn], len(batch.dialog_starts))

    def in_dialogs(self, batch: TurnBatch) -> tuple[NDArray[np.uint64], Ints]:
        """Each different n-gram of each dialogue, once, and the dialogue's number."""
        return batch.cached(_ngrams_in_dialogs, self.n)

    def merger(self) -> Merger:
        """Unions."""
        return _Unions(self)


def _ngrams(batch: TurnBatch, n: int) -> tuple[NDArray[np.uint64], Ints]:
    turn = np.repeat(np.arange(batch.turns.height), np.diff(batch.offsets))
    words = batch.words.astype(np.uint64)
    kept = batch.is_agent[turn]
    if n == 1:
        return words[kept], turn[kept]
    kept = kept[1:] & (turn[1:] == turn[:-1])
    pairs = words[:-1][kept] << np.uint64(32) | words[1:][kept]
    return pairs, turn[:-1][kept]


def _ngrams_in_dialogs(batch: TurnBatch, n: int) -> tuple[NDArray[np.uint64], Ints]:
    keys, turn = batch.cached(_ngrams, n)
    return distinct_pairs(keys, batch.dialog_of_turn[turn], len(batch.dialog_starts))


class _Unions:
    """Sets of n-grams by group, compacted whenever they have doubled."""

    def __init__(self, feature: DistinctNgrams) -> None:
        self._feature = feature
        self._sets: dict[int, NDArray[np.uint64]] = {}
        self._waiting: dict[int, list[NDArray[np.uint64]]] = {}
        self._total = Sums()

    def add(self, batch: TurnBatch, dialogs: Floats, groups: Ints, count: int) -> None:
        self._total.add(batch, dialogs, groups, count)
        keys, dialog = self._feature.in_dialogs(batch)
        group = groups[dialog]
        order = np.argsort(group, kind="stable")
        if not len(keys):
            return
        numbers, starts = np.unique(group[order], return_index=True)
        for number, some in zip(numbers.tolist(), np.split(keys[order], starts[1:]), strict=True):
            waiting = self._waiting.setdefault(number, [])
            waiting.append(some)
            if sum(map(len, waiting)) > 2 * len(self._sets.get(number, ())):
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
            members = [
                self._sets[g] for g in np.flatnonzero(groups == target).tolist() if g in self._sets
            ]
            total[target, 0] = len(_unique(np.concatenate(members))) if members else 0
        return total


def _unique(keys: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Sorted and distinct; sorting is faster here than hashing."""
    keys = np.sort(keys)
    if not len(keys):
        return keys
    fresh = np.append(np.array([True]), keys[1:] != keys[:-1])
    distinct: NDArray[np.uint64] = keys[fresh]
    return distinct


def distinct_pairs(
    keys: NDArray[np.uint64], groups: Ints, count: int
) -> tuple[NDArray[np.uint64], Ints]:
    """Each different key of each group once, with its group; groups are below `count`.

    A key is two words of 32 bits. While both fit into 23, group and key are packed into one number,
    which sorts several times faster than pairs do.

    Examples:
        >>> keys, groups = distinct_pairs(np.array([7, 7, 8], np.uint64), np.array([0, 0, 1]), 2)
        >>> keys.tolist(), groups.tolist()
        ([7, 8], [0, 1])
    """
    if not len(keys):
        return keys, groups
    high, low = keys >> np.uint64(32), keys & np.uint64(2**32 - 1)
    if max(high.max(), low.max()) < 2**_PACKED_BITS and count <= 2 ** (64 - 2 * _PACKED_BITS):
        shift = np.uint64(_PACKED_BITS)
        packed = _unique((groups.astype(np.uint64) << shift | high) << shift | low)
        fits = np.uint64(2**_PACKED_BITS - 1)
        back = (packed >> shift & fits) << np.uint64(32) | packed & fits
        return back, (packed >> np.uint64(2 * _PACKED_BITS)).astype(np.int64)
    pairs = pl.DataFrame({"group": groups, "key": keys}).unique().sort("group", "key")
    return pairs["key"].to_numpy(), pairs["group"].to_numpy()


def _counted(distinct: Ints, groups: Ints, count: int) -> Floats:
    different = np.bincount(distinct, minlength=count)
    return np.column_stack([different, np.bincount(groups, minlength=count)]).astype(np.float64)


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

    def merger(self) -> Merger:
        """Sums over dialogues."""
        return Sums()
