"""Items × raters with holes, and sums over it for any number of resamples at once.

Every statistic of this package is a function of how often each item and each rater is counted.
With all weights one it is the estimate; with the weights of a draw it is a bootstrap replicate;
with one weight zero it is a leave-one-out value. So the ratings are gone through once, as matrix
products, and never copied per resample.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from dialens.base import DialensError

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

_DENSE_FROM = 0.3


@dataclass(frozen=True)
class Weights:
    """How often items (n × R) and raters (k × R) count in each of R resamples; None is once.

    Examples:
        >>> Weights().resamples, Weights(items=np.ones((5, 3))).resamples
        (1, 3)
    """

    items: Floats | None = None
    raters: Floats | None = None

    @property
    def resamples(self) -> int:
        """How many resamples there are."""
        given = self.items if self.items is not None else self.raters
        return 1 if given is None else given.shape[1]


ONCE = Weights()


@dataclass(frozen=True)
class RatingMatrix:
    """Ratings of items by raters, at most one a cell, cells may be empty.

    Attributes:
        item: Place of each rating's item in `items`.
        rater: Place of each rating's rater in `raters`; None where raters are not known.
        value: The ratings.
        items: Names of the items, sorted.
        raters: Names of the raters, sorted; empty where they are not known.
        averaged: How many ratings were merged because a rater judged an item more than once.
        given: The different values before any were merged; None where none were.

    Examples:
        >>> table = RatingMatrix.of_array([[1, 2], [3, np.nan], [5, 6]])
        >>> table.shape, len(table.value), table.empty_cells, table.complete
        ((3, 2), 5, 1, False)
    """

    item: Ints
    rater: Ints | None
    value: Floats
    items: tuple[str, ...]
    raters: tuple[str, ...]
    averaged: int = 0
    given: Floats | None = None

    @classmethod
    def of(
        cls, items: Sequence[str], raters: Sequence[str] | None, values: ArrayLike
    ) -> "RatingMatrix":
        """From parallel lists. A rater's several ratings of one item become their mean."""
        frame = pl.DataFrame({"item": pl.Series(items, dtype=pl.String), "value": values})
        frame = frame.with_columns(pl.col("value").cast(pl.Float64).fill_nan(None))
        if raters is None:
            frame = frame.drop_nulls("value").sort("item", "value")
            averaged = 0
        else:
            frame = frame.with_columns(rater=pl.Series(raters, dtype=pl.String))
            frame = frame.drop_nulls("value")
            given = frame.height
            frame = (
                frame.sort("item", "rater", "value").group_by("item", "rater").agg(pl.mean("value"))
            ).sort("item", "rater")
            averaged = given - frame.height
        whole = np.unique(np.asarray(values, dtype=np.float64)) if averaged else None
        given_values = None if whole is None else whole[~np.isnan(whole)]
        names, item = _places(frame["item"])
        known, rater = ((), None) if raters is None else _places(frame["rater"])
        return cls(item, rater, frame["value"].to_numpy(), names, known, averaged, given_values)

    @classmethod
    def of_array(cls, table: ArrayLike) -> "RatingMatrix":
        """From a rectangle with one row an item and one column a rater; NaN is an empty cell."""
        values = np.asarray(table, dtype=np.float64)
        if values.ndim != 2:
            raise DialensError(
                f"A table of ratings has rows and columns; seen: {values.ndim} axes."
            )
        present = ~np.isnan(values)
        rows, columns = np.atleast_1d(present.any(axis=1)), np.atleast_1d(present.any(axis=0))
        item, rater = np.nonzero(present[np.ix_(rows, columns)])
        return cls(
            item.astype(np.int64),
            rater.astype(np.int64),
            values[present],
            _numbers(rows),
            _numbers(columns),
        )

    @property
    def shape(self) -> tuple[int, int]:
        """Items and raters; where raters are not known, the most ratings an item has."""
        if self.rater is None:
            return len(self.items), int(self.per_item.max(initial=0))
        return len(self.items), len(self.raters)

    @property
    def empty_cells(self) -> int:
        """How many cells of the rectangle hold no rating."""
        return self.shape[0] * self.shape[1] - len(self.value)

    @property
    def complete(self) -> bool:
        """Whether every rater judged every item."""
        return self.empty_cells == 0

    @cached_property
    def per_item(self) -> Ints:
        """Ratings each item has."""
        return np.bincount(self.item, minlength=len(self.items)).astype(np.int64)

    @cached_property
    def per_rater(self) -> Ints:
        """Ratings each rater gave."""
        assert self.rater is not None
        return np.bincount(self.rater, minlength=len(self.raters)).astype(np.int64)

    @cached_property
    def centred(self) -> Floats:
        """Ratings minus their mean: differences of sums of squares lose no digits."""
        centred: Floats = self.value - self.value.mean()
        return centred

    def with_values(self, values: Floats) -> "RatingMatrix":
        """The same cells with other values."""
        return RatingMatrix(self.item, self.rater, values, self.items, self.raters, self.averaged)

    def labels(self) -> "RatingMatrix":
        """The same with means of several ratings at the nearest value that was given.

        The mean of a yes and a no is no third category.

        Examples:
            >>> table = RatingMatrix.of([*"aabb"], [*"rrrs"], [0, 1, 1, 1])
            >>> table.value.tolist(), table.labels().value.tolist()
            ([0.5, 1.0, 1.0], [0.0, 1.0, 1.0])
        """
        if self.given is None:
            return self
        above = np.clip(np.searchsorted(self.given, self.value), 1, len(self.given) - 1)
        low, high = self.given[above - 1], self.given[above]
        return self.with_values(np.where(self.value - low <= high - self.value, low, high))

    def rectangle(self) -> Floats:
        """Items × raters as an array, NaN where a cell is empty."""
        table = np.full(self.shape, np.nan)
        table[self.item, self._rater] = self.value
        return table

    def over_raters(self, cells: Floats | None, raters: Floats | None) -> Floats:
        """For each item, the weighted sum over its raters (n × R); `cells` None counts ratings.

        Counts come as one row where they are the same for all items.
        """
        if raters is None:
            return _added(self.item, self._or_ones(cells), len(self.items))[:, None]
        if cells is None and self.complete:
            return np.asarray(raters.sum(axis=0, keepdims=True))
        return np.asarray(self._cells(cells) @ raters)

    def over_items(self, cells: Floats | None, items: Floats | None) -> Floats:
        """For each rater, the weighted sum over the items judged (k × R)."""
        if items is None:
            return _added(self._rater, self._or_ones(cells), len(self.raters))[:, None]
        if cells is None and self.complete:
            return np.asarray(items.sum(axis=0, keepdims=True))
        return np.asarray(self._cells(cells).T @ items)

    def _or_ones(self, cells: Floats | None) -> Floats:
        return np.ones_like(self.value) if cells is None else cells

    @property
    def _rater(self) -> Ints:
        assert self.rater is not None
        return self.rater

    def _cells(self, cells: Floats | None) -> Floats | sparse.csr_array:
        """A rectangle with zeros in empty cells; sparse where most are empty."""
        values = self._or_ones(cells)
        if len(self.value) >= _DENSE_FROM * self.shape[0] * self.shape[1]:
            table = np.zeros(self.shape)
            table[self.item, self._rater] = values
            return table
        return sparse.csr_array((values, (self.item, self._rater)), shape=self.shape)


