"""Sets of 64-bit keys by group, in memory up to a bound and beyond it in sorted runs on disk."""

import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import FileIO
from tempfile import TemporaryFile, gettempdir

import numpy as np
from numpy.typing import NDArray

from dialens.base import DialensError
from dialens.metrics._features import Scratch

Keys = NDArray[np.uint64]
"""Hashes, or numbers that words of a batch have."""

_RANGES = 1_024
_KEYS_A_RANGE = 64  # of a run, at least: what is known of where its ranges begin stays small


def distinct(keys: Keys) -> Keys:
    """Keys, which this sorts in their place, each once; sorting is faster here than hashing.

    Examples:
        >>> distinct(np.array([7, 5, 7], np.uint64)).tolist()
        [5, 7]
    """
    keys.sort()
    if not len(keys):
        return keys
    fresh = np.append(np.array([True]), keys[1:] != keys[:-1])
    once: Keys = keys[fresh]
    return once


@dataclass(frozen=True)
class _Run:
    """A sorted set of a group in the file.

    Attributes:
        start: Where its first key stands, counted in keys.
        borders: Where its ranges begin, and at last where it ends; small runs have fewer ranges.
    """

    start: int
    borders: NDArray[np.int64]

    @property
    def coarseness(self) -> int:
        """How many of the ranges that are counted by are one here."""
        return _RANGES // (len(self.borders) - 1)

    def sizes(self) -> NDArray[np.float64]:
        """About how many keys lie in each range: hashes fill them evenly."""
        coarseness = self.coarseness
        sizes: NDArray[np.float64] = np.diff(self.borders) / coarseness
        return np.repeat(sizes, coarseness)


class DistinctKeys:
    """Counts different keys of groups, and of groups taken together.

    The temporary file has no name, so that it is gone when the process is, however it ends.

    Args:
        scratch: How many bytes may be held in memory, and where the file goes.

    Examples:
        >>> sets = DistinctKeys(Scratch(memory=16))
        >>> for group, keys in ((0, [1, 2]), (1, [2, 3]), (0, [2, 9])):
        ...     sets.add(group, np.array(keys, np.uint64))
        >>> sets.count([0]), sets.count([1]), sets.count([0, 1])
        (3, 2, 4)
    """

    def __init__(self, scratch: Scratch) -> None:
        self._folder = scratch.folder
        self._most = scratch.memory // 16  # keys in half of it; the other half is for sorting
        self._held = 0
        self._sets: dict[int, Keys] = {}
        self._waiting: dict[int, list[Keys]] = {}
        self._runs: dict[int, list[_Run]] = {}
        self._file: FileIO | None = None
        self._written = 0

    def add(self, group: int, keys: Keys) -> None:
        """Unite a group's set with some keys, sorted and distinct."""
        waiting = self._waiting.setdefault(group, [])
        waiting.append(keys)
        self._held += len(keys)
        if sum(map(len, waiting)) > 2 * len(self._sets.get(group, ())):
            self._compact(group)
        if self._held > self._most:
            self._compact_all()
            if self._held > self._most // 2:
                self._spill()

    def count(self, groups: Sequence[int]) -> int:
        """How many different keys these groups have together."""
        self._compact_all()
        held = [self._sets[group] for group in groups if group in self._sets]
        runs = [run for group in groups for run in self._runs.get(group, ())]
        if not runs and len(held) < 2:
            return sum(map(len, held))
        cut = [_borders(keys, _RANGES) for keys in held]
        sizes = np.zeros(_RANGES)
        for expected in (*map(np.diff, cut), *(run.sizes() for run in runs)):
            sizes += expected
        found = 0
        for first, last in _portions(sizes, self._most // 2):
            slices = [
                keys[borders[first] : borders[last]]
                for keys, borders in zip(held, cut, strict=True)
            ]
            slices += [self._read(run, first, last) for run in runs]
            found += len(distinct(np.concatenate(slices)))
        return found

    def _compact_all(self) -> None:
        for group in list(self._waiting):
            self._compact(group)

    def _compact(self, group: int) -> None:
        keys = self._waiting.pop(group)
        if group in self._sets:
            keys.append(self._sets.pop(group))
        both = np.concatenate(keys)
        keys.clear()
        united = distinct(both)
        self._held -= len(both) - len(united)
        self._sets[group] = united

    def _spill(self) -> None:
        """Write every set as a run of its group, and begin anew."""
        try:
            if self._file is None:
                self._file = TemporaryFile(buffering=0, dir=self._folder)  # noqa: SIM115
                weakref.finalize(self, self._file.close)
            self._file.seek(8 * self._written)
            for group, keys in self._sets.items():
                left = keys.view(np.uint8).data
                while left:
                    left = left[self._file.write(left) :]
                ranges = min(_RANGES, 1 << (len(keys) // _KEYS_A_RANGE).bit_length())
                run = _Run(self._written, _borders(keys, ranges))
                self._runs.setdefault(group, []).append(run)
                self._written += len(keys)
        except OSError as error:
            raise DialensError(
                f"Temporary files cannot be written to {self._folder or gettempdir()} "
                f"({error.strerror}; {8 * (self._written + self._held) / 1e9:.2g} GB are needed by "
                "now). Make room there, or write the scores elsewhere."
            ) from error
        self._sets.clear()
        self._held = 0

    def _read(self, run: _Run, first: int, last: int) -> Keys:
        """The keys of a run from one range up to another."""
        assert self._file is not None
        coarseness = run.coarseness
        begin, end = run.borders[first // coarseness], run.borders[-(-last // coarseness)]
        keys = np.empty(end - begin, np.uint64)
        self._file.seek(8 * (run.start + int(begin)))
        left = keys.view(np.uint8).data
        while left:
            read = self._file.readinto(left)
            if not read:
                raise DialensError("A temporary file is shorter than what was written to it.")
            left = left[read:]
        if coarseness > 1:
            borders = _borders(keys, _RANGES)
            keys = keys[borders[first] : borders[last]]
        return keys


def _borders(keys: Keys, ranges: int) -> NDArray[np.int64]:
    """Where each of so many equal ranges (a power of two) begins among sorted keys, and the end."""
    width = 64 - ranges.bit_length() + 1
    starts = np.arange(1, ranges, dtype=np.uint64) << np.uint64(width)
    return np.concatenate([[0], np.searchsorted(keys, starts), [len(keys)]]).astype(np.int64)


def _portions(sizes: NDArray[np.float64], most: int) -> Iterator[tuple[int, int]]:
    """Ranges that follow each other and have no more than `most` keys together, or are one.

    Examples:
        >>> list(_portions(np.array([1.0, 2, 3, 9, 1]), 4))
        [(0, 2), (2, 3), (3, 4), (4, 5)]
    """
    first, filled = 0, 0.0
    for place, size in enumerate(sizes.tolist()):
        if filled and filled + size > most:
            yield first, place
            first, filled = place, 0.0
        filled += size
    yield first, len(sizes)
