"""People's ratings of one agent or of two, with what a judge said of these replies and of others.

Every rating pulls at the mean it is part of. Pulls of one dialogue (or context) are added before
they are squared, so that replies of one dialogue are not taken for independent, and two agents that
answered the same context are compared in pairs. Raters who come back are a sample as well: what
their pulls add beyond those of dialogues is added to the variance (Cameron, Gelbach and Miller
2011).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from dialens.base import DialensError
from dialens.statistics._bootstrap import Floats, Ints

_NOTHING = 1e-9


@dataclass(frozen=True)
class Arm:
    """What people and a judge said of one agent.

    Attributes:
        people: People's ratings, one a rating.
        judge: What the judge said of the same reply.
        weights: Of each rating, of which the sum is 1.
        clusters: The dialogue or context of each rating.
        alone: What the judge said of replies that people did not rate.
        clusters_alone: Their dialogues or contexts.
        raters: Who gave each rating; empty if raters are not taken as a sample.
    """

    people: Floats
    judge: Floats
    weights: Floats
    clusters: Sequence[object]
    alone: Floats
    clusters_alone: Sequence[object]
    raters: Sequence[object] = ()

    def __post_init__(self) -> None:
        """Refuse parts that do not fit together."""
        if len(self.people) != len(self.judge):
            raise DialensError("People and judge must have rated the same units.")
        if len(self.clusters) != len(self.people) or len(self.clusters_alone) != len(self.alone):
            raise DialensError("There must be a cluster for each unit.")

    @property
    def mean(self) -> float:
        """Of people's ratings."""
        return float(self.weights @ self.people)

    def rectified(self, weight: float) -> Floats:
        """People's ratings without what a judge of this weight knows, if it rated anything else."""
        return self.people - weight * self.judge if len(self.alone) else self.people

    @property
    def gap(self) -> float:
        """How much higher the judge rates what people did not rate than what they did."""
        if not len(self.alone):
            return 0.0
        return float(self.alone.mean() - self.weights @ self.judge)


@dataclass(frozen=True)
class Variance:
    """Of a mean or a difference.

    Attributes:
        clusters: Since dialogues are a sample; a judge makes it smaller.
        raters: What raters add, since they are one too; no judge makes that smaller.
        degrees: Of freedom, of both together.
    """

    clusters: float
    raters: float
    degrees: float

    @property
    def total(self) -> float:
        """Of both."""
        return self.clusters + self.raters


