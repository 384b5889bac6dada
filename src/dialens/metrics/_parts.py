"""What is scored and what comes out: the plan, and parts of a level with a column a metric."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import polars as pl

from dialens.base import DialensError
from dialens.metrics._batch import Ints
from dialens.metrics._card import Metric
from dialens.metrics._family import Family
from dialens.metrics._features import Feature
from dialens.metrics._scorers import ScorerSet
from dialens.metrics._state import State, Values

UNITS = ("system", "agent", "dialog", "turn")


@dataclass(frozen=True)
class Column:
    """A metric's values for the units of one level.

    Attributes:
        values: What was computed, and why not where it was not.
        n: How many of the agent's turns stand behind each value.
        n_missing: How many of its turns gave none.
        missing: Turns without a value by reason (units × `turn_reasons`); None for turns.
        turn_reasons: What those reasons are.
    """

    values: Values
    n: Ints
    n_missing: Ints
    missing: Ints | None = None
    turn_reasons: tuple[str, ...] = ()

    def reason(self) -> pl.Series:
        """Why a value, or some turns behind it, are missing; null where nothing is.

        A turn has one reason; a larger unit lists its own, if it has one, and counts its turns'. A
        reason that is counted is not said once more.
        """
        code, missing = self.values.code, self.missing
        if missing is None or not missing.any():
            return self.values.reason()
        first, place = distinct_rows(np.column_stack([code, missing]))
        said = map(self._worded, code[first].tolist(), missing[first].tolist())
        return pl.Series("reason", list(said), dtype=pl.String)[place]

    def _worded(self, code: int, missing: Sequence[int]) -> str | None:
        """The reason of one unit."""
        counted = {r: n for r, n in zip(self.turn_reasons, missing, strict=True) if n}
        own = [self.values.reasons[code - 1]] if code else []
        said = [reason for reason in own if reason not in counted]
        return "; ".join([*said, *(f"{reason} ×{n}" for reason, n in counted.items())]) or None


def distinct_rows(table: Ints) -> tuple[Ints, Ints]:
    """Where each distinct row of a table of counts stands first, and for every row which it is.

    Examples:
        >>> first, place = distinct_rows(np.array([[7, 1], [7, 0], [7, 1]]))
        >>> first.tolist(), place.tolist()
        ([1, 0], [1, 0, 1])
    """
    first, place = np.zeros(1, np.int64), np.zeros(len(table), np.int64)
    for column in table.T:
        if column.any():
            key = place * (int(column.max()) + 1) + column  # places are fewer than rows
            _, first, place = np.unique(key, return_index=True, return_inverse=True)
    return first, place


@dataclass(frozen=True)
class Part:
    """Scores of some units of one level.

    Attributes:
        level: turn, dialog, agent, system, or position (the n-th turn of an agent in dialogues).
        units: Who they are: columns system, agent, dialog, turn, null above a unit's level.
        columns: By metric name.
        state: The summed features behind them (not kept for turns).
        contexts: For dialogues, a key of what the agent was first given to answer.
        failures: Why metrics have no value at all: their scorer could not be used. By metric name.
    """

    level: str
    units: pl.DataFrame
    columns: Mapping[str, Column]
    state: State | None = None
    contexts: pl.Series | None = None
    failures: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ScoringPlan:
    """What is computed in one pass.

    Attributes:
        metrics: Bound to the resources of the run.
        prompt: What a turn is held against.
        scorers: The scorers of the run.

    Raises:
        DialensError: Two metrics define a feature of one name differently.
    """

    metrics: tuple[Metric, ...]
    prompt: str = "context"
    scorers: ScorerSet = field(default_factory=ScorerSet)

    def __post_init__(self) -> None:
        owners: dict[str, tuple[Feature, Metric]] = {}
        for metric in self.metrics:
            for feature in metric.definition.features:
                first, owner = owners.setdefault(feature.name, (feature, metric))
                if first != feature:
                    raise DialensError(
                        f"The metrics {owner.name!r} (family {owner.card.family!r}) and "
                        f"{metric.name!r} (family {metric.card.family!r}) define the feature "
                        f"{feature.name!r} differently. Give the feature of one of them another "
                        "name."
                    )

    @cached_property
    def features(self) -> dict[str, Feature]:
        """All features by name, each once."""
        return {f.name: f for metric in self.metrics for f in metric.definition.features}

    @cached_property
    def compared(self) -> tuple[str, ...]:
        """Names of the features that some metric holds against the other side, in their order."""
        names = [
            feature.name
            for metric in self.metrics
            if "partner" in metric.card.needs
            for feature in metric.definition.features
        ]
        return tuple(dict.fromkeys(names))

    @cached_property
    def families(self) -> dict[str, Family]:
        """The families whose scorers are asked, by name."""
        return {family.name: family for metric in self.metrics for family in metric.families}

    @cached_property
    def both_sides(self) -> set[str]:
        """Names of the families that are asked for everyone's turns, not the agent's alone."""
        return {
            family.name
            for metric in self.metrics
            if "partner" in metric.card.needs
            for family in metric.families
        }

    @property
    def failures(self) -> dict[str, str]:
        """Why metrics will have no value, by metric name, as far as their scorers were opened."""
        return self.failures_of({n: self.scorers.failed(f) for n, f in self.families.items()})

    def failures_of(self, reasons: Mapping[str, str | None]) -> dict[str, str]:
        """By metric name, why it has no value; `reasons` are those of families, by their name."""
        failed: dict[str, str] = {}
        for metric in self.metrics:
            for family in metric.families:
                reason = reasons.get(family.name)
                if reason is not None:
                    failed.setdefault(metric.name, reason)
        return failed

    def open(self, names: Iterable[str] | None = None) -> None:
        """Open the scorers, of all families or of some by name; `failures` says what failed."""
        for name, family in self.families.items():
            if names is None or name in names:
                self.scorers.ready(family)

    def at(self, level: str) -> list[Metric]:
        """The metrics that are defined on a level."""
        return [metric for metric in self.metrics if level in metric.card.levels]
