"""What the design did to the ratings: anchor, kind of anchor, layout, deadline, and the pull.

Each effect is a difference between means of participants, with an interval over participants, and
beside it the same difference from a mixed model with raters and items. P-values are corrected over
the whole table (Benjamini & Hochberg 1995).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from dialens.analysis.bias._cells import USUAL, CellMeans, Resampling, contrast_weights
from dialens.analysis.bias._data import NONE, StudyData
from dialens.base import DialensError, Estimate
from dialens.statistics import Floats, corrected
from dialens.statistics.mixed import FixedEffect, MixedFit, fit_mixed

ALL = "all"
EFFECTS = pl.Schema(
    {
        "effect": pl.String,
        "question": pl.String,
        "quality": pl.String,
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "p": pl.Float64,
        "p_adjusted": pl.Float64,
        "family": pl.Int64,
        "model_value": pl.Float64,
        "model_low": pl.Float64,
        "model_high": pl.Float64,
        "model_p": pl.Float64,
        "unit": pl.String,
        "n_raters": pl.Int64,
        "reason": pl.String,
    }
)
"""`effect` is what it is called, `question` what it asks; `unit` is `points` or `share`."""


@dataclass(frozen=True)
class _Asked:
    """One difference: a name, the question it answers, and weights over cells."""

    effect: str
    question: str
    weights: Floats


def effects(data: StudyData, *, models: bool = True, draws: Resampling = USUAL) -> pl.DataFrame:
    """Every effect of the design on the ratings, for all qualities together and for each.

    Args:
        data: The study.
        models: Fit mixed models beside the differences of means.
        draws: How participants are drawn.

    Examples:
        >>> from dialens.analysis.bias._cells import Resampling
        >>> from dialens.analysis.bias._data import study_data
        >>> from dialens.analysis.bias._simulation import SimulatedStudy
        >>> data = study_data(*SimulatedStudy(raters=10, items=8).run())
        >>> result = effects(data, draws=Resampling(resamples=200))
        >>> result["effect"].unique(maintain_order=True).to_list()[:3]
        ['anchor', 'anchor, layout together', 'anchor, layout one per screen']
    """
    if not data.factors:
        return EFFECTS.to_frame()
    means = CellMeans.of(data, data.factors, draws=draws)
    asked = list(_asked(data, means.cells))
    rows: list[dict[str, object]] = []
    scopes: list[tuple[str, int | None]] = [(name, at) for at, name in enumerate(means.qualities)]
    if len(scopes) > 1:
        scopes = [(ALL, None), *scopes]
    for name, at in scopes:
        model = _model(data, name, draws.confidence) if models else "not asked for"
        for contrast in asked:
            drawn = _difference(means, contrast.weights, at)
            beside = _beside(model, means.cells, contrast.weights)
            used = np.flatnonzero(contrast.weights)
            rows.append(
                _row(
                    contrast.effect,
                    contrast.question,
                    name,
                    drawn,
                    beside,
                    int(means.counts[used].sum()),
                )
            )
        rows += [_pull(data, means, name, at)]
    rows += list(_between_qualities(data, means))
    index = _anchoring_index(data, draws.confidence)
    rows += [index] if index else []
    return corrected(pl.DataFrame(rows, schema=EFFECTS))


def _asked(data: StudyData, cells: pl.DataFrame) -> Iterable[_Asked]:
    if "anchor" in data.factors:
        shown = [level for level in data.levels("anchor") if level != NONE]
        if NONE in data.levels("anchor"):
            weights = contrast_weights(cells, "anchor", shown, [NONE])
            if weights is not None:
                yield _Asked(
                    "anchor", "raters who saw an anchor against those who did not", weights
                )
            yield from _within(data, cells, shown)
            if len(shown) > 1:
                for level in shown:
                    weights = contrast_weights(cells, "anchor", [level], [NONE])
                    if weights is not None:
                        yield _Asked(f"{level} anchor", f"{level} anchor against none", weights)
        if {"numerical", "textual"} <= set(shown):
            weights = contrast_weights(cells, "anchor", ["numerical"], ["textual"])
            if weights is not None:
                yield _Asked("numerical − textual", "numerical against textual anchor", weights)
    for factor in (name for name in data.factors if name != "anchor"):
        first, *others = data.levels(factor)
        for level in others:
            weights = contrast_weights(cells, factor, [level], [first])
            if weights is not None:
                name = factor if len(others) == 1 else f"{factor} {level}"
                yield _Asked(name, f"{factor} “{level}” against “{first}”", weights)
    yield from _interactions(data, cells)


def _within(data: StudyData, cells: pl.DataFrame, shown: Sequence[str]) -> Iterable[_Asked]:
    """The anchor's effect under each layout."""
    for level in data.levels("layout") if "layout" in data.factors else []:
        inside = (cells["layout"] == level).to_numpy()
        weights = contrast_weights(cells.filter(inside), "anchor", shown, [NONE])
        if weights is not None:
            whole = np.zeros(cells.height)
            whole[inside] = weights
            question = f"anchor against none where the layout was “{level}”"
            yield _Asked(f"anchor, layout {level}", question, whole)


