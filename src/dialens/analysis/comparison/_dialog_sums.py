"""The dialogues of a run as rows of numbers that may be added, and the metrics over their sums."""

from dataclasses import dataclass

import numpy as np
import polars as pl

from dialens.metrics import Metric, Scores, Values, state_of
from dialens.statistics import Floats, Ints


@dataclass(frozen=True)
class Group:
    """The dialogues of one agent or system; `name` says which, no longer than it must."""

    system: str
    agent: str | None
    name: str
    rows: Ints


class DialogSums:
    """The dialogues of a run as rows of numbers that may be added, and the metrics over them."""

    def __init__(self, scores: Scores) -> None:
        """Take the states of a run.

        Raises:
            DialensError: They were made by another version of a metric.
        """
        self.frame = scores.states.collect()
        self.metrics = tuple(scores.computing.values())
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

    def total(self, group: Group) -> Floats:
        """The sums over a group's dialogues, as one row."""
        total: Floats = self.rows[group.rows].sum(axis=0, keepdims=True)
        return total

    def basis(self, metric: Metric) -> str:
        """How a metric of a group comes about: `pooled`, or `mean of dialogs`."""
        return "mean of dialogs" if metric.name in self._mean_columns else "pooled"

    def groups(self, level: str) -> list[Group]:
        """The agents or systems, in the order in which they were read."""
        keys = ["system"] if level == "system" else ["system", "agent"]
        names = ["agent"] if level == "agent" and self.frame["system"].n_unique() == 1 else keys
        frame = self.frame.select(*keys).with_row_index("row")
        groups = []
        for _, part in frame.group_by(keys, maintain_order=True):
            who = part.row(0, named=True)
            name = " / ".join(who[key] for key in names)
            rows = part["row"].to_numpy().astype(np.int64)
            groups.append(Group(who["system"], who.get("agent"), name, rows))
        return groups

    def keyed(self, rows: Ints) -> bool:
        """Whether contexts tell these dialogues apart, so that they can be drawn by context.

        Chat logs that all begin with "hi" share an opening but not a context: keys count only if
        there are at least half as many as dialogues.
        """
        keys = self.frame["context"].gather(rows)
        return not keys.null_count() and keys.n_unique() * 2 >= len(rows)

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
