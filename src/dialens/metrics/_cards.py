"""Ordinary metrics made of families: values of turns, means over turns, and pools of an agent."""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from dialens.corpus import LEVELS
from dialens.metrics._batch import Ints, TurnBatch
from dialens.metrics._card import Definition, MetricCard, Resources
from dialens.metrics._family import Family
from dialens.metrics._features import Additive, Feature, Merger, Sums
from dialens.metrics._scorers import ScorerSet
from dialens.metrics._state import Floats, State, Values, ratio
from dialens.metrics._units import LACKS, Units, units_of

GROUP = "automatic"
"""Selects all metrics that are made of families."""

MOST_POOLED = 5_000
"""Replies of an agent or system that are compared together, chosen by a hash of their place."""

Advance = Callable[[int], None]


def cards_of(family: Family) -> tuple[MetricCard, ...]:
    """One metric for each output of a family, selected by its name, the family's or `automatic`.

    Examples:
        >>> from dialens.metrics._family import Output
        >>> family = Family("shout", (Output("shouting", "How loud"),), open, lambda _: "no ears")
        >>> (card,) = cards_of(family)
        >>> card.name, card.family, card.groups
        ('shouting', 'shout', ('automatic',))
    """
    weights = ("weights",) if family.weights else ()
    return tuple(
        MetricCard(
            name=output.name,
            meaning=output.meaning,
            family=family.name,
            make=_maker(family, number),
            levels=("agent", "system") if family.pooled else LEVELS,
            needs=(*dict.fromkeys((*family.needs, *output.needs)), *weights),
            range=output.range,
            higher_is_better=output.higher_is_better,
            citation=family.citation,
            licence=family.licence,
            version=family.version,
            groups=(*family.groups, GROUP),
            scored_by=family,
            label=output.label,
            family_label=family.label,
            headline=output.headline,
        )
        for number, output in enumerate(family.outputs)
    )


def _maker(family: Family, number: int) -> Callable[[Resources], Definition]:
    def make(resources: Resources) -> Definition:
        scorers = resources.automatic
        feature: Feature = FamilyPool(family, scorers) if family.pooled else _Means(family, scorers)
        outputs = len(family.outputs)
        needs = (*family.needs, *family.outputs[number].needs)
        wanted = np.array([True, "reference" in needs, "context" in needs])

        def compute(state: State) -> Values:
            failed = scorers.failed(family)
            if failed is not None:
                height = len(state.other_turns)
                return Values(np.full(height, np.nan), np.ones(height, np.uint8), (failed,))
            rows = state.own[feature.name]
            total, there = rows[:, number], rows[:, outputs + number]
            lacks = rows[:, 2 * outputs + 1 :] * wanted
            none, commonest = (there == 0) & lacks.any(axis=1), lacks.argmax(axis=1)
            if family.pooled:  # a few that lack something do not tell why many give no value
                none &= rows[:, 2 * outputs] == 0
            why = {
                reason.replace(" ", "_"): none & (commonest == place)
                for place, reason in enumerate(LACKS)
            }
            last = "too_few_replies" if family.pooled else "no_value"
            return Values.where(ratio(total, there), **why, **{last: there == 0})

        def turns(state: State) -> Floats:
            if scorers.failed(family) is not None:
                return np.zeros(len(state.other_turns))
            counted: Floats = state.own[feature.name][:, 2 * outputs]
            return counted

        return Definition(
            (feature,),
            compute,
            turns=turns if family.pooled else None,
            signed=lambda: {"scorer": scorers.signature(family)},
        )

    return make


def score_units(
    batch: TurnBatch, family: Family, scorers: ScorerSet, advance: Advance = lambda _: None
) -> None:
    """Let a family's scorer see a batch, and leave what it says with the batch.

    Args:
        batch: Some whole dialogues.
        family: Ready or not; one that is not has no values.
        scorers: Of the run.
        advance: Told how many more of the agent's turns are done.
    """
    if family.pooled:
        batch.once(_key(family), lambda b: _embedded(b, family, scorers, advance))
    else:
        batch.once(_key(family), lambda b: _scored(b, family, scorers, advance))


def _key(family: Family) -> str:
    return f"automatic {family.name}"


def _scored(batch: TurnBatch, family: Family, scorers: ScorerSet, advance: Advance) -> Floats:
    """One row a turn: values, whether there is one, whether it was scored, and what it lacked."""
    outputs = len(family.outputs)
    made = np.zeros((batch.turns.height, 2 * outputs + 1 + len(LACKS)))
    if not scorers.ready(family):
        return made
    units = units_of(batch)
    made[units.rows, 2 * outputs + 1 :] = units.lacks
    which = units.scored(family)
    if which.any():
        values = scorers.run(family, units.of(family, which), advance)
        rows = units.rows[which]
        made[rows, :outputs] = np.nan_to_num(values)
        made[rows, outputs : 2 * outputs] = ~np.isnan(values)
        made[rows, 2 * outputs] = 1.0
    return made


@dataclass(frozen=True)
class _Means(Additive):
    """A family's values of turns, which larger units have as means.

    Columns: the values (0 where missing), whether there is one, how many units were scored, and
    how many could not be, by what they lacked.
    """

    family: Family
    scorers: ScorerSet = field(repr=False)

    @property
    def name(self) -> str:
        """The key in a state."""
        return _key(self.family)

    def turns(self, batch: TurnBatch) -> Floats:
        """What the scorer left with the batch, or says now."""
        return batch.once(
            _key(self.family), lambda b: _scored(b, self.family, self.scorers, lambda _: None)
        )


