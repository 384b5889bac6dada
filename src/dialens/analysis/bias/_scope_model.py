"""The mixed model of one quality, of the mean over qualities, or of the difference of two.

Raters and items are both random: a difference between conditions should hold for other raters and
for other items (Clark 1973; Baayen, Davidson & Bates 2008). Where a factor varies within raters,
raters may respond to it differently; where it varies within items, so may items (Barr, Levy,
Scheepers & Tily 2013).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np
import polars as pl

from dialens.analysis.bias._cells import FEWEST_RATERS, TOO_FEW_RATERS
from dialens.analysis.bias._data import StudyData
from dialens.analysis.people import no_variance
from dialens.base import DialensError, Estimate
from dialens.statistics import Floats
from dialens.statistics.mixed import MixedFit, fit_mixed

ALL: Final = "all"
FEWEST_ITEMS: Final = 3
"""Items a condition needs where conditions have items of their own."""

_TOO_FEW_ITEMS = f"no interval: a condition has fewer than {FEWEST_ITEMS} items of its own"
_NOT_RATED = "a condition it needs has no ratings of this quality"
_CELL = "\x1f"


@dataclass(frozen=True)
class Scope:
    """What is explained: one quality, the mean of all, or one minus another.

    Attributes:
        name: As the tables call it.
        weights: Of the qualities.
    """

    name: str
    weights: Mapping[str, float]

    def table(self, data: StudyData, factors: Sequence[str]) -> pl.DataFrame:
        """One row for each rater, item and condition in which all of its qualities were rated.

        Qualities rated at one moment share what the rater thought of the item just then; combined
        into one number, they are one observation.
        """
        keys = ["rater", "item", *factors]
        rated = data.ratings.filter(pl.col("quality").is_in(list(self.weights)))
        each = rated.drop_nulls(list(factors)).group_by(*keys, "quality").agg(
            pl.col("value").mean(), pl.col("anchor_value").first()
        )  # fmt: skip
        weight = pl.col("quality").replace_strict(self.weights, return_dtype=pl.Float64)
        return (
            each.group_by(keys)
            .agg((pl.col("value") * weight).sum(), _number_shown(weight), n=pl.len())
            .filter(pl.col("n") == len(self.weights))
            .drop("n")
            .sort(keys)
        )


def _number_shown(weight: pl.Expr) -> pl.Expr:
    """The number shown of several qualities: their own, combined as their ratings are."""
    number = pl.col("anchor_value")
    return (
        pl.when(number.n_unique() == 1)
        .then(number.first())
        .when(number.null_count() == 0)
        .then((number * weight).sum())
    )


def scopes(data: StudyData) -> list[Scope]:
    """All qualities together where they share a scale, and each by itself."""
    single = [Scope(name, {name: 1.0}) for name in data.qualities]
    if len(single) < 2 or not data.share_a_scale:
        return single
    even = dict.fromkeys(data.qualities, 1 / len(single))
    return [Scope(ALL, even), *single]


@dataclass(frozen=True)
class ScopeModel:
    """A fitted model of the conditions, or why there is none.

    Attributes:
        cells: The conditions, one row each.
        fit: The model; None where it could not be fitted.
        reason: Why not.
        random: Its random terms, as a person would write them.
        raters: Raters of each condition.
        items: The items of each condition.
    """

    cells: pl.DataFrame
    fit: MixedFit | None
    reason: str | None
    random: str
    raters: Sequence[int]
    items: Sequence[frozenset[str]]

    @classmethod
    def of(
        cls, data: StudyData, scope: Scope, cells: pl.DataFrame, confidence: float
    ) -> "ScopeModel":
        """Fit the model of a scope, every condition a level."""
        table = scope.table(data, cells.columns)
        terms = random_terms(table, cells.columns)
        each = cells.join(
            table.group_by(cells.columns).agg(raters=pl.col("rater").n_unique(), items="item"),
            on=cells.columns,
            how="left",
            maintain_order="left",
        )
        raters = each["raters"].fill_null(0).to_list()
        items = [frozenset(names or ()) for names in each["items"].to_list()]
        fit, reason, random = None, None, ""
        try:
            flat = no_variance(table) if table.height else None
            if flat is not None:
                raise DialensError(flat)
            fit = fit_mixed(
                table.with_columns(cell=pl.concat_str(cells.columns, separator=_CELL)),
                "value",
                ["cell"],
                terms,
                confidence=confidence,
            )
            random = ", ".join(term for term in terms if term not in fit.dropped)
        except DialensError as error:
            reason = str(error) if table.height else _NOT_RATED
        return cls(cells, fit, reason, random, raters, items)

    def contrast(self, weights: Floats) -> Estimate:
        """A combination of conditions with interval and p; without them where units are few."""
        if any(self.raters[cell] == 0 for cell in np.flatnonzero(weights).tolist()):
            return Estimate(reason=_NOT_RATED)
        if self.fit is None:
            return Estimate(reason=self.reason)
        value = self.fit.contrast(self._coefficients(weights))
        why = self._too_few(weights)
        if why is None and not value.error > 0:
            why = "no interval: the ratings of a condition do not differ"
        return value if why is None else Estimate(value.value, reason=why)

    def share(self, weights: Floats, target: float) -> Estimate:
        """The share of the way from the conditions with negative weights to a target.

        A ratio of two means; its interval is Fieller's (1954), its p that of the difference.
        """
        difference = self.contrast(weights)
        if self.fit is None or difference.value is None:
            return difference
        names = [effect.name for effect in self.fit.fixed]
        estimates = np.array([effect.value for effect in self.fit.fixed])
        free = np.zeros(len(names))
        free[0] = 1.0
        for name, weight in self._coefficients(np.minimum(weights, 0.0)).items():
            free[names.index(name)] -= weight
        apart = np.zeros(len(names))
        for name, weight in self._coefficients(weights).items():
            apart[names.index(name)] = weight
        room = target - float(free @ estimates)
        share = float(apart @ estimates) / room if room else np.nan
        if not difference.has_interval:
            return replace(difference, value=share if np.isfinite(share) else None)
        exact = self.fit.contrast(self._coefficients(weights))
        t2 = ((exact.high - exact.value) / exact.error) ** 2
        covariance = self.fit.covariance
        a = room**2 - t2 * float(free @ covariance @ free)
        if a <= 0:
            return Estimate(reason="unanchored ratings already lie at the anchor’s value")
        b = exact.value * room + t2 * float(apart @ covariance @ free)
        c = exact.value**2 - t2 * exact.error**2
        reach = np.sqrt(max(b * b - a * c, 0.0))
        return Estimate(share, float((b - reach) / a), float((b + reach) / a), exact.p)

    def _coefficients(self, weights: Floats) -> dict[str, float]:
        """Weights of conditions as weights of the model's coefficients."""
        assert self.fit is not None
        known = {effect.name for effect in self.fit.fixed}
        names = self.cells.select(pl.concat_str(self.cells.columns, separator=_CELL))[:, 0]
        wanted = {f"cell[{name}]": float(w) for name, w in zip(names, weights, strict=True) if w}
        return {name: weight for name, weight in wanted.items() if name in known}

    def _too_few(self, weights: Floats) -> str | None:
        """Why raters, or items where both sides have their own, are too few for an interval."""
        if min(self.raters[cell] for cell in np.flatnonzero(weights).tolist()) < FEWEST_RATERS:
            return TOO_FEW_RATERS
        sides = [
            [self.items[cell] for cell in np.flatnonzero(side).tolist()]
            for side in (weights > 0, weights < 0)
        ]
        if any(up & down for up in sides[0] for down in sides[1]):
            return None
        fewest = min(len(items) for side in sides for items in side)
        return _TOO_FEW_ITEMS if fewest < FEWEST_ITEMS else None


def random_terms(table: pl.DataFrame, factors: Sequence[str]) -> list[str]:
    """Raters and items, and their own response to the factors that vary within them.

    Examples:
        >>> table = pl.DataFrame(
        ...     {"rater": ["a", "a", "b", "b"], "item": ["x", "y"] * 2, "agent": ["u", "v"] * 2}
        ... )
        >>> random_terms(table, ["agent"])
        ['rater', 'item', 'rater:agent']
    """
    terms = ["rater", "item"]
    for unit in ("rater", "item"):
        levels = table.group_by(unit).agg(pl.col(name).n_unique() for name in factors)
        within = [name for name in factors if levels.height and (levels[name] > 1).any()]
        if within:
            terms.append(":".join([unit, *within]))
    if table.select("rater", "item").is_duplicated().any():
        terms.append("rater:item")
    return terms
