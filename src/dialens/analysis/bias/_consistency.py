"""How far raters agree under each condition, and whether conditions differ in it.

Intraclass correlations of log-normalised magnitudes (Bard, Robertson & Sorace 1996), drop-outs by
variance components. The headline is ICC(2,k), the reliability of the mean over the raters of a
condition; all six forms are listed. ICC(2,k) grows with the number of raters, and it counts
differences between raters' levels, which normalisation takes out where no modulus was shown. So
differences between conditions are given for ICC(2,1) and ICC(3,1) too, which are free of the one
and of both.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from dialens.analysis.bias._cells import USUAL, Resampling, participant_draws
from dialens.analysis.bias._data import NONE, StudyData
from dialens.base import Estimate
from dialens.statistics import Floats, Resampled, corrected
from dialens.statistics.agreement import (
    FORMS,
    Icc,
    RatingMatrix,
    Weights,
    icc,
    icc_replicates,
    why_not,
)

HEADLINE = "ICC(2,k)"
COMPARED = ("ICC(2,k)", "ICC(2,1)", "ICC(3,1)")

CONSISTENCY = pl.Schema(
    {
        "quality": pl.String,
        "anchor": pl.String,
        "layout": pl.String,
        "group": pl.String,
        "form": pl.String,
        "also": pl.String,
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "f": pl.Float64,
        "df1": pl.Float64,
        "df2": pl.Float64,
        "test": pl.String,
        "p": pl.Float64,
        "p_adjusted": pl.Float64,
        "family": pl.Int64,
        "n_raters": pl.Int64,
        "n_items": pl.Int64,
        "n_ratings": pl.Int64,
        "n_missing": pl.Int64,
        "reason": pl.String,
    }
)
"""`form` after Shrout & Fleiss, `also` after McGraw & Wong; the interval is over participants. `p`
tests that there is no agreement: by F where the table is complete, else by the draws (`test`). The
family is the headline form over the whole table."""

DIFFERENCES = pl.Schema(
    {
        "comparison": pl.String,
        "quality": pl.String,
        "form": pl.String,
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "p": pl.Float64,
        "p_adjusted": pl.Float64,
        "family": pl.Int64,
        "n_raters": pl.Int64,
        "reason": pl.String,
    }
)


@dataclass(frozen=True)
class _Cell:
    """The agreement of one condition and quality, and its draws."""

    key: dict[str, str | None]
    quality: str
    table: RatingMatrix
    found: dict[str, Icc]
    values: dict[str, float]
    moments: dict[str, float]
    drawn: dict[str, Floats]
    left: dict[str, Floats]
    reasons: dict[str, str]


def consistency(
    data: StudyData,
    *,
    groups: pl.DataFrame | None = None,
    draws: Resampling = USUAL,
) -> pl.DataFrame:
    """Every form of the ICC for each condition and quality, and group of raters if given.

    Examples:
        >>> from dialens.analysis.bias._cells import Resampling
        >>> from dialens.analysis.bias._data import study_data
        >>> from dialens.analysis.bias._simulation import SimulatedStudy
        >>> data = study_data(*SimulatedStudy(raters=8, items=10).run())
        >>> result = consistency(data, draws=Resampling(resamples=200))
        >>> result.filter(pl.col("form") == "ICC(2,k)").height
        8
    """
    rows: list[dict[str, object]] = []
    for cell in _cells(data, groups, draws):
        for form, also in FORMS.items():
            estimate = Estimate(reason=cell.reasons.get(form))
            if form in cell.values:
                estimate = _bounds([(1.0, cell)], form, draws.confidence)
            known = cell.found.get(form)
            exact = known is not None and known.p is not None
            rows.append(
                {
                    "quality": cell.quality,
                    **cell.key,
                    "form": form,
                    "also": also,
                    "value": estimate.value,
                    "low": estimate.low,
                    "high": estimate.high,
                    "f": known.f if known else None,
                    "df1": known.df1 if known else None,
                    "df2": known.df2 if known else None,
                    "p": known.p if known and exact else estimate.p,
                    "test": "F" if exact else "bootstrap" if estimate.p is not None else None,
                    "n_raters": len(cell.table.raters),
                    "n_items": len(cell.table.items),
                    "n_ratings": len(cell.table.value),
                    "n_missing": cell.table.empty_cells,
                    "reason": estimate.reason,
                }
            )
    table = pl.DataFrame(rows, schema=CONSISTENCY)
    headline = corrected(table.filter(pl.col("form") == HEADLINE))
    rest = table.filter(pl.col("form") != HEADLINE)
    order = {form: at for at, form in enumerate((HEADLINE, *FORMS))}
    return pl.concat([headline, rest]).sort(
        pl.col("form").replace_strict(order, default=9), maintain_order=True
    )


def consistency_differences(data: StudyData, *, draws: Resampling = USUAL) -> pl.DataFrame:
    """Differences of ICCs between conditions and between qualities, drawn over participants."""
    cells = list(_cells(data, None, draws))
    rows: list[dict[str, object]] = []
    for name, quality, parts in _compared(data, cells):
        for form in COMPARED:
            missing = [cell for _, cell in parts if form not in cell.values]
            if missing:
                estimate = Estimate(reason=missing[0].reasons.get(form, "not computed"))
            else:
                estimate = _bounds(parts, form, draws.confidence)
            raters = {rater for _, cell in parts for rater in cell.table.raters}
            rows.append(
                {
                    "comparison": name,
                    "quality": quality,
                    "form": form,
                    "value": estimate.value,
                    "low": estimate.low,
                    "high": estimate.high,
                    "p": estimate.p,
                    "n_raters": len(raters),
                    "reason": estimate.reason,
                }
            )
    return corrected(pl.DataFrame(rows, schema=DIFFERENCES))


def _compared(
    data: StudyData, cells: Sequence[_Cell]
) -> Iterable[tuple[str, str, list[tuple[float, _Cell]]]]:
    """What is compared: a name, the quality, and weighted cells."""
    for quality in data.qualities:
        mine = [cell for cell in cells if cell.quality == quality]
        for factor in ("anchor", "layout"):
            other = "layout" if factor == "anchor" else "anchor"
            if factor not in data.factors:
                continue
            first, *levels = data.levels(factor)
            for level in levels:
                pairs: list[tuple[float, _Cell]] = []
                for setting in data.levels(other) if other in data.factors else [None]:
                    at = {cell.key[factor]: cell for cell in mine if cell.key[other] == setting}
                    if level in at and first in at:
                        pair = [(1.0, at[level]), (-1.0, at[first])]
                        pairs += pair
                        if other in data.factors:
                            where = f" ({other}: {setting})"
                            yield f"{_label(factor, level, first)}{where}", quality, pair
                if pairs:
                    half = 2 / len(pairs)
                    even = [(weight * half, cell) for weight, cell in pairs]
                    yield _label(factor, level, first), quality, even
    yield from _between_qualities(data, cells)


def _between_qualities(
    data: StudyData, cells: Sequence[_Cell]
) -> Iterable[tuple[str, str, list[tuple[float, _Cell]]]]:
    """Whether raters agree more on the first quality than on another, over all conditions."""
    names = data.qualities
    for other in names[1:]:
        both: list[tuple[float, _Cell]] = []
        for cell in cells:
            twin = [c for c in cells if c.quality == other and c.key == cell.key]
            if cell.quality == names[0] and twin:
                both += [(1.0, cell), (-1.0, twin[0])]
        if both:
            even = [(weight * 2 / len(both), cell) for weight, cell in both]
            yield f"{names[0]} − {other}", f"{names[0]} − {other}", even


def _label(factor: str, level: str, first: str) -> str:
    if factor == "anchor" and first == NONE:
        return "anchor − none" if level in ("both", "shown") else f"{level} anchor − none"
    return f"{factor}: {level} − {first}"


def _cells(data: StudyData, groups: pl.DataFrame | None, draws: Resampling) -> Iterable[_Cell]:
    table = data.ratings.drop_nulls("normalised")
    if groups is not None:
        table = table.join(groups, on="rater", how="inner", maintain_order="left")
    names = [name for name in ("anchor", "layout") if name in data.factors]
    split = names + (["group"] if groups is not None else [])
    table = table.drop_nulls(split)
    raters = table["rater"].unique(maintain_order=True).to_list()
    place = {rater: at for at, rater in enumerate(raters)}
    pattern = (
        table.group_by("rater", maintain_order=True)
        .agg(pl.concat_str(["quality", *split], separator="\x1f").unique().sort().str.join("\x1e"))
        .to_series(1)
    )
    strata = pattern.rank("dense").cast(pl.Int64).to_numpy() - 1
    weights = participant_draws(strata, draws).counts.astype(np.float64)
    keys = table.select(split).unique().rows(named=True) if split else [{}]
    ranks = {name: {level: at for at, level in enumerate(data.levels(name))} for name in names}
    keys.sort(key=lambda key: [*(ranks[name][key[name]] for name in names), str(key.get("group"))])
    for quality in data.qualities:
        for key in keys:
            part = table.filter(
                pl.col("quality") == quality, *(pl.col(name) == key[name] for name in split)
            )
            whole = {name: key.get(name) for name in ("anchor", "layout", "group")}
            yield _cell(part, whole, quality, place, weights)


def _cell(
    part: pl.DataFrame,
    key: dict[str, str | None],
    quality: str,
    place: dict[str, int],
    draws: Floats,
) -> _Cell:
    matrix = RatingMatrix.of(
        part["item"].to_list(), part["rater"].to_list(), part["normalised"].to_numpy()
    )
    reasons = {}
    for form in FORMS:
        reason = "nobody rated this quality here" if part.height == 0 else why_not(matrix, form)
        if reason:
            reasons[form] = reason
    if len(reasons) == len(FORMS):
        return _Cell(key, quality, matrix, {}, {}, {}, {}, {}, reasons)
    found = icc(matrix)
    values = {
        form: one.value
        for form, one in found.items()
        if form not in reasons and np.isfinite(one.value)
    }
    mine = [place[rater] for rater in matrix.raters]
    left = np.ones((len(mine), draws.shape[1]))
    left[np.arange(len(mine)), mine] = 0.0
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = icc_replicates(matrix, Weights(raters=draws[:, mine].T))
        rest = icc_replicates(matrix, Weights(raters=left))
    moments = {form: float(one[0]) for form, one in icc_replicates(matrix).items()}
    return _Cell(key, quality, matrix, found, values, moments, drawn, rest, reasons)


def _bounds(parts: Sequence[tuple[float, _Cell]], form: str, confidence: float) -> Estimate:
    """A combination of cells' agreement; its interval and p, or why there are none."""
    value = sum(weight * cell.values[form] for weight, cell in parts)
    if any(len(cell.table.raters) < 3 for _, cell in parts):
        return Estimate(value, reason="no interval: a condition has fewer than three raters")
    drawn = np.sum([weight * cell.drawn[form] for weight, cell in parts], axis=0)
    left = np.sum([weight * cell.left[form] for weight, cell in parts], axis=0)
    # Moments and REML differ a little where cells are missing; the draws are moved by that.
    shift = value - sum(weight * cell.moments[form] for weight, cell in parts)
    left = left[np.isfinite(left)]
    if not len(left):
        return Estimate(value, reason="not defined without any one of the raters")
    drawn = np.where(np.isfinite(drawn), drawn + shift, np.nan)
    return Resampled(value, drawn, left.mean() - left).summary(confidence)
