"""People on a part, a judge everywhere: means and differences that stay honest whatever the judge.

Prediction-powered inference (Angelopoulos et al. 2023, tuned as in PPI++, arXiv:2311.01453): the
judge's mean over what people did not rate, shifted by how far people and judge differ where both
rated. A judge that is no good is weighted down, never believed: the interval holds for people's
ratings, and is narrower than theirs alone by what the judge knows.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import ceil

import numpy as np
from scipy import special

from dialens.base import DialensError, Estimate, counted
from dialens.statistics._bootstrap import Floats, Ints
from dialens.statistics._coefficients import pearson
from dialens.statistics.judges._arms import Arm, Arms, Variance

FEWEST_RATED = 6
"""Clusters rated by people below which there is no interval."""

FEWEST_TRUSTED = 8
"""Clusters rated by people below which an interval carries a warning (docs/inference.md)."""

HELPFUL = 0.05
"""A judge whose squared correlation with people is smaller saves next to nothing."""


@dataclass(frozen=True)
class PredictionPowered:
    """A mean of people's ratings, with and without the judge.

    Attributes:
        estimate: With the judge.
        people: From people's ratings alone.
        weight: How much of the judge is used; 0 is not at all.
        r: Correlation of judge and people over rated clusters; None without variance.
        n_rated: Ratings by people.
        n_judged: Units that only the judge rated.
        effective: Ratings that the same people would have had to give, on more units, for as
            precise an estimate; no more than they gave where the interval with the judge is no
            narrower than theirs.
        shift: How much higher the judge rates what people did not rate. It should be chance: else
            people's part is not random.
    """

    estimate: Estimate
    people: Estimate
    weight: float
    r: float | None
    n_rated: int
    n_judged: int
    effective: float | None
    shift: Estimate = field(default_factory=Estimate)

    @property
    def saving(self) -> float | None:
        """Share of human ratings that the judge saves; at most the squared correlation."""
        if self.effective is None:
            return None
        return 1 - self.n_rated / self.effective

    @property
    def needed(self) -> int | None:
        """Ratings that people would have to give without the judge."""
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
    if (clusters is None) != (clusters_alone is None):
        raise DialensError("Give the clusters of all units, or of none.")
    own = range(len(people)) if clusters is None else clusters
    rest = range(len(people), len(people) + len(judge_alone))
    even = np.full(len(people), 1 / max(len(people), 1))
    others = rest if clusters_alone is None else clusters_alone
    arm = Arm(people, judge, even, own, judge_alone, others)
    return powered_by_judge(Arms((arm,)), weight=weight, confidence=confidence)


def powered_by_judge(
    arms: Arms, *, weight: float | None = None, most: float = 1.0, confidence: float = 0.95
) -> PredictionPowered:
    """The mean of one agent, or the difference of two, from people's ratings and a judge's.

    Args:
        arms: What people and judge said of the agents.
        weight: Of the judge; the one with the smallest variance if not given.
        most: The largest weight that may be found; infinite for a judge on another scale.
        confidence: Of the intervals.
    """
    people, judge, rest = arms.totals()
    tuned = weight is None
    if not len(rest):
        weight, tuned = 0.0, False
    if weight is None:
        weight = tuned_weight(people, judge, rest, most=most)
    signs = [1 - 2 * at for at in range(len(arms.arms))]
    middle = sum(sign * arm.mean for sign, arm in zip(signs, arms.arms, strict=True))
    gap = sum(sign * arm.gap for sign, arm in zip(signs, arms.arms, strict=True))
    value = float(middle + weight * gap)
    r = pearson(people, judge) if np.ptp(people) > 0 and np.ptp(judge) > 0 else None
    n_rated = sum(len(arm.people) for arm in arms.arms)
    numbers = (n_rated, sum(len(arm.alone) for arm in arms.arms))
    reason = _no_interval(people)
    if reason is not None:
        bare, own = (Estimate(one, n=n_rated, reason=reason) for one in (value, middle))
        return PredictionPowered(bare, own, weight, r, *numbers, None)
    # A weight taken from the same ratings costs them a degree of freedom, as a slope does.
    with_judge, without = arms.variance(weight, tuned=tuned), arms.variance(0.0, tuned=False)
    both = _estimate(value, with_judge, n_rated, confidence)
    alone = _estimate(middle, without, n_rated, confidence)
    # The same raters on more dialogues: what raters add stays as it is with either.
    worth = n_rated * without.clusters / with_judge.clusters if with_judge.clusters > 0 else None
    if worth is not None and not _narrower(both, alone):
        worth = min(worth, float(n_rated))
    shift = _shift(arms, gap, confidence)
    return PredictionPowered(both, alone, weight, r, *numbers, worth, shift)


def _narrower(one: Estimate, other: Estimate) -> bool:
    ends = (one.low, one.high, other.low, other.high)
    low, high, other_low, other_high = (0.0 if end is None else end for end in ends)
    return high - low < other_high - other_low


def _no_interval(people: Floats) -> str | None:
    """Why so few clusters, or clusters so alike, carry no interval."""
    if len(people) < FEWEST_RATED:
        return f"people rated {len(people)} independent units; {FEWEST_RATED} are needed"
    alike = int(np.unique(np.round(people, 9), return_counts=True)[1].max())
    differ = len(people) - alike if alike > 1 else len(people)
    if not differ:
        return f"people rated all {len(people)} units alike: no variance, and no test"
    if differ < FEWEST_RATED:
        return (
            f"people rated all but {counted(differ, 'unit')} of {len(people)} alike; "
            f"{FEWEST_RATED} that differ are needed"
        )
    return None


def _shift(arms: Arms, gap: float, confidence: float) -> Estimate:
    """By how much the judge's ratings differ between what people rated and the rest."""
    if not any(len(arm.alone) for arm in arms.arms):
        return Estimate(reason="people rated everything that the judge rated")
    # Nobody's ratings with a judge of weight 1: the rest minus what people rated.
    flat = Arms(tuple(replace(arm, people=0 * arm.judge, raters=()) for arm in arms.arms))
    return _estimate(gap, flat.variance(1.0, tuned=False), len(arms.rated), confidence)


