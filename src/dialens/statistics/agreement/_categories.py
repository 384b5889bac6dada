"""Krippendorff's alpha, Fleiss' kappa, Gwet's AC: agreement from how often items get each value.

All compare disagreement within items with what chance would give, which alpha and kappa take to be
values thrown together; Gwet's chance is in `_gwet`. Raters need not be known, items may have
different numbers of ratings.

A difference between two values weighs, by level of measurement (Krippendorff 2011, "Computing
Krippendorff's alpha-reliability"): nominal, one if they differ; ordinal, the square of the ranks
between them; interval, the squared difference; ratio, the squared difference over the squared sum.
The ordinal weight of c and k, the values between them plus half of both, is the difference of
their mid-ranks among all pairable values: alpha for ordinal data is alpha for intervals of
mid-ranks.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from dialens.statistics.agreement._gwet import gwet_ac, percent_agreement
from dialens.statistics.agreement._matrix import (
    ONCE,
    Floats,
    Ints,
    RatingMatrix,
    Weights,
    weighted_sum,
)

LEVELS = ("nominal", "ordinal", "interval", "ratio")
_CELLS_AT_ONCE = 2_000_000
_MOST_RATIO_WORK = 400_000_000


@dataclass(frozen=True)
class ValueCounts:
    """How many ratings of each value each item has: all that alpha and kappa need to know.

    Attributes:
        table: The ratings.
        values: The different values, ascending.
        item: The item of each pair of an item and a value that occurs in it, ascending.
        code: Which value it is.
        pair: For each rating, its pair.
    """

    table: RatingMatrix
    values: Floats
    item: Ints
    code: Ints
    pair: Ints

    @classmethod
    def of(cls, table: RatingMatrix) -> "ValueCounts":
        """Count a table.

        Examples:
            >>> counts = ValueCounts.of(RatingMatrix.of_array([[1, 1], [1, 2]]))
            >>> counts.item.tolist(), counts.values[counts.code].tolist()
            ([0, 1, 1], [1.0, 1.0, 2.0])
        """
        values, codes = np.unique(table.value, return_inverse=True)
        keys, pair = np.unique(table.item * len(values) + codes, return_inverse=True)
        return cls(table, values, keys // len(values), keys % len(values), pair.astype(np.int64))

    def alpha(self, level: str, weights: Weights = ONCE) -> Floats:
        """Krippendorff's alpha for each resample.

        Examples:
            >>> table = RatingMatrix.of_array([[1, 1], [2, 2], [3, 3], [3, 4]])
            >>> ValueCounts.of(table).alpha("interval").round(4).tolist()
            [0.8889]
        """
        return self.of_all([f"alpha_{level}"], weights)[f"alpha_{level}"]

    def fleiss_kappa(self, weights: Weights = ONCE) -> Floats:
        """Fleiss' kappa for each resample; with unequal numbers of ratings as Gwet (2014) has it.

        Examples:
            >>> table = RatingMatrix.of_array([[1, 1, 1], [2, 2, 1], [2, 2, 2], [1, 1, 2]])
            >>> ValueCounts.of(table).fleiss_kappa().round(4).tolist()
            [0.3333]
        """
        return self.of_all(["fleiss_kappa"], weights)["fleiss_kappa"]

    def of_all(self, names: Sequence[str], weights: Weights = ONCE) -> dict[str, Floats]:
        """Several of `alpha_nominal`, …, `gwet_ac1` from one count of the resamples."""
        found: dict[str, list[Floats]] = {name: [] for name in names}
        over_items = weights.raters is None
        counted = [name for name in names if not (over_items and name == "alpha_ratio")]
        if over_items and "alpha_ratio" in names:
            found["alpha_ratio"].append(self._ratio_over_items(weights))
        for block in self._blocks(weights) if counted else ():
            for name in counted:
                found[name].append(self._one(name, block))
        return {name: np.concatenate(parts) for name, parts in found.items()}

    def _one(self, name: str, block: "_Block") -> Floats:
        if name == "fleiss_kappa":
            return self._fleiss(block)
        if name.startswith("alpha_"):
            return self._alpha(name.removeprefix("alpha_"), block)
        alike, different = self._alike(block)
        if name == "percent_agreement":
            return percent_agreement(alike, block)
        weighting = name.removeprefix("gwet_ac1").removeprefix("gwet_ac2_") or "none"
        return gwet_ac(self.values, weighting, alike, different, self._shares(block), block)

    def _alike(self, block: "_Block") -> tuple[Floats, Callable[[Floats], Floats]]:
        """Pairs of ratings of the same value in each item; and of others, each kind weighted."""
        first, second = self._value_pairs

        def different(likeness: Floats) -> Floats:
            like = likeness[self.code[first], self.code[second]]
            product = like[:, None] * block.times[first] * block.times[second]
            return 2 * np.asarray(self._pair_adder @ product)

        return self._by_item(block.times**2) - block.squares, different

    def _shares(self, block: "_Block") -> Floats:
        """How common each value is: the mean of its share in the ratings of an item."""
        with np.errstate(divide="ignore", invalid="ignore"):
            shares = np.nan_to_num(block.times / block.count[self.item])
            rated = np.where(block.count > 0, block.v, 0.0)
            return np.asarray(self._pooled(rated, shares) / rated.sum(axis=0))

    def too_much_work(self, level: str, resamples: int) -> bool:
        """Whether drawing raters anew would go through too many pairs of values."""
        return level == "ratio" and len(self._ratio_pairs[0]) * resamples > _MOST_RATIO_WORK

    def _blocks(self, weights: Weights) -> Iterator["_Block"]:
        step = max(1, _CELLS_AT_ONCE // max(len(self.item), 1))
        for start in range(0, weights.resamples, step):
            part = slice(start, start + step)
            v = None if weights.items is None else weights.items[:, part]
            w = None if weights.raters is None else weights.raters[:, part]
            yield self._block(v, w)

    def _block(self, v: Floats | None, w: Floats | None) -> "_Block":
        table, n = self.table, len(self.table.items)
        if w is None:
            times = np.bincount(self.pair, minlength=len(self.item)).astype(np.float64)[:, None]
            squares = table.over_raters(None, None)
        else:
            times = self._raters_of_pairs @ w
            squares = table.over_raters(None, w**2)
        count = self._by_item(times)
        return _Block(
            times, count, count**2 - squares, np.ones((n, 1)) if v is None else v, squares
        )

    def _alpha(self, level: str, block: "_Block") -> Floats:
        present = np.where(block.pairs > 0, block.v, 0.0)
        pooled = self._pooled(present, block.times)
        size = pooled.sum(axis=0)
        twice = self._twice(present, block)
        match level:
            case "nominal":
                within = block.count**2 - self._by_item(block.times**2)
                between = size**2 - (pooled**2).sum(axis=0)
            case "ratio":
                first, second, gap = self._ratio_pairs
                product = gap[:, None] * block.times[first] * block.times[second]
                within = 2 * np.asarray(self._pair_adder @ product)
                between = self._ratio_between(pooled)
            case _:
                place = self._places(level, pooled)
                s1 = self._by_item(block.times * place[self.code])
                s2 = self._by_item(block.times * place[self.code] ** 2)
                within = 2 * np.maximum(block.count * s2 - s1**2, 0)
                mean = (pooled * place).sum(axis=0) / np.where(size > 0, size, 1)
                between = 2 * size * (pooled * (place - mean) ** 2).sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.where(block.pairs > 0, block.count * within / block.pairs, 0.0)
            observed = weighted_sum(present, own) / size
            expected = between / (size**2 - twice)
            return np.where(expected > 0, 1 - observed / expected, np.nan)

    def _places(self, level: str, pooled: Floats) -> Floats:
        """Where values lie: by themselves, or by their mid-ranks among the pooled ones."""
        if level == "interval":
            apart: Floats = (self.values - self.table.value.mean())[:, None]
            return apart
        middle = np.cumsum(pooled, axis=0) - pooled / 2
        centred: Floats = middle - pooled.sum(axis=0) / 2
        return centred

    def _pooled(self, present: Floats, times: Floats) -> Floats:
        """How often each value occurs, in items where there is something to compare."""
        counted = times * (present if present.shape[0] == 1 else present[self.item])
        return np.asarray(self._codes @ counted)

    def _twice(self, present: Floats, block: "_Block") -> Floats:
        """How many pairs would compare a rating with itself."""
        return weighted_sum(present**2, block.squares)

    def _fleiss(self, block: "_Block") -> Floats:
        within = block.count**2 - self._by_item(block.times**2)
        present = np.where(block.pairs > 0, block.v, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            apart = np.where(block.pairs > 0, within / block.pairs, 0.0)
            disagreement = weighted_sum(present, apart) / present.sum(axis=0)
            expected = 1 - (self._shares(block) ** 2).sum(axis=0)
            return np.where(expected > 1e-12, 1 - disagreement / expected, np.nan)

    def _ratio_over_items(self, weights: Weights) -> Floats:
        """Drawing items leaves what lies within an item alone: pairs are gone through once."""
        n = len(self.table.items)
        base = self._block(None, None)
        first, second, gap = self._ratio_pairs
        product = gap[:, None] * base.times[first] * base.times[second]
        within = 2 * np.asarray(self._pair_adder @ product)
        v = np.ones((n, 1)) if weights.items is None else weights.items
        present = np.where(base.pairs > 0, v, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            own = np.where(base.pairs > 0, base.count * within / base.pairs, 0.0)
        pooled = np.asarray((self._codes * base.times[:, 0]) @ present[self.item])
        size = pooled.sum(axis=0)
        with np.errstate(divide="ignore", invalid="ignore"):
            observed = weighted_sum(present, own) / size
            expected = self._ratio_between(pooled) / (size**2 - self._twice(present, base))
            return np.where(expected > 0, 1 - observed / expected, np.nan)

    def _ratio_between(self, pooled: Floats) -> Floats:
        """Over all pairs of values, a strip of the square of values at a time."""
        total = np.zeros(pooled.shape[1])
        step = max(1, _CELLS_AT_ONCE // len(self.values))
        for start in range(0, len(self.values), step):
            strip = _ratio_gap(self.values[start : start + step, None], self.values)
            total += (pooled[start : start + step] * (strip @ pooled)).sum(axis=0)
        return total

    def _by_item(self, values: Floats) -> Floats:
        return np.asarray(self._items_of_pairs @ values)

    @cached_property
    def _items_of_pairs(self) -> sparse.csr_array:
        return _adder(self.item, len(self.table.items))

    @cached_property
    def _pair_adder(self) -> sparse.csr_array:
        return _adder(self.item[self._value_pairs[0]], len(self.table.items))

    @cached_property
    def _codes(self) -> sparse.csr_array:
        shape = (len(self.values), len(self.code))
        ones = np.ones(len(self.code))
        return sparse.csr_array((ones, (self.code, np.arange(len(self.code)))), shape=shape)

    @cached_property
    def _raters_of_pairs(self) -> sparse.csr_array:
        assert self.table.rater is not None
        shape = (len(self.item), len(self.table.raters))
        return sparse.csr_array(
            (np.ones(len(self.pair)), (self.pair, self.table.rater)), shape=shape
        )

    @cached_property
    def _value_pairs(self) -> tuple[Ints, Ints]:
        """Pairs of different values within an item."""
        starts = np.searchsorted(self.item, np.arange(len(self.table.items) + 1))
        firsts: list[Ints] = [np.zeros(0, dtype=np.int64)]
        seconds: list[Ints] = [np.zeros(0, dtype=np.int64)]
        for size in np.unique(np.diff(starts)):
            begin = starts[:-1][np.diff(starts) == size]
            one, two = np.triu_indices(int(size), 1)
            firsts.append((begin[:, None] + one).ravel())
            seconds.append((begin[:, None] + two).ravel())
        return np.concatenate(firsts), np.concatenate(seconds)

    @cached_property
    def _ratio_pairs(self) -> tuple[Ints, Ints, Floats]:
        """Pairs of different values within an item, and how far apart they are."""
        first, second = self._value_pairs
        gap = _ratio_gap(self.values[self.code[first]], self.values[self.code[second]])
        return first, second, gap


@dataclass(frozen=True)
class _Block:
    """Some resamples: ratings per pair, per item, pairs of different raters, items' weights."""

    times: Floats
    count: Floats
    pairs: Floats
    v: Floats
    squares: Floats


def _ratio_gap(a: Floats, b: Floats) -> Floats:
    total = a + b
    gap: Floats = ((a - b) / np.where(total == 0, 1.0, total)) ** 2
    return gap


def _adder(item: Ints, items: int) -> sparse.csr_array:
    """Adds up rows by item."""
    shape = (items, len(item))
    return sparse.csr_array((np.ones(len(item)), (item, np.arange(len(item)))), shape=shape)


def why_no_alpha(table: RatingMatrix, level: str, *, words: Sequence[str] = ()) -> str | None:
    """Why alpha at a level cannot be computed; None where it can."""
    if words and level != "nominal":
        return f"ratings are words ({', '.join(words[:3])} …), which have no order or distance"
    if table.per_item.max(initial=0) < 2:
        return "no item has more than one rating: there is nothing to compare"
    pairable = table.value[table.per_item[table.item] > 1]
    if float(np.ptp(pairable)) == 0:
        return f"all ratings are the same ({pairable[0]:g}): agreement beyond chance is not defined"
    if level == "ratio" and table.value.min() < 0:
        return "there are negative ratings: a ratio scale begins at zero"
    return None
