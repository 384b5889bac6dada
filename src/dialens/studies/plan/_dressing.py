"""What varies between the responses of one screen: tags above them, and variants of their text.

Levels rotate over the responses of an item, over items in an order of the study's own, and over
participants by seed: over as many seeds as there are levels, every response has each level once.
How far apart the levels of neighbouring responses are changes from item to item, so that every
level meets every other, and either of two responses may have either of them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import gcd

from dialens.studies._items import PLAIN, Candidate, Item
from dialens.studies._study import Study
from dialens.studies.design import PER_RESPONSE, TAG, VARIANT, Design
from dialens.studies.plan._ordering import shuffled


@dataclass(frozen=True)
class Dressing:
    """How the responses of a participant's items are shown.

    Attributes:
        design: The study.
        turns: By factor, how far this participant's rotation is turned.
        ranks: By factor, the place of each item in the rotation.
    """

    design: Design
    turns: Mapping[str, int]
    ranks: Mapping[str, Mapping[str, int]]

    @classmethod
    def of(cls, study: Study, next_digit: Callable[[int], int]) -> "Dressing":
        """The dressing of one participant, whose seed gives the digits."""
        turns, ranks = {}, {}
        for name in PER_RESPONSE:
            factor = study.design.factors.get(name)
            if factor is not None:
                turns[name] = next_digit(len(factor.levels))
                # An order of its own, or tags would go with places within a participant.
                mixed = shuffled([item.id for item in study.items], study.name, name)
                ranks[name] = {item: rank for rank, item in enumerate(mixed)}
        return cls(study.design, turns, ranks)

    def dressed(self, item: Item) -> Item:
        """The item with the tags and variants that this participant sees."""
        if not self.turns:
            return item
        made = tuple(self._one(item, at, one) for at, one in enumerate(item.candidates))
        return replace(item, candidates=made)

    def _one(self, item: Item, at: int, one: Candidate) -> Candidate:
        for name, turn in self.turns.items():
            levels = self.design.factors[name].levels
            rank, size = self.ranks[name][item.id], len(levels)
            steps = _steps(size, len(item.candidates))
            step = steps[rank // size % len(steps)]
            level = levels[(at * step + rank + turn) % size]
            one = replace(one, levels={**one.levels, name: level.name})
            if name == TAG and level.note:
                one = replace(one, tag=level.note.replace("{agent}", one.agent))
            if name == VARIANT and level.name != PLAIN:
                one = replace(one, text=one.variants[level.name])
        return one


def _steps(levels: int, responses: int) -> list[int]:
    """From one response to the next, so many levels on: all steps that repeat none too early.

    Examples:
        >>> _steps(4, 2), _steps(4, 4), _steps(2, 3)
        ([1, 2, 3], [1, 3], [1])
    """
    fewest = min(levels, responses)
    return [step for step in range(1, levels) if levels // gcd(step, levels) >= fewest]