def tuned_weight(people: Floats, judge: Floats, judge_alone: Floats, *, most: float = 1.0) -> float:
    """How much of a judge to use: the weight with the smallest variance, never below 0.

    Args:
        people: A value for each unit that people rated.
        judge: The judge's of the same units.
        judge_alone: The judge's of the others.
        most: The largest weight; 1 where people and judge rate on the same scale.

    Examples:
        A judge that says the same of everything is not used.

        >>> tuned_weight(np.array([1.0, 2, 3]), np.full(3, 4.0), np.full(9, 4.0))
        0.0
    """
    spread = np.var(np.concatenate([judge, judge_alone]), ddof=1)
    if len(people) < 2 or spread == 0:
        return 0.0
    together = float(np.cov(people, judge)[0, 1])
    return float(np.clip(together / ((1 + len(people) / len(judge_alone)) * spread), 0, most))


@dataclass(frozen=True)
class CrossFitted:
    """Ratings of judges that were chosen without the units they are used on.

    Attributes:
        judge: Of the units that people rated.
        alone: Of the others: the mean over the choices.
        chosen: The number of the judge of each fold.
    """

    judge: Floats
    alone: Floats
    chosen: tuple[int, ...]


def cross_fitted(
    people: Floats,
    judges: Floats,
    judges_alone: Floats,
    *,
    clusters: Sequence[object] | None = None,
    folds: int = 5,
    seed: int = 0,
) -> CrossFitted:
    """The ratings of whichever judge is best, chosen without looking at the unit it is used on.

    Choosing the judge or the prompt that fits people best, and then using the same people to
    correct it, makes intervals too narrow. Here the clusters that people rated are dealt into
    folds, and each fold gets the judge that fits the other folds best. Judges that rate on
    different levels have to be brought to one before.

    Args:
        people: Mean rating by people, of n units.
        judges: n × judges.
        judges_alone: The units that only judges rated × judges.
        clusters: What each rated unit belongs to, e.g. its dialogue; each is its own if not given.
        folds: How many.
        seed: Of the deal.
    """
    people, judges = np.asarray(people, float), np.asarray(judges, float)
    rest = np.asarray(judges_alone, float)
    own: Ints = np.arange(len(people))
    if clusters is not None:
        own = np.unique([str(name) for name in clusters], return_inverse=True)[1]
    count = int(own.max()) + 1
    folds = min(folds, count)
    fold = np.random.default_rng(seed).permutation(np.arange(count) % folds)[own]
    used = np.empty(len(people))
    alone = np.zeros(len(rest))
    chosen = []
    for one in range(folds):
        others = fold != one
        best = int(np.argmax([_fit(people[others], column[others]) for column in judges.T]))
        used[fold == one] = judges[fold == one, best]
        alone += rest[:, best] * np.mean(fold == one)
        chosen.append(best)
    return CrossFitted(used, alone, tuple(chosen))


def _fit(people: Floats, judge: Floats) -> float:
    if len(people) < 2 or np.ptp(people) == 0 or np.ptp(judge) == 0:
        return -1.0
    return float(pearson(people, judge))


def _estimate(value: float, variance: Variance, n: int, confidence: float) -> Estimate:
    error, freedom = np.sqrt(variance.total), variance.degrees
    reach = float(error * special.stdtrit(freedom, (1 + confidence) / 2))
    p = float(2 * special.stdtr(freedom, -abs(value / error))) if error > 0 else None
    return Estimate(value, value - reach, value + reach, p=p, n=n, basis="clusters")
