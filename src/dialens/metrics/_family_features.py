"""What a family's scorer says of a batch, and the features that metrics read it from.

Units are scored before a batch goes to the threads that count words: scorers use all cores, and
results do not depend on which thread comes first. Networks begin with the next batch while that is
done. Scorers of words run in those threads.
"""

import hashlib
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from dialens.metrics._batch import Ints, Mask, Outcome, TurnBatch
from dialens.metrics._family import Advance, Family
from dialens.metrics._features import Arrays, Merger, Scratch, Sums, members_of
from dialens.metrics._pace import paced
from dialens.metrics._scorers import ScorerSet
from dialens.metrics._state import Floats
from dialens.metrics._units import Units

MOST_POOLED = 5_000
"""Replies of an agent or system that are compared together, chosen by a hash of their place."""

_PLACE_BYTES = 64


def score_words(batch: TurnBatch, family: Family, scorers: ScorerSet) -> None:
    """Let a family's scorer of words see a batch, and leave what it says with the batch."""
    height, width = batch.turns.height, len(family.outputs)
    values = np.full((height, width), np.nan)
    dialogs = np.full((len(batch.dialog_starts), width), np.nan)
    if scorers.ready(family):
        values, dialogs = scorers.score_words(family, batch)
    nobody, lacks = np.zeros(height, np.bool_), np.zeros((height, len(family.lacks)))
    failure = scorers.failed(family)
    batch.outcomes[family.name] = Outcome(values, nobody, lacks, dialogs, failure=failure)


def begin_family(
    batch: TurnBatch,
    family: Family,
    scorers: ScorerSet,
    *,
    everyone: bool = False,
    advance: Advance = lambda _: None,
) -> Callable[[], None]:
    """Let a family's scorer begin with a batch; what it returns leaves what it says with the batch.

    Args:
        batch: Some whole dialogues.
        family: Of units or pools, ready or not; one that is not has no values.
        scorers: Of the run.
        everyone: Whether all speakers' turns are scored, or the agent's alone.
        advance: Called with the number of turns just done.
    """
    height = batch.turns.height
    values = np.full((height, family.width), np.nan)
    scored = np.zeros(height, np.bool_)
    lacks = np.zeros((height, len(family.lacks)))
    units = Units(batch, family, everyone=everyone) if scorers.ready(family) else None
    which, begun = scored, None
    if units is not None:
        which = scored[units.rows] = units.scored
        lacks[units.rows] = units.lacks
        if family.kind == "units" and which.any():
            begun = scorers.begin(family, units.of(which), advance)

    def finish() -> None:
        vectors = {}
        if units is not None and family.kind == "pool":
            vectors = _vectors(units, which, family, scorers, advance)
        elif units is not None and begun is not None:
            values[units.rows[which]] = begun()
        failure = scorers.failed(family)
        if failure is not None:
            scored[:] = False
        batch.outcomes[family.name] = Outcome(values, scored, lacks, None, vectors, failure)

    return finish


def _vectors(
    units: Units, which: Mask, family: Family, scorers: ScorerSet, advance: Advance
) -> dict[str, NDArray[np.float32]]:
    chosen = units.of(which)
    texts = dict.fromkeys(text for unit in chosen for text in (unit.response, *unit.references))
    step = paced(advance, len(chosen), len(texts))
    embeddings = scorers.embed(family, list(texts), step)
    return {text: row.astype(np.float32) for text, row in embeddings.items()}


@dataclass(frozen=True)
class FamilyValues:
    """A family's values of turns, which larger units have as sums.

    Columns: the values (0 where missing); whether there is one, for each output or once for all
    (`Family.whole`); and, of a family that is asked for units, how many were scored and how many
    could not be, by what they lacked.
    """

    family: Family
    scorers: ScorerSet = field(repr=False)
    adds_up: ClassVar[bool] = True

    @property
    def name(self) -> str:
        """The key in a state."""
        return f"scorer {self.family.name}"

    @property
    def first_count(self) -> int:
        """The first column that counts values."""
        return self.family.width

    @property
    def scored(self) -> int:
        """The column that counts scored units; what they lack follows."""
        return self.first_count + (1 if self.family.whole else self.first_count)

    def count_column(self, output: int) -> int:
        """The column that counts the values of an output."""
        return self.first_count + (0 if self.family.whole else output)

    def turns(self, batch: TurnBatch) -> Floats:
        """What the scorer left with the batch."""
        outcome = batch.outcomes[self.family.name]
        columns = [self._columns(outcome.values)]
        if self.family.lacks:
            columns += [outcome.scored[:, None].astype(np.float64), outcome.lacks]
        return np.hstack(columns)

    def _columns(self, values: Floats) -> Floats:
        present = ~np.isnan(values)
        counted = present.any(axis=1, keepdims=True) if self.family.whole else present
        return np.hstack([np.where(present, values, 0.0), counted])

    def dialogs(self, batch: TurnBatch, turns: Floats, keep: NDArray[np.bool_]) -> Floats:
        """Sums over the turns that are kept, or a dialogue's own values."""
        own = batch.outcomes[self.family.name].dialogs
        if own is not None:
            return self._columns(own)
        return batch.by_dialog(np.where(keep[:, None], turns, 0.0))

    def reduce(self, batch: TurnBatch, dialogs: Floats, groups: Ints, count: int) -> Arrays:
        """Sums by group."""
        return Sums.reduce(dialogs, groups, count)

    def merger(self, scratch: Scratch) -> Merger:
        """Sums."""
        return Sums()


