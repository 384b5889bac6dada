"""What the design did to the ratings: anchor, kind of anchor, layout, deadline, and the pull.

Each effect is a contrast of a mixed model in which raters and items are random; beside it stands
the plain difference between means of participants. P-values are corrected over the whole table
(Benjamini & Hochberg 1995).
"""

from collections.abc import Iterable

import numpy as np
import polars as pl

from dialens.analysis.bias._cells import FEWEST_RATERS, TOO_FEW_RATERS, USUAL, CellMeans, Resampling
from dialens.analysis.bias._contrasts import Contrast, anchor_contrast, contrasts
from dialens.analysis.bias._data import StudyData, by_number
from dialens.analysis.bias._scope_model import ALL, Scope, ScopeModel, scopes
from dialens.analysis.people import no_variance
from dialens.base import DialensError, Estimate
from dialens.statistics import TESTED, Floats, corrected
from dialens.statistics.mixed import FixedEffect, fit_mixed

EFFECTS = pl.Schema(
    {
        "effect": pl.String,
        "question": pl.String,
        "quality": pl.String,
        **TESTED,
        "degrees": pl.Float64,
        "random": pl.String,
        "raw_value": pl.Float64,
        "unit": pl.String,
        "n_raters": pl.Int64,
        "n_items": pl.Int64,
        "reason": pl.String,
    }
)
"""`effect` is what it is called, `question` what it asks; `random` are the model's random terms;
`raw_value` is the difference of participants' means; `unit` is `points` or `share`."""

PULL = ("anchor pull", "the share of the way from the unanchored mean to the anchor’s value")
INDEX = ("anchoring index", "how far ratings follow the number shown, where numbers differ")
"""Name and question of the two that are shares."""


def effects(data: StudyData, *, main_only: bool = False, draws: Resampling = USUAL) -> pl.DataFrame:
    """Every effect of the design on the ratings, for all qualities together and for each.

    Qualities judged by choosing between items are left out, and a mean over qualities is taken
    only where they share a scale.

    Args:
        data: The study.
        main_only: Only all qualities together; each by itself where they share no scale.
        draws: Whose confidence level the intervals have.

    Examples:
        >>> from dialens.analysis.bias._data import study_data
        >>> from dialens.analysis.bias._simulation import SimulatedStudy
        >>> data = study_data(*SimulatedStudy(raters=10, items=8).run())
        >>> result = effects(data)
        >>> result["effect"].unique(maintain_order=True).to_list()[:3]
        ['anchor', 'anchor, layout together', 'anchor, layout one per screen']
        >>> result["random"][0]
        'rater, item, item:anchor:layout'
    """
    data = data.points()
    if not data.ratings.height:
        return EFFECTS.to_frame()
    wanted = scopes(data)
    if not data.factors:  # a number may vary all the same, shown to everybody
        first = wanted[:1] if wanted[0].name == ALL else wanted
        index = list(_anchoring_index(data, first, draws.confidence))
        return corrected(pl.DataFrame(index, schema=EFFECTS))
    means = CellMeans.of(data, data.factors, confidence=draws.confidence)
    if main_only and wanted[0].name == ALL:
        wanted = wanted[:1]
    rows: list[dict[str, object]] = []
    for scope in wanted:
        model = ScopeModel.of(data, scope, means.cells, draws.confidence)
        for contrast in contrasts(data, means.cells):
            rows.append(_row(contrast, scope, model, means, model.contrast(contrast.weights)))
        rows += _pull(data, scope, model, means)
    if wanted[0].name == ALL:
        rows += [] if main_only else _between_qualities(data, means, draws.confidence)
        rows += _anchoring_index(data, wanted[:1], draws.confidence)
    else:
        rows += _anchoring_index(data, wanted, draws.confidence)
    return corrected(pl.DataFrame(rows, schema=EFFECTS))


