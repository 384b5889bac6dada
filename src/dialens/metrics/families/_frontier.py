"""The divergence frontier between two sets of vectors (Pillutla et al. 2021).

Vectors are brought to unit length, reduced to their principal components and sorted into clusters;
two histograms over the clusters remain. For every mixture R of the histograms P and Q there is a
price KL(Q‖R) for what only one of them says and KL(P‖R) for what only the other does. MAUVE is the
area under the curve of exp(−c·KL) for both. Written from the paper, with NumPy alone.
"""

import math

import numpy as np
from numpy.typing import NDArray

from dialens.metrics._state import Floats

SCALE = 5.0
"""The constant c of the paper."""

MIXTURES = 25
"""Points of the curve between its ends."""

_EDGE = 1e-6  # how near the outermost mixtures come to P and Q
_CHUNK = 4096  # rows whose distances to all centres are in memory at a time


def mauve_of(p: Floats, q: Floats, *, scale: float = SCALE, mixtures: int = MIXTURES) -> float:
    """The area under the divergence curve of two histograms.

    Args:
        p: Shares of the clusters, which sum to 1.
        q: The same of the other set.
        scale: The paper's c.
        mixtures: How many points of the curve are computed.

    Examples:
        >>> mauve_of(np.array([0.5, 0.5]), np.array([0.5, 0.5]))
        1.0
        >>> round(mauve_of(np.array([1.0, 0.0]), np.array([0.0, 1.0])), 4)
        0.0041
    """
    share = np.linspace(_EDGE, 1 - _EDGE, mixtures)[:, None]
    mixed = share * p + (1 - share) * q
    # The ends of the curve: R is Q (or P) alone, and what it lacks costs without bound.
    across = np.concatenate([[1.0], np.exp(-scale * _divergence(q, mixed)), [0.0]])
    along = np.concatenate([[0.0], np.exp(-scale * _divergence(p, mixed)), [1.0]])
    return float(np.trapezoid(across, along))


def _divergence(p: Floats, mixed: Floats) -> Floats:
    """KL(p‖r) for every row r; 0·log 0 is 0."""
    some = p > 0
    found: Floats = (p[some] * np.log(p[some] / mixed[:, some])).sum(axis=1)
    return found


def histograms(labels: NDArray[np.int64], first: int, clusters: int) -> tuple[Floats, Floats]:
    """Shares of the clusters among the first rows, and among the others.

    Examples:
        >>> histograms(np.array([0, 1, 1, 1]), 2, 2)
        (array([0.5, 0.5]), array([0., 1.]))
    """
    p = np.bincount(labels[:first], minlength=clusters) / first
    q = np.bincount(labels[first:], minlength=clusters) / (len(labels) - first)
    return p, q


def reduced(vectors: Floats, share: float = 0.9) -> Floats:
    """Unit vectors in as few principal components as hold that share of their variance.

    Args:
        vectors: One row each.
        share: Of the variance, kept.

    Examples:
        >>> reduced(np.array([[2.0, 0.0], [3.0, 0.1], [0.0, 1.0]])).shape
        (3, 1)
    """
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    unit = vectors / np.where(lengths > 0, lengths, 1.0)
    centred = unit - unit.mean(axis=0)
    # From the smaller of the two products: a few thousand rows, or a few hundred columns.
    values, axes = np.linalg.eigh(centred.T @ centred)
    values, axes = np.maximum(values[::-1], 0.0), axes[:, ::-1]
    total = values.sum()
    if total <= 0:
        return np.zeros((len(vectors), 1))
    kept = int(np.searchsorted(np.cumsum(values) / total, share)) + 1
    made: Floats = centred @ axes[:, :kept]
    return made


def clustered(
    points: Floats, clusters: int, *, seed: int = 0, restarts: int = 5, rounds: int = 500
) -> NDArray[np.int64]:
    """Number every point by its cluster: k-means from well-spread beginnings, the best of some.

    Args:
        points: One row each.
        clusters: How many.
        seed: Of the beginnings.
        restarts: How many beginnings.
        rounds: At most, of each.

    Examples:
        >>> clustered(np.array([[0.0], [9.0], [0.1], [9.1]]), 2).tolist() in (
        ...     [0, 1, 0, 1],
        ...     [1, 0, 1, 0],
        ... )
        True
    """
    data = points.astype(np.float32)
    best, least = np.zeros(len(data), np.int64), math.inf
    for restart in range(restarts):
        dice = np.random.default_rng([seed, restart])
        labels, cost = _one_run(data, _spread(data, clusters, dice), rounds)
        if cost < least:
            best, least = labels, cost
    return best


def _spread(
    data: NDArray[np.float32], clusters: int, dice: np.random.Generator
) -> NDArray[np.float32]:
    """Centres drawn one by one, far points sooner (k-means++; Arthur and Vassilvitskii 2007)."""
    chosen = [int(dice.integers(len(data)))]
    norms = (data**2).sum(axis=1)
    nearest = np.full(len(data), np.inf)
    while True:
        latest = chosen[-1]
        fresh = norms + norms[latest] - 2 * (data @ data[latest])
        nearest = np.minimum(nearest, np.maximum(fresh, 0.0))
        nearest[latest] = 0.0
        if len(chosen) == clusters:
            return data[chosen]
        total = nearest.sum()
        weights = nearest / total if total > 0 else None
        chosen.append(int(dice.choice(len(data), p=weights)))


def _one_run(
    data: NDArray[np.float32], centres: NDArray[np.float32], rounds: int
) -> tuple[NDArray[np.int64], float]:
    labels, distances = _assigned(data, centres)
    for _ in range(rounds):
        sizes = np.bincount(labels, minlength=len(centres))
        some = np.flatnonzero(sizes)
        order = np.argsort(labels, kind="stable")
        starts = np.cumsum(sizes)[some] - sizes[some]
        sums = np.add.reduceat(data[order], starts, axis=0, dtype=np.float64)
        centres = np.zeros_like(centres)
        centres[some] = sums / sizes[some][:, None]
        lost = np.flatnonzero(sizes == 0)  # a centre that nobody is near goes to who is worst off
        centres[lost] = data[np.argsort(-distances, kind="stable")[: len(lost)]]
        before = labels
        labels, distances = _assigned(data, centres)
        if np.array_equal(labels, before):
            break
    return labels, float(distances.sum())


def _assigned(
    data: NDArray[np.float32], centres: NDArray[np.float32]
) -> tuple[NDArray[np.int64], Floats]:
    """The nearest centre of each row, and the square of the distance."""
    labels = np.empty(len(data), np.int64)
    distances = np.empty(len(data), np.float64)
    norms = (centres**2).sum(axis=1)
    for start in range(0, len(data), _CHUNK):
        rows = data[start : start + _CHUNK]
        partial = norms - 2 * (rows @ centres.T)
        found = partial.argmin(axis=1)
        labels[start : start + _CHUNK] = found
        own = partial[np.arange(len(rows)), found] + (rows**2).sum(axis=1)
        distances[start : start + _CHUNK] = np.maximum(own, 0.0)
    return labels, distances
