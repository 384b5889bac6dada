"""Resampling whole dialogues from their sums, so that no text is read twice."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST_CLUSTERS = 5_000
_CELLS_AT_ONCE = 4_000_000


def cluster_sums(rows: Floats, clusters: Ints) -> Floats:
    """Rows added up by cluster, clusters in ascending order.

    Example:
        >>> cluster_sums(np.array([[1.0], [2.0], [4.0]]), np.array([5, 7, 5])).tolist()
        [[5.0], [2.0]]
    """
    _, place = np.unique(clusters, return_inverse=True)
    sums = np.zeros((int(place.max()) + 1, rows.shape[1]))
    np.add.at(sums, place, rows)
    return sums


def coarsened(clusters: Ints, rng: np.random.Generator) -> Ints:
    """At most five thousand clusters, larger ones made by throwing clusters together at random.

    Sums over random blocks of independent clusters have the variance of the whole, so the
    interval is the same and a million dialogues cost no more than five thousand.
    """
    names, place = np.unique(clusters, return_inverse=True)
    if len(names) <= _MOST_CLUSTERS:
        return place.astype(np.int64)
    block = rng.permutation(len(names)) % _MOST_CLUSTERS
    return block[place].astype(np.int64)


def resampled_sums(sums: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """Sums over clusters drawn with replacement, as many as there are, `resamples` times.

    Example:
        >>> rng = np.random.default_rng(0)
        >>> resampled_sums(np.array([[2.0], [2.0]]), 3, rng).tolist()
        [[4.0], [4.0], [4.0]]
    """
    return np.concatenate([drawn @ sums for drawn in _draws(len(sums), resamples, rng)])


def _draws(count: int, resamples: int, rng: np.random.Generator) -> Iterator[Floats]:
    """How often each cluster is drawn, a block of resamples at a time."""
    block = max(1, _CELLS_AT_ONCE // count)
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        picked = rng.integers(0, count, (size, count)) + np.arange(size)[:, None] * count
        drawn = np.bincount(picked.ravel(), minlength=size * count)
        yield drawn.reshape(size, count).astype(np.float64)


def interval(replicates: Floats, confidence: float) -> tuple[float, float]:
    """The percentile interval of replicates, leaving out those that are not defined.

    Example:
        >>> low, high = interval(np.arange(101.0), 0.9)
        >>> round(low, 6), round(high, 6)
        (5.0, 95.0)
    """
    tail = (1 - confidence) / 2
    low, high = np.nanquantile(replicates, [tail, 1 - tail])
    return float(low), float(high)


def two_sided_p(replicates: Floats) -> float:
    """How often replicates of a difference fall on the other side of zero, doubled.

    One is added above and below (Davison & Hinkley 1997, §4.2), so it is never zero.

    Example:
        >>> two_sided_p(np.array([1.0, 2.0, 3.0]))
        0.5
    """
    there = replicates[~np.isnan(replicates)]
    fewer = min(np.count_nonzero(there <= 0), np.count_nonzero(there >= 0))
    return float(min(1.0, 2 * (1 + fewer) / (1 + len(there))))
