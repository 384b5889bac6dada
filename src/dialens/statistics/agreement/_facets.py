"""The design of a generalisability study: facets, what lies within what, and mean squares.

Effects are sets of facets, the item among them. A facet lies within another where each of its
levels occurs with one level of the other only (raters who judged one task each); an effect then
holds the outer facet too. Variances come from sums of squares by Henderson's first method (1953):
the expectation of `Σ n · mean²` over the cells of an effect is linear in the variances, with
coefficients that are counts. In balanced designs these are the estimates of the analysis of
variance (Brennan 2001, chapters 3 and 7).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import numpy as np
import polars as pl
from scipy import stats

from dialens.base import DialensError
from dialens.statistics.agreement._matrix import Floats, Ints

ITEM = "item"
MOST_FACETS = 3
MOST_POOLED = 5
Effect = frozenset[str]


@dataclass(frozen=True)
class Facets:
    """Ratings by item and facets, one a cell.

    Attributes:
        names: `item`, then the facets.
        codes: Number of the level of each rating, by name.
        value: The ratings.
        within: For each name, the names that it lies within.
        pooled: Whether what several facets do together is one effect, and one with items: with
            five facets there would be 31 of them, each with hardly any degree of freedom.
    """

    names: tuple[str, ...]
    codes: Mapping[str, Ints]
    value: Floats
    within: Mapping[str, Effect]
    pooled: bool = False

    @classmethod
    def of(cls, ratings: pl.DataFrame, facets: Sequence[str], *, pooled: bool = False) -> "Facets":
        """From a table with the columns item, value and those of the facets.

        `rater:task` declares raters within tasks, where they are numbered anew in each.
        """
        most = MOST_POOLED if pooled else MOST_FACETS
        if not 1 <= len(facets) <= most:
            raise DialensError(f"A study has 1 to {most} facets; seen: {len(facets)}.")
        plain = [facet.split(":")[0] for facet in facets]
        missing = [name for facet in facets for name in facet.split(":") if name not in ratings]
        if missing:
            raise DialensError(
                f"There is no column {missing[0]!r} for a facet. There are: "
                f"{', '.join(ratings.columns)}."
            )
        levels = [
            pl.concat_str(
                [pl.col(part).cast(pl.String) for part in facet.split(":")[::-1]], separator=" / "
            ).alias(name)
            for facet, name in zip(facets, plain, strict=True)
        ]
        names = (ITEM, *plain)
        cells = (
            ratings.select(pl.col(ITEM).cast(pl.String), *levels, "value")
            .drop_nulls()
            .group_by(names)
            .agg(pl.mean("value"))
            .sort(names)
        )
        codes = {n: cells[n].rank("dense").cast(pl.Int64).to_numpy() - 1 for n in names}
        values = cells["value"].to_numpy()
        return cls(names, codes, values, _within(names, codes), pooled)

    @cached_property
    def effects(self) -> tuple[Effect, ...]:
        """All effects, smaller ones first; the last holds everything and is the rest."""
        found = {
            self._closed(subset)
            for size in range(1, len(self.names) + 1)
            for subset in combinations(self.names, size)
        }
        if self.pooled:
            crossed = frozenset(n for n in self.names[1:] if not self.within[n])
            whole = {crossed, crossed | {ITEM}, frozenset(self.names)}
            found = {e for e in found if len(e - {ITEM}) <= 1 or e in whole or e - crossed - {ITEM}}
        order = {name: place for place, name in enumerate(self.names)}
        return tuple(sorted(found, key=lambda e: (len(e), sorted(order[name] for name in e))))

    def _closed(self, subset: Sequence[str]) -> Effect:
        return frozenset(subset).union(*(self.within[name] for name in subset))

    def named(self, effect: Effect) -> str:
        """An effect in words: `item × rater`, or `rater within task`."""
        inner = [
            n for n in self.names if n in effect and not any(n in self.within[m] for m in effect)
        ]
        outer = [n for n in self.names if n in effect and n not in inner]
        text = " × ".join(inner) + (f" within {' × '.join(outer)}" if outer else "")
        return f"{text} (and the rest)" if effect == self.effects[-1] else text

    def why_not(self) -> str | None:
        """Why variances cannot be told apart; None where they can."""
        for name in self.names:
            if len(np.unique(self.codes[name])) < 2:
                return f"there is only one {name}"
        held = sorted(self.within[ITEM])
        if held:
            return f"each item has one {held[0]} only, which cannot be told from the item's own"
        if float(np.ptp(self.value)) == 0:
            return f"all ratings are the same ({self.value[0]:g})"
        if len(np.unique(self._cells(self.effects[-1]))) > len(np.unique(self.codes[ITEM])):
            return None
        return "no item has more than one rating"

    @cached_property
    def levels(self) -> dict[Effect, int]:
        """How many cells each effect has."""
        return {effect: len(np.unique(self._cells(effect))) for effect in self.effects}

    @cached_property
    def balanced(self) -> bool:
        """Whether all cells of every effect hold as many ratings."""
        counts = [np.unique(self._cells(e), return_counts=True)[1] for e in self.effects]
        return all(int(count.min()) == int(count.max()) for count in counts)

    @cached_property
    def freedom(self) -> dict[Effect, int]:
        """Degrees of freedom of each effect in a balanced design."""
        found: dict[Effect, int] = {}
        for effect in self.effects:
            inside = sum(df for smaller, df in found.items() if smaller < effect)
            found[effect] = self.levels[effect] - 1 - inside
        return found

    @cached_property
    def expectation(self) -> Floats:
        """What each variance adds to each mean square in a balanced design."""
        size = len(self.value)
        return np.array(
            [
                [size / self.levels[outer] if outer >= effect else 0.0 for outer in self.effects]
                for effect in self.effects
            ]
        )

    def variances(self) -> Floats:
        """Of every effect; they may come out negative."""
        cells = [np.zeros(len(self.value), dtype=np.int64), *map(self._cells, self.effects)]
        centred = self.value - self.value.mean()
        sums, matrix = [], []
        for places in cells:
            count = np.bincount(places).astype(np.float64)
            kept = count > 0
            total = np.bincount(places, centred)
            sums.append(float((total[kept] ** 2 / count[kept]).sum()))
            row = [float(len(self.value))]
            for others in cells[1:]:
                row.append(_crossed(places, others, count))
            matrix.append(row)
        solved: Floats = np.linalg.lstsq(np.array(matrix), np.array(sums))[0]
        return solved[1:]

    def excess_kurtosis(self) -> float:
        """Of the items' means, beyond a normal distribution's (Fisher's G2); not below zero."""
        return max(0.0, float(np.nan_to_num(stats.kurtosis(self._item_means, bias=False))))

    def skewness(self) -> float:
        """Of the items' means (Fisher's G1)."""
        return float(np.nan_to_num(stats.skew(self._item_means, bias=False)))

    @cached_property
    def _item_means(self) -> Floats:
        places = self.codes[ITEM]
        means: Floats = np.bincount(places, self.value) / np.bincount(places)
        return means

    def _cells(self, effect: Effect) -> Ints:
        """Number of the cell of each rating."""
        places = np.zeros(len(self.value), dtype=np.int64)
        for name in self.names:
            if name in effect:
                places = places * (int(self.codes[name].max()) + 1) + self.codes[name]
        return np.unique(places, return_inverse=True)[1].astype(np.int64)


def _within(names: Sequence[str], codes: Mapping[str, Ints]) -> dict[str, Effect]:
    """For each name, the names of which each of its levels meets one only."""
    levels = {name: len(np.unique(codes[name])) for name in names}
    found: dict[str, Effect] = {}
    for inner in names:
        outer = set()
        for other in names:
            joint = codes[inner] * (int(codes[other].max()) + 1) + codes[other]
            nested = len(np.unique(joint)) == levels[inner]
            if other != inner and nested and levels[other] < levels[inner]:
                outer.add(other)
        found[inner] = frozenset(outer)
    return found


def _crossed(places: Ints, others: Ints, count: Floats) -> float:
    """The sum over cells of the squared counts of another effect's cells in them, by their size."""
    joint = places * (int(others.max()) + 1) + others
    keys, times = np.unique(joint, return_counts=True)
    owner = keys // (int(others.max()) + 1)
    return float((times**2 / count[owner]).sum())
