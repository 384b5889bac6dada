"""Summed features, and values that may be missing for a reason."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Self

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.uint8]


@dataclass(frozen=True)
class State:
    """The features of some units, one row a unit, whatever their level.

    Attributes:
        own: Feature name to array (units × columns), summed over the agent's turns of the unit.
        other: The same for what the unit is held against: the prompt of a turn, the partner's
            whole side of anything larger. A unit without one has no turns there (`other_turns`).
        other_turns: How many turns `other` sums over.
    """

    own: Mapping[str, Floats]
    other: Mapping[str, Floats]
    other_turns: NDArray[np.int64]
    _made: dict[str, Floats] = field(default_factory=dict, repr=False, compare=False)

    def once(self, name: str, make: Callable[[], Floats]) -> Floats:
        """What several metrics need of the same units, made by the first that asks."""
        if name not in self._made:
            self._made[name] = make()
        return self._made[name]


@dataclass(frozen=True)
class Values:
    """One value a unit; where it is missing, `code` says why.

    Attributes:
        value: NaN exactly where `code` is not zero.
        code: 0, or 1 plus the index into `reasons`.
        reasons: In plain words.
    """

    value: Floats
    code: Codes
    reasons: tuple[str, ...] = ()

    @classmethod
    def where(cls, value: Floats, **missing: NDArray[np.bool_]) -> Self:
        """Values with the first reason that applies, in the order given (`_` stands for a space).

        Examples:
            >>> got = Values.where(np.array([1.0, 2.0]), no_word=np.array([False, True]))
            >>> got.value.tolist(), got.code.tolist(), got.reasons
            ([1.0, nan], [0, 1], ('no word',))
        """
        code = np.zeros(value.shape, np.uint8)
        for number, mask in reversed(list(enumerate(missing.values(), start=1))):
            code[mask] = number
        value = np.where(code > 0, np.nan, value)
        return cls(value, code, tuple(name.replace("_", " ") for name in missing))


def ratio(top: Floats, bottom: Floats) -> Floats:
    """Division that gives 0 where the bottom is 0, for values that are masked there anyway.

    Examples:
        >>> ratio(np.array([1.0, 1.0]), np.array([2.0, 0.0])).tolist()
        [0.5, 0.0]
    """
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom != 0)