@dataclass(frozen=True)
class Arms:
    """One agent, or the first against the second.

    Attributes:
        arms: The agents; the second counts negatively.
    """

    arms: tuple[Arm, ...]

    @cached_property
    def clusters(self) -> tuple[list[Ints], list[Ints], int]:
        """Numbers of the clusters of rated and of other replies, for each arm, and how many."""
        parts = [names for arm in self.arms for names in (arm.clusters, arm.clusters_alone)]
        numbers, count = _numbered(parts)
        return numbers[::2], numbers[1::2], count

    @cached_property
    def rated(self) -> Ints:
        """The clusters in which people rated something."""
        return np.unique(np.concatenate(self.clusters[0]))

    @property
    def paired(self) -> bool:
        """Whether all arms have the same rated clusters."""
        return all(len(np.unique(own)) == len(self.rated) for own in self.clusters[0])

    def pulls(self, values: Sequence[Floats], alone: Sequence[Floats]) -> tuple[Floats, Floats]:
        """How each cluster pulls at the mean of rated replies, and at that of the others."""
        rated_of, alone_of, count = self.clusters
        both = np.zeros((2, count))
        for at, arm in enumerate(self.arms):
            sign = 1 - 2 * at
            centred = arm.weights * (values[at] - arm.weights @ values[at])
            both[0] += sign * np.bincount(rated_of[at], centred, minlength=count)
            if len(alone[at]):
                rest = (alone[at] - alone[at].mean()) / len(alone[at])
                both[1] += sign * np.bincount(alone_of[at], rest, minlength=count)
        return both[0], both[1]

    def totals(self) -> tuple[Floats, Floats, Floats]:
        """People and judge by rated cluster, and the judge by other clusters, as if one unit each.

        With a reply a cluster these are the ratings themselves, around their means.
        """
        nothing = [np.zeros(0)] * len(self.arms)
        people = self.pulls([arm.people for arm in self.arms], nothing)[0]
        rated_of, alone_of, count = self.clusters
        judge, rest = np.zeros(count), np.zeros(count)
        some = any(len(arm.alone) for arm in self.arms)
        for at, arm in enumerate(self.arms):
            if some and not len(arm.alone):  # this agent's mean does not use the judge
                continue
            sign = 1 - 2 * at
            middle = np.concatenate([arm.judge, arm.alone]).mean()
            judge += sign * np.bincount(
                rated_of[at], arm.weights * (arm.judge - middle), minlength=count
            )
            share = (arm.alone - middle) / max(len(arm.alone), 1)
            rest += sign * np.bincount(alone_of[at], share, minlength=count)
        n, others = self.rated, np.unique(np.concatenate(alone_of))
        return people[n] * len(n), judge[n] * len(n), rest[others] * len(others)

    def variance(self, weight: float, *, tuned: bool) -> "Variance":
        """Of the estimate with a judge of this weight."""
        values = [arm.rectified(weight) for arm in self.arms]
        rated, rest = self.pulls(values, [weight * arm.alone for arm in self.arms])
        spent = 2 if tuned else 1
        degrees = float(len(self.rated) - spent)
        grown = float(np.sqrt(len(self.rated) / max(degrees, 1)))
        if not self.paired:
            grown, degrees = self._two_samples(values, tuned=tuned)
        others = len(np.unique(np.concatenate(self.clusters[1]))) if weight else 0
        grown_rest = np.sqrt(others / max(others - 1, 1)) if others else 0.0
        by_cluster = float(np.square(rated * grown + rest * grown_rest).sum())
        by_rater, raters = self._rater_variance(values, float(np.square(rated * grown).sum()))
        if by_rater > 0:
            below = by_cluster**2 / max(degrees, 1) + by_rater**2 / (raters - 1)
            degrees = (by_cluster + by_rater) ** 2 / below
        return Variance(by_cluster, by_rater, degrees)

    def _two_samples(self, values: Sequence[Floats], *, tuned: bool) -> tuple[float, float]:
        """Welch's degrees of freedom where two agents have dialogues of their own."""
        squares, counts = [], []
        for at, arm in enumerate(self.arms):
            own = self.clusters[0][at]
            centred = arm.weights * (values[at] - arm.weights @ values[at])
            count = len(np.unique(own))
            squares.append(float(np.square(np.bincount(own, centred)).sum()))
            counts.append(count)
        parts = [s * c / max(c - 1, 1) for s, c in zip(squares, counts, strict=True)]
        below = sum(p**2 / max(c - 1, 1) for p, c in zip(parts, counts, strict=True))
        degrees = sum(parts) ** 2 / below if below > 0 else 1.0
        less = degrees - (1 if tuned else 0)
        grown = sum(parts) / sum(squares) if sum(squares) > 0 else 1.0
        if tuned:
            grown *= degrees / max(less, 1)
        return float(np.sqrt(grown)), max(less, 1.0)

    def _rater_variance(self, values: Sequence[Floats], by_cluster: float) -> tuple[float, int]:
        """What raters add beyond the dialogues they rated, and how many there are.

        It is how alike ratings of one rater are over different dialogues, free of the bias that
        comes from taking the mean from the same ratings: with everybody rating everything exactly
        (MSR − MSE) / n of a two-way table. Raters of one dialogue each add nothing.
        """
        if not all(len(arm.raters) for arm in self.arms):
            return 0.0, 0
        raters, count = _numbered([arm.raters for arm in self.arms])
        if count < 2:
            return 0.0, count
        cells = [own * count + who for own, who in zip(self.clusters[0], raters, strict=True)]
        alike = np.split(
            np.unique(np.concatenate(cells), return_inverse=True)[1],
            np.cumsum([len(one) for one in cells])[:-1],
        )
        of_rater, of_cell = np.zeros(count), np.zeros(max(one.max() for one in alike) + 1)
        shares = np.zeros(2)  # mean over agents of the squared weights of raters, and of cells
        for at, arm in enumerate(self.arms):
            pull = (1 - 2 * at) * arm.weights * (values[at] - arm.weights @ values[at])
            of_rater += np.bincount(raters[at], pull, minlength=len(of_rater))
            of_cell += np.bincount(alike[at], pull, minlength=len(of_cell))
            for place, groups in enumerate((raters[at], alike[at])):
                weights = np.bincount(groups, arm.weights)
                shares[place] += np.square(weights).sum() / len(self.arms)
        across = shares[0] - shares[1]
        if across < _NOTHING or shares[0] > 1 - _NOTHING:
            return 0.0, count
        together = np.square(of_rater).sum() - np.square(of_cell).sum() + by_cluster * across
        return max(float(together * shares[0] / across / (1 - shares[0])), 0.0), count


def _numbered(parts: Sequence[Sequence[object]]) -> tuple[list[Ints], int]:
    """Names as numbers that are the same in all parts."""
    names = [str(name) for part in parts for name in part]
    known, numbers = np.unique(names, return_inverse=True)
    ends = np.cumsum([len(part) for part in parts])[:-1]
    return [one.astype(np.int64) for one in np.split(numbers, ends)], len(known)
