"""The sizes of an encoder and its buckets of distance; needs no PyTorch, so export needs none."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Shape:
    """The sizes of an encoder; ``relative_buckets`` above 0 makes it an MPNet."""

    vocabulary: int
    width: int
    layers: int
    heads: int
    inner: int
    positions: int
    first_position: int = 0
    types: int = 0
    relative_buckets: int = 0
    norm_epsilon: float = 1e-12
    pad: int = 0


def distance_buckets(count: int, buckets: int, furthest: int = 128) -> np.ndarray:
    """Return the bucket of each distance ``key − query`` from ``1 − count`` to ``count − 1``.

    Half of the buckets are for each direction; of those, half for exact small distances and the
    rest on a logarithmic scale (Raffel et al. 2020, as MPNet uses it).

    Examples:
        >>> distance_buckets(3, 8).tolist()
        [2, 1, 0, 5, 6]
    """
    distance = np.arange(1 - count, count)
    half = buckets // 2
    exact = half // 2
    size = np.abs(distance)
    scale = np.log(np.maximum(size, 1) / exact) / math.log(furthest / exact) * (half - exact)
    far = np.minimum(exact + scale.astype(np.int64), half - 1)
    bucket: np.ndarray = np.where(size < exact, size, far) + half * (distance > 0)
    return bucket
