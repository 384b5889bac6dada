"""The metrics of a group of dialogues: values, and what they come to without each dialogue."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dialens.analysis.comparison._dialog_sums import DialogSums, Group
from dialens.statistics import (
    FEWEST,
    MOST_UNDEFINED,
    Floats,
    Ints,
    Jackknife,
    TInference,
    cluster_sums,
    coarsened,
    left_out_sums,
    resampled_sums,
    skewed_t,
)


@dataclass(frozen=True)
class GroupStatistics:
    """The metrics of a group's dialogues, one entry a metric.

    Attributes:
        jackknife: The values, and what they come to without each dialogue (or context).
        draws: Of metrics in steps (see `DialogSums.in_steps`) what they come to from dialogues
            drawn anew, a row a metric.
        steps: Which metrics those are, by their places.
        ranges: Lowest and highest possible value of each metric, infinite where there is none.
    """

    jackknife: Jackknife
    draws: Floats
    steps: Ints
    ranges: Floats

    def times(self, factor: Floats) -> "GroupStatistics":
        """The metrics multiplied, each by a factor of its own: 95 % of the other agent's value."""
        return GroupStatistics(
            self.jackknife.times(factor),
            self.draws * factor[self.steps, None],
            self.steps,
            np.sort(self.ranges * factor[:, None], axis=1),
        )

    def compared(
        self, other: "GroupStatistics | None", *, paired: bool, confidence: float
    ) -> TInference:
        """Intervals and tests of these metrics, or of how they differ from another group's.

        Metrics in steps take their standard error from the draws.
        """
        found = self._inferred(other, paired=paired, confidence=confidence)
        low, high = self._constant(confidence)
        if other is not None:
            other_low, other_high = other._constant(confidence)
            low, high = low - other_high, high - other_low
        fixed = np.isnan(found.low) & ~np.isnan(low)
        return replace(
            found, low=np.where(fixed, low, found.low), high=np.where(fixed, high, found.high)
        )

    def _constant(self, confidence: float) -> tuple[Floats, Floats]:
        """Intervals of metrics that have the same value in every dialogue; NaN for the others.

        So many dialogues without an exception leave room for a share of exceptions (the rule of
        three), which may lie as far off as the metric reaches.
        """
        jackknife = self.jackknife
        dialogs = jackknife.counting
        known = jackknife.constant & (dialogs >= FEWEST) & np.isfinite(self.ranges).all(axis=1)
        known[self.steps] = False
        exceptions = 1 - ((1 - confidence) / 2) ** (1 / np.maximum(dialogs, 1))
        reach = exceptions[:, None] * (self.ranges - jackknife.value[:, None])
        low, high = np.where(known[:, None], jackknife.value[:, None] + reach, np.nan).T
        return low, high

    def _inferred(
        self, other: "GroupStatistics | None", *, paired: bool, confidence: float
    ) -> TInference:
        first, draws = self.jackknife, self.draws
        second = None
        if other is not None:
            draws = draws - other.draws
            first = first - other.jackknife if paired else first
            second = None if paired else other.jackknife
        error = np.full(len(first.value), np.nan)
        units = first.units if second is None else min(first.units, second.units)
        if len(self.steps) and units >= FEWEST:
            undefined = np.isnan(draws).mean(axis=1) > MOST_UNDEFINED
            spread = np.nanstd(np.where(undefined[:, None], 0.0, draws), axis=1)
            error[self.steps] = spread * np.sqrt(units / (units - 1))
        between = paired and other is not None
        return skewed_t(first, second, error=error, paired=between, confidence=confidence)


class GroupStatisticsOf:
    """Makes `GroupStatistics` of the groups of a run."""

    def __init__(self, sums: DialogSums, groups: Sequence[Group], resamples: int, seed: int):
        """Take the dialogues; `resamples` and `seed` are those of the draws."""
        self._sums = sums
        steps = set(sums.in_steps(groups))
        self._steps = np.flatnonzero([metric.name in steps for metric in sums.metrics])
        self._stepped = sums.only(steps)
        ends = [metric.card.range for metric in sums.metrics]
        self._ranges = np.array(
            [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in ends]
        )
        self._resamples = resamples
        self._seed = seed

    def alone(self, group: Group, number: int) -> GroupStatistics:
        """A group by itself; dialogues with the same context are left out and drawn together."""
        clusters = self._sums.clusters(group.rows, by_context=self._sums.keyed(group.rows))
        (found,) = self._made([group], clusters, [self._seed, number])
        return found

    def together(
        self, a: Group, b: Group, numbers: tuple[int, int]
    ) -> tuple[GroupStatistics, GroupStatistics]:
        """Two groups that answered the same contexts: each context brings the dialogues of both."""
        both = np.concatenate([a.rows, b.rows])
        clusters = self._sums.clusters(both, by_context=True)
        first, second = self._made([a, b], clusters, [self._seed, *numbers])
        return first, second

    def _made(
        self, groups: Sequence[Group], clusters: Ints, seed: Sequence[int]
    ) -> list[GroupStatistics]:
        rng = np.random.default_rng(seed)
        blocks = coarsened(clusters, rng)
        points = [self._sums.matrix(self._sums.total(group))[:, 0] for group in groups]
        if len(np.unique(blocks)) < FEWEST:
            units = len(np.unique(blocks))
            none = np.full((len(self._sums.metrics), units), np.nan)
            empty = np.full((len(self._steps), 1), np.nan)
            return [
                GroupStatistics(Jackknife.of(point, none, none), empty, self._steps, self._ranges)
                for point in points
            ]
        totals = _side_by_side(self._sums, groups, blocks)
        width = self._sums.rows.shape[1]
        left_out = left_out_sums(totals)
        drawn = np.empty((0, 0))
        narrow = self._stepped.rows.shape[1]
        if len(self._steps):
            stepped = _side_by_side(self._stepped, groups, blocks)
            drawn = resampled_sums(stepped, self._resamples, rng)
        made = []
        for place, point in enumerate(points):
            part = slice(place * width, (place + 1) * width)
            jackknife = Jackknife.of(
                point, self._sums.matrix(left_out[:, part]), self._sums.matrix(totals[:, part])
            )
            draws = np.empty((0, 1))
            if len(self._steps):
                draws = self._stepped.matrix(drawn[:, place * narrow : (place + 1) * narrow])
            made.append(GroupStatistics(jackknife, draws, self._steps, self._ranges))
        return made


def _side_by_side(sums: DialogSums, groups: Sequence[Group], blocks: Ints) -> Floats:
    """The sums of each cluster, those of each group in columns of its own."""
    width = sums.rows.shape[1]
    rows = np.zeros((sum(len(group.rows) for group in groups), width * len(groups)))
    start = 0
    for place, group in enumerate(groups):
        end = start + len(group.rows)
        rows[start:end, place * width : (place + 1) * width] = sums.rows[group.rows]
        start = end
    return cluster_sums(rows, blocks)
