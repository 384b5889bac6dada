"""The dialogues of a run as rows of numbers that may be added, and the metrics over their sums.

A run may have ten million dialogues with a hundred numbers each, so rows are read a chunk at a time
and added up as they come; only what tells dialogues apart stays in memory.
"""

from collections.abc import Collection, Iterator, Sequence
from copy import copy
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from scipy import sparse

from dialens.analysis.comparison._tables import MEAN_OF_DIALOGS, POOLED
from dialens.base import MEMORY
from dialens.corpus import agent_labels
from dialens.metrics import Metric, Scores, Values, state_of
from dialens.statistics import FEWEST, Floats, Ints

_NUDGES = 3
_NUDGE = 1e-7
_PART_KEPT = 16
"""Of the memory, one part in so many may hold rows that are kept, and as much those being read."""
_FEWEST_ROWS, _MOST_ROWS = 1_000, 32_768
_MOST_READ = 131_072  # as many as a table has in a group of rows, which is unpacked as a whole
_NUMBER = 8


@dataclass(frozen=True)
class Group:
    """The dialogues of one agent or system; `name` says which, no longer than it must."""

    system: str
    agent: str | None
    name: str
    rows: Ints


class DialogSums:
    """The dialogues of a run as rows of numbers that may be added, and the metrics over them."""

    def __init__(
        self, scores: Scores, metrics: Sequence[str] | None = None, *, memory: int = MEMORY
    ) -> None:
        """Take the states of a run.

        Args:
            scores: The run.
            metrics: Names of the metrics to compute; all if not given.
            memory: Bytes that may be taken; where the rows need more than a small part of them,
                they are read anew whenever they are added up.

        Raises:
            DialensError: They were made by another version of one of these metrics.
        """
        names = list(metrics or scores.names)
        self.metrics = tuple(scores.computing_of(names).values())
        self._states = scores.states
        self._names = scores.state_columns(names)
        self._mean_columns: dict[str, int] = {}
        for metric in self.metrics:
            if not adds_up(metric):
                place = len(self._names) + 2 * len(self._mean_columns)
                self._mean_columns[metric.name] = place
        self.width = len(self._names) + 2 * len(self._mean_columns)
        self.room = max(memory // _PART_KEPT, _FEWEST_ROWS * self.width * _NUMBER)
        self._kept: list[Floats] | None = None

    @cached_property
    def frame(self) -> pl.DataFrame:
        """What tells dialogues apart: system, agent and context of each."""
        keys = pl.col("system", "agent").cast(pl.Categorical)
        return self._states.select(keys, "context").collect(engine="streaming")

    def added_up(self, slots: Ints, count: int) -> Floats:
        """The rows of the dialogues added up by slot, in their order.

        So the sums are the same to the last bit, in whatever chunks the rows are read.

        Args:
            slots: Of each dialogue, the number of the sum that it is added to; negative for none.
            count: How many sums there are.
        """
        sums = np.zeros((count, self.width))
        start = 0
        for rows in self._chunks():
            here = slots[start : start + len(rows)]
            start += len(rows)
            wanted = np.flatnonzero(here >= 0)
            if len(wanted):
                own = np.arange(count)  # each sum so far, then the rows that are added to it
                to, of = np.concatenate([own, here[wanted]]), np.concatenate([own, count + wanted])
                shape = (count, count + len(rows))
                adding = sparse.csr_array((np.ones(len(to)), (to, of)), shape)
                sums = adding @ np.vstack([sums, rows])
        return sums

    def totals(self, groups: Sequence[Group]) -> Floats:
        """The sums over the dialogues of each group, a row a group; groups share no dialogue."""
        slots = np.full(self.frame.height, -1, dtype=np.int64)
        for number, group in enumerate(groups):
            slots[group.rows] = number
        return self.added_up(slots, len(groups))

    def _chunks(self) -> Iterator[Floats]:
        """The rows of all dialogues in their order; where they have room they are read once."""
        if self._kept is not None:
            yield from self._kept
            return
        kept: list[Floats] | None = []
        if self.frame.height * self.width * _NUMBER > self.room:
            kept = None
        for part in self._read():
            rows = self._rows(part)
            if kept is not None:
                kept.append(rows)
            yield rows
        self._kept = kept

    def _read(self) -> Iterator[pl.DataFrame]:
        """The states in their order, as many at once as there is room for.

        Slice by slice, since a stream of batches would read far ahead of whoever takes them.
        """
        at_once = min(_MOST_READ, max(_FEWEST_ROWS, self.room // (self.width * _NUMBER)))
        columns = self._states.select(self._names)
        for start in range(0, self.frame.height, at_once):
            read = columns.slice(start, at_once).collect(engine="streaming")
            yield from read.iter_slices(_MOST_ROWS)

    def _rows(self, read: pl.DataFrame) -> Floats:
        """The numbers of dialogues; of metrics that do not add up, values and whether known."""
        rows = np.empty((read.height, self.width))
        for place, name in enumerate(self._names):
            rows[:, place] = read[name].to_numpy()
        if self._mean_columns:
            numbers = {name: rows[:, place] for place, name in enumerate(self._names)}
            state = state_of(numbers)
            for metric in self.metrics:
                at = self._mean_columns.get(metric.name)
                if at is not None:
                    values = metric.definition.compute(state)
                    rows[:, at] = np.nan_to_num(values.value)
                    rows[:, at + 1] = values.code == 0
        return rows

    def values(self, sums: Floats) -> dict[str, Values]:
        """Every metric from sums of rows (one row a group or a resample)."""
        state = state_of(dict(zip(self._names, sums.T, strict=False)))
        made = {}
        for metric in self.metrics:
            at = self._mean_columns.get(metric.name)
            if at is None:
                made[metric.name] = metric.definition.compute(state)
            else:
                total, n = sums[:, at], sums[:, at + 1]
                mean = np.divide(total, n, out=np.zeros_like(total), where=n > 0)
                made[metric.name] = Values.where(mean, no_dialog_with_a_value=n == 0)
        return made

    def matrix(self, sums: Floats) -> Floats:
        """Every metric from sums of rows, a row a metric; NaN where it is not defined."""
        made = self.values(sums).values()
        return np.stack([each.value for each in made]) if made else np.empty((0, len(sums)))

    def in_steps(self, totals: Floats) -> list[str]:
        """Metrics that small changes of the sums leave exactly where they are: orders and ranks.

        Leaving out one dialogue seldom moves these, so the jackknife cannot judge them.
        """
        rng = np.random.default_rng(0)
        there = self.matrix(totals)
        adding = np.array([metric.name not in self._mean_columns for metric in self.metrics])
        still = adding & ~np.isnan(there).all(axis=1)
        for _ in range(_NUDGES):
            nudged = self.matrix(totals * (1 + _NUDGE * rng.random(totals.shape)))
            still &= np.all((nudged == there) | np.isnan(there), axis=1)
        return [metric.name for metric, stays in zip(self.metrics, still, strict=True) if stays]

    def only(self, names: Collection[str]) -> tuple["DialogSums", list[int]]:
        """Some metrics that add up, over no more columns than these need, and those columns."""
        narrow = copy(self)
        narrow.metrics = tuple(metric for metric in self.metrics if metric.name in names)
        features = {f.name for metric in narrow.metrics for f in metric.definition.features}
        kept = [
            place
            for place, name in enumerate(self._names)
            if name == "other_turns" or name.split("|")[1] in features
        ]
        narrow._names = [self._names[place] for place in kept]
        return narrow, kept

    def basis(self, metric: Metric) -> str:
        """How a metric of a group comes about: `pooled`, or `mean of dialogs`."""
        return MEAN_OF_DIALOGS if metric.name in self._mean_columns else POOLED

    def groups(self, level: str) -> list[Group]:
        """The agents or systems, in the order in which they were read."""
        keys = ["system"] if level == "system" else ["system", "agent"]
        frame = self.frame.select(*keys).with_row_index("row")
        members = frame.group_by(keys, maintain_order=True).agg("row")
        if level == "agent":
            names = agent_labels(members.select(keys).rows())
        else:
            names = members["system"].to_list()
        return [
            Group(who["system"], who.get("agent"), name, rows.to_numpy().astype(np.int64))
            for who, name, rows in zip(
                members.select(keys).iter_rows(named=True), names, members["row"], strict=True
            )
        ]

    def keyed(self, rows: Ints) -> bool:
        """Whether contexts tell these dialogues apart, so that they can be drawn by context.

        Chat logs that all begin with "hi" share an opening but not a context: keys count only if
        there are at least half as many as dialogues, or each of several stands there equally often,
        as where every prompt was answered five times.
        """
        keys = self.frame["context"].gather(rows)
        if keys.null_count():
            return False
        times = keys.value_counts(name="times")["times"]
        designed = len(times) >= FEWEST and times.n_unique() == 1
        return designed or len(times) * 2 >= len(rows)

    def clusters(self, rows: Ints, *, by_context: bool) -> Ints:
        """A number for each dialogue; those with the same number are drawn together."""
        if not by_context:
            return rows
        return self.frame["context"].gather(rows).rank("dense").cast(pl.Int64).to_numpy()


def adds_up(metric: Metric) -> bool:
    """Whether a metric's sums may be resampled.

    Sets of n-grams may not: drawing a dialogue twice adds nothing to a union.
    """
    return all(feature.adds_up for feature in metric.definition.features)