@dataclass(frozen=True)
class _Embedded:
    """The replies of a batch that are held against references, and the vectors of both.

    Attributes:
        units: All of the agent's turns.
        which: Those that count.
        vectors: Of all texts among them.
    """

    units: Units
    which: NDArray[np.bool_]
    vectors: dict[str, NDArray[np.float32]]


def _embedded(batch: TurnBatch, family: Family, scorers: ScorerSet, advance: Advance) -> _Embedded:
    units = units_of(batch)
    which = units.scored(family)
    if not scorers.ready(family):
        return _Embedded(units, np.zeros_like(which), {})
    chosen = units.of(family, which)
    texts = dict.fromkeys(text for unit in chosen for text in (unit.response, *unit.references))
    per_text = len(chosen) / max(1, len(texts))
    told = 0.0

    def tell(done: int) -> None:
        nonlocal told
        before = int(told)
        told += done * per_text
        advance(int(told) - before)

    found = scorers.embed(family, list(texts), tell)
    return _Embedded(units, which, {text: row.astype(np.float32) for text, row in found.items()})


@dataclass(frozen=True)
class FamilyPool:
    """A pooled family: what an agent said, against references, all together.

    Columns as those of a family's means. Single turns and dialogues only count; values come with
    the merger, which keeps the vectors of every agent.
    """

    family: Family
    scorers: ScorerSet = field(repr=False)
    adds_up = False

    @property
    def name(self) -> str:
        """The key in a state."""
        return _key(self.family)

    def embedded(self, batch: TurnBatch) -> _Embedded:
        """What the scorer left with the batch, or says now."""
        return batch.once(
            _key(self.family), lambda b: _embedded(b, self.family, self.scorers, lambda _: None)
        )

    def turns(self, batch: TurnBatch) -> Floats:
        """No values yet: which turns count, and what the others lack."""
        outputs = len(self.family.outputs)
        made = np.zeros((batch.turns.height, 2 * outputs + 1 + len(LACKS)))
        seen = self.embedded(batch)
        made[seen.units.rows, 2 * outputs] = seen.which
        made[seen.units.rows, 2 * outputs + 1 :] = seen.units.lacks
        return made

    def dialogs(self, batch: TurnBatch, turns: Floats, keep: NDArray[np.bool_]) -> Floats:
        """Counts over the turns that are kept."""
        return batch.by_dialog(np.where(keep[:, None], turns, 0.0))

    def merger(self) -> Merger:
        """Vectors by agent."""
        return _Pools(self)


@dataclass(frozen=True)
class _Reply:
    """A reply's place in the order of its pool, and the vectors of it and its references."""

    place: bytes
    response: NDArray[np.float32]
    references: tuple[NDArray[np.float32], ...]


class _Pools:
    """Replies by group; of many, those whose hashes are lowest, whatever the order they came in."""

    def __init__(self, feature: FamilyPool) -> None:
        self._feature = feature
        self._counts = Sums()
        self._replies: dict[int, list[_Reply]] = {}
        self._known: dict[tuple[int, ...], Floats] = {}

    def add(self, batch: TurnBatch, dialogs: Floats, groups: Ints, count: int) -> None:
        """Take in a batch's replies."""
        self._counts.add(batch, dialogs, groups, count)
        seen = self._feature.embedded(batch)
        names = batch.turns["dialog"]
        for at in np.flatnonzero(seen.which).tolist():
            row, unit = int(seen.units.rows[at]), seen.units.units[at]
            place = hashlib.blake2b(f"{names[row]}\0{batch.turns['turn'][row]}".encode())
            reply = _Reply(
                place.digest(),
                seen.vectors[unit.response],
                tuple(seen.vectors[text] for text in unit.references),
            )
            self._replies.setdefault(int(groups[batch.dialog_of_turn[row]]), []).append(reply)
        for number, replies in self._replies.items():
            if len(replies) > 2 * MOST_POOLED:
                self._replies[number] = _lowest(replies)

    def result(self, groups: Ints, count: int) -> Floats:
        """Counts, and the values of each larger group's replies taken together."""
        made = self._counts.result(groups, count)
        outputs = len(self._feature.family.outputs)
        for target in range(count):
            members = tuple(np.flatnonzero(groups == target).tolist())
            if members not in self._known:
                self._known[members] = self._compared(members)
            values = self._known[members]
            made[target, :outputs] = np.nan_to_num(values)
            made[target, outputs : 2 * outputs] = np.isfinite(values)
        return made

    def _compared(self, members: tuple[int, ...]) -> Floats:
        family = self._feature.family
        replies = _lowest([one for member in members for one in self._replies.get(member, [])])
        if not replies:
            return np.full(len(family.outputs), np.nan)
        responses = np.stack([one.response for one in replies]).astype(np.float64)
        references = np.stack([row for one in replies for row in one.references])
        scorer = self._feature.scorers.pool_scorer(family)
        return np.asarray(scorer.compare(responses, references.astype(np.float64)), np.float64)


def _lowest(replies: list[_Reply]) -> list[_Reply]:
    return sorted(replies, key=lambda one: one.place)[:MOST_POOLED]