@dataclass(frozen=True)
class FamilyPool(FamilyValues):
    """A pooled family: what an agent said, against references, all together.

    Single turns and dialogues only count; values come with the merger, which keeps the vectors of
    every agent.
    """

    adds_up: ClassVar[bool] = False

    def reduce(self, batch: TurnBatch, dialogs: Floats, groups: Ints, count: int) -> Arrays:
        """Sums by group, and of every reply its place, its group and its vectors.

        `references` has the vectors of all references, `sizes` says how many each reply has.
        """
        outcome = batch.outcomes[self.family.name]
        units = Units(batch, self.family, everyone=False)
        which = outcome.scored[units.rows]
        chosen, rows = units.of(which), units.rows[which]
        responses = _stack([outcome.vectors[unit.response] for unit in chosen])
        references = [outcome.vectors[text] for unit in chosen for text in unit.references]
        return Sums.reduce(dialogs, groups, count) | {
            "places": _places(batch, rows),
            "groups": groups[batch.dialog_of_turn[rows]],
            "responses": responses,
            "references": _stack(references).reshape(len(references), responses.shape[1]),
            "sizes": np.array([len(unit.references) for unit in chosen], np.int64),
        }

    def merger(self, scratch: Scratch) -> Merger:
        """Vectors by agent."""
        return _Pools(self)


def _places(batch: TurnBatch, rows: Ints) -> NDArray[np.uint8]:
    """A hash of dialogue and turn for each row, by which replies of a pool are chosen."""
    units = batch.turns.select("dialog", "turn")[rows].iter_rows()
    digests = [hashlib.blake2b(f"{dialog}\0{turn}".encode()).digest() for dialog, turn in units]
    return np.frombuffer(b"".join(digests), np.uint8).reshape(len(rows), _PLACE_BYTES)


def _stack(vectors: list[NDArray[np.float32]]) -> NDArray[np.float32]:
    return np.stack(vectors) if vectors else np.empty((0, 0), np.float32)


def family_feature(family: Family, scorers: ScorerSet) -> FamilyValues:
    """The feature that metrics of a family read."""
    return (FamilyPool if family.kind == "pool" else FamilyValues)(family, scorers)


@dataclass(frozen=True)
class _Reply:
    """A reply's place in the order of its pool, and the vectors of it and its references."""

    place: bytes
    response: NDArray[np.float32]
    references: NDArray[np.float32]

    def copy(self) -> "_Reply":
        return _Reply(self.place, self.response.copy(), self.references.copy())


class _Pools:
    """Replies by group; of many, those whose hashes are lowest, whatever the order they came in."""

    def __init__(self, feature: FamilyPool) -> None:
        self._feature = feature
        self._counts = Sums()
        self._replies: dict[int, list[_Reply]] = {}
        self._known: dict[tuple[int, ...], Floats] = {}

    def merge(self, part: Arrays, numbers: Ints, count: int) -> None:
        """Take in a batch's replies."""
        self._counts.merge(part, numbers, count)
        references = np.split(part["references"], np.cumsum(part["sizes"]))[:-1]
        for place, group, response, others in zip(
            part["places"], part["groups"], part["responses"], references, strict=True
        ):
            reply = _Reply(place.tobytes(), response, others)
            self._replies.setdefault(int(numbers[group]), []).append(reply)
        for number in set(numbers.tolist()):
            replies = self._replies.get(number, [])
            if len(replies) > 2 * MOST_POOLED:
                # Copies, so that what was left out is not kept by the arrays that it came in.
                self._replies[number] = [reply.copy() for reply in _lowest(replies)]

    def result(self, groups: Ints, count: int) -> Floats:
        """Counts, and the values of each larger group's replies taken together."""
        sums = self._counts.result(groups, count)
        outputs = len(self._feature.family.outputs)
        for target, numbers in enumerate(members_of(groups, count)):
            members = tuple(numbers)
            if members not in self._known:
                self._known[members] = self._compared(members)
            values = self._known[members]
            sums[target, :outputs] = np.nan_to_num(values)
            sums[target, outputs : 2 * outputs] = np.isfinite(values)
        return sums

    def _compared(self, members: tuple[int, ...]) -> Floats:
        family = self._feature.family
        replies = _lowest([reply for group in members for reply in self._replies.get(group, [])])
        if not replies:
            return np.full(len(family.outputs), np.nan)
        responses = np.stack([reply.response for reply in replies]).astype(np.float64)
        references = np.concatenate([reply.references for reply in replies])
        scorer = self._feature.scorers.pool_scorer(family)
        return np.asarray(scorer.compare(responses, references.astype(np.float64)), np.float64)


def _lowest(replies: list[_Reply]) -> list[_Reply]:
    return sorted(replies, key=lambda reply: reply.place)[:MOST_POOLED]
