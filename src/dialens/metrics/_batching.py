"""Batches of like lengths under a limit of tokens, and progress told in units."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray


def token_batches(lengths: Sequence[int], tokens: int) -> Iterator[NDArray[np.int64]]:
    """Yield the rows of batches, long ones first; padded, none has more than so many tokens.

    A row that is longer by itself makes a batch of its own.

    Examples:
        >>> [rows.tolist() for rows in token_batches([3, 90, 4, 5], 12)]
        [[1], [3, 2], [0]]
    """
    known = np.asarray(lengths, dtype=np.int64)
    order: NDArray[np.int64] = np.argsort(-known, kind="stable")
    start = 0
    while start < len(order):
        size = max(1, tokens // max(1, int(known[order[start]])))
        yield order[start : start + size]
        start += size


def paced(advance: Callable[[int], None], units: int, items: int) -> Callable[[int], None]:
    """What to call with the number of items just done, so that `advance` hears of units.

    All units have been told when all items are done; where there is nothing to do, at once.

    Examples:
        >>> told = []
        >>> step = paced(told.append, units=2, items=6)
        >>> step(2), step(2), step(2), told
        (None, None, None, [1, 1])
    """
    done = told = 0

    def step(more: int) -> None:
        nonlocal done, told
        done += more
        now = units if items == 0 else min(units, units * done // items)
        if now > told:
            advance(now - told)
            told = now

    if items == 0:
        step(0)
    return step
