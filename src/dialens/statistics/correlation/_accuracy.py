"""How often a metric orders two things as people do: pairs of systems, and pairs of segments.

As the metrics shared tasks of machine translation do: over systems the share of pairs that metric
and people put in the same order (Kocmi et al. 2021, "To ship or not to ship", without leaving out
pairs whose difference is not significant); over segments acc*_eq of Deutsch, Foster & Freitag
(2023, "Ties matter"), in which ties by people count, and scores that lie no farther apart than ε
count as ties of the metric, ε chosen on the same data so that accuracy is highest.
"""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from dialens.base import Estimate
from dialens.statistics._bootstrap import ClusterDraws, Floats, Ints, Mask, weighted_sums
from dialens.statistics.correlation._correlation import FEWEST_CLUSTERS

_MOST_OF_A_GROUP = 100
_MOST_THRESHOLDS = 1_000


@dataclass(frozen=True)
class SegmentAccuracy:
    """acc*_eq of a metric.

    Attributes:
        estimate: The mean over groups of the share of pairs in the same order or tied in both.
        epsilon: Scores that lie no farther apart count as a tie.
        pairs: Pairs in all groups.
        groups: Groups with at least one pair.
        ties: Mean share of pairs that people tie: the accuracy of a metric that ties everything.
    """

    estimate: Estimate
    epsilon: float | None = None
    pairs: int = 0
    groups: int = 0
    ties: float | None = None


@dataclass(frozen=True)
class Pairs:
    """Pairs of units of the same group.

    Attributes:
        first: Number of a unit.
        second: Number of the other.
        group: Of both.
        groups: How many groups there are.
    """

    first: Ints
    second: Ints
    group: Ints
    groups: int

    @classmethod
    def within(cls, groups: Ints, rng: np.random.Generator) -> "Pairs":
        """All pairs within groups; of a large group those of a hundred of its units, at random.

        Examples:
            >>> pairs = Pairs.within(np.array([0, 0, 1, 0]), np.random.default_rng(0))
            >>> pairs.first.tolist(), pairs.second.tolist(), pairs.groups
            ([0, 0, 1], [1, 3, 3], 1)
        """
        codes, counts = np.unique(groups, return_inverse=True, return_counts=True)[1:]
        order = np.argsort(codes, kind="stable")
        parts: list[Ints] = []
        for members in np.split(order, np.cumsum(counts)[:-1]):
            if len(members) < 2:
                continue
            if len(members) > _MOST_OF_A_GROUP:
                members = np.sort(rng.choice(members, _MOST_OF_A_GROUP, replace=False))
            i, j = np.triu_indices(len(members), 1)
            parts.append(np.stack([members[i], members[j], np.full(len(i), len(parts))]))
        joined = np.concatenate(parts, axis=1) if parts else np.empty((3, 0), dtype=np.int64)
        return cls(joined[0], joined[1], joined[2], len(parts))


def segment_accuracy(
    metric: Floats,
    people: Floats,
    pairs: Pairs,
    clusters: Ints,
    *,
    by_cluster: bool,
    confidence: float = 0.95,
) -> SegmentAccuracy:
    """Pairwise accuracy with ties and tie calibration, with an interval over clusters at that ε.

    Args:
        metric: A score a unit, higher for better; NaN where missing, here and below.
        people: The mean rating.
        pairs: Which units are compared.
        clusters: Of each unit.
        by_cluster: Whether groups are the clusters, so that it is groups that were sampled.
        confidence: Confidence level of the interval.

    Examples:
        >>> groups = np.zeros(4, dtype=int)
        >>> pairs = Pairs.within(groups, np.random.default_rng(0))
        >>> metric, people = np.array([0.0, 2, 6, 8]), np.array([1.0, 1, 1, 4])
        >>> result = segment_accuracy(metric, people, pairs, groups, by_cluster=True)
        >>> result.estimate.value == 4 / 6, result.epsilon, result.ties
        (True, 4.0, 0.5)
    """
    gap = metric[pairs.first] - metric[pairs.second]
    judged = people[pairs.first] - people[pairs.second]
    known = np.isfinite(gap) & np.isfinite(judged)
    if not known.any():
        return SegmentAccuracy(Estimate(reason="no two units of a group have both values"))
    gap, judged = gap[known].round(12), np.sign(judged[known].round(9))
    group = np.unique(pairs.group[known], return_inverse=True)[1]
    count = np.bincount(group)
    weight = 1 / (count[group] * len(count))
    epsilon = _calibrated(np.abs(gap), np.sign(gap) == judged, judged == 0, weight)
    right = np.where(np.abs(gap) <= epsilon, judged == 0, np.sign(gap) == judged).astype(float)
    value = float(weight @ right)
    of_group: Floats = np.bincount(group, right) / count
    influence: Floats
    if by_cluster:
        influence = (of_group - value) / len(count)
    else:
        apart = (right - of_group[group]) * weight
        units = np.zeros(len(metric))
        np.add.at(units, pairs.first[known], apart)
        np.add.at(units, pairs.second[known], apart)
        used = np.union1d(pairs.first[known], pairs.second[known])
        place = np.unique(clusters[used], return_inverse=True)[1]
        influence = np.bincount(place, units[used]).astype(np.float64)
    ties = float(weight @ (judged == 0))
    estimate = _estimate(value, influence, confidence)
    return SegmentAccuracy(estimate, epsilon, int(known.sum()), len(count), ties)


