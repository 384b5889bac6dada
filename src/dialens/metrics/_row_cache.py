"""Rows of numbers by the text that they were read from, in memory: the newest so many."""

from collections import OrderedDict
from collections.abc import Sequence
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from dialens.models import TextInput

_MOST_CHARACTERS = 20_000_000
Ints = NDArray[np.int64]
Rows = NDArray[np.float32]


class RowCache:
    """Rows by input; the oldest are forgotten first.

    All rows lie in one array that is filled round and round, so that many are put and found at
    once: the row that came n-th stands at n modulo the size.

    Args:
        size: How many rows are kept, at most.
        width: Numbers in a row.
        most_characters: Of the inputs whose rows are kept.

    Examples:
        >>> cache = RowCache(2, 1)
        >>> cache.put(["a", "b", "c"], np.array([[1.0], [2.0], [3.0]], np.float32))
        >>> places = cache.places(["a", "b", "c"])
        >>> (places >= 0).tolist(), cache.rows(places[1:]).tolist()
        ([False, True, True], [[2.0], [3.0]])
    """

    def __init__(self, size: int, width: int, *, most_characters: int = _MOST_CHARACTERS) -> None:
        self._size, self._most_characters = size, most_characters
        self._rows: Rows = np.empty((size, width), np.float32)
        self._characters: Ints = np.zeros(size, np.int64)
        self._numbers: OrderedDict[TextInput, int] = OrderedDict()
        self._count = 0

    def __contains__(self, item: TextInput) -> bool:
        """Whether the row of an input is there."""
        return item in self._numbers

    def places(self, inputs: Sequence[TextInput]) -> Ints:
        """Where the rows of inputs stand; −1 for one that is not there."""
        find, absent = self._numbers.get, repeat(-1)
        numbers = np.fromiter(map(find, inputs, absent), np.int64, len(inputs))
        return np.where(numbers < 0, -1, numbers % max(1, self._size))

    def rows(self, places: Ints) -> Rows:
        """The rows at places, before anything else is put."""
        return self._rows[places]

    def put(self, inputs: Sequence[TextInput], rows: Rows) -> None:
        """Keep the rows of inputs that are not there; of too many, the last ones."""
        start = max(0, len(inputs) - self._size)
        last = inputs[start:]
        for _ in range(len(self._numbers) + len(last) - self._size):
            self._numbers.popitem(last=False)
        numbers = np.arange(self._count, self._count + len(last))
        places = numbers % max(1, self._size)
        self._rows[places] = rows[start:]
        self._characters[places] = np.fromiter(map(_characters, last), np.int64, len(last))
        self._numbers.update(zip(last, numbers.tolist(), strict=True))
        self._count += len(last)
        newest = np.arange(self._count - 1, self._count - len(self._numbers) - 1, -1)
        kept = np.cumsum(self._characters[newest % max(1, self._size)]) <= self._most_characters
        for _ in range(len(kept) - int(kept.sum())):
            self._numbers.popitem(last=False)


def _characters(item: TextInput) -> int:
    return len(item) if isinstance(item, str) else len(item[0]) + len(item[1])
