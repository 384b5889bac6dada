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
    coarsened,
    left_out_sums,
    resampled_sums,
    skewed_t,
)

_NUMBER = 8
"""Bytes of one."""


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
        self._groups = groups
        self.totals = sums.totals(groups)
        steps = set(sums.in_steps(self.totals))
        self._steps = np.flatnonzero([metric.name in steps for metric in sums.metrics])
        self._stepped, self._stepped_columns = sums.only(steps)
        ends = [metric.card.range for metric in sums.metrics]
        self._ranges = np.array(
            [(-np.inf if a is None else a, np.inf if b is None else b) for a, b in ends]
        )
        self._resamples = resamples
        self._seed = seed
        self._ready: dict[int, tuple[Floats, np.random.Generator]] = {}

    def alone(self, number: int) -> GroupStatistics:
        """A group by itself; dialogues with the same context are left out and drawn together."""
        if number not in self._ready:
            self._add_up_from(number)
        blocks, rng = self._ready.pop(number)
        (found,) = self._made([number], [blocks], rng)
        return found

    def together(self, a: int, b: int) -> tuple[GroupStatistics, GroupStatistics]:
        """Two groups that answered the same contexts: each context brings the dialogues of both."""
        rows = [self._groups[number].rows for number in (a, b)]
        rng = np.random.default_rng([self._seed, a, b])
        blocks = coarsened(self._sums.clusters(np.concatenate(rows), by_context=True), rng)
        count = int(blocks.max(initial=-1)) + 1
        slots = np.full(self._sums.frame.height, -1, dtype=np.int64)
        slots[rows[0]] = blocks[: len(rows[0])]
        slots[rows[1]] = blocks[len(rows[0]) :] + count
        sums = self._sums.added_up(slots, 2 * count)
        first, second = self._made([a, b], [sums[:count], sums[count:]], rng)
        return first, second

    def _add_up_from(self, number: int) -> None:
        """The sums of the blocks of a group, and of as many after it as there is room for."""
        slots = np.full(self._sums.frame.height, -1, dtype=np.int64)
        ends = [0]
        draws = []
        for place in range(number, len(self._groups)):
            rows = self._groups[place].rows
            rng = np.random.default_rng([self._seed, place])
            clusters = self._sums.clusters(rows, by_context=self._sums.keyed(rows))
            blocks = coarsened(clusters, rng)
            slots[rows] = blocks + ends[-1]
            ends.append(ends[-1] + int(blocks.max(initial=-1)) + 1)
            draws.append(rng)
            if ends[-1] * self._sums.width * _NUMBER > self._sums.room:
                break
        sums = self._sums.added_up(slots, ends[-1])
        for place, rng in enumerate(draws):
            self._ready[number + place] = sums[ends[place] : ends[place + 1]], rng

    def _made(
        self, numbers: Sequence[int], sums: Sequence[Floats], rng: np.random.Generator
    ) -> list[GroupStatistics]:
        """The statistics of some groups from the sums of their blocks, the same for all."""
        points = [self._sums.matrix(self.totals[[number]])[:, 0] for number in numbers]
        units = len(sums[0])
        if units < FEWEST:
            none = np.full((len(self._sums.metrics), units), np.nan)
            empty = np.full((len(self._steps), 1), np.nan)
            return [
                GroupStatistics(Jackknife.of(point, none, none), empty, self._steps, self._ranges)
                for point in points
            ]
        drawn = np.empty((0, 0))
        narrow = len(self._stepped_columns)
        if len(self._steps):
            stepped = np.hstack([own[:, self._stepped_columns] for own in sums])
            drawn = resampled_sums(stepped, self._resamples, rng)
        made = []
        for place, (point, own) in enumerate(zip(points, sums, strict=True)):
            jackknife = Jackknife.of(
                point, self._sums.matrix(left_out_sums(own)), self._sums.matrix(own)
            )
            draws = np.empty((0, 1))
            if len(self._steps):
                draws = self._stepped.matrix(drawn[:, place * narrow : (place + 1) * narrow])
            made.append(GroupStatistics(jackknife, draws, self._steps, self._ranges))
        return made
