"""Response biases beside the design: order effects, fatigue, halo and heaping of round numbers.

All of them are looked at within raters and within items, so that neither a strict rater nor a
weak item can pass for a bias, and the unit is the rater: each may drift in a direction of their
own, and ratings given at one moment belong together. Each row says in one number how strong a bias
is, with its interval (Student's t on the jackknife).
"""

import math
from collections.abc import Iterable, Sequence
from itertools import combinations
from typing import Final

import numpy as np
import polars as pl

from dialens.analysis.bias._cells import USUAL, Resampling
from dialens.analysis.bias._data import NONE, StudyData
from dialens.analysis.bias._two_way import Trends, jackknifed, two_way_rest
from dialens.base import Estimate
from dialens.statistics import TESTED, Floats, Ints, corrected

RESPONSE_BIASES = pl.Schema(
    {
        "bias": pl.String,
        "of": pl.String,
        "measure": pl.String,
        **TESTED,
        "n_raters": pl.Int64,
        "n_ratings": pl.Int64,
        "reason": pl.String,
    }
)
"""`bias` is its kind, `of` the quality or condition, `measure` what `value` is."""

FEWEST: Final = 5
"""Raters that a trend or a share needs for an interval."""
FEWEST_FOR_HALO: Final = 6
"""Raters that a correlation needs for an interval."""

_FEW = f"fewer than {FEWEST} raters"
_WIDE = 20
_PLACE = "points a place further down"
_DRIFT = "points from first to last"
_SCATTER = "change of distance from the item’s mean"
_PACE = "doublings of time from first to last"


def response_biases(data: StudyData, *, draws: Resampling = USUAL) -> pl.DataFrame:
    """Every response bias that the table's columns allow; the others with the reason.

    Qualities judged by choosing between items are left out.

    Args:
        data: The study.
        draws: Whose confidence level the intervals have.

    Examples:
        >>> from dialens.analysis.bias._data import study_data
        >>> from dialens.analysis.bias._simulation import SimulatedStudy
        >>> data = study_data(*SimulatedStudy(raters=6, items=9, fatigue=-8).run())
        >>> found = response_biases(data)
        >>> found["bias"].unique(maintain_order=True).to_list()
        ['position', 'fatigue', 'halo', 'heaping']
    """
    data = data.points()
    if not data.ratings.height:
        return RESPONSE_BIASES.to_frame()
    rows = [
        *_trends(data, draws.confidence),
        *_halo(data, draws.confidence),
        *_heaping(data, draws.confidence),
    ]
    return corrected(pl.DataFrame(rows, schema=RESPONSE_BIASES))


def _trends(data: StudyData, confidence: float) -> Iterable[dict[str, object]]:
    """Place on the screen and progress together: each alone would take the other's part."""
    others = (pl.len() > 1).over("item", "quality")
    apart = (pl.col("value") - pl.col("value").mean().over("item", "quality")).abs()
    start, span = pl.col("order").min(), pl.col("order").max() - pl.col("order").min()
    progress = pl.when(span > 0).then((pl.col("order") - start) / span)
    table = data.ratings.with_columns(
        deviation=pl.when(others).then(apart),
        log_seconds=pl.when(pl.col("seconds") > 0).then(pl.col("seconds").log(2.0)),
        progress=progress.over("rater"),
    )
    parts = [("", table)]
    if not data.share_a_scale:
        parts = [(f" of {name}", table.filter(quality=name)) for name in data.qualities]
    wanted = {
        "position": ("position", "ratings", _PLACE),
        "progress": ("fatigue", "ratings", _DRIFT),
    }
    for label, part in parts:
        yield from _trend(part, data.factors, "value", wanted, confidence, label)
    scatter = {"progress": ("fatigue", "scatter", _SCATTER)}
    for label, part in parts:
        yield from _trend(part, data.factors, "deviation", scatter, confidence, label)
    pace = {"progress": ("fatigue", "time", _PACE)}
    yield from _trend(table, data.factors, "log_seconds", pace, confidence, "")


