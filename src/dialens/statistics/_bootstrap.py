"""Resampling whole dialogues from their sums, so that no text is read twice."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_MOST_CLUSTERS = 5_000
_CELLS_AT_ONCE = 4_000_000


def cluster_sums(rows: Floats, clusters: Ints) -> Floats:
    """Rows added up by cluster, clusters in ascending order.

    Examples:
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

    Examples:
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


def left_out_sums(sums: Floats) -> Floats:
    """The total without each cluster in turn, for the jackknife.

    Examples:
        >>> left_out_sums(np.array([[1.0], [2.0], [4.0]])).tolist()
        [[6.0], [5.0], [3.0]]
    """
    rest: Floats = sums.sum(axis=0, keepdims=True) - sums
    return rest


@dataclass(frozen=True)
class Resampled:
    """A statistic, its bootstrap replicates, and how much each cluster pulls at it.

    Intervals are bias-corrected and accelerated (BCa; Efron 1987): a pooled match or entropy is
    not a mean, its replicates lie systematically to one side, and plain percentiles would miss.

    Attributes:
        estimate: From all clusters.
        replicates: From clusters drawn with replacement; NaN where it is not defined.
        pulls: The mean of the leave-one-out values minus each of them.
    """

    estimate: float
    replicates: Floats
    pulls: Floats

    @property
    def undefined(self) -> float:
        """The share of replicates for which the statistic is not defined."""
        return float(np.isnan(self.replicates).mean())

    def interval(self, confidence: float) -> tuple[float, float]:
        """Low and high; the estimate always lies within.

        Examples:
            >>> rng = np.random.default_rng(0)
            >>> draws = Resampled(0.0, rng.normal(size=20_000), np.array([-1.0, 1.0]))
            >>> low, high = draws.interval(0.95)
            >>> bool(abs(low + 1.96) < 0.1), bool(abs(high - 1.96) < 0.1)
            (True, True)
        """
        tail = special.ndtri((1 - confidence) / 2)
        bias, pull = self._bias, self._acceleration
        ends = [
            special.ndtr(bias + (bias + z) / max(1 - pull * (bias + z), 0.1)) for z in (tail, -tail)
        ]
        low, high = np.nanquantile(self.replicates, ends)
        return float(min(low, self.estimate)), float(max(high, self.estimate))

    def two_sided_p(self) -> float:
        """The smallest 1 − confidence at which the interval leaves zero out.

        Never below one in the number of replicates: so many draws cannot tell it from less.
        """
        there = self._there
        if not np.any(there):  # every replicate is exactly zero: the two are the same
            return 1.0
        below = self._share_below(0.0)
        away = special.ndtri(below) - self._bias
        z = away / max(1 + self._acceleration * away, 0.1) - self._bias
        return float(np.clip(2 * special.ndtr(-abs(z)), 1 / (len(there) + 1), 1.0))

    @property
    def _there(self) -> Floats:
        return self.replicates[~np.isnan(self.replicates)]

    @property
    def _bias(self) -> float:
        """How far the estimate lies from the middle of the replicates, in standard deviations.

        Beyond one, nearly all replicates lie on one side (a match close to its ceiling, say): the
        correction would be an extrapolation, and is held there.
        """
        return float(np.clip(special.ndtri(self._share_below(self.estimate)), -1.0, 1.0))

    def _share_below(self, value: float) -> float:
        """The share of replicates below a value, ties halved, kept away from 0 and 1."""
        there = self._there
        below = np.count_nonzero(there < value) + np.count_nonzero(there == value) / 2
        return float((below + 0.5) / (len(there) + 1))

    @property
    def _acceleration(self) -> float:
        pulls = self.pulls[~np.isnan(self.pulls)]
        spread = float((pulls**2).sum() ** 1.5)
        return float((pulls**3).sum() / (6 * spread)) if spread > 0 else 0.0
