"""Summed features, and values that may be missing for a reason."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Concatenate, ParamSpec, Self, TypeVar

import numpy as np
import polars as pl
from numpy.typing import NDArray

from dialens.metrics._memo import Memo

Floats = NDArray[np.float64]
Codes = NDArray[np.uint8]
P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, eq=False)
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
    _memo: Memo = field(default_factory=Memo, init=False, repr=False)

    def cached(
        self,
        function: "Callable[Concatenate[State, P], T]",
        *arguments: P.args,
        **options: P.kwargs,
    ) -> T:
        """What several metrics need of the same units, computed for the first that asks."""
        return self._memo.get_for(function, self, *arguments, **options)


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
        reasons = {name.replace("_", " "): mask for name, mask in missing.items()}
        return cls.missing(value, reasons)

    @classmethod
    def missing(cls, value: Floats, reasons: Mapping[str, NDArray[np.bool_]]) -> Self:
        """The same with reasons that are no names."""
        code = np.zeros(value.shape, np.uint8)
        for number, mask in reversed(list(enumerate(reasons.values(), start=1))):
            code[mask] = number
        return cls(np.where(code > 0, np.nan, value), code, tuple(reasons))

    @classmethod
    def none(cls, height: int, reason: str) -> Self:
        """No value for any of so many units."""
        return cls(np.full(height, np.nan), np.ones(height, np.uint8), (reason,))

    def reason(self) -> pl.Series:
        """Why each value is missing; null where it is not."""
        reasons = pl.Series("reason", [None, *self.reasons], dtype=pl.String)
        if not self.code.any():
            return reasons.new_from_index(0, len(self.code))
        return reasons[self.code]


def ratio(top: Floats, bottom: Floats) -> Floats:
    """Division that gives 0 where the bottom is 0, for values that are masked there anyway.

    Examples:
        >>> ratio(np.array([1.0, 1.0]), np.array([2.0, 0.0])).tolist()
        [0.5, 0.0]
    """
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom != 0)
