"""Batches of like lengths under a limit of tokens, and their padding."""

from collections.abc import Iterator, Sequence
from typing import Any

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


def padded(rows: Sequence[Sequence[int]], pad: int) -> Any:
    """Rows of one length as a tensor, filled up on the right."""
    import torch

    width = max(len(row) for row in rows)
    return torch.tensor([[*row, *[pad] * (width - len(row))] for row in rows])
