"""Bootstrap over clusters: whole dialogues, contexts or participants drawn with replacement.

Statistics here are functions of sums over clusters, so a resample costs one row of a matrix product
and no text is read twice. `ClusterDraws` says how often each cluster is drawn, `Resampled` makes an
interval and a p-value of what a statistic came to in every resample.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy import special

from dialens.base import Estimate

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Counts = NDArray[np.uint16]

MOST_UNDEFINED = 0.05
_MOST_CLUSTERS = 5_000
_CELLS_AT_ONCE = 4_000_000
_DRAWS_AT_ONCE = 250_000  # they stay in a processor's cache
_WEIGHTS_AT_ONCE = 250_000


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


def cluster_counts(clusters: int, resamples: int, rng: np.random.Generator) -> Counts:
    """How often each cluster is drawn: resamples × clusters, each row as many draws as clusters.

    Examples:
        >>> cluster_counts(3, 2, np.random.default_rng(0)).sum(axis=1).tolist()
        [3, 3]
    """
    counts = np.zeros((resamples, clusters), dtype=np.uint16)
    if not clusters:
        return counts
    block = max(1, _DRAWS_AT_ONCE // clusters)
    for start in range(0, resamples, block):
        size = min(block, resamples - start)
        picked = rng.integers(0, clusters, (size, clusters)) + np.arange(size)[:, None] * clusters
        drawn = np.bincount(picked.ravel(), minlength=size * clusters)
        counts[start : start + size] = drawn.reshape(size, clusters)
    return counts


def stratified_counts(strata: Ints, resamples: int, rng: np.random.Generator) -> Counts:
    """How often each cluster is drawn, each stratum keeping its number of clusters.

    Examples:
        >>> stratified_counts(np.array([0, 0, 1]), 2, np.random.default_rng(0))[:, 2].tolist()
        [1, 1]
    """
    counts = np.zeros((resamples, len(strata)), dtype=np.uint16)
    for stratum in np.unique(strata):
        members = np.flatnonzero(strata == stratum)
        even = np.full(len(members), 1 / len(members))
        counts[:, members] = rng.multinomial(len(members), even, resamples)
    return counts


@dataclass(frozen=True)
class ClusterDraws:
    """How often each cluster of units is drawn in each resample; the same for every statistic.

    Attributes:
        place: Of each unit, the number of its cluster.
        counts: Resamples × clusters.
        own: Whether every unit is a cluster of its own.

    Examples:
        >>> draws = ClusterDraws.of(np.array([3, 3, 8]), 4, np.random.default_rng(0))
        >>> draws.place.tolist(), draws.counts.sum(axis=1).tolist(), draws.own
        ([0, 0, 1], [2, 2, 2, 2], False)
        >>> draws.sums(np.array([[1.0], [1.0], [2.0]])).tolist()
        [[4.0], [4.0], [4.0], [4.0]]
    """

    place: Ints
    counts: Counts
    own: bool

    @classmethod
    def of(cls, clusters: Ints, resamples: int, rng: np.random.Generator) -> "ClusterDraws":
        """Draw as many clusters as there are, `resamples` times; of very many, random blocks."""
        names, place = np.unique(coarsened(clusters, rng), return_inverse=True)
        own = len(np.unique(clusters)) == len(clusters)
        return cls(place.astype(np.int64), cluster_counts(len(names), resamples, rng), own)

    @classmethod
    def within(cls, strata: Ints, resamples: int, rng: np.random.Generator) -> "ClusterDraws":
        """Draw units within their strata, each unit a cluster of its own."""
        place = np.arange(len(strata), dtype=np.int64)
        return cls(place, stratified_counts(strata, resamples, rng), own=True)

    def sums(self, rows: Floats) -> Floats:
        """Sums over the units drawn: resamples × columns of `rows`."""
        return weighted_sums(self.counts, cluster_sums(rows, self.place))

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Weights of the units, some resamples at a time."""
        step = max(1, _WEIGHTS_AT_ONCE // max(1, len(self.place)))
        for start in range(0, len(self.counts), step):
            part = slice(start, start + step)
            yield part, self.counts[part][:, self.place].astype(np.float64)

    def clusters(self, units: Mask) -> int:
        """How many clusters the marked units belong to."""
        return len(np.unique(self.place[units]))


def weighted_sums(counts: Counts, sums: Floats) -> Floats:
    """Sums of clusters by how often each was drawn, some resamples at a time."""
    block = max(1, _CELLS_AT_ONCE // max(1, len(sums)))
    parts = [
        counts[start : start + block].astype(np.float64) @ sums
        for start in range(0, len(counts), block)
    ]
    return np.concatenate(parts) if parts else np.empty((0, sums.shape[1]))


def resampled_sums(sums: Floats, resamples: int, rng: np.random.Generator) -> Floats:
    """Sums over clusters drawn with replacement, as many as there are, `resamples` times.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> resampled_sums(np.array([[2.0], [2.0]]), 3, rng).tolist()
        [[4.0], [4.0], [4.0]]
    """
    return weighted_sums(cluster_counts(len(sums), resamples, rng), sums)


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
    """A statistic, its bootstrap replicates, and the jackknife influence of each cluster.

    Intervals are bias-corrected and accelerated (BCa; Efron 1987): a pooled match or entropy is
    not a mean, its replicates lie systematically to one side, and plain percentiles would miss.

    Attributes:
        estimate: From all clusters.
        replicates: From clusters drawn with replacement; NaN where it is not defined.
        influence: The mean of the leave-one-out values minus each of them.
    """

    estimate: float
    replicates: Floats
    influence: Floats

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
        bias, skew = self._bias, self._acceleration
        ends = [
            special.ndtr(bias + (bias + z) / max(1 - skew * (bias + z), 0.1)) for z in (tail, -tail)
        ]
        low, high = np.nanquantile(self.replicates, ends)
        return float(min(low, self.estimate)), float(max(high, self.estimate))

    def summary(self, confidence: float) -> Estimate:
        """The statistic with interval and p; without them where too many resamples have no value.

        Examples:
            >>> Resampled(1.0, np.array([0.9, np.nan]), np.zeros(2)).summary(0.95).reason
            'not defined in 50% of the resamples'
        """
        if self.undefined > MOST_UNDEFINED:
            return Estimate(
                self.estimate, reason=f"not defined in {self.undefined:.0%} of the resamples"
            )
        low, high = self.interval(confidence)
        return Estimate(self.estimate, low, high, self.two_sided_p())

    def two_sided_p(self) -> float:
        """The smallest 1 − confidence at which the interval leaves zero out.

        Never below one in the number of replicates: so many draws cannot tell it from less.
        """
        present = self._present
        if not np.any(present):  # every replicate is exactly zero: the two are the same
            return 1.0
        below = self._share_below(0.0)
        away = special.ndtri(below) - self._bias
        z = away / max(1 + self._acceleration * away, 0.1) - self._bias
        return float(np.clip(2 * special.ndtr(-abs(z)), 1 / (len(present) + 1), 1.0))

    @property
    def _present(self) -> Floats:
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
        present = self._present
        below = np.count_nonzero(present < value) + np.count_nonzero(present == value) / 2
        return float((below + 0.5) / (len(present) + 1))

    @property
    def _acceleration(self) -> float:
        known = self.influence[~np.isnan(self.influence)]
        spread = float((known**2).sum() ** 1.5)
        return float((known**3).sum() / (6 * spread)) if spread > 0 else 0.0


def percentile_estimate(
    statistic: Callable[[Ints], float],
    n: int,
    *,
    resamples: int = 1_000,
    seed: int = 0,
) -> Estimate:
    """A statistic of rows with the 95 % percentile interval of its bootstrap over rows.

    For statistics that are no functions of sums; the statistic is computed in every resample.

    Args:
        statistic: Takes row numbers, gives a number.
        n: How many rows there are.
        resamples: How many times rows are drawn.
        seed: Random seed.

    Examples:
        >>> values = np.arange(10.0)
        >>> percentile_estimate(lambda rows: float(values[rows].mean()), 10, resamples=50).value
        4.5
    """
    rng = np.random.default_rng(seed)
    value = statistic(np.arange(n))
    drawn = [statistic(rng.integers(0, n, n)) for _ in range(resamples)]
    low, high = np.nanpercentile(drawn, [2.5, 97.5])
    return Estimate(value, float(low), float(high), n=n)
