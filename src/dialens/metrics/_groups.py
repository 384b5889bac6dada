"""Sums of batches merged into those of agents, systems, and positions within dialogues."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import polars as pl

from dialens.metrics._batch import Ints
from dialens.metrics._batch_sums import BatchSums, Positions
from dialens.metrics._columns import larger_column
from dialens.metrics._features import Merger, Scratch, Sums
from dialens.metrics._parts import Column, Part, ScoringPlan
from dialens.metrics._state import State


class Groups:
    """Merges batches, in the order of the corpus, into agents, systems, and positions.

    Args:
        plan: By which the batches were scored.
        scratch: What all features together may hold in memory, and where the rest goes.
    """

    def __init__(self, plan: ScoringPlan, scratch: Scratch | None = None) -> None:
        whole = scratch or Scratch()
        sets = sum(not feature.adds_up for feature in plan.features.values())
        share = replace(whole, memory=whole.memory // max(sets, 1))
        self._plan = plan
        self._agents: dict[tuple[str, str], int] = {}
        self._own: dict[str, Merger] = {n: f.merger(share) for n, f in plan.features.items()}
        self._other: dict[str, Sums] = {name: Sums() for name in plan.compared}
        self._turns = Sums()
        self._missing = {metric.name: _MissingTurns() for metric in plan.at("turn")}
        self._failures: dict[str, str] = {}
        self._positions: Positions | None = None

    def add(self, sums: BatchSums) -> None:
        """Take in the next batch of the corpus."""
        numbers = np.array([self._agents.setdefault(p, len(self._agents)) for p in sums.agents])
        count = len(self._agents)
        for name, merger in self._own.items():
            merger.merge(sums.own[name], numbers, count)
        for name, other in self._other.items():
            other.merge(sums.other[name], numbers, count)
        self._turns.merge(sums.turns, numbers, count)
        for name, missing in self._missing.items():
            missing.merge(sums.missing[name], numbers, count)
        self._failures |= sums.failures
        fresh = replace(sums.positions, group=numbers[sums.positions.group])
        before = self._positions
        self._positions = fresh if before is None else Positions.merged([before, fresh])

    def parts(self) -> Iterator[Part]:
        """The scores of agents, systems and positions."""
        if self._positions is None:
            return
        pairs = list(self._agents)
        systems = {system: n for n, system in enumerate(dict.fromkeys(s for s, _ in pairs))}
        yield self._part("agent", np.arange(len(pairs)), pairs)
        to_system = np.array([systems[system] for system, _ in pairs])
        yield self._part("system", to_system, [(system, None) for system in systems])
        yield _position_part(self._positions, self._plan, pairs, self._failures)

    def _part(self, level: str, groups: Ints, names: Sequence[tuple[str, str | None]]) -> Part:
        count = len(names)
        agent_turns, other_turns = self._turns.result(groups, count).T.astype(np.int64)
        state = State(
            {name: merger.result(groups, count) for name, merger in self._own.items()},
            {name: sums.result(groups, count) for name, sums in self._other.items()},
            other_turns,
        )
        columns = {}
        for metric in self._plan.at(level):
            column = larger_column(metric, state, self._failures, agent_turns, None, groups)
            if metric.name in self._missing:
                missing, reasons = self._missing[metric.name].result(groups, count)
                lacking = missing.sum(axis=1)
                column = Column(column.values, agent_turns - lacking, lacking, missing, reasons)
            columns[metric.name] = column
        return Part(level, _unit_frame(names), columns, state, failures=self._failures)


class _MissingTurns:
    """How many turns of each group gave no value, by reason; batches may have different ones."""

    def __init__(self) -> None:
        self._counts: dict[str, Ints] = {}

    def merge(self, turns: Mapping[str, Ints], numbers: Ints, count: int) -> None:
        """Take in a batch: turns by reason and group, and the number of each group here."""
        for reason, some in turns.items():
            total = np.zeros(count, np.int64)
            before = self._counts.get(reason)
            if before is not None:
                total[: len(before)] = before
            total[numbers] += some
            self._counts[reason] = total

    def result(self, groups: Ints, count: int) -> tuple[Ints, tuple[str, ...]]:
        """One row for each of `count` larger groups, one column a reason, and the reasons."""
        columns = [
            np.bincount(groups[: len(turns)], turns, count) for turns in self._counts.values()
        ]
        missing = np.array(columns, np.int64).reshape(len(columns), count).T
        return missing, tuple(self._counts)


def _unit_frame(names: Sequence[tuple[str, str | None]]) -> pl.DataFrame:
    units = pl.DataFrame(names, schema={"system": pl.String, "agent": pl.String}, orient="row")
    return units.with_columns(dialog=pl.lit(None, pl.String), turn=pl.lit(None, pl.Int32))


def _position_part(
    positions: Positions,
    plan: ScoringPlan,
    pairs: list[tuple[str, str]],
    failures: Mapping[str, str],
) -> Part:
    """Metrics whose features add up, pooled over the turns at each position."""
    state = positions.state()
    agent_turns = positions.turns[:, 0].astype(np.int64)
    units = _unit_frame([pairs[number] for number in positions.group.tolist()])
    columns = {
        metric.name: larger_column(metric, state, failures, agent_turns, None, positions.group)
        for metric in plan.at("turn")
        if all(feature.adds_up for feature in metric.definition.features)
    }
    numbered = units.with_columns(turn=pl.Series(positions.position, dtype=pl.Int32))
    return Part("position", numbered, columns, state, failures=failures)
