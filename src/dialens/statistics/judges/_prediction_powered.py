"""People on a part, a judge everywhere: means and differences that stay honest whatever the judge.

Prediction-powered inference (Angelopoulos et al. 2023, tuned as in PPI++, arXiv:2311.01453): the
judge's mean over what people did not rate, shifted by how far people and judge differ where both
rated. A judge that is no good is weighted down, never believed: the interval holds for people's
ratings, and is narrower than theirs alone by what the judge knows.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy import special

from dialens.base import DialensError, Estimate
from dialens.statistics._bootstrap import Floats, Ints
from dialens.statistics._coefficients import pearson

FEWEST_RATED = 6
"""Clusters rated by people below which there is no interval."""

HELPFUL = 0.05
"""A judge whose squared correlation with people is smaller saves next to nothing."""


@dataclass(frozen=True)
class PredictionPowered:
    """A mean of people's ratings, with and without the judge.

    Attributes:
        estimate: With the judge.
        people: From people's ratings alone.
        weight: How much of the judge is used, 0 to 1.
        r: Correlation of judge and people where both rated; None without variance.
        n_rated: Units that people rated.
        n_judged: Units that only the judge rated.
        effective: Units that people would have had to rate for as narrow an interval.
    """

    estimate: Estimate
    people: Estimate
    weight: float
    r: float | None
    n_rated: int
    n_judged: int
    effective: float | None

    @property
    def saving(self) -> float | None:
        """Share of human ratings that the judge saves; at most the squared correlation."""
        if self.effective is None:
            return None
        return 1 - self.n_rated / self.effective

    @property
    def needed(self) -> int | None:
        """Units that people would have to rate without the judge."""
        return None if self.effective is None else ceil(self.effective)


def prediction_powered(
    people: Floats,
    judge: Floats,
    judge_alone: Floats,
    *,
    clusters: Sequence[object] | None = None,
    clusters_alone: Sequence[object] | None = None,
    weight: float | None = None,
    confidence: float = 0.95,
) -> PredictionPowered:
    """The mean of people's ratings over all units, of which people rated a random part.

    For a paired difference of two agents, give differences on the same prompts.

    Args:
        people: Mean rating by people, a value for each unit that they rated.
        judge: The judge's rating of the same units.
        judge_alone: The judge's rating of the others.
        clusters: What each rated unit belongs to, e.g. its dialogue; each is its own if not given.
        clusters_alone: The same for the others.
        weight: Of the judge; the one with the smallest variance, within 0 to 1, if not given.
        confidence: Of the intervals.

    Examples:
        >>> people = np.array([1.0, 2, 3, 4, 5, 6, 7, 8])
        >>> judged = people + np.array([0.1, -0.1, 0.1, -0.1, 0.1, -0.1, 0.1, -0.1])
        >>> done = prediction_powered(people, judged, np.linspace(2, 9, 100))
        >>> round(done.estimate.value, 2), round(done.people.value, 2), done.needed > 8
        (5.5, 4.5, True)
    """
    people, judge, judge_alone = (np.asarray(one, float) for one in (people, judge, judge_alone))
    if len(people) != len(judge):
        raise DialensError("People and judge must have rated the same units.")
    if not len(judge_alone):
        weight = 0.0
    groups = _groups(len(people), len(judge_alone), clusters, clusters_alone)
    tuned = weight is None
    if weight is None:
        weight = tuned_weight(people, judge, judge_alone)
    alone = judge_alone.mean() if len(judge_alone) else 0.0
    value = float(people.mean() + weight * (alone - judge.mean()))
    n_clusters = len(np.unique(groups[: len(people)]))
    r = pearson(people, judge) if np.ptp(people) > 0 and np.ptp(judge) > 0 else None
    counted = (len(people), len(judge_alone))
    if n_clusters < FEWEST_RATED:
        reason = f"people rated {n_clusters} independent units; {FEWEST_RATED} are needed"
        bare = Estimate(value, n=len(people), reason=reason)
        own = Estimate(float(people.mean()), n=len(people), reason=reason)
        return PredictionPowered(bare, own, weight, r, *counted, None)
    # A weight taken from the same ratings costs them a degree of freedom, as a slope does.
    spent = 2 if tuned else 1
    with_judge = _variance(people - weight * judge, weight * judge_alone, groups, spent)
    without = _variance(people, np.zeros(0), groups[: len(people)], 1)
    estimate = _estimate(value, with_judge, n_clusters - spent, len(people), confidence)
    own = _estimate(float(people.mean()), without, n_clusters - 1, len(people), confidence)
    effective = len(people) * without / with_judge if with_judge > 0 else None
    return PredictionPowered(estimate, own, weight, r, *counted, effective)


def tuned_weight(people: Floats, judge: Floats, judge_alone: Floats) -> float:
    """How much of a judge to use: the weight with the smallest variance, within 0 to 1.

    Examples:
        A judge that says the same of everything is not used.

        >>> tuned_weight(np.array([1.0, 2, 3]), np.full(3, 4.0), np.full(9, 4.0))
        0.0
    """
    spread = np.var(np.concatenate([judge, judge_alone]), ddof=1)
    if len(people) < 2 or spread == 0:
        return 0.0
    together = float(np.cov(people, judge)[0, 1])
    return float(np.clip(together / ((1 + len(people) / len(judge_alone)) * spread), 0, 1))


def cross_fitted(
    people: Floats, judges: Floats, judges_alone: Floats, *, folds: int = 5, seed: int = 0
) -> tuple[Floats, Floats]:
    """The ratings of whichever judge is best, chosen without looking at the unit it is used on.

    Choosing the judge or the prompt that fits people best, and then using the same people to
    correct it, makes intervals too narrow. Here the units that people rated are dealt into folds,
    and each fold gets the judge that fits the other folds best.

    Args:
        people: Mean rating by people, of n units.
        judges: n × judges.
        judges_alone: The units that only judges rated × judges.
        folds: How many.
        seed: Of the deal.

    Returns:
        What to give to `prediction_powered` as `judge` and `judge_alone`.
    """
    people, judges = np.asarray(people, float), np.asarray(judges, float)
    fold = np.random.default_rng(seed).permutation(np.arange(len(people)) % folds)
    chosen = np.empty(len(people))
    alone = np.zeros(len(judges_alone))
    for one in range(folds):
        others = fold != one
        best = int(np.argmax([_fit(people[others], column[others]) for column in judges.T]))
        chosen[fold == one] = judges[fold == one, best]
        alone += np.asarray(judges_alone, float)[:, best] / folds
    return chosen, alone


def _fit(people: Floats, judge: Floats) -> float:
    if np.ptp(people) == 0 or np.ptp(judge) == 0:
        return -1.0
    return float(pearson(people, judge))


def _groups(
    rated: int,
    alone: int,
    clusters: Sequence[object] | None,
    clusters_alone: Sequence[object] | None,
) -> Ints:
    if clusters is None and clusters_alone is None:
        return np.arange(rated + alone)
    if clusters is None or clusters_alone is None:
        raise DialensError("Give the clusters of all units, or of none.")
    if (len(clusters), len(clusters_alone)) != (rated, alone):
        raise DialensError("There must be a cluster for each unit.")
    names = [str(one) for one in (*clusters, *clusters_alone)]
    return np.unique(names, return_inverse=True)[1].astype(np.int64)


def _variance(rated: Floats, alone: Floats, groups: Ints, spent: int) -> float:
    """Of the sum of two means, by how much each cluster pulls at it."""
    pulls = np.zeros(int(groups.max()) + 1)
    parts = ((rated, groups[: len(rated)], spent), (alone, groups[len(rated) :], 1))
    for values, own, less in parts:
        if len(values):
            count = len(np.unique(own))
            scale = np.sqrt(count / max(count - less, 1)) / len(values)
            pulls += np.bincount(own, (values - values.mean()) * scale, minlength=len(pulls))
    return float(np.square(pulls).sum())


def _estimate(value: float, variance: float, freedom: int, n: int, confidence: float) -> Estimate:
    error = np.sqrt(variance)
    reach = float(error * special.stdtrit(freedom, (1 + confidence) / 2))
    p = float(2 * special.stdtr(freedom, -abs(value / error))) if error > 0 else None
    return Estimate(value, value - reach, value + reach, p=p, n=n, basis="clusters")