def _calibrated(gap: Floats, ordered: Mask, tied: Mask, weight: Floats) -> float:
    """The smallest ε with the highest accuracy: gaps up to ε become ties, larger ones stay."""
    order = np.argsort(gap, kind="stable")
    sizes = gap[order]
    gained = np.cumsum(weight[order] * tied[order])
    lost = np.cumsum(weight[order] * (ordered & (gap > 0))[order])
    # Before any threshold, pairs with equal scores are ties already.
    last = np.flatnonzero(np.append(np.diff(sizes) > 0, True))
    thresholds, total = sizes[last], gained[last] - lost[last]
    if thresholds[0] > 0:
        thresholds, total = np.append(0.0, thresholds), np.append(0.0, total)
    if len(thresholds) > _MOST_THRESHOLDS:
        kept = np.linspace(0, len(thresholds) - 1, _MOST_THRESHOLDS).astype(np.int64)
        thresholds, total = thresholds[kept], total[kept]
    return float(thresholds[int(np.argmax(total > total.max() - 1e-12))])


def _estimate(value: float, influence: Floats, confidence: float) -> Estimate:
    clusters = len(influence)
    if clusters < FEWEST_CLUSTERS:
        return Estimate(value, reason=f"only {clusters} clusters: too few for an interval")
    error = float(np.sqrt(clusters / (clusters - 1) * (influence**2).sum()))
    reach = float(stats.t.ppf((1 + confidence) / 2, clusters - 1)) * error
    return Estimate(value, max(0.0, value - reach), min(1.0, value + reach), basis="clusters")


def system_accuracy(
    x: Floats, y: Floats, agents: Ints, draws: ClusterDraws, *, confidence: float = 0.95
) -> list[list[Estimate]]:
    """Of all pairs of agents, the share that means of x and of y put in the same order.

    The interval is that of percentiles over clusters drawn anew: these agents, other dialogues.

    Args:
        x: Units × metrics, higher for better; NaN where missing.
        y: Units × qualities.
        agents: Whose each unit is.
        draws: Of the clusters of the units.
        confidence: Confidence level of the intervals.

    Examples:
        >>> agents = np.repeat(np.arange(3), 20)
        >>> x, y = agents[:, None] * np.array([1.0, -1.0]), agents[:, None] + 0.0
        >>> draws = ClusterDraws.of(np.tile(np.arange(20), 3), 50, np.random.default_rng(0))
        >>> [one[0].value for one in system_accuracy(x, y, agents, draws)]
        [1.0, 0.0]
    """
    codes = np.unique(agents, return_inverse=True)[1]
    count = int(codes.max()) + 1
    i, j = np.triu_indices(count, 1)
    both = np.hstack([x, y])
    present = np.isfinite(both)
    sums = np.zeros((2, draws.counts.shape[1], count, both.shape[1]))
    np.add.at(sums[0], (draws.place, codes), np.where(present, both, 0.0))
    np.add.at(sums[1], (draws.place, codes), present)
    flat = sums.reshape(2, draws.counts.shape[1], -1)
    drawn = [weighted_sums(draws.counts, part).reshape(-1, count, both.shape[1]) for part in flat]
    whole = sums.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        resampled = drawn[0] / drawn[1]
        means = whole[0] / whole[1]
    order = np.sign((means[i] - means[j]).round(12))
    orders = np.sign((resampled[:, i] - resampled[:, j]).round(12))
    split = x.shape[1]
    ends = ((1 - confidence) / 2 * 100, (1 + confidence) / 2 * 100)
    return [
        [
            _of_systems(
                order[:, a] == order[:, b],
                np.isfinite(order[:, a] + order[:, b]),
                (orders[:, :, a] == orders[:, :, b]).mean(axis=1),
                ends,
                draws.clusters(present[:, a] & present[:, b]),
            )
            for b in range(split, both.shape[1])
        ]
        for a in range(split)
    ]


def _of_systems(
    same: Mask, known: Mask, drawn: Floats, ends: tuple[float, float], clusters: int
) -> Estimate:
    if known.sum() < 1 or not known.all():
        return Estimate(reason="an agent has no value")
    value, pairs = float(same.mean()), len(same)
    if clusters < FEWEST_CLUSTERS:
        return Estimate(value, n=pairs, reason=f"only {clusters} clusters: too few for an interval")
    low, high = (float(end) for end in np.percentile(drawn, ends))
    return Estimate(value, min(low, value), max(high, value), n=pairs, basis="clusters")
