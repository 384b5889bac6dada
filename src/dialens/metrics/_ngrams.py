"""How many different n-grams of tokens there are: a feature that merges by uniting sets.

Within a batch an n-gram is made of word ids, which pack and sort quickly. Across batches, which
other processes may have counted, it is a 64-bit hash made of hashes of its words. That any two of n
different n-grams have the same has a probability of about n² / 2⁶⁵: 3 in 100 for a billion of them
(the count is then one too low), 3 in 100,000,000 for a million.
"""

from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.metrics._batch import Ints, TurnBatch
from dialens.metrics._distinct_keys import DistinctKeys, Keys, distinct
from dialens.metrics._features import Arrays, Merger, Scratch, Sums, members_of
from dialens.metrics._state import Floats
from dialens.text import word_hashes

_PACKED_BITS = 23
_HALF = np.uint64(32)
_FACTOR = np.uint64(0x9E3779B97F4A7C13)
"""Odd, so that no bit of the first word is lost, and 3 modulo 4, so that "a b" and "b a" differ in
all but 2 of 2⁶⁴ cases."""


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

    def keys(self, batch: TurnBatch) -> tuple[Keys, Ints]:
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
        _, of_dialog = batch.cached(_ngrams_in_dialogs, self.n)
        return _counted(of_dialog, batch.dialog_of_turn[turn], len(batch.dialog_starts))

    def reduce(self, batch: TurnBatch, dialogs: Floats, groups: Ints, count: int) -> Arrays:
        """Sums, and the hashes of each group's n-grams, sorted, group after group."""
        keys, dialog = batch.cached(_ngrams_in_dialogs, self.n)
        group = groups[dialog]
        order = np.argsort(group, kind="stable")
        hashes = _hashed(batch, keys[order], self.n)
        ends = np.cumsum(np.bincount(group, minlength=count))
        sets = [distinct(some) for some in np.split(hashes, ends[:-1])]
        sums = Sums.reduce(dialogs, groups, count)
        return sums | {"keys": np.concatenate(sets), "sizes": np.array([len(s) for s in sets])}

    def merger(self, scratch: Scratch) -> Merger:
        """Unions."""
        return _Unions(scratch)


def _ngrams(batch: TurnBatch, n: int) -> tuple[Keys, Ints]:
    turn = np.repeat(np.arange(batch.turns.height), np.diff(batch.offsets))
    words = batch.words.astype(np.uint64)
    kept = batch.is_agent[turn]
    if n == 1:
        return words[kept], turn[kept]
    kept = kept[1:] & (turn[1:] == turn[:-1])
    pairs = words[:-1][kept] << _HALF | words[1:][kept]
    return pairs, turn[:-1][kept]


def _ngrams_in_dialogs(batch: TurnBatch, n: int) -> tuple[Keys, Ints]:
    """Each different n-gram of each dialogue, once, and the dialogue's number."""
    keys, turn = batch.cached(_ngrams, n)
    return distinct_pairs(keys, batch.dialog_of_turn[turn], len(batch.dialog_starts))


def _hashed(batch: TurnBatch, keys: Keys, n: int) -> Keys:
    """What n-grams of word ids are called in every process."""
    of_words = batch.cached(_hashes_of_words)
    last: Keys = of_words[keys & np.uint64(2**32 - 1)]
    if n == 1:
        return last
    # The hashes of words are as good as random, and so is a sum of their multiples.
    hashes: Keys = of_words[keys >> _HALF] * _FACTOR + last
    return hashes


def _hashes_of_words(batch: TurnBatch) -> Keys:
    halves = batch.known.table_of(word_hashes).matrix().astype(np.uint64)
    hashes: Keys = halves[:, 0] << _HALF | halves[:, 1]
    return hashes


class _Unions:
    """Sets of n-grams by group."""

    def __init__(self, scratch: Scratch) -> None:
        self._sets = DistinctKeys(scratch)
        self._total = Sums()

    def merge(self, part: Arrays, numbers: Ints, count: int) -> None:
        """Unite the sets of a batch with those of their groups."""
        self._total.merge(part, numbers, count)
        ends = np.cumsum(part["sizes"])
        for number, keys in zip(numbers.tolist(), np.split(part["keys"], ends[:-1]), strict=True):
            self._sets.add(number, keys)

    def result(self, groups: Ints, count: int) -> Floats:
        """Different n-grams of each larger group, and all."""
        total = self._total.result(groups, count)
        for target, members in enumerate(members_of(groups, count)):
            total[target, 0] = self._sets.count(members)
        return total


def distinct_pairs(keys: Keys, groups: Ints, count: int) -> tuple[Keys, Ints]:
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
    high, low = keys >> _HALF, keys & np.uint64(2**32 - 1)
    if max(high.max(), low.max()) < 2**_PACKED_BITS and count <= 2 ** (64 - 2 * _PACKED_BITS):
        shift = np.uint64(_PACKED_BITS)
        packed = distinct((groups.astype(np.uint64) << shift | high) << shift | low)
        fits = np.uint64(2**_PACKED_BITS - 1)
        back = (packed >> shift & fits) << _HALF | packed & fits
        return back, (packed >> np.uint64(2 * _PACKED_BITS)).astype(np.int64)
    pairs = pl.DataFrame({"group": groups, "key": keys}).unique().sort("group", "key")
    return pairs["key"].to_numpy(), pairs["group"].to_numpy()


def _counted(distinct: Ints, groups: Ints, count: int) -> Floats:
    different = np.bincount(distinct, minlength=count)
    return np.column_stack([different, np.bincount(groups, minlength=count)]).astype(np.float64)
