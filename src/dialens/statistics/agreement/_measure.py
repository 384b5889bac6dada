"""Agreement of a whole table of ratings: every statistic, for every quality and group."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import polars as pl

from dialens.base import Advance, Estimate, counted, html_table, interval, number, text_table
from dialens.statistics._corrections import corrected
from dialens.statistics.agreement._battery import (
    NAMES,
    RARE,
    STATISTICS,
    Battery,
    reasons_against,
)
from dialens.statistics.agreement._components import Components
from dialens.statistics.agreement._disagreeing import RATERS, disagreeing_raters
from dialens.statistics.agreement._group_differences import GROUP_DIFFERENCES, group_differences
from dialens.statistics.agreement._groups import Group, divided
from dialens.statistics.agreement._intraclass import Icc, icc, ratings_per_item, variance_parts
from dialens.statistics.agreement._matrix import ONCE, RatingMatrix
from dialens.statistics.agreement._pairs import concordance_test
from dialens.statistics.agreement._pairwise import PAIRS, RaterPairs, pair_rows
from dialens.statistics.agreement._panel import PANEL, TARGETS, panel_rows
from dialens.statistics.agreement._per_category import CATEGORIES, category_rows
from dialens.statistics.agreement._rare import rarely_said

OVER = ("items", "raters", "both")

AGREEMENT = pl.Schema(
    {
        "quality": pl.String,
        "group": pl.String,
        "statistic": pl.String,
        "also": pl.String,
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "interval": pl.String,
        "n_items": pl.Int64,
        "n_raters": pl.Int64,
        "n_ratings": pl.Int64,
        "n_missing": pl.Int64,
        "k": pl.Float64,
        "f": pl.Float64,
        "df1": pl.Float64,
        "df2": pl.Float64,
        "p": pl.Float64,
        "p_adjusted": pl.Float64,
        "family": pl.Int64,
        **{f"{over}_{end}": pl.Float64 for over in OVER for end in ("low", "high")},
        "reason": pl.String,
    }
)
"""One row a statistic.

