"""The agents or systems of a run, alone and against each other, each computed once."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dialens.analysis.comparison._dialog_sums import DialogSums, Group
from dialens.analysis.comparison._group_statistics import GroupStatistics, GroupStatisticsOf
from dialens.statistics import Floats

Keys = NDArray[np.uint64]
"""Of contexts."""


class Sides:
    """Groups of dialogues by number, ready to be looked at alone or held against each other."""

    def __init__(
        self, sums: DialogSums, groups: Sequence[Group], *, resamples: int, seed: int
    ) -> None:
        """Take the groups; `resamples` and `seed` are those of metrics in steps."""
        self.sums = sums
        self.groups = groups
        self._made = GroupStatisticsOf(sums, groups, resamples, seed)
        self._alone: dict[int, GroupStatistics] = {}
        self._missing: dict[int, list[str | None]] = {}
        self._answered: dict[int, Keys | None] = {}

    def alone(self, number: int) -> GroupStatistics:
        """A group by itself."""
        if number not in self._alone:
            self._alone[number] = self._made.alone(number)
        return self._alone[number]

    def pair(self, a: int, b: int) -> tuple[GroupStatistics, GroupStatistics, int]:
        """Two groups, and how many contexts pair them; 0 where each stands for itself."""
        shared = self._shared_contexts(a, b)
        if not shared:
            return self.alone(a), self.alone(b), 0
        first, second = self._made.together(a, b)
        return first, second, shared

    def missing(self, number: int) -> list[str | None]:
        """Why a group has no value, a metric after the other; None where it has one."""
        if number not in self._missing:
            values = self.sums.values(self._made.totals[[number]])
            self._missing[number] = [
                each.reasons[each.code[0] - 1] if each.code[0] else None
                for each in (values[metric.name] for metric in self.sums.metrics)
            ]
        return self._missing[number]

    def ranges(self) -> tuple[Floats, Floats]:
        """The lowest and highest value each metric can have; infinite where it has no end."""
        ranges = [metric.card.range for metric in self.sums.metrics]
        lowest = [-np.inf if low is None else low for low, _ in ranges]
        highest = [np.inf if high is None else high for _, high in ranges]
        return np.array(lowest, dtype=np.float64), np.array(highest, dtype=np.float64)

    def _shared_contexts(self, a: int, b: int) -> int:
        """How many contexts both answered; 0 if they are not the better part of either's."""
        keys_a, keys_b = self._contexts(a), self._contexts(b)
        if keys_a is None or keys_b is None:
            return 0
        shared = len(np.intersect1d(keys_a, keys_b, assume_unique=True))
        return shared if 2 * shared >= max(len(keys_a), len(keys_b)) and shared > 1 else 0

    def _contexts(self, number: int) -> Keys | None:
        """What a group answered, each once; None where that does not tell dialogues apart."""
        if number not in self._answered:
            rows = self.groups[number].rows
            keys = None
            if self.sums.keyed(rows):
                keys = self.sums.frame["context"].gather(rows).unique().to_numpy()
            self._answered[number] = keys
        return self._answered[number]
