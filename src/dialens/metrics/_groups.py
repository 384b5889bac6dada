"""Batches added up to agents, systems, and positions within dialogues."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from dialens.metrics._batch import Ints, TurnBatch, group_sums
from dialens.metrics._columns import larger_column
from dialens.metrics._features import Merger, Sums
from dialens.metrics._parts import Column, Part, ScoringPlan
from dialens.metrics._state import Floats, State

MAX_POSITION = 20


class Groups:
    """Adds batches up to agents, systems, and positions within dialogues."""

    def __init__(self, plan: ScoringPlan) -> None:
        self._plan = plan
        self._agents: dict[tuple[str, str], int] = {}
        self._own: dict[str, Merger] = {n: f.merger() for n, f in plan.features.items()}
        self._other: dict[str, Sums] = {name: Sums() for name in plan.compared}
        self._turns = Sums()
        self._missing = {metric.name: _MissingTurns() for metric in plan.at("turn")}
        self._failures: dict[str, str] = {}
        self._positions: list[Positions] = []

    def add(self, batch: TurnBatch, dialogs: Part, positions: "Positions") -> None:
        state = dialogs.state
        assert state is not None
        pairs = list(dialogs.units.select("system", "agent").iter_rows())
        group = np.array([self._agents.setdefault(pair, len(self._agents)) for pair in pairs])
        count = len(self._agents)
        for name, merger in self._own.items():
            merger.add(batch, state.own[name], group, count)
        for name, sums in self._other.items():
            sums.add(batch, state.other[name], group, count)
        agent_turns = batch.turns_by_dialog(batch.is_agent)
        both = np.column_stack([agent_turns, state.other_turns]).astype(np.float64)
        self._turns.add(batch, both, group, count)
        for name, missing in self._missing.items():
            missing.add(dialogs.columns[name], group, count)
        self._failures |= dialogs.failures
        self._positions.append(positions.grouped(group))
        if len(self._positions) > 1:
            self._positions = [Positions.merged(self._positions)]

    def parts(self) -> Iterator[Part]:
        if not self._agents:
            return
        pairs = list(self._agents)
        systems = list(dict.fromkeys(system for system, _ in pairs))
        yield self._part("agent", np.arange(len(pairs)), pairs)
        to_system = np.array([systems.index(system) for system, _ in pairs])
        yield self._part("system", to_system, [(system, None) for system in systems])
        yield self._positions[0].part(self._plan, pairs, self._failures)

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

    def add(self, dialogs: Column, groups: Ints, count: int) -> None:
        """Take in a batch: its dialogues' counts and the group of each, below `count`."""
        assert dialogs.missing is not None
        for reason, turns in zip(dialogs.turn_reasons, dialogs.missing.T, strict=True):
            fresh = np.bincount(groups, turns, count).astype(np.int64)
            before = self._counts.get(reason)
            if before is not None:
                fresh[: len(before)] += before
            self._counts[reason] = fresh

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


@dataclass(frozen=True)
class Positions:
    """Sums by group of dialogues and by the how-manieth turn of the agent it is."""

    group: Ints
    position: Ints
    own: Mapping[str, Floats]
    other: Mapping[str, Floats]
    turns: Floats

    @classmethod
    def of(cls, batch: TurnBatch, rows: Ints, state: State) -> "Positions":
        """Still by turn: the group is the dialogue's number in the batch."""
        agents = ~batch.is_partner
        so_far: Ints = np.cumsum(agents)
        first = so_far[batch.dialog_starts] - agents[batch.dialog_starts]
        position = so_far[rows] - first[batch.dialog_of_turn[rows]] - 1
        turns = np.column_stack([np.ones(len(rows)), state.other_turns.astype(np.float64)])
        kept = position < MAX_POSITION
        cut = {name: numbers[kept] for name, numbers in state.own.items()}
        seen = {name: numbers[kept] for name, numbers in state.other.items()}
        group = batch.dialog_of_turn[rows][kept]
        return cls(group, position[kept], cut, seen, turns[kept])

    def grouped(self, groups: Ints) -> "Positions":
        """The same by the groups of the dialogues, added up."""
        return Positions(groups[self.group], self.position, self.own, self.other, self.turns)._sum()

    @classmethod
    def merged(cls, parts: "list[Positions]") -> "Positions":
        return cls(
            np.concatenate([part.group for part in parts]),
            np.concatenate([part.position for part in parts]),
            _stacked([part.own for part in parts]),
            _stacked([part.other for part in parts]),
            np.concatenate([part.turns for part in parts]),
        )._sum()

    def _sum(self) -> "Positions":
        cells, inverse = np.unique(self.group * MAX_POSITION + self.position, return_inverse=True)
        count = len(cells)
        return Positions(
            cells // MAX_POSITION,
            cells % MAX_POSITION,
            {name: group_sums(rows, inverse, count) for name, rows in self.own.items()},
            {name: group_sums(rows, inverse, count) for name, rows in self.other.items()},
            group_sums(self.turns, inverse, count),
        )

    def part(
        self, plan: ScoringPlan, pairs: list[tuple[str, str]], failures: Mapping[str, str]
    ) -> Part:
        """Metrics whose features add up, pooled over the turns at each position."""
        state = State(self.own, self.other, self.turns[:, 1].astype(np.int64))
        agent_turns = self.turns[:, 0].astype(np.int64)
        units = _unit_frame([pairs[number] for number in self.group.tolist()])
        columns = {
            metric.name: larger_column(metric, state, failures, agent_turns, None, self.group)
            for metric in plan.at("turn")
            if all(feature.adds_up for feature in metric.definition.features)
        }
        numbered = units.with_columns(turn=pl.Series(self.position, dtype=pl.Int32))
        return Part("position", numbered, columns, state, failures=failures)


def _stacked(parts: list[Mapping[str, Floats]]) -> dict[str, Floats]:
    return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
