"""Whether raters agree more in one condition than in another, by kappa and alpha.

Beside the differences of intraclass correlations (`_consistency`), which need numbers: Fleiss'
kappa and Krippendorff's alpha of labels and points, and alpha for intervals of what else was rated.
Each level of a factor is held against the first, over all levels of the others. The items are
mostly the same and raters others, so that comparisons are paired over items
(`agreement_difference`).
"""

from collections.abc import Iterator
from typing import Any

import polars as pl

from dialens.analysis.bias._cells import USUAL, Resampling
from dialens.analysis.bias._data import StudyData
from dialens.analysis.bias._scales import scale_kind
from dialens.statistics import TESTED, corrected
from dialens.statistics.agreement import RatingMatrix, agreement_difference

AGREEMENT_DIFFERENCES = pl.Schema(
    {
        "comparison": pl.String,
        "quality": pl.String,
        "statistic": pl.String,
        "first": pl.Float64,
        "second": pl.Float64,
        **TESTED,
        "n_items": pl.Int64,
        "n_raters": pl.Int64,
        "paired": pl.Boolean,
        "over": pl.String,
        "reason": pl.String,
    }
)
"""`value` is the agreement in the first condition of `comparison` minus that in the second;
`paired` where most items are the same."""

_STATISTICS = {
    "yes_no": ("fleiss_kappa", "alpha_nominal"),
    "choice": ("fleiss_kappa", "alpha_nominal"),
    "likert": ("fleiss_kappa", "alpha_ordinal"),
}
_OF_NUMBERS = ("alpha_interval",)
_ADDED = ("p_adjusted", "family")


def agreement_differences(data: StudyData, *, draws: Resampling = USUAL) -> pl.DataFrame:
    """Differences of kappas and alphas between the levels of every factor.

    Args:
        data: The study.
        draws: Whose confidence level the intervals have.

    Returns:
        In the columns of `AGREEMENT_DIFFERENCES`.

    Examples:
        >>> from dialens.analysis.bias._data import study_data
        >>> from dialens.analysis.bias._simulation import SimulatedStudy
        >>> found = agreement_differences(study_data(*SimulatedStudy(raters=8, items=12).run()))
        >>> found.select("comparison", "quality", "statistic", "paired").row(0)
        ('anchor: both − none', 'readability', 'alpha_interval', True)
    """
    data = data.points()
    rows = [row for quality in data.qualities for row in _rows(data, quality, draws.confidence)]
    schema = {k: v for k, v in AGREEMENT_DIFFERENCES.items() if k not in _ADDED}
    return corrected(pl.DataFrame(rows, schema=schema)).select(AGREEMENT_DIFFERENCES.names())


def _rows(data: StudyData, quality: str, confidence: float) -> Iterator[dict[str, Any]]:
    table = data.ratings.filter(pl.col("quality") == quality)
    kinds = {scale_kind(scale) for scale in table["scale"].unique()}
    kind = kinds.pop() if len(kinds) == 1 else ""
    value = "value" if kind in _STATISTICS else "normalised"
    for factor in data.factors:
        here = table.drop_nulls([factor, value])
        levels = [level for level in data.levels(factor) if level in here[factor].unique()]
        for level in levels[1:]:
            first, second = (
                _matrix(here.filter(pl.col(factor) == each), value) for each in (level, levels[0])
            )
            for statistic in _STATISTICS.get(kind, _OF_NUMBERS):
                found = agreement_difference(first, second, statistic, confidence=confidence)
                yield {
                    "comparison": f"{factor}: {level} − {levels[0]}",
                    "quality": quality,
                    "statistic": statistic,
                    "first": found.first,
                    "second": found.second,
                    "value": found.value,
                    "low": found.low,
                    "high": found.high,
                    "p": found.p,
                    "n_items": len({*first.items, *second.items}),
                    "n_raters": len({*first.raters, *second.raters}),
                    "paired": found.paired,
                    "over": found.basis,
                    "reason": found.reason,
                }


def _matrix(table: pl.DataFrame, value: str) -> RatingMatrix:
    return RatingMatrix.of(
        table["item"].to_list(), table["rater"].to_list(), table[value].to_numpy()
    )
