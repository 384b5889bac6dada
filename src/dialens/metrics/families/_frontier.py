"""The divergence frontier between two sets of vectors (Pillutla et al. 2021).

Vectors are brought to unit length, reduced to their principal components and sorted into clusters;
two histograms over the clusters remain. For every mixture R of the histograms P and Q there is a
price KL(Q‖R) for what only one of them says and KL(P‖R) for what only the other does. MAUVE is the
area under the curve of exp(−c·KL) for both. Written from the paper; principal components and
clusters are scikit-learn's.
"""

import numpy as np
from numpy.typing import NDArray

from dialens.metrics._state import Floats

SCALE = 5.0
"""The constant c of the paper."""

MIXTURES = 25
"""Points of the curve between its ends."""

_EDGE = 1e-6  # how near the outermost mixtures come to P and Q


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
    divergence: Floats = (p[some] * np.log(p[some] / mixed[:, some])).sum(axis=1)
    return divergence


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
    from sklearn.decomposition import PCA
    from sklearn.preprocessing import normalize

    unit = normalize(vectors)
    if np.allclose(unit, unit[0]):
        return np.zeros((len(vectors), 1))
    components: Floats = PCA(share, svd_solver="covariance_eigh").fit_transform(unit)
    return components


def clustered(
    points: Floats, clusters: int, *, seed: int = 0, restarts: int = 5, rounds: int = 500
) -> NDArray[np.int64]:
    """Number every point by its cluster: k-means from well-spread beginnings, the best of some.

    Args:
        points: One row each.
        clusters: How many; points that are fewer and all different have one each.
        seed: Random seed; the same seed gives the same clusters.
        restarts: How many beginnings.
        rounds: At most, of each.

    Examples:
        >>> clustered(np.array([[0.0], [9.0], [0.1], [9.1]]), 2).tolist() in (
        ...     [0, 1, 0, 1],
        ...     [1, 0, 1, 0],
        ... )
        True
    """
    from sklearn.cluster import KMeans
    from threadpoolctl import threadpool_limits

    distinct = len(np.unique(points, axis=0))
    means = KMeans(min(clusters, distinct), n_init=restarts, max_iter=rounds, random_state=seed)
    with threadpool_limits(1):  # the same sums on any machine, and no threads that wait in turn
        labels: NDArray[np.int64] = means.fit_predict(points.astype(np.float32)).astype(np.int64)
    return labels
