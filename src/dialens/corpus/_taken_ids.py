"""Ids of dialogues that are taken, and where each stands, in thirty bytes or so an id.

Ten million ids with their places would be two gigabytes as a dictionary of texts. Here an id is
its BLAKE2b hash of 16 bytes: two of a billion ids share one with a chance of 1 in 10^21, so that
an id that is found is the one that was put in. The hashes stand in a table with open addressing.
"""

from array import array
from bisect import bisect_right
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from struct import Struct
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Words: TypeAlias = NDArray[np.uint64]

_FIRST_SLOTS = 1 << 10
_MOST_FILLED = 2 / 3
_WORDS = Struct("<QQ")


class TakenIds:
    """Ids with the file and line of their latest claim.

    Examples:
        >>> ids = TakenIds()
        >>> ids.take("d1", Path("a.jsonl"), 3)
        >>> ids.take("d1", Path("b.jsonl"), 1)
        (PosixPath('a.jsonl'), 3)
        >>> ids.place("d1"), "d2" in ids, len(ids)
        ((PosixPath('b.jsonl'), 1), False, 1)
    """

    def __init__(self) -> None:
        """Without any id."""
        self._mask = _FIRST_SLOTS - 1
        self._slots = _empty(_FIRST_SLOTS)  # an entry's number and one, or nothing
        self._low, self._high = array("Q"), array("Q")  # of the entries, in the order of claims
        self._lines = array("Q")
        self._files: list[Path] = []
        self._begins: list[int] = []  # the entry at which the claims of each file begin
        self._count = 0

    def __len__(self) -> int:
        """How many ids."""
        return self._count

    def __contains__(self, name: str) -> bool:
        """Whether an id is taken."""
        return self._slots[self._slot(*_hash(name))] != 0

    def place(self, name: str) -> tuple[Path, int] | None:
        """File and line of the latest claim, or None if it is free."""
        entry = self._slots[self._slot(*_hash(name))]
        return self._place(entry) if entry else None

    def take(self, name: str, file: Path, line: int) -> tuple[Path, int] | None:
        """Claim an id for a place; gives the place that had it before.

        An id that the same file has claimed already keeps its place.
        """
        low, high = _hash(name)
        slots, mask, lows = self._slots, self._mask, self._low
        slot = low & mask
        before = None
        while entry := slots[slot]:
            if lows[entry - 1] == low and self._high[entry - 1] == high:
                before = self._place(entry)
                if before[0] == file:
                    return before
                break
            slot = (slot + 1) & mask
        self._turn_to(file)
        lows.append(low)
        self._high.append(high)
        self._lines.append(line)
        slots[slot] = len(lows)
        if before is None:
            self._count += 1
            if self._count > _MOST_FILLED * len(slots):
                self._grow()
        return before

    def hashes(self, start: int) -> tuple["Words", "Words"]:
        """The hashes of the claims from the `start`-th on, for `any_taken` and `take_new`."""
        import numpy as np  # not for those who only ask what options there are

        low, high = (np.array(words[start:], np.uint64) for words in (self._low, self._high))
        return low, high

    def any_taken(self, low: "Words", high: "Words") -> bool:
        """Whether one of the ids with some hashes is taken."""
        import numpy as np

        if not self._count:
            return False
        slots = np.frombuffer(self._slots, np.uint32)
        lows, highs = np.frombuffer(self._low, np.uint64), np.frombuffer(self._high, np.uint64)
        place = (low & np.uint64(self._mask)).astype(np.int64)
        while place.size:
            entries = slots[place]
            there = entries != 0
            entries, low, high, place = entries[there] - 1, low[there], high[there], place[there]
            if ((lows[entries] == low) & (highs[entries] == high)).any():
                return True
            place = (place + 1) & self._mask
        return False

    def take_new(self, low: "Words", high: "Words", file: Path, lines: Sequence[int]) -> None:
        """Claim ids of one file by their hashes, in their order; none of them may be taken."""
        import numpy as np

        self._turn_to(file)
        first = len(self._low) + 1
        self._low.frombytes(low.tobytes())
        self._high.frombytes(high.tobytes())
        self._lines.extend(lines)
        self._count += len(low)
        if self._count > _MOST_FILLED * len(self._slots):
            self._grow()
        self._insert(np.arange(first, len(self._low) + 1, dtype=np.uint32))

    def _slot(self, low: int, high: int) -> int:
        """Where the id with a hash stands, or the empty slot where it would."""
        slots, mask = self._slots, self._mask
        slot = low & mask
        while entry := slots[slot]:
            if self._low[entry - 1] == low and self._high[entry - 1] == high:
                break
            slot = (slot + 1) & mask
        return slot

    def _place(self, entry: int) -> tuple[Path, int]:
        file = self._files[bisect_right(self._begins, entry - 1) - 1]
        return file, self._lines[entry - 1]

    def _turn_to(self, file: Path) -> None:
        if not self._files or (self._files[-1] is not file and self._files[-1] != file):
            self._files.append(file)
            self._begins.append(len(self._low))

    def _grow(self) -> None:
        """Make room for all ids that are counted; those that have a slot get one anew."""
        import numpy as np

        before = np.frombuffer(self._slots, np.uint32)
        slots = len(self._slots)
        while self._count > _MOST_FILLED * slots:
            slots *= 2
        self._slots = _empty(slots)
        self._mask = slots - 1
        self._insert(before[before != 0])

    def _insert(self, entries: "NDArray[np.uint32]") -> None:
        """Give entries slots; their ids are all different, and none has a slot."""
        import numpy as np

        slots, lows = np.frombuffer(self._slots, np.uint32), np.frombuffer(self._low, np.uint64)
        place = (lows[entries - 1] & np.uint64(self._mask)).astype(np.int64)
        while place.size:
            free = np.flatnonzero(slots[place] == 0)
            first = free[np.unique(place[free], return_index=True)[1]]
            slots[place[first]] = entries[first]
            rest = np.ones(len(place), np.bool_)
            rest[first] = False
            entries, place = entries[rest], (place[rest] + 1) & self._mask


def _empty(slots: int) -> "array[int]":
    return array("I", bytes(4 * slots))


def _hash(name: str) -> tuple[int, int]:
    # Half of a surrogate pair is no text, but may be an id until it is refused.
    digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=16).digest()
    low, high = _WORDS.unpack(digest)
    return low, high
