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
        self._batch, self._family = batch, family
        self.rows: Ints = np.flatnonzero(batch.is_agent | everyone)
        """Of the turns in their batch."""

    @property
    def lacks(self) -> NDArray[np.float64]:
        """What units lack, a column for each of the family's; 0 or 1. Blank ones lack only text."""
        wanted = [self._masks[lack] for lack in self._family.lacks]
        return np.array(wanted, np.float64).reshape(len(wanted), len(self.rows)).T

    @property
    def scored(self) -> Mask:
        """Which units the family can score."""
        masks = self._masks
        lacking = masks["text"].copy()
        for need in set(self._family.needs) & set(LACKS):
            lacking |= masks[need]
            if need == "context":
                lacking |= masks["turn"]
        return ~lacking

    @property
    def _masks(self) -> dict[str, Mask]:
        spoken = self._batch.says[self.rows]
        first: Mask = self._batch.turn_in_dialog[self.rows] == 0
        context = self._batch.cached(_has_context, self._family.context_turns)[self.rows]
        masks = {"text": ~spoken, "turn": spoken & first, "context": spoken & ~context}
        if "turn" in self._family.lacks:
            masks["context"] &= ~first
        if "reference" in (*self._family.needs, *self._family.lacks):
            by_place = self._batch.cached(_references)
            has_reference = np.array([bool(by_place.get(place)) for place in self._places()], bool)
            masks["reference"] = spoken & ~has_reference
        return masks

    def of(self, which: Mask) -> list[Unit]:
        """Some of the units, with only that in them which the family reads."""
        rows = self.rows[which]
        texts: list[str] = self._batch.cached(_texts)
        contexts: list[tuple[str, ...]] = [()] * len(rows)
        references: list[tuple[str, ...]] = [()] * len(rows)
        background: list[str | None] = [None] * len(rows)
        if "context" in self._family.reads:
            contexts = list(self._contexts(rows, texts))
        if "reference" in self._family.reads:
            by_place = self._batch.cached(_references)
            references = [by_place.get(place, ()) for place in self._places(which)]
        if "background" in self._family.reads:
            background = backgrounds(self._batch.turns[rows])
        replies = (texts[row] for row in rows.tolist())
        return list(map(Unit, contexts, replies, references, background))

    def _contexts(self, rows: Ints, texts: list[str]) -> Iterator[tuple[str, ...]]:
        starts = self._batch.dialog_starts[self._batch.dialog_of_turn[rows]].tolist()
        last = self._family.context_turns
        says = self._batch.says.tolist()
        for row, start in zip(rows.tolist(), starts, strict=True):
            if last is None:
                yield tuple(texts[place] for place in range(start, row) if says[place])
            else:
                yield tuple(texts[max(start, row - last) : row])

    def _places(self, which: Mask | None = None) -> list[tuple[str, int]]:
        rows = self.rows if which is None else self.rows[which]
        turns = self._batch.turns.select("dialog", "turn")[rows]
        return list(turns.iter_rows())


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


def _references(batch: TurnBatch) -> dict[tuple[str, int], tuple[str, ...]]:
    """What others said instead of each turn; blank ones are left out, equal ones count once."""
    if batch.references is None:
        return {}
    texts_by_place: dict[tuple[str, int], dict[str, None]] = {}
    for dialog, turn, text in batch.references.select("dialog", "turn", "text").iter_rows():
        if text is not None and text.strip():
            texts_by_place.setdefault((dialog, turn), {})[text] = None
    return {place: tuple(texts) for place, texts in texts_by_place.items()}
