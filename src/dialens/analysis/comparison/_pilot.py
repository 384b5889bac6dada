"""What a comparison of agents could show, from the spread of dialogues that were collected."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np

from dialens.analysis.comparison._dialog_sums import DialogSums
from dialens.analysis.comparison._sides import Sides
from dialens.metrics import Scores
from dialens.statistics import FEWEST, Floats
from dialens.statistics.power import found_with

_MOST_PAIRS = 30
_NO_SPREAD = 1e-9
"""Of values that are equal, whatever rounding leaves of that."""


@dataclass(frozen=True)
class Pilot:
    """What collected dialogues tell of a comparison of their agents.

    Attributes:
        dialogs: Of each agent; in pairs, those that answered the same count once.
        paired: Whether agents were given the same to answer.
        deviations: By metric, those that vary: the standard deviation of dialogues; in pairs, of
            the differences within them.
    """

    dialogs: int
    paired: bool
    deviations: Mapping[str, float]

    def found(self, dialogs: int) -> dict[str, float]:
        """The smallest differences that so many dialogues each find in four of five cases."""
        found = found_with(dialogs, paired=self.paired)
        if found is None:
            return {}
        return {name: found * deviation for name, deviation in self.deviations.items()}


def pilot(scores: Scores, metrics: Sequence[str]) -> Pilot | None:
    """What a comparison could find, by the standard errors that `compare` would use.

    Args:
        scores: Of the pilot.
        metrics: Names among those scored.

    Returns:
        None where no agent has six dialogues, of which no test is made, or nothing varies.
    """
    sums = DialogSums(scores, metrics)
    # Of metrics in steps the jackknife says nothing.
    in_steps = sums.in_steps(sums.totals(sums.groups("agent")))
    smooth = [metric.name for metric in sums.metrics if metric.name not in in_steps]
    if not smooth:
        return None
    sums = DialogSums(scores, smooth)
    sides = Sides(sums, sums.groups("agent"), resamples=0, seed=0)
    counts, variances = _in_pairs(sides)
    paired = bool(counts)
    if not paired:
        counts, variances = _alone(sides)
    enough = [number for number, count in enumerate(counts) if count >= FEWEST]
    if not enough:
        return None
    dialogs = min(counts[number] for number in enough)
    squares = np.stack([variances[number] for number in enough])
    known = np.isfinite(squares)
    total = np.where(known, squares, 0.0).sum(axis=0)
    deviations = np.sqrt(total / np.maximum(known.sum(axis=0), 1))
    rows = {
        metric.name: float(deviation)
        for metric, deviation in zip(sums.metrics, deviations, strict=True)
        if deviation > _NO_SPREAD
    }
    return Pilot(dialogs, paired, rows) if rows else None


def _in_pairs(sides: Sides) -> tuple[list[int], list[Floats]]:
    """For each two agents that were given the same: how often, and how much differences vary."""
    counts, variances = [], []
    for a, b in islice(combinations(range(len(sides.groups)), 2), _MOST_PAIRS):
        first, second, shared = sides.pair(a, b)
        if shared:
            counts.append(shared)
            variances.append((first.jackknife - second.jackknife).variance * shared)
    return counts, variances


def _alone(sides: Sides) -> tuple[list[int], list[Floats]]:
    """For each agent: its dialogues, and how much they vary."""
    counts, variances = [], []
    for number, group in enumerate(sides.groups):
        keyed = sides.sums.keyed(group.rows)
        units = len(np.unique(sides.sums.clusters(group.rows, by_context=keyed)))
        counts.append(units)
        variances.append(sides.alone(number).jackknife.variance * units)
    return counts, variances