def _row(
    contrast: Contrast,
    scope: Scope,
    model: ScopeModel,
    means: CellMeans,
    estimate: Estimate,
    *,
    unit: str = "points",
    raw: bool = True,
) -> dict[str, object]:
    used = np.flatnonzero(contrast.weights)
    weights = np.array([scope.weights.get(quality, 0.0) for quality in means.qualities])
    points: Floats = np.where(weights, means.point[used], 0.0) @ weights
    difference = float(points @ contrast.weights[used])
    return {
        "effect": contrast.effect,
        "question": contrast.question,
        "quality": scope.name,
        **_numbers(estimate),
        "random": model.random or None,
        "raw_value": difference if raw and np.isfinite(difference) else None,
        "unit": unit,
        "n_raters": means.raters_in(used),
        "n_items": len(frozenset[str]().union(*(model.items[cell] for cell in used.tolist()))),
    }


def _numbers(estimate: Estimate) -> dict[str, object]:
    degrees = estimate.degrees if isinstance(estimate, FixedEffect) else None
    return {
        "value": estimate.value,
        "low": estimate.low,
        "high": estimate.high,
        "p": estimate.p,
        "degrees": degrees if degrees is not None and np.isfinite(degrees) else None,
        "reason": estimate.reason,
    }


def _pull(
    data: StudyData, scope: Scope, model: ScopeModel, means: CellMeans
) -> Iterable[dict[str, object]]:
    """The share of the way to the anchor: (anchored − none) / (anchor − none)."""
    anchor = anchor_contrast(data, means.cells)
    if anchor is None:
        return
    target, why = pull_target(data)
    estimate = Estimate(reason=why)
    if target is not None:
        estimate = model.share(anchor.weights, target)
    row = _row(
        Contrast(*PULL, anchor.weights), scope, model, means, estimate, unit="share", raw=False
    )
    if estimate.low is not None:  # of the difference that it is a share of
        row["degrees"] = _numbers(model.contrast(anchor.weights))["degrees"]
    yield row


def pull_target(data: StudyData) -> tuple[float | None, str | None]:
    """The one number that was shown, or None and why there is none."""
    values = data.ratings["anchor_value"].drop_nulls().unique().to_list()
    if len(values) == 1:
        return float(values[0]), None
    if values:
        return None, "anchors of several values: see the anchoring index"
    return None, "no anchor’s value is known"


def judged(data: StudyData) -> pl.DataFrame:
    """The conditions in which anything was rated, in the order of their levels."""
    return CellMeans.of(data, data.factors).cells


def _between_qualities(
    data: StudyData, means: CellMeans, confidence: float
) -> Iterable[dict[str, object]]:
    """Whether the anchor moves one quality more than another."""
    anchor = anchor_contrast(data, means.cells)
    if anchor is None:
        return
    first, *others = data.qualities
    question = "whether the anchor moves one quality more than the other"
    for other in others:
        scope = Scope(f"{first} − {other}", {first: 1.0, other: -1.0})
        model = ScopeModel.of(data, scope, means.cells, confidence)
        contrast = Contrast("anchor × quality", question, anchor.weights)
        yield _row(contrast, scope, model, means, model.contrast(anchor.weights))


def _anchoring_index(
    data: StudyData, wanted: list[Scope], confidence: float
) -> Iterable[dict[str, object]]:
    """The slope of ratings on the anchor's value, where several values were shown.

    Between two anchors this is the anchoring index of Jacowitz & Kahneman (1995): the difference
    of ratings by the difference of anchors.
    """
    if data.ratings["anchor_value"].drop_nulls().n_unique() < 2:
        return
    data, level = by_number(data)
    for scope in wanted:
        table = scope.table(data, ["anchor", *level]).drop_nulls("anchor_value")
        shown = table.group_by("rater").agg(pl.col("anchor_value").n_unique())["anchor_value"]
        raters = "anchor_value | rater" if (shown > 1).any() else "rater"
        terms = [raters, "item"]
        try:
            flat = no_variance(table)
            if flat is not None:
                raise DialensError(flat)
            fit = fit_mixed(table, "value", ["anchor_value"], terms, confidence=confidence)
            slope: Estimate = fit.effect("anchor_value")
            if table["rater"].n_unique() < FEWEST_RATERS:
                slope = Estimate(slope.value, reason=TOO_FEW_RATERS)
        except DialensError as error:
            slope = Estimate(reason=str(error))
        yield {
            "effect": INDEX[0],
            "question": INDEX[1],
            "quality": scope.name,
            **_numbers(slope),
            "random": ", ".join(terms),
            "unit": "share",
            "n_raters": table["rater"].n_unique(),
            "n_items": table["item"].n_unique(),
        }
