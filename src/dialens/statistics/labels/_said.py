"""Who said what of which item, as numbers."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import polars as pl
from scipy import sparse

from dialens.base import DialensError
from dialens.statistics._bootstrap import Floats, Ints

FEWEST_ITEMS = 5
FEWEST_RATERS = 3
_COLUMNS = ("item", "rater", "label")


@dataclass(frozen=True)
class Said:
    """Labels in long form: one place a rating; a rater may label an item more than once.

    Attributes:
        item: Place of each rating's item in `items`.
        rater: Place of each rating's rater in `raters`.
        label: Place of each rating's label in `labels`.
        items: The items, sorted.
        raters: The raters, sorted.
        labels: The labels in use, sorted.
    """

    item: Ints
    rater: Ints
    label: Ints
    items: pl.Series
    raters: pl.Series
    labels: pl.Series

    @classmethod
    def of(cls, ratings: pl.DataFrame) -> "Said":
        """From a table; rows without an item, a rater or a label are left out."""
        missing = [name for name in _COLUMNS if name not in ratings.columns]
        if missing:
            raise DialensError(
                f"Labels need the columns item, rater and label; {missing[0]} is missing among: "
                f"{', '.join(ratings.columns)}."
            )
        known = ratings.select(_COLUMNS).drop_nulls()
        places = [known[name].rank("dense").cast(pl.Int64).to_numpy() - 1 for name in _COLUMNS]
        names = [known[name].unique().sort() for name in _COLUMNS]
        return cls(places[0], places[1], places[2], *names)

    @property
    def shape(self) -> tuple[int, int, int]:
        """Items, raters and labels."""
        return len(self.items), len(self.raters), len(self.labels)

    def why_not(self) -> str | None:
        """Why no model of raters can be fitted; None where one can."""
        items, raters, labels = self.shape
        if labels < 2:
            only = f" ({self.labels[0]})" if labels else ""
            return f"all ratings are the same{only}: nothing tells good raters from bad ones"
        if raters < FEWEST_RATERS:
            return (
                f"there are {raters} raters: which of them errs can be told from {FEWEST_RATERS} on"
            )
        several = int((np.bincount(self.item, minlength=items) > 1).sum())
        if several < FEWEST_ITEMS:
            return (
                f"{several} items have more than one rating: at least {FEWEST_ITEMS} are needed "
                "to tell raters apart"
            )
        return None

    @cached_property
    def votes(self) -> Floats:
        """How many ratings gave each item each label (items × labels)."""
        n, _, q = self.shape
        counts = np.bincount(self.item * q + self.label, minlength=n * q)
        return counts.reshape(n, q).astype(np.float64)

    @cached_property
    def by_item(self) -> sparse.csr_array:
        """Adds up ratings by item (items × ratings)."""
        return _adder(self.item, self.shape[0])

    @cached_property
    def by_rater_and_label(self) -> sparse.csr_array:
        """Adds up ratings by rater and label (raters · labels × ratings)."""
        _, k, q = self.shape
        return _adder(self.rater * q + self.label, k * q)

    def without(self, kept: np.ndarray) -> "Said":
        """Only the ratings of some items; the others keep their places and are empty."""
        rows = kept[self.item]
        return Said(
            self.item[rows],
            self.rater[rows],
            self.label[rows],
            self.items,
            self.raters,
            self.labels,
        )


def _adder(place: Any, size: int) -> sparse.csr_array:
    shape = (size, len(place))
    return sparse.csr_array((np.ones(len(place)), (place, np.arange(len(place)))), shape=shape)