`low` and `high` are the interval to report, `interval` says where it comes from; beside it stand
intervals over items, over raters, and over both, by the jackknife. `n_missing` are the empty cells
of items × raters. `p` tests that items do not differ (F; χ² for Kendall's W), `p_adjusted` is
corrected over `family` tests. `reason` says why a value, or an interval, is null.
"""

_SHOWN = ("quality", "statistic", "value", "interval")
_MOST_SHOWN = 12
_TESTED = ("ICC(1,1)", "ICC(2,1)", "kendall_w")


@dataclass(frozen=True, repr=False)
class Agreement:
    """What was found.

    Attributes:
        rows: Columns of `AGREEMENT`.
        raters: Columns of `RATERS`: every rater against the rest.
        panel: Columns of `PANEL`: how many raters a wanted reliability needs.
        pairs: Columns of `PAIRS`: Cohen's kappa of every two raters.
        categories: Columns of `CATEGORIES`: agreement on each category by itself.
        notes: What was left out, merged or mixed, in sentences.
        differences: Columns of `GROUP_DIFFERENCES`: kappas and alphas of every two groups.
    """

    rows: pl.DataFrame
    raters: pl.DataFrame
    panel: pl.DataFrame
    pairs: pl.DataFrame
    categories: pl.DataFrame
    notes: tuple[str, ...] = field(default=())
    differences: pl.DataFrame = field(default_factory=GROUP_DIFFERENCES.to_frame)

    def __repr__(self) -> str:
        lead, rows, more = self._shown()
        return "\n".join([lead, text_table(_SHOWN, rows), *([more] if more else [])])

    def _repr_html_(self) -> str:
        lead, rows, more = self._shown()
        return html_table(f"{lead}. {more}".strip(), _SHOWN, rows)

    def _shown(self) -> tuple[str, list[list[str]], str]:
        """One line, and the statistics that have a value."""
        valued = self.rows.filter(pl.col("value").is_not_null())
        lead = (
            f"Agreement: {counted(valued.height, 'statistic')} of "
            f"{counted(self.rows['quality'].n_unique(), 'quality', 'qualities')}"
        )
        if without := self.rows.height - valued.height:
            lead += f", {without:,} more without a value (why: .rows)"
        rows = [
            [
                " / ".join(part for part in (row["quality"], row["group"]) if part),
                row["statistic"],
                number(row["value"], 2),
                interval(row["low"], row["high"], 2),
            ]
            for row in valued.head(_MOST_SHOWN).iter_rows(named=True)
        ]
        rest = valued.height - len(rows)
        return lead, rows, f"… and {rest:,} more in .rows" if rest else ""


def measure_agreement(
    ratings: pl.DataFrame,
    *,
    by: Sequence[str] = (),
    qualities: Sequence[str] | None = None,
    normalise: str | None = None,
    modulus: float | None = None,
    targets: Sequence[float] = TARGETS,
    confidence: float = 0.95,
    advance: Advance | None = None,
) -> Agreement:
    """How far raters agree, quality by quality.

    Args:
        ratings: What `load_ratings` gives, or any table with the columns of `RATINGS`.
        by: Columns whose levels are set apart.
        qualities: Only these.
        normalise: `log` for magnitude estimates, see `log_normalised`.
        modulus: The modulus that was shown, where the ratings do not say it themselves.
        targets: Reliabilities for which the number of raters is asked.
        confidence: Confidence level of the intervals.
        advance: Called with 1 when another group is done.

    Examples:
        >>> from dialens.corpus import RATINGS
        >>> cells = [(f"d{i}", f"r{j}", 1.0 + (i + j // 2) % 5) for i in range(9) for j in range(4)]
        >>> rows = [{"dialog": d, "rater": r, "quality": "fluent", "value": v} for d, r, v in cells]
        >>> found = measure_agreement(pl.DataFrame(rows, schema=RATINGS)).rows
        >>> found.filter(pl.col("statistic") == "ICC(2,k)").select("value", "n_items").row(0)
        (0.8208955223880597, 9)
    """
    groups, notes = divided(ratings, by, qualities=qualities, normalise=normalise, modulus=modulus)
    rows: list[dict[str, Any]] = []
    more: dict[str, list[pl.DataFrame]] = {
        name: [schema.to_frame()] for name, schema in _FURTHER.items()
    }
    for group in groups:
        measured = _Measured.of(group, confidence)
        rows += measured.rows()
        names = {"quality": group.quality, "group": group.name}
        named = [pl.lit(text).alias(name) for name, text in names.items()]
        for name, table in _further(measured, tuple(targets), confidence).items():
            more[name].append(table.with_columns(named).select(_FURTHER[name].names()))
        if advance:
            advance(1)
    notes += [note for group in groups for note in group.notes]
    table = _corrected(pl.DataFrame(rows, schema=AGREEMENT))
    return Agreement(
        table,
        **{name: pl.concat(parts) for name, parts in more.items()},
        notes=tuple(notes),
        differences=group_differences(groups, confidence=confidence),
    )


_FURTHER = {"raters": RATERS, "panel": PANEL, "pairs": PAIRS, "categories": CATEGORIES}


def _further(
    measured: "_Measured", targets: tuple[float, ...], confidence: float
) -> dict[str, pl.DataFrame]:
    """The tables beside the statistics of one group, without its name."""
    group = measured.group
    table = group.table
    if table is None:
        return {}
    found = {
        "panel": panel_rows(measured.singles(), measured.two_way, ratings_per_item(table), targets)
    }
    if table.rater is not None and not group.words:
        found["raters"] = disagreeing_raters(table, confidence=confidence)
    if "gwet_ac1" not in measured.reasons:
        found["categories"] = category_rows(table.labels(), group.words, confidence=confidence)
    if "light_kappa" not in measured.reasons:
        found["pairs"] = pair_rows(RaterPairs(table.labels()), confidence)
    return found


@dataclass(frozen=True)
class _Measured:
    """One group: what can be computed, with what result, and why not the rest."""

    group: Group
    values: dict[str, float]
    forms: dict[str, Icc]
    bounds: dict[str, dict[str, Estimate]]
    reasons: dict[str, str]
    two_way: Components | None

    @classmethod
    def of(cls, group: Group, confidence: float) -> "_Measured":
        table = group.table
        if table is None:
            return cls(group, {}, {}, {}, dict.fromkeys(STATISTICS, group.refused or ""), None)
        reasons = reasons_against(table, group.words, logs=group.logs)
        forms = {}
        two_way = None
        if "ICC(1,1)" not in reasons:
            parts = variance_parts(table)
            found = icc(table, confidence=confidence, parts=parts)
            forms = {name: form for name, form in found.items() if name not in reasons}
            two_way = parts.two_way if "ICC(2,1)" not in reasons else None
        statistics = Battery(table, [name for name in STATISTICS if name not in reasons])
        values = {name: float(x[0]) for name, x in statistics(ONCE).items()}
        spreads = statistics.spreads()
        rare = rarely_said(table.labels())
        bounds = {
            over: {
                name: Estimate(spread.estimate, reason=rare)
                if rare and name in RARE
                else spread.over(over, confidence)
                for name, spread in spreads.items()
            }
            for over in OVER
        }
        moments = {name: values[name] for name in forms}
        values |= {name: form.value for name, form in forms.items()}
        if not table.complete:
            bounds = {o: _moved(found, moments, values) for o, found in bounds.items()}
        for name, value in list(values.items()):
            if np.isnan(value):
                reasons[name] = "there is no variance it could be a share of"
                del values[name]
        return cls(group, values, forms, bounds, reasons, two_way)

    def rows(self) -> list[dict[str, Any]]:
        """The rows of the table."""
        counts = _counts(self.group.table)
        return [
            {
                "quality": self.group.quality,
                "group": self.group.name,
                "statistic": name,
                "also": NAMES[name],
                **counts,
                **self._row(name),
            }
            for name in STATISTICS
        ]

    def singles(self) -> dict[str, Estimate]:
        """The reliability of one rating, form by form."""
        found = {}
        for name in ("ICC(1,1)", "ICC(2,1)", "ICC(3,1)"):
            row = self._row(name)
            found[name] = Estimate(
                row.get("value"), row.get("low"), row.get("high"), reason=row.get("reason")
            )
        return found

    def _row(self, name: str) -> dict[str, Any]:
        if name not in self.values:
            return {"reason": self.reasons[name]}
        row: dict[str, Any] = {"value": self.values[name]}
        for over, found in self.bounds.items():
            row |= {f"{over}_low": found[name].low, f"{over}_high": found[name].high}
        form = self.forms.get(name)
        if form is not None:
            row |= {"k": form.k, "f": form.f, "df1": form.df1, "df2": form.df2, "p": form.p}
        if form is not None and form.low is not None:
            basis = "REML" if form.f is None else "F"
            return {**row, "low": form.low, "high": form.high, "interval": basis}
        if name == "kendall_w" and self.group.table is not None:
            items, raters = self.group.table.shape
            _, p = concordance_test(self.values[name], items, raters)
            row |= {"df1": items - 1, "p": p}
        for over, what in (("both", "items and raters"), ("items", "items")):
            drawn = self.bounds[over][name]
            if drawn.has_interval:
                how = f"jackknife over {what}"
                return {**row, "low": drawn.low, "high": drawn.high, "interval": how}
        return {**row, "reason": f"no interval: {self.bounds['items'][name].reason}"}


def _moved(
    found: dict[str, Estimate], moments: dict[str, float], values: dict[str, float]
) -> dict[str, Estimate]:
    """Intervals of moments, brought to where REML puts the estimate.

    The distance from 1 is scaled, so that no end passes it.
    """
    moved = dict(found)
    for name, moment in moments.items():
        low, high = found[name].low, found[name].high
        if low is None or high is None or not moment < 1:
            continue
        ratio = (1 - values[name]) / (1 - moment)
        moved[name] = Estimate(values[name], 1 - (1 - low) * ratio, 1 - (1 - high) * ratio)
    return moved


def _counts(table: RatingMatrix | None) -> dict[str, int | None]:
    if table is None:
        return {"n_items": 0, "n_raters": 0, "n_ratings": 0, "n_missing": 0}
    return {
        "n_items": len(table.items),
        "n_raters": None if table.rater is None else len(table.raters),
        "n_ratings": len(table.value),
        "n_missing": table.empty_cells,
    }


def _corrected(table: pl.DataFrame) -> pl.DataFrame:
    """P-values corrected over the different tests; forms that share a test share the result."""
    test = (
        pl.when(pl.col("statistic").str.starts_with("ICC(1"))
        .then(pl.lit("ICC(1,1)"))
        .when(pl.col("statistic").str.starts_with("ICC("))
        .then(pl.lit("ICC(2,1)"))
        .otherwise("statistic")
    )
    table = table.with_columns(test.alias("_test"))
    tests = corrected(table.filter(pl.col("statistic").is_in(_TESTED), pl.col("p").is_not_null()))
    keys = ["quality", "group", "_test"]
    joined = table.drop("p_adjusted", "family").join(
        tests.select(*keys, "p_adjusted", "family"), on=keys, how="left", maintain_order="left"
    )
    tested = pl.col("p").is_not_null()
    return joined.with_columns(
        pl.when(tested).then("p_adjusted"), pl.when(tested).then("family")
    ).select(AGREEMENT.names())