def _numbers(used: NDArray[np.bool_]) -> tuple[str, ...]:
    """Names for the rows or columns in use, as wide as sorting needs."""
    width = len(str(len(used) - 1))
    return tuple(f"{number:0{width}d}" for number in np.flatnonzero(used))


def weighted_sum(weights: Floats, values: Floats) -> Floats:
    """Sums down the rows of weights times values, one a resample.

    Either may be one column, the same in all resamples; values may be one row, the same for all.

    Examples:
        >>> weighted_sum(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([[10.0], [20.0]])).tolist()
        [10.0, 40.0]
    """
    if len(values) == 1:
        return np.asarray(weights.sum(axis=0) * values[0])
    if values.shape[1] == 1:
        return np.asarray(values[:, 0] @ weights)
    if weights.shape[1] == 1:
        return np.asarray(weights[:, 0] @ values)
    return np.asarray(np.einsum("ij,ij->j", weights, values))


def _added(place: Ints, values: Floats, size: int) -> Floats:
    """Values added up by place."""
    return np.bincount(place, values, minlength=size).astype(np.float64)


def _places(names: pl.Series) -> tuple[tuple[str, ...], Ints]:
    """The sorted names, and where each row's name stands among them."""
    if not len(names):
        return (), np.zeros(0, dtype=np.int64)
    return tuple(names.unique().sort()), names.rank("dense").cast(pl.Int64).to_numpy() - 1
