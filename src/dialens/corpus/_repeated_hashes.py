"""Whether a hash comes twice among millions, in eight bytes a hash."""

import numpy as np
from numpy.typing import NDArray


class RepeatedHashes:
    """Looks for a repetition whenever the hashes that came have doubled in number.

    So a table that is full of repetitions is known by its beginning, and one without any is sorted
    a few times.

    Examples:
        >>> hashes = RepeatedHashes()
        >>> hashes.add(np.array([7, 5], np.uint64)), hashes.add(np.array([5], np.uint64))
        (False, False)
        >>> hashes.found()
        True
    """

    def __init__(self) -> None:
        """Without any hash."""
        self._sorted: NDArray[np.uint64] = np.empty(0, np.uint64)
        self._waiting: list[NDArray[np.uint64]] = []

    def add(self, hashes: NDArray[np.uint64]) -> bool:
        """Take some hashes; whether a repetition is known already."""
        self._waiting.append(hashes)
        return sum(map(len, self._waiting)) > len(self._sorted) and self.found()

    def found(self) -> bool:
        """Whether any hash came twice so far."""
        together = np.concatenate([self._sorted, *self._waiting])
        together.sort()
        self._sorted, self._waiting = together, []
        return bool((together[1:] == together[:-1]).any())
