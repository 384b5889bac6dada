"""What a batch comes to by agent: all that agents and systems need of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dialens.metrics._batch import Ints, TurnBatch, group_sums
from dialens.metrics._exact_sums import exact_sums, whole
from dialens.metrics._features import Arrays, Sums
from dialens.metrics._parts import Column, Part, ScoringPlan
from dialens.metrics._state import Floats, State

MAX_POSITION = 20


@dataclass(frozen=True)
class BatchSums:
    """The sums of a batch by agent, whoever computed them.

    Nothing in it depends on the process, its vocabulary or other batches: it can be pickled, sent,
    kept, and merged in another process. Sums are exact, so that agents and systems have the same
    values to the last bit however the corpus is cut into batches.

    Attributes:
        agents: Systems and agents of the batch, in the order in which they first appear. Arrays
            have a row for each, or say by number whose their rows are.
        own: For each feature what its merger needs.
        other: For each feature that is held against the other side, that side's sums.
        turns: The agent's turns, and the other side's.
        missing: For each metric of turns, how many gave no value, by reason.
        positions: Sums by the agent's n-th turn.
        failures: Why metrics have no value at all, by metric.
    """

    agents: tuple[tuple[str, str], ...]
    own: Mapping[str, Arrays]
    other: Mapping[str, Arrays]
    turns: Arrays
    missing: Mapping[str, Mapping[str, Ints]]
    positions: "Positions"
    failures: Mapping[str, str]

    @classmethod
    def of(cls, batch: TurnBatch, plan: ScoringPlan, turns: State, dialogs: Part) -> "BatchSums":
        """The sums of a batch, from the state of the agent's turns and the scored dialogues."""
        state = dialogs.state
        assert state is not None
        numbers: dict[tuple[str, str], int] = {}
        pairs = dialogs.units.select("system", "agent").iter_rows()
        group = np.array([numbers.setdefault(pair, len(numbers)) for pair in pairs])
        count = len(numbers)
        agent_turns = batch.turns_by_dialog(batch.is_agent)
        both = np.column_stack([agent_turns, state.other_turns]).astype(np.float64)
        return cls(
            tuple(numbers),
            {n: f.reduce(batch, state.own[n], group, count) for n, f in plan.features.items()},
            {name: Sums.reduce(state.other[name], group, count) for name in plan.compared},
            Sums.reduce(both, group, count),
            {m.name: _missing(dialogs.columns[m.name], group, count) for m in plan.at("turn")},
            Positions.of(batch, turns, group),
            dialogs.failures,
        )


def _missing(dialogs: Column, groups: Ints, count: int) -> dict[str, Ints]:
    assert dialogs.missing is not None
    return {
        reason: np.bincount(groups, turns, count).astype(np.int64)
        for reason, turns in zip(dialogs.turn_reasons, dialogs.missing.T, strict=True)
    }


@dataclass(frozen=True)
class Positions:
    """Sums by group of dialogues and by the how-manieth turn of the agent it is.

    The sums of features are in pieces (`exact_sums`).
    """

    group: Ints
    position: Ints
    own: Mapping[str, Floats]
    other: Mapping[str, Floats]
    turns: Floats

    @classmethod
    def of(cls, batch: TurnBatch, state: State, groups: Ints) -> "Positions":
        """From the state of the agent's turns, and the group of each dialogue."""
        rows = np.flatnonzero(batch.is_agent)
        agents = ~batch.is_partner
        so_far: Ints = np.cumsum(agents)
        first = so_far[batch.dialog_starts] - agents[batch.dialog_starts]
        dialog = batch.dialog_of_turn[rows]
        position = so_far[rows] - first[dialog] - 1
        kept = position < MAX_POSITION
        cells, cell = np.unique(
            groups[dialog[kept]] * MAX_POSITION + position[kept], return_inverse=True
        )
        turns = np.column_stack([np.ones(len(rows)), state.other_turns.astype(np.float64)])

        def sums(side: Mapping[str, Floats]) -> dict[str, Floats]:
            return {name: exact_sums(n[kept], cell, len(cells)) for name, n in side.items()}

        return cls(
            cells // MAX_POSITION,
            cells % MAX_POSITION,
            sums(state.own),
            sums(state.other),
            group_sums(turns[kept], cell, len(cells)),
        )

    @classmethod
    def merged(cls, parts: Sequence["Positions"]) -> "Positions":
        """Those of several batches, added up."""
        cells, cell = np.unique(
            np.concatenate([part.group * MAX_POSITION + part.position for part in parts]),
            return_inverse=True,
        )

        def sums(rows: list[Floats]) -> Floats:
            return group_sums(np.concatenate(rows), cell, len(cells))

        return cls(
            cells // MAX_POSITION,
            cells % MAX_POSITION,
            {name: sums([part.own[name] for part in parts]) for name in parts[0].own},
            {name: sums([part.other[name] for part in parts]) for name in parts[0].other},
            sums([part.turns for part in parts]),
        )

    def state(self) -> State:
        """The sums as metrics read them."""
        own, other = (
            {name: whole(sums) for name, sums in side.items()} for side in (self.own, self.other)
        )
        return State(own, other, self.turns[:, 1].astype(np.int64))
