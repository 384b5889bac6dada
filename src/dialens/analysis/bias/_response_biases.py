"""Response biases beside the design: order effects, fatigue, halo and heaping of round numbers.

Trends come from mixed models with raters and items; correlations and shares from participants
drawn anew. Each row says in one number how strong a bias is, with its interval.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import polars as pl

from dialens.analysis.bias._cells import USUAL, Resampling, participant_draws
from dialens.analysis.bias._data import NONE, StudyData
from dialens.base import DialensError, Estimate
from dialens.statistics import Floats, Resampled, corrected
from dialens.statistics.mixed import fit_mixed

RESPONSE_BIASES = pl.Schema(
    {
        "bias": pl.String,
        "of": pl.String,
        "measure": pl.String,
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "p": pl.Float64,
        "p_adjusted": pl.Float64,
        "family": pl.Int64,
        "n_raters": pl.Int64,
        "n_ratings": pl.Int64,
        "reason": pl.String,
    }
)
"""`bias` is its kind, `of` the quality or condition, `measure` what `value` is."""

_FEWEST_RATERS = 3


def response_biases(data: StudyData, *, draws: Resampling = USUAL) -> pl.DataFrame:
    """Every response bias that the table's columns allow; the others with the reason.

    Examples:
        >>> from dialens.analysis.bias._cells import Resampling
        >>> from dialens.analysis.bias._data import study_data
        >>> from dialens.analysis.bias._simulation import SimulatedStudy
        >>> data = study_data(*SimulatedStudy(raters=6, items=9, fatigue=-8).run())
        >>> found = response_biases(data, draws=Resampling(resamples=200))
        >>> found["bias"].unique(maintain_order=True).to_list()
        ['position', 'fatigue', 'halo', 'heaping']
    """
    rows = [
        *_trends(data, draws.confidence),
        *_halo(data, draws),
        *_heaping(data, draws),
    ]
    return corrected(pl.DataFrame(rows, schema=RESPONSE_BIASES))


def _trends(data: StudyData, confidence: float) -> Iterable[dict[str, object]]:
    table = data.ratings.with_columns(
        deviation=(pl.col("value") - pl.col("value").mean().over("item", "quality")).abs(),
        log_seconds=pl.when(pl.col("seconds") > 0).then(pl.col("seconds").log(2.0)),
    )
    start, span = pl.col("order").min(), pl.col("order").max() - pl.col("order").min()
    progress = pl.when(span > 0).then((pl.col("order") - start) / span)
    table = table.with_columns(progress=progress.over("rater"))
    for bias, of, column, response, measure in (
        ("position", "ratings", "position", "value", "points a place further down"),
        ("fatigue", "ratings", "progress", "value", "points from first to last"),
        ("fatigue", "scatter", "progress", "deviation", "change of distance from the item’s mean"),
        ("fatigue", "time", "progress", "log_seconds", "doublings of time from first to last"),
    ):
        yield _trend(table, data.factors, bias, of, column, response, measure, confidence)


def _trend(
    table: pl.DataFrame,
    factors: Sequence[str],
    bias: str,
    of: str,
    column: str,
    response: str,
    measure: str,
    confidence: float,
) -> dict[str, object]:
    source = {"progress": "order", "log_seconds": "active_ms"}
    for name in (column, response):
        if name not in table.columns or table[name].null_count() == table.height:
            return _row(
                bias,
                of,
                measure,
                Estimate(reason=f"the column `{source.get(name, name)}` is empty"),
            )
    used = table.drop_nulls([column, response])
    if used[column].n_unique() < 2:
        return _row(bias, of, measure, Estimate(reason=f"`{column}` never changes"))
    fixed = [column, *(name for name in factors if used[name].n_unique() > 1)]
    if used["quality"].n_unique() > 1:
        fixed.append("quality")
    try:
        fit = fit_mixed(
            used.drop_nulls(list(factors)),
            response,
            fixed,
            ["rater", "item:quality"],
            confidence=confidence,
        )
        slope = fit.effect(column)
    except DialensError as error:
        return _row(bias, of, measure, Estimate(reason=str(error)))
    return _row(
        bias,
        of,
        measure,
        slope,
        raters=used["rater"].n_unique(),
        ratings=fit.n,
    )


def _halo(data: StudyData, draws: Resampling) -> Iterable[dict[str, object]]:
    """Correlation of two qualities within items and raters: what spills over from one to other."""
    measure = "correlation beyond items and raters"
    if len(data.qualities) < 2:
        yield _row("halo", "qualities", measure, Estimate(reason="only one quality was rated"))
        return
    rest = data.ratings.drop_nulls("normalised").with_columns(
        rest=pl.col("normalised") - pl.col("normalised").mean().over("item", "quality")
    )
    rest = rest.with_columns(rest=pl.col("rest") - pl.col("rest").mean().over("rater", "quality"))
    scopes: list[tuple[str, pl.DataFrame]] = [("", rest)]
    if "layout" in data.factors:
        scopes += [(level, rest.filter(layout=level)) for level in data.levels("layout")]
    for a, b in combinations(data.qualities, 2):
        for label, part in scopes:
            name = f"{a} and {b}" + (f" (layout {label})" if label else "")
            wide = part.group_by("rater", "item", maintain_order=True).agg(
                a=pl.col("rest").filter(pl.col("quality") == a).mean(),
                b=pl.col("rest").filter(pl.col("quality") == b).mean(),
            )
            wide = wide.drop_nulls()
            sums = wide.group_by("rater", maintain_order=True).agg(
                ab=(pl.col("a") * pl.col("b")).sum(),
                aa=(pl.col("a") ** 2).sum(),
                bb=(pl.col("b") ** 2).sum(),
            )
            if sums.height < _FEWEST_RATERS:
                why = f"fewer than {_FEWEST_RATERS} raters judged the same items on both"
                yield _row("halo", name, measure, Estimate(reason=why))
                continue
            columns = sums.sort("rater").select("ab", "aa", "bb").to_numpy()
            drawn = _resampled(columns, _correlation, draws)
            yield _row("halo", name, measure, drawn, raters=sums.height, ratings=2 * wide.height)


def _heaping(data: StudyData, draws: Resampling) -> Iterable[dict[str, object]]:
    """The share of ratings that are multiples of ten, and how it differs with an anchor."""
    measure = "share of multiples of ten"
    if float(data.ratings["value"].max()) <= 20:  # type: ignore[arg-type]
        why = "the scale has too few points for round numbers to mean anything"
        yield _row("heaping", "ratings", measure, Estimate(reason=why))
        return
    marked = data.ratings.with_columns(round=(pl.col("value") % 10 == 0).cast(pl.Float64))
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
        per = part.group_by("rater").agg(pl.col("round").sum(), n=pl.len().cast(pl.Float64))
        if per.height < 2:
            yield _row("heaping", label, measure, Estimate(reason="fewer than two raters"))
            continue
        columns = per.sort("rater").select("round", "n").to_numpy()
        share = replace(_resampled(columns, _share, draws), p=None)
        yield _row("heaping", label, measure, share, per.height, part.height)


def _correlation(sums: Floats) -> Floats:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(sums[:, 0] / np.sqrt(sums[:, 1] * sums[:, 2]), dtype=np.float64)


def _share(sums: Floats) -> Floats:
    return np.asarray(sums[:, 0] / sums[:, 1], dtype=np.float64)


def _resampled(columns: Floats, of: Callable[[Floats], Floats], draws: Resampling) -> Estimate:
    """A function of sums over participants, with its interval and p."""
    value = float(of(columns.sum(axis=0, keepdims=True))[0])
    if not np.isfinite(value):
        return Estimate()
    drawn = participant_draws(np.zeros(len(columns), dtype=np.int64), draws)
    left = of(columns.sum(axis=0) - columns)
    left = left[np.isfinite(left)]
    return Resampled(value, of(drawn.sums(columns)), left.mean() - left).summary(draws.confidence)


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