def _trend(
    table: pl.DataFrame,
    factors: Sequence[str],
    response: str,
    wanted: dict[str, tuple[str, str, str]],
    confidence: float,
    label: str,
) -> Iterable[dict[str, object]]:
    """Slopes of a response on place and progress together, within raters and items."""
    present = [name for name in ("position", "progress") if _varies(table, name)]
    used = table.drop_nulls([response, *present])
    found = _slopes(used, factors, response, present) if present and used.height else None
    raters = used["rater"].n_unique()
    for column, (bias, of, measure) in wanted.items():
        why = _why_not(table, column, response, raters)
        if why is None and found is not None:
            at = present.index(column)
            estimate = found.estimate(at, confidence)
            if not found.known[at]:
                why = f"`{column}` goes with the items: the two cannot be told apart"
        if why is not None or found is None:
            yield _row(bias, f"{of}{label}", measure, Estimate(reason=why))
        else:
            yield _row(bias, f"{of}{label}", measure, estimate, raters, used.height)


def _varies(table: pl.DataFrame, column: str) -> bool:
    return column in table.columns and table[column].drop_nulls().n_unique() > 1


def _why_not(table: pl.DataFrame, column: str, response: str, raters: int) -> str | None:
    source = {"progress": "order", "log_seconds": "active_ms"}
    for name in (column, response):
        if name == "deviation" and table[name].null_count() == table.height:
            return "nobody else rated the same items"
        if name not in table.columns or table[name].null_count() == table.height:
            return f"the column `{source.get(name, name)}` is empty"
    if not _varies(table, column):
        return f"`{column}` never changes"
    return _FEW if raters < FEWEST else None


def _slopes(
    used: pl.DataFrame, factors: Sequence[str], response: str, columns: Sequence[str]
) -> Trends:
    """Raters and items are taken out quality by quality; conditions are covariates."""
    levels = [
        (used[name] == level).fill_null(value=False)
        for name in factors
        for level in used[name].drop_nulls().unique(maintain_order=True)[1:]
    ]
    covariates = np.column_stack(
        [*(used[name].cast(pl.Float64).to_numpy() for name in columns), *levels]
    ).astype(np.float64)
    item, rater = _numbered(used, ["item", "quality"]), _numbered(used, ["rater", "quality"])
    values = used[response].to_numpy().astype(np.float64)
    return Trends.of(values, covariates, rater, item, _numbered(used, ["rater"]))


def _numbered(table: pl.DataFrame, columns: Sequence[str]) -> Ints:
    """The number of each row's group, counted from 0."""
    key = table.select(pl.struct(columns).rank("dense") - 1).to_series()
    return key.cast(pl.Int64).to_numpy()


def _halo(data: StudyData, confidence: float) -> Iterable[dict[str, object]]:
    """Correlation of two qualities within items and raters: what spills over from one to other."""
    measure = "correlation beyond items and raters"
    if len(data.qualities) < 2:
        yield _row("halo", "qualities", measure, Estimate(reason="only one quality was rated"))
        return
    scopes: list[tuple[str, pl.DataFrame]] = [("", data.ratings)]
    if "layout" in data.factors:
        scopes += [(level, data.ratings.filter(layout=level)) for level in data.levels("layout")]
    for a, b in combinations(data.qualities, 2):
        for label, part in scopes:
            name = f"{a} and {b}" + (f" (layout {label})" if label else "")
            wide = (
                part.group_by("rater", "item")
                .agg(
                    a=pl.col("normalised").filter(pl.col("quality") == a).mean(),
                    b=pl.col("normalised").filter(pl.col("quality") == b).mean(),
                )
                .drop_nulls()
                .sort("rater", "item")
            )
            raters = wide["rater"].n_unique()
            if raters < FEWEST_FOR_HALO:
                why = f"fewer than {FEWEST_FOR_HALO} raters judged the same items on both"
                yield _row("halo", name, measure, Estimate(reason=why))
            else:
                found = _correlation(wide, confidence)
                yield _row("halo", name, measure, found, raters, 2 * wide.height)


