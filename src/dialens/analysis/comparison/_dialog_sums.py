"""The dialogues of a run as rows of numbers that may be added, and the metrics over their sums."""

from collections.abc import Collection, Sequence
from copy import copy
from dataclasses import dataclass

import numpy as np
import polars as pl

from dialens.analysis.comparison._tables import MEAN_OF_DIALOGS, POOLED
from dialens.corpus import agent_labels
from dialens.metrics import Metric, Scores, Values, state_of
from dialens.statistics import FEWEST, Floats, Ints

_NUDGES = 3
_NUDGE = 1e-7


@dataclass(frozen=True)
class Group:
    """The dialogues of one agent or system; `name` says which, no longer than it must."""

    system: str
    agent: str | None
    name: str
    rows: Ints


class DialogSums:
    """The dialogues of a run as rows of numbers that may be added, and the metrics over them."""

    def __init__(self, scores: Scores, metrics: Sequence[str] | None = None) -> None:
        """Take the states of a run.

        Args:
            scores: The run.
            metrics: Names of the metrics to compute; all if not given.

        Raises:
            DialensError: They were made by another version of one of these metrics.
        """
        self.frame = scores.states.collect()
        self.metrics = tuple(scores.computing_of(metrics or scores.names).values())
        names = [name for name in self.frame.columns if name == "other_turns" or "|" in name]
        self._names = names
        numbers = self.frame.select(names).to_numpy().astype(np.float64)
        state = state_of(dict(zip(names, numbers.T, strict=True)))
        self._mean_columns: dict[str, int] = {}
        extra: list[Floats] = []
        for metric in self.metrics:
            if not adds_up(metric):
                self._mean_columns[metric.name] = len(names) + len(extra)
                values = metric.definition.compute(state)
                extra += [np.nan_to_num(values.value), (values.code == 0).astype(np.float64)]
        self.rows = np.column_stack([numbers, *extra]) if extra else numbers

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

    def in_steps(self, groups: Sequence[Group]) -> list[str]:
        """Metrics that small changes of the sums leave exactly where they are: orders and ranks.

        Leaving out one dialogue seldom moves these, so the jackknife cannot judge them.
        """
        totals = np.concatenate([self.total(group) for group in groups])
        rng = np.random.default_rng(0)
        there = self.matrix(totals)
        adding = np.array([metric.name not in self._mean_columns for metric in self.metrics])
        still = adding & ~np.isnan(there).all(axis=1)
        for _ in range(_NUDGES):
            nudged = self.matrix(totals * (1 + _NUDGE * rng.random(totals.shape)))
            still &= np.all((nudged == there) | np.isnan(there), axis=1)
        return [metric.name for metric, stays in zip(self.metrics, still, strict=True) if stays]

    def only(self, names: Collection[str]) -> "DialogSums":
        """The same dialogues with some metrics that add up, and no more columns than these need."""
        narrow = copy(self)
        narrow.metrics = tuple(metric for metric in self.metrics if metric.name in names)
        features = {f.name for metric in narrow.metrics for f in metric.definition.features}
        kept = [
            place
            for place, name in enumerate(self._names)
            if name == "other_turns" or name.split("|")[1] in features
        ]
        narrow._names = [self._names[place] for place in kept]
        narrow.rows = self.rows[:, kept]
        return narrow

    def total(self, group: Group) -> Floats:
        """The sums over a group's dialogues, as one row."""
        total: Floats = self.rows[group.rows].sum(axis=0, keepdims=True)
        return total

    def basis(self, metric: Metric) -> str:
        """How a metric of a group comes about: `pooled`, or `mean of dialogs`."""
        return MEAN_OF_DIALOGS if metric.name in self._mean_columns else POOLED

    def groups(self, level: str) -> list[Group]:
        """The agents or systems, in the order in which they were read."""
        keys = ["system"] if level == "system" else ["system", "agent"]
        frame = self.frame.select(*keys).with_row_index("row")
        parts = [part for _, part in frame.group_by(keys, maintain_order=True)]
        members = [part.row(0, named=True) for part in parts]
        if level == "agent":
            names = agent_labels([(who["system"], who["agent"]) for who in members])
        else:
            names = [who["system"] for who in members]
        return [
            Group(who["system"], who.get("agent"), name, part["row"].to_numpy().astype(np.int64))
            for who, name, part in zip(members, names, parts, strict=True)
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
