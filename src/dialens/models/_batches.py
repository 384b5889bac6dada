"""Rows in batches of like length, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from dialens.base import DialensError
from dialens.models._devices import free_memory, memory_is_full

T = TypeVar("T")
Rows = NDArray[np.int64]
Lengths = NDArray[np.integer[Any]]


def token_batches(lengths: Sequence[int] | Lengths, tokens: int) -> Iterator[Rows]:
    """Yield the rows of batches, long ones first; padded, none has more than so many tokens.

    A row that is longer by itself makes a batch of its own.

    Examples:
        >>> [rows.tolist() for rows in token_batches([3, 90, 4, 5], 12)]
        [[1], [3, 2], [0]]
    """
    known = np.asarray(lengths, dtype=np.int64)
    order: Rows = np.argsort(-known, kind="stable")
    start = 0
    while start < len(order):
        size = max(1, tokens // max(1, int(known[order[start]])))
        yield order[start : start + size]
        start += size


def run_batches(batches: Iterable[Rows], run: Callable[[Rows], T]) -> Iterator[tuple[Rows, T]]:
    """Yield the rows of batches, and what a network makes of them.

    Where the memory of a graphics card is full, this batch and those after it are cut smaller.

    Raises:
        DialensError: One row by itself is too large.

    Examples:
        >>> done = run_batches([np.arange(2), np.arange(2, 5)], len)
        >>> [(rows.tolist(), count) for rows, count in done]
        [([0, 1], 2), ([2, 3, 4], 3)]
    """
    parts = 1
    for rows in batches:
        start, size = 0, -(-len(rows) // parts)
        while start < len(rows):
            some = rows[start : start + size]
            try:
                result = run(some)
            except RuntimeError as error:
                if not memory_is_full(error):
                    raise
                if len(some) == 1:
                    raise DialensError(
                        "The graphics card has too little free memory even for one text. Free it, "
                        "or use --device cpu."
                    ) from error
            else:
                yield some, result
                start += len(some)
                continue
            # Outside of the handler, whose error would keep the tensors of the failed run.
            free_memory()
            size = len(some) // 2
            parts = -(-len(rows) // size)


def shuffled_batches(
    lengths: Lengths, size: int, generator: np.random.Generator, *, pool: int = 50
) -> list[Rows]:
    """Return rows in random batches of like length: sorted within pools of ``pool`` batches.

    Most padding is saved, and no two draws give the same batches.

    Examples:
        >>> order = shuffled_batches(np.array([3, 9, 3, 9]), 2, np.random.default_rng(0))
        >>> sorted(np.sort(rows).tolist() for rows in order)
        [[0, 2], [1, 3]]
    """
    order = generator.permutation(len(lengths))
    batches: list[Rows] = []
    for start in range(0, len(order), size * pool):
        chunk = order[start : start + size * pool]
        chunk = chunk[np.argsort(lengths[chunk], kind="stable")]
        batches.extend(chunk[i : i + size] for i in range(0, len(chunk), size))
    return [batches[i] for i in generator.permutation(len(batches))]


def padded(rows: Sequence[Sequence[int]], pad: int) -> Any:
    """Rows of one length as a tensor, filled up on the right."""
    import torch

    width = max(len(row) for row in rows)
    return torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows])
