"""The agent's turns of a batch as units: what came before, what it said, what others said."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dialens.metrics._batch import Ints, TurnBatch
from dialens.metrics._family import Family, Unit

Mask = NDArray[np.bool_]

LACKS = ("nothing said", "no reference", "no context")
"""Why a unit has no value, whoever scores it."""


@dataclass(frozen=True)
class Units:
    """One unit for each of the agent's turns, whether or not it can be scored.

    Attributes:
        rows: Of the turns in their batch.
        units: In the same order.
        blank: Which say nothing.
        without_reference: Which have nothing to be held against.
        without_context: Which nothing precedes.
    """

    rows: Ints
    units: tuple[Unit, ...]
    blank: Mask
    without_reference: Mask
    without_context: Mask

    @property
    def lacks(self) -> NDArray[np.float64]:
        """What units lack, in the order of `LACKS`; 0 or 1. Blank ones lack nothing else."""
        said = ~self.blank
        masks = (self.blank, said & self.without_reference, said & self.without_context)
        return np.column_stack(masks).astype(np.float64)

    def scored(self, family: Family) -> Mask:
        """Which units a family can score."""
        kept = ~self.blank
        if "reference" in family.needs:
            kept &= ~self.without_reference
        if "context" in family.needs:
            kept &= ~self.without_context
        return kept

    def of(self, family: Family, which: Mask) -> list[Unit]:
        """Some units, with only that in them which a family reads."""
        chosen = (self.units[place] for place in np.flatnonzero(which).tolist())
        context, references = (part not in family.ignores for part in ("context", "reference"))
        if context and references:
            return list(chosen)
        return [
            Unit(
                unit.context if context else (),
                unit.response,
                unit.references if references else (),
            )
            for unit in chosen
        ]


def units_of(batch: TurnBatch) -> Units:
    """The units of a batch, made once for all families.

    Turns before a reply and references that say nothing are left out; a reference that stands
    there twice counts once.
    """
    return batch.once("units", _units)


def _units(batch: TurnBatch) -> Units:
    texts: list[str] = batch.turns["text"].fill_null("").to_list()
    said = [bool(text.strip()) for text in texts]
    known = _references(batch)
    rows: Ints = np.flatnonzero(batch.is_agent)
    starts = batch.dialog_starts[batch.dialog_of_turn[rows]].tolist()
    dialogs = batch.turns["dialog"].gather(rows).to_list()
    turns = batch.turns["turn"].gather(rows).to_list()
    units = []
    for row, start, dialog, turn in zip(rows.tolist(), starts, dialogs, turns, strict=True):
        context = tuple(texts[place] for place in range(start, row) if said[place])
        units.append(Unit(context, texts[row], known.get((dialog, turn), ())))
    return Units(
        rows,
        tuple(units),
        np.array([not said[row] for row in rows.tolist()], bool),
        np.array([not unit.references for unit in units], bool),
        np.array([not unit.context for unit in units], bool),
    )


def _references(batch: TurnBatch) -> dict[tuple[str, int], tuple[str, ...]]:
    if batch.references is None:
        return {}
    found: dict[tuple[str, int], dict[str, None]] = {}
    for dialog, turn, text in batch.references.select("dialog", "turn", "text").iter_rows():
        if text is not None and text.strip():
            found.setdefault((dialog, turn), {})[text] = None
    return {place: tuple(texts) for place, texts in found.items()}