def _interactions(data: StudyData, cells: pl.DataFrame) -> Iterable[_Asked]:
    if "anchor" not in data.factors or NONE not in data.levels("anchor"):
        return
    shown = [level for level in data.levels("anchor") if level != NONE]
    for factor in (name for name in data.factors if name != "anchor"):
        first, *others = data.levels(factor)
        sides = {}
        for level in (first, *others):
            inside = (cells[factor] == level).to_numpy()
            weights = contrast_weights(cells.filter(inside), "anchor", shown, [NONE])
            if weights is not None:
                sides[level] = np.zeros(cells.height)
                sides[level][inside] = weights
        for level in others:
            if level in sides and first in sides:
                name = f"anchor × {factor}" + ("" if len(others) == 1 else f" {level}")
                question = f"whether the anchor works differently under “{level}” than “{first}”"
                yield _Asked(name, question, sides[level] - sides[first])


def _difference(means: CellMeans, weights: Floats, quality: int | None) -> Estimate:
    used = np.flatnonzero(weights)

    def of(values: Floats) -> Floats:
        picked = values.mean(axis=-1) if quality is None else values[..., quality]
        return np.asarray(picked[..., used] @ weights[used], dtype=np.float64)

    return means.interval(of, cells=used.tolist())


def _model(data: StudyData, quality: str, confidence: float) -> MixedFit | str:
    """The mixed model of a scope, or why there is none."""
    table = data.ratings.drop_nulls(list(data.factors)).with_columns(
        cell=pl.concat_str(list(data.factors), separator="\x1f")
    )
    if quality == ALL:
        fixed, random = ["cell", "quality"], ["rater", "rater:quality", "item:quality"]
    else:
        table = table.filter(pl.col("quality") == quality)
        fixed, random = ["cell"], ["rater", "item"]
    try:
        return fit_mixed(table, "value", fixed, random, confidence=confidence)
    except DialensError as error:
        return str(error)


def _beside(model: MixedFit | str, cells: pl.DataFrame, weights: Floats) -> FixedEffect | None:
    if isinstance(model, str):
        return None
    names = cells.select(pl.concat_str(cells.columns, separator="\x1f"))[:, 0].to_list()
    known = {effect.name for effect in model.fixed}
    wanted = {f"cell[{name}]": float(w) for name, w in zip(names, weights, strict=True) if w}
    return model.contrast({name: w for name, w in wanted.items() if name in known})


def _row(
    effect: str,
    question: str,
    quality: str,
    drawn: Estimate,
    beside: FixedEffect | None,
    raters: int,
    unit: str = "points",
) -> dict[str, object]:
    return {
        "effect": effect,
        "question": question,
        "quality": quality,
        "value": drawn.value,
        "low": drawn.low,
        "high": drawn.high,
        "p": drawn.p,
        "model_value": beside.value if beside else None,
        "model_low": beside.low if beside else None,
        "model_high": beside.high if beside else None,
        "model_p": beside.p if beside else None,
        "unit": unit,
        "n_raters": raters,
        "reason": drawn.reason,
    }


