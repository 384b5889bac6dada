"""Generalisability and decision studies with one to three facets, or more that are pooled.

How much of the variance of ratings lies in items, in each facet (raters, occasions, qualities …)
and in what they do together; how far an item's mean would repeat with other raters and other
occasions (Eρ², where only differences between items count, and Φ, where their level counts too);
and what more or fewer of each would make of that (Brennan 2001, "Generalizability theory").

Intervals are generalised ones (Weerahandi 1993): every mean square is taken for its expectation
times a χ² by its degrees of freedom, drawn many times; those of items shrink with the kurtosis of
their means, since a few outlying items tell less about variance. They need a balanced design.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import polars as pl

from dialens.base import DialensError
from dialens.statistics._ratings import rated_items
from dialens.statistics.agreement._facets import ITEM, Facets
from dialens.statistics.agreement._groups import EVERYTHING
from dialens.statistics.agreement._matrix import Floats

COMPONENTS = pl.Schema(
    {
        "quality": pl.String,
        "group": pl.String,
        "effect": pl.String,
        "n_levels": pl.Int64,
        "df": pl.Int64,
        "variance": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "share": pl.Float64,
        "reason": pl.String,
    }
)
"""One row an effect: its variance, and its share of the sum of those that are not negative."""

DECISIONS = pl.Schema(
    {
        "quality": pl.String,
        "group": pl.String,
        "design": pl.String,
        "ratings": pl.Int64,
        "now": pl.Boolean,
        "relative": pl.Float64,
        "relative_low": pl.Float64,
        "relative_high": pl.Float64,
        "absolute": pl.Float64,
        "absolute_low": pl.Float64,
        "absolute_high": pl.Float64,
        "reason": pl.String,
    }
)
"""One row a design, e.g. `3 rater × 2 occasion`: `relative` is Eρ², `absolute` is Φ."""

SIZES = (1, 2, 3, 5)
"""How many of each facet designs are tried with, beside as many as there are."""

_DRAWS = 4_000
_FEWEST_FREEDOM = 2
_SKEWED = 1.0


@dataclass(frozen=True)
class GeneralizabilityStudy:
    """Variances of a study with several facets, and what other designs would come to.

    Attributes:
        components: Columns of `COMPONENTS`.
        decisions: Columns of `DECISIONS`.
    """

    components: pl.DataFrame
    decisions: pl.DataFrame


def generalizability(
    ratings: pl.DataFrame,
    facets: Sequence[str],
    *,
    by: Sequence[str] = (),
    within: Sequence[str] = (),
    qualities: Sequence[str] | None = None,
    pooled: bool = False,
    sizes: Sequence[int] = SIZES,
    confidence: float = 0.95,
    seed: int = 0,
) -> GeneralizabilityStudy:
    """Variances by facet, and how reliable items' means are under other designs.

    Args:
        ratings: What `load_ratings` gives, with a column for each facet.
        facets: One to three columns, e.g. `rater` and `occasion`; `rater:task` for raters that
            are numbered anew within each task. Other nesting is found by itself. With `quality`
            among them, qualities are levels of a facet instead of studies of their own.
        by: Columns whose levels are set apart.
        within: Columns of levels that were chosen, not drawn, such as conditions: variances are
            those within them, on average. Intervals take items and facets for the same in all.
        qualities: Only these.
        pooled: Whether what more than two do together is one effect; then up to five facets.
        sizes: How many of each facet designs are tried with, beside as many as there are.
        confidence: Of the intervals.
        seed: Random seed of the intervals.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> p, r, o = (rng.normal(size=n) for n in (30, 4, 2))
        >>> rows = [
        ...     {"dialog": f"d{i}", "rater": f"r{j}", "occasion": f"o{k}", "quality": "q"}
        ...     | {"value": 2 * p[i] + r[j] + 0.2 * o[k] + rng.normal()}
        ...     for i in range(30)
        ...     for j in range(4)
        ...     for k in range(2)
        ... ]
        >>> found = generalizability(pl.DataFrame(rows), ["rater", "occasion"])
        >>> found.components["effect"].to_list()[:4]
        ['item', 'rater', 'occasion', 'item × rater']
        >>> found.decisions.filter("now")["relative"].round(2).to_list()
        [0.93]
    """
    if qualities:
        ratings = ratings.filter(pl.col("quality").is_in(list(qualities)))
    ratings = ratings.with_columns(rated_items(ratings).alias(ITEM))
    keys = [name for name in ("quality", *by) if name not in facets]
    missing = [name for name in keys if name not in ratings.columns]
    if missing:
        raise DialensError(f"There is no column {missing[0]!r} to group by.")
    parts: list[tuple[tuple[Any, ...], pl.DataFrame]] = [((), ratings)]
    if keys:
        groups = ratings.drop_nulls(keys).group_by(keys)
        parts = sorted(((key, part) for key, part in groups), key=lambda pair: str(pair[0]))
    components, decisions = [COMPONENTS.to_frame()], [DECISIONS.to_frame()]
    for number, (key, part) in enumerate(parts):
        levels = dict(zip(keys, key, strict=True))
        quality = str(levels.pop("quality", EVERYTHING))
        group = ", ".join(f"{name}={level}" for name, level in levels.items()) or EVERYTHING
        rng = np.random.default_rng([seed, number])
        strata = [part]
        if within:
            strata = [each for _, each in part.drop_nulls(within).sort(within).group_by(
                within, maintain_order=True
            )]  # fmt: skip
        designs = [Facets.of(each, facets, pooled=pooled) for each in strata]
        study = _Study.of(designs, rng, confidence)
        name = [pl.lit(quality).alias("quality"), pl.lit(group).alias("group")]
        components.append(study.components().with_columns(name).select(COMPONENTS.names()))
        decisions.append(study.decisions(sizes).with_columns(name).select(DECISIONS.names()))
    return GeneralizabilityStudy(pl.concat(components), pl.concat(decisions))


@dataclass(frozen=True)
class _Study:
    """One group: its design, its variances, and draws of them where the design is balanced."""

    design: Facets
    variances: Floats
    draws: Floats | None
    reason: str | None
    confidence: float

    @classmethod
    def of(cls, designs: Sequence[Facets], rng: np.random.Generator, confidence: float) -> "_Study":
        """The mean over designs of the same effects; of others, only the first is taken."""
        usable = [each for each in designs if each.why_not() is None]
        if not usable:
            return cls(designs[0], np.zeros(0), None, designs[0].why_not(), confidence)
        design = usable[0]
        usable = [each for each in designs if each.effects == design.effects]
        variances = np.mean([each.variances() for each in usable], axis=0)
        freedom = np.array([float(design.freedom[effect]) for effect in design.effects])
        alike = len(usable) == len(designs) and all(e.levels == design.levels for e in usable)
        if not alike or not all(each.balanced for each in usable):
            reason = "no interval: the design is not balanced"
            return cls(design, variances, None, reason, confidence)
        if freedom[0] < _FEWEST_FREEDOM:
            return cls(design, variances, None, "no interval: there are too few items", confidence)
        freedom[0] /= 1 + design.excess_kurtosis() / 2  # items with long tails are worth fewer
        squares = np.maximum(design.expectation @ variances, 0.0)
        scaled = squares * freedom / rng.chisquare(freedom, size=(_DRAWS, len(freedom)))
        draws = np.linalg.solve(design.expectation, scaled.T)
        warning = None
        if abs(design.skewness()) > _SKEWED:
            warning = "the interval may be too narrow: a few items lie far from the others"
        return cls(design, variances, draws, warning, confidence)

    def components(self) -> pl.DataFrame:
        schema = _unnamed(COMPONENTS)
        if not len(self.variances):
            return pl.DataFrame([{"effect": ITEM, "reason": self.reason}], schema=schema)
        kept = np.maximum(self.variances, 0.0)
        rows = []
        for place, effect in enumerate(self.design.effects):
            low, high = self._ends(None if self.draws is None else self.draws[place])
            rows.append(
                {
                    "effect": self.design.named(effect),
                    "n_levels": self.design.levels[effect],
                    "df": self.design.freedom[effect] if self.design.balanced else None,
                    "variance": float(self.variances[place]),
                    "low": None if low is None else max(low, 0.0),
                    "high": None if high is None else max(high, 0.0),
                    "share": float(kept[place] / kept.sum()) if kept.sum() > 0 else None,
                    "reason": self.reason,
                }
            )
        return pl.DataFrame(rows, schema=schema)

    def decisions(self, tried: Sequence[int]) -> pl.DataFrame:
        schema = _unnamed(DECISIONS)
        if not len(self.variances):
            return pl.DataFrame([{"reason": self.reason}], schema=schema)
        now = self._now()
        sizes = [sorted({*tried, now[name]}) for name in now]
        rows = []
        for each in product(*sizes):
            size = dict(zip(now, each, strict=True))
            row: dict[str, Any] = {
                "design": " × ".join(f"{many} {name}" for name, many in size.items()),
                "ratings": int(np.prod(each)),
                "now": size == now,
                "reason": self.reason,
            }
            for kind in ("relative", "absolute"):
                value = self._coefficient(self.variances[:, None], size, kind)[0]
                if np.isnan(value):
                    row["reason"] = "items do not differ beyond chance"
                    continue
                drawn = None if self.draws is None else self._coefficient(self.draws, size, kind)
                low, high = self._ends(None if drawn is None else np.nan_to_num(drawn))
                row |= {kind: float(value), f"{kind}_low": low, f"{kind}_high": high}
            rows.append(row)
        return pl.DataFrame(rows, schema=schema)

    def _now(self) -> dict[str, int]:
        """How many levels of each facet an item has now; of a nested one, in each outer level."""
        design = self.design
        found = {}
        for name in design.names[1:]:
            outer = design.within[name]
            inside = design.levels[outer | {name}]
            around = 1 if not outer else design.levels.get(frozenset(outer), 1)
            found[name] = max(1, round(inside / around))
        return found

    def _coefficient(self, variances: Floats, size: Mapping[str, int], kind: str) -> Floats:
        """Eρ² or Φ for each column of variances; negative ones count as none (Brennan 2001)."""
        kept = np.maximum(variances, 0.0)
        error = np.zeros(kept.shape[1])
        for place, effect in enumerate(self.design.effects):
            others = effect - {ITEM}
            if others and (ITEM in effect or kind == "absolute"):
                error += kept[place] / np.prod([size[name] for name in others])
        own = kept[self.design.effects.index(frozenset({ITEM}))]
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(own > 0, own / (own + error), np.nan)

    def _ends(self, drawn: Floats | None) -> tuple[float | None, float | None]:
        if drawn is None:
            return None, None
        tail = (1 - self.confidence) / 2
        low, high = np.quantile(drawn, [tail, 1 - tail])
        return float(low), float(high)


def _unnamed(schema: pl.Schema) -> dict[str, Any]:
    return {name: dtype for name, dtype in schema.items() if name not in ("quality", "group")}