def _correlation(wide: pl.DataFrame, confidence: float) -> Estimate:
    """The correlation of what is left, with its interval on Fisher's scale."""
    rater, item = _numbered(wide, ["rater"]), _numbered(wide, ["item"])
    values = wide.select("a", "b").to_numpy()
    rest = two_way_rest(values, rater, item)
    if (np.square(rest).sum(axis=0) <= 1e-12 * np.square(values).sum(axis=0)).any():
        return Estimate(reason="raters and items leave nothing to correlate")
    products = np.column_stack([rest[:, 0] * rest[:, 1], np.square(rest)])
    whole = products.sum(axis=0)
    value = float(whole[0] / np.sqrt(whole[1] * whole[2]))
    if abs(value) > 1 - 1e-9:
        return Estimate(value, reason="no interval: the two are the same")
    # Where ratings are skewed, single items can make a correlation as well as single raters can.
    raters, items = (_fisher(products, unit, value, confidence) for unit in (rater, item))
    if raters.low is None or items.low is None:
        return raters if raters.low is None else items
    return raters if raters.low < items.low else items  # both lie evenly around the value


def _fisher(products: Floats, unit: Ints, value: float, confidence: float) -> Estimate:
    """A correlation with its interval on Fisher's scale, units left out in turn."""
    sums = np.zeros((int(unit.max()) + 1, 3))
    np.add.at(sums, unit, products)
    left = products.sum(axis=0) - sums
    with np.errstate(divide="ignore", invalid="ignore"):
        without = np.arctanh(left[:, 0] / np.sqrt(left[:, 1] * left[:, 2]))
    found = jackknifed(math.atanh(value), without, confidence)
    if found.low is None or found.high is None:
        return Estimate(value, reason=found.reason)
    return Estimate(value, math.tanh(found.low), math.tanh(found.high), found.p)


def _heaping(data: StudyData, confidence: float) -> Iterable[dict[str, object]]:
    """The share of ratings that are multiples of ten, and how it differs with an anchor."""
    measure = "share of multiples of ten"
    fine = pl.col("value").max().over("quality") > _WIDE
    marked = data.ratings.filter(fine).with_columns(round=(pl.col("value") % 10 == 0))
    if not marked.height:
        why = "the scale has too few points for round numbers to mean anything"
        yield _row("heaping", "ratings", measure, Estimate(reason=why))
        return
    scopes = [("all ratings", marked)]
    if "anchor" in data.factors:
        scopes += [
            (
                "without an anchor" if level == NONE else f"{level} anchor",
                marked.filter(anchor=level),
            )
            for level in data.levels("anchor")
        ]
    for label, part in scopes:
        per = part.group_by("rater").agg(pl.col("round").sum(), n=pl.len()).sort("rater")
        share = _share(per.select("round", "n").to_numpy().astype(np.float64), confidence)
        yield _row("heaping", label, measure, share, per.height, part.height)


def _share(sums: Floats, confidence: float) -> Estimate:
    if not len(sums):
        return Estimate(reason="nobody rated here")
    whole, left = sums.sum(axis=0), sums.sum(axis=0) - sums
    value = float(whole[0] / whole[1])
    if len(sums) < FEWEST:
        return Estimate(value, reason=f"no interval: {_FEW}")
    found = jackknifed(value, left[:, 0] / left[:, 1], confidence)
    if found.low is None or found.high is None:
        return found
    return Estimate(value, max(found.low, 0.0), min(found.high, 1.0))


def _row(
    bias: str,
    of: str,
    measure: str,
    estimate: Estimate,
    raters: int | None = None,
    ratings: int | None = None,
) -> dict[str, object]:
    return {
        "bias": bias,
        "of": of,
        "measure": measure,
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "p": estimate.p,
        "n_raters": raters,
        "n_ratings": ratings,
        "reason": estimate.reason,
    }
