"""The turns of a batch as units: what came before, what was said, what others said instead."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from dialens.corpus import backgrounds
from dialens.metrics._batch import Ints, Mask, TurnBatch
from dialens.metrics._family import LACKS, Family, Unit


class Units:
    """The turns that a family is asked for, whether or not they can be scored.

    Args:
        batch: Some whole dialogues.
        family: Says what a unit is made of.
        everyone: Whether all speakers' turns are meant, or the agent's alone.
    """

    def __init__(self, batch: TurnBatch, family: Family, *, everyone: bool) -> None:
        self._batch, self._family, self._everyone = batch, family, everyone
        self.rows: Ints = batch.cached(_rows, everyone=everyone)
        """Of the turns in their batch."""

    @property
    def lacks(self) -> NDArray[np.float64]:
        """What units lack, a column for each of the family's; 0 or 1. Blank ones lack only text."""
        columns = [self._lack(lack) for lack in self._family.lacks]
        return np.array(columns, np.float64).reshape(len(columns), len(self.rows)).T

    @property
    def scored(self) -> Mask:
        """Which units the family can score."""
        lacking = self._lack("text")
        for need in self._family.needs:
            if need in LACKS:
                lacking = lacking | self._lack(need)
            if need == "context":
                lacking = lacking | self._lack("turn")
        return ~lacking

    def _lack(self, lack: str) -> Mask:
        says: Mask = self._batch.says[self.rows]
        if self._family.scores_silence:
            says = says | (self._batch.silent & self._batch.cached(_has_reference))[self.rows]
        if lack == "text":
            return ~says
        first: Mask = self._batch.turn_in_dialog[self.rows] == 0
        if lack == "turn":
            return says & first
        if lack == "reference":
            return says & ~self._batch.cached(_has_reference)[self.rows]
        has_context = self._batch.cached(_has_context, self._family.context_turns)[self.rows]
        told_apart = first & ("turn" in self._family.lacks)
        return says & ~has_context & ~told_apart

    def of(self, which: Mask) -> list[Unit]:
        """Some of the units, with only that in them which the family reads."""
        family = self._family
        units = self._batch.cached(
            _units, family.reads, family.context_turns, everyone=self._everyone
        )
        return [units[place] for place in np.flatnonzero(which).tolist()]


def _rows(batch: TurnBatch, *, everyone: bool) -> Ints:
    return np.flatnonzero(batch.is_agent | everyone)


def _units(
    batch: TurnBatch, reads: tuple[str, ...], context_turns: int | None, *, everyone: bool
) -> list[Unit]:
    """All units of a batch, for families that read the same."""
    rows = batch.cached(_rows, everyone=everyone)
    texts = batch.cached(_texts)
    contexts: list[tuple[str, ...]] = [()] * len(rows)
    references: list[tuple[str, ...]] = [()] * len(rows)
    known: list[str | None] = [None] * len(rows)
    if "context" in reads:
        contexts = list(_contexts(batch, rows, context_turns))
    if "reference" in reads:
        found = batch.cached(_references)
        places = batch.turns.select("dialog", "turn")[rows].iter_rows()
        references = [found.get(place, ()) for place in places]
    if "background" in reads:
        known = backgrounds(batch.turns[rows])
    said = [texts[row] for row in rows.tolist()]
    return list(map(Unit, contexts, said, references, known))


def _contexts(batch: TurnBatch, rows: Ints, last: int | None) -> Iterator[tuple[str, ...]]:
    texts, says = batch.cached(_texts), batch.says.tolist()
    starts = batch.dialog_starts[batch.dialog_of_turn[rows]].tolist()
    for row, start in zip(rows.tolist(), starts, strict=True):
        if last is None:
            yield tuple(texts[place] for place in range(start, row) if says[place])
        else:
            yield tuple(texts[max(start, row - last) : row])


def distinct_replies(units: Sequence[Unit]) -> tuple[list[str], Ints]:
    """Replies, each once, and for every unit the place of its own among them.

    Examples:
        >>> units = [Unit((), text, ()) for text in ("Yes.", "No.", "Yes.")]
        >>> replies, places = distinct_replies(units)
        >>> replies, places.tolist()
        (['Yes.', 'No.'], [0, 1, 0])
    """
    places = {text: place for place, text in enumerate(dict.fromkeys(u.response for u in units))}
    return list(places), np.array([places[unit.response] for unit in units], dtype=np.int64)


def _texts(batch: TurnBatch) -> list[str]:
    texts: list[str] = batch.turns["text"].fill_null("").to_list()
    return texts


def _has_context(batch: TurnBatch, turns: int | None) -> Mask:
    """Which turns have something said in so many turns before them, in any if not given."""
    spoken: Ints = np.cumsum(batch.says)
    before = spoken - batch.says
    starts = batch.dialog_starts[batch.dialog_of_turn]
    if turns is not None:
        starts = np.maximum(starts, np.arange(len(before)) - turns)
    has: Mask = before > before[starts]
    return has


def _has_reference(batch: TurnBatch) -> Mask:
    """Which turns have something to be held against."""
    known = batch.cached(_references)
    places = batch.turns.select("dialog", "turn").iter_rows()
    return np.fromiter((place in known for place in places), bool, batch.turns.height)


def _references(batch: TurnBatch) -> dict[tuple[str, int], tuple[str, ...]]:
    """What others said instead of each turn; blank ones are left out, equal ones count once."""
    if batch.references is None:
        return {}
    texts_by_place: dict[tuple[str, int], dict[str, None]] = {}
    for dialog, turn, text in batch.references.select("dialog", "turn", "text").iter_rows():
        if text is not None and text.strip():
            texts_by_place.setdefault((dialog, turn), {})[text] = None
    return {place: tuple(texts) for place, texts in texts_by_place.items()}