def _pull(data: StudyData, means: CellMeans, quality: str, at: int | None) -> dict[str, object]:
    """The share of the way to the anchor: (anchored − none) / (anchor − none)."""
    question = "the share of the way from the unanchored mean to the anchor’s value"
    values = data.ratings["anchor_value"].drop_nulls()
    shown = [level for level in data.levels("anchor") if level != NONE]
    weights = contrast_weights(means.cells, "anchor", shown, [NONE])
    if "anchor" not in data.factors or weights is None:
        gone = Estimate(reason="needs raters with and without an anchor")
        return _row("anchor pull", question, quality, gone, None, 0, "share")
    if not len(values) or values.n_unique() > 1:
        why = "no anchor’s value is known" if not len(values) else "anchors of several values"
        gone = Estimate(reason=f"{why}: see the anchoring index" if len(values) else why)
        return _row("anchor pull", question, quality, gone, None, 0, "share")
    target = float(values[0])
    up, down = np.where(weights > 0, weights, 0.0), np.where(weights < 0, -weights, 0.0)

    def sides(means_drawn: Floats) -> tuple[Floats, Floats]:
        picked = means_drawn.mean(axis=-1) if at is None else means_drawn[..., at]
        picked = np.nan_to_num(picked)
        return np.asarray(picked @ up), np.asarray(picked @ down)

    def share(means_drawn: Floats) -> Floats:
        anchored, free = sides(means_drawn)
        return np.asarray((anchored - free) / (target - free), dtype=np.float64)

    used = np.flatnonzero(weights).tolist()
    room = means.interval(lambda m: target - sides(m)[1], cells=used)
    if room.low is not None and room.high is not None and room.low <= 0 <= room.high:
        gone = Estimate(reason="unanchored ratings already lie at the anchor’s value")
        return _row("anchor pull", question, quality, gone, None, 0, "share")
    drawn = means.interval(share, cells=used)
    return _row(
        "anchor pull", question, quality, drawn, None, int(means.counts[used].sum()), "share"
    )


def _between_qualities(data: StudyData, means: CellMeans) -> Iterable[dict[str, object]]:
    """Whether the anchor moves one quality more than another."""
    shown = [level for level in data.levels("anchor") if level != NONE]
    weights = contrast_weights(means.cells, "anchor", shown, [NONE])
    if "anchor" not in data.factors or weights is None:
        return
    used = np.flatnonzero(weights)
    first = 0
    for other in range(1, len(means.qualities)):

        def of(values: Floats, other: int = other) -> Floats:
            apart = values[..., first] - values[..., other]
            return np.asarray(apart[..., used] @ weights[used], dtype=np.float64)

        name = f"{means.qualities[first]} − {means.qualities[other]}"
        drawn = means.interval(of, cells=used.tolist())
        question = "whether the anchor moves one quality more than the other"
        yield _row("anchor × quality", question, name, drawn, None, int(means.counts[used].sum()))


def _anchoring_index(data: StudyData, confidence: float) -> dict[str, object] | None:
    """The slope of ratings on the anchor's value, where several values were shown.

    Between two anchors this is the anchoring index of Jacowitz & Kahneman (1995): the difference
    of ratings by the difference of anchors.
    """
    table = data.ratings.drop_nulls("anchor_value")
    if table.height == 0 or table["anchor_value"].n_unique() < 2:
        return None
    question = "how far ratings follow the number shown, where numbers differ"
    try:
        fit = fit_mixed(
            table,
            "value",
            ["anchor_value", "quality"],
            ["rater", "item:quality"],
            confidence=confidence,
        )
        slope = fit.effect("anchor_value")
    except DialensError as error:
        return _row("anchoring index", question, ALL, Estimate(reason=str(error)), None, 0)
    raters = table["rater"].n_unique()
    return _row("anchoring index", question, ALL, slope, slope, raters, "share")
