"""How far raters agree under each condition, and whether conditions differ in it.

Intraclass correlations of log-normalised magnitudes (Bard, Robertson & Sorace 1996), drop-outs by
variance components. The headline is ICC(2,k), the reliability of the mean over the raters of a
condition; all six forms are listed. ICC(2,k) grows with the number of raters, and it counts
differences between raters' levels, which normalisation takes out where no modulus was shown. So
differences between conditions are given for ICC(2,1) and ICC(3,1) too, which are free of the one
and of both. Intervals are those of the F distribution where a table is complete and of the
likelihood where it has holes; those of differences are Student's t on the jackknife over raters
or over items, whichever is wider.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import polars as pl

from dialens.analysis.bias._cells import FEWEST_RATERS, USUAL, Resampling
from dialens.analysis.bias._data import NONE, StudyData
from dialens.analysis.bias._two_way import item_test
from dialens.base import Estimate
from dialens.statistics import TESTED, Floats, corrected, jackknife_t
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
FEWEST: Final = 3
"""Raters that the agreement of a condition needs for an interval."""

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
"""`form` after Shrout & Fleiss, `also` after McGraw & Wong; the interval is for other raters and
items. `p` tests that items do not differ, by F. The family is the headline form over the whole
table."""

DIFFERENCES = pl.Schema(
    {
        "comparison": pl.String,
        "quality": pl.String,
        "form": pl.String,
        **TESTED,
        "n_raters": pl.Int64,
        "reason": pl.String,
    }
)


@dataclass(frozen=True)
class _Cell:
    """The agreement of one condition and quality.

    Attributes:
        key: The condition.
        quality: The quality.
        table: Its ratings.
        found: Every form that can be computed.
        reasons: Why the others cannot.
        without: How each form moves without each rater (`raters`) and each item (`items`).
    """

    key: dict[str, str | None]
    quality: str
    table: RatingMatrix
    found: dict[str, Icc]
    reasons: dict[str, str]
    without: dict[str, dict[str, Floats]]


def consistency(
    data: StudyData,
    *,
    groups: pl.DataFrame | None = None,
    draws: Resampling = USUAL,
) -> pl.DataFrame:
    """Every form of the ICC for each condition and quality, and group of raters if given.

    Examples:
        >>> from dialens.analysis.bias._data import study_data
        >>> from dialens.analysis.bias._simulation import SimulatedStudy
        >>> data = study_data(*SimulatedStudy(raters=8, items=10).run())
        >>> result = consistency(data)
        >>> result.filter(pl.col("form") == "ICC(2,k)").height
        8
    """
    rows: list[dict[str, object]] = []
    for cell in _cells(data, groups, draws.confidence, moves=False):
        for form, also in FORMS.items():
            estimate = _agreement(cell, form)
            f, df1, df2, p = (None, None, None, None)
            if estimate.value is not None:
                f, df1, df2, p = item_test(cell.table, two_way=form[4] != "1")
            rows.append(
                {
                    "quality": cell.quality,
                    **cell.key,
                    "form": form,
                    "also": also,
                    "value": estimate.value,
                    "low": estimate.low,
                    "high": estimate.high,
                    "f": f,
                    "df1": df1,
                    "df2": df2,
                    "p": p,
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
    """Differences of ICCs between conditions and between qualities, over raters and items."""
    data = data.points()
    cells = list(_cells(data, None, draws.confidence))
    rows: list[dict[str, object]] = []
    for name, quality, parts in _compared(data, cells):
        for form in COMPARED:
            missing = [cell for _, cell in parts if form not in cell.found]
            if missing:
                estimate = Estimate(reason=missing[0].reasons.get(form, "not computed"))
            else:
                estimate = _difference(parts, form, draws.confidence)
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


def _cells(
    data: StudyData, groups: pl.DataFrame | None, confidence: float, *, moves: bool = True
) -> Iterable[_Cell]:
    table = data.points().ratings.drop_nulls("normalised")
    if groups is not None:
        table = table.join(groups, on="rater", how="inner", maintain_order="left")
    names = [name for name in ("anchor", "layout") if name in data.factors]
    split = names + (["group"] if groups is not None else [])
    table = table.drop_nulls(split)
    keys = table.select(split).unique().rows(named=True) if split else [{}]
    ranks = {name: {level: at for at, level in enumerate(data.levels(name))} for name in names}
    keys.sort(key=lambda key: [*(ranks[name][key[name]] for name in names), str(key.get("group"))])
    for quality in data.points().qualities:
        for key in keys:
            part = table.filter(
                pl.col("quality") == quality, *(pl.col(name) == key[name] for name in split)
            )
            whole = {name: key.get(name) for name in ("anchor", "layout", "group")}
            yield _cell(part, whole, quality, confidence, moves=moves)


def _cell(
    part: pl.DataFrame,
    key: dict[str, str | None],
    quality: str,
    confidence: float,
    *,
    moves: bool,
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
        return _Cell(key, quality, matrix, {}, reasons, {})
    found = {
        form: one
        for form, one in icc(matrix, confidence=confidence).items()
        if form not in reasons and np.isfinite(one.value)
    }
    without = _moves(matrix) if moves else {}
    return _Cell(key, quality, matrix, found, reasons, without)


def _moves(matrix: RatingMatrix) -> dict[str, dict[str, Floats]]:
    """How far every form moves without each rater and each item."""
    with np.errstate(invalid="ignore", divide="ignore"):
        whole = icc_replicates(matrix)
        raters = icc_replicates(matrix, Weights(raters=1 - np.eye(len(matrix.raters))))
        items = icc_replicates(matrix, Weights(items=1 - np.eye(len(matrix.items))))
    return {
        "raters": {form: raters[form] - whole[form] for form in COMPARED},
        "items": {form: items[form] - whole[form] for form in COMPARED},
    }


def _agreement(cell: _Cell, form: str) -> Estimate:
    """One form with its analytic interval, or why there is none."""
    known = cell.found.get(form)
    if known is None:
        return Estimate(reason=cell.reasons.get(form))
    if len(cell.table.raters) < FEWEST:
        return Estimate(known.value, reason=f"no interval: fewer than {FEWEST} raters")
    if not known.has_interval:
        return Estimate(known.value, reason="no interval: items or the rest have no variance")
    return known


def _difference(parts: Sequence[tuple[float, _Cell]], form: str, confidence: float) -> Estimate:
    """A combination of cells' agreement with interval and p, or why there are none."""
    value = sum(weight * cell.found[form].value for weight, cell in parts)
    if any(len(cell.table.raters) < FEWEST_RATERS for _, cell in parts):
        why = f"no interval: a condition has fewer than {FEWEST_RATERS} raters"
        return Estimate(value, reason=why)
    raters = [(w, cell.table.raters, cell.without["raters"][form]) for w, cell in parts]
    items = [(w, cell.table.items, cell.without["items"][form]) for w, cell in parts]
    by_unit = [_pulls(raters), _pulls(items)]
    if not all(np.isfinite(pulls).all() for sides in by_unit for pulls in sides):
        return Estimate(value, reason="no interval: not defined without any one of raters or items")
    # What is neither rater nor item moves both: adding them would count it twice.
    low, high, p = max(
        (_ends(value, sides, confidence) for sides in by_unit), key=lambda ends: ends[1] - ends[0]
    )
    if low == high:
        return Estimate(value, reason="no interval: nothing changes without any one rater or item")
    return Estimate(value, low, high, p)


def _ends(value: float, sides: Sequence[Floats], confidence: float) -> tuple[float, float, float]:
    """Low, high and p of Student's t on a jackknife."""
    low, high, p = jackknife_t(value, 0.0, sides, confidence=confidence)
    return float(low), float(high), float(p)


def _pulls(parts: Sequence[tuple[float, Sequence[str], Floats]]) -> list[Floats]:
    """How much each unit pulls at a combination, units of the same cells together."""
    moved: dict[str, float] = {}
    places: dict[str, tuple[int, ...]] = {}
    for at, (weight, names, moves) in enumerate(parts):
        for name, move in zip(names, moves, strict=True):
            moved[name] = moved.get(name, 0.0) + weight * float(move)
            places[name] = (*places.get(name, ()), at)
    groups: Mapping[tuple[int, ...], list[float]] = {where: [] for where in places.values()}
    for name, where in places.items():
        groups[where].append(moved[name])
    if min(len(group) for group in groups.values()) < FEWEST_RATERS:
        groups = {(): list(moved.values())}  # too few for a variance of their own: all together
    return [np.mean(group) - np.array(group) for group in groups.values()]
