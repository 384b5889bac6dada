"""Rows in batches of like length, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

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
