"""Agreement on labels: Fleiss' kappa and Krippendorff's alpha where ratings are categories."""

import json

import polars as pl

from dialens.analysis.bias._cells import USUAL, Resampling
from dialens.analysis.bias._data import StudyData
from dialens.statistics import ITEM
from dialens.statistics.agreement import AGREEMENT, measure_agreement

LABELS = pl.Schema(
    {
        "item": pl.String,
        **{name: pl.Int64 if name == "turn" else pl.String for name in ITEM},
        "quality": pl.String,
        "n_raters": pl.Int64,
        "label": pl.Float64,
        "share": pl.Float64,
    }
)
"""One row an item and quality: `label` is what most raters said, null where they are split."""

_LABELS = ("yes_no", "choice")
_STATISTICS = {
    "yes_no": ("fleiss_kappa", "alpha_nominal"),
    "choice": ("fleiss_kappa", "alpha_nominal"),
    "likert": ("fleiss_kappa", "alpha_ordinal"),
}


def category_agreement(data: StudyData, *, draws: Resampling = USUAL) -> pl.DataFrame:
    """Agreement of every quality that is judged in categories, with intervals over items.

    Args:
        data: The study; a rating's `scale` says which instrument gave it.
        draws: How items are drawn anew.

    Returns:
        The columns of `dialens.statistics.agreement.AGREEMENT`; no row for magnitudes and sliders.

    Examples:
        >>> from dialens.analysis.bias._data import study_data
        >>> from dialens.corpus import RATINGS
        >>> said = [[1, 1, 1], [1, 1, 0], [0, 0, 0], [0, 0, 0]]
        >>> rows = [
        ...     {"dialog": f"d{i}", "rater": f"r{j}", "quality": "engaging", "value": float(v)}
        ...     | {"scale": '{"kind": "yes_no"}'}
        ...     for i, line in enumerate(said)
        ...     for j, v in enumerate(line)
        ... ]
        >>> found = category_agreement(study_data(pl.DataFrame(rows, schema=RATINGS)))
        >>> found.select("statistic", pl.col("value").round(3)).row(0)
        ('fleiss_kappa', 0.657)
    """
    result = [AGREEMENT.to_frame()]
    for quality, kind in _kinds(data).items():
        part = data.ratings.filter(pl.col("quality") == quality)
        found = measure_agreement(
            part,
            targets=(),
            confidence=draws.confidence,
        ).rows
        result += [found.filter(pl.col("statistic") == name) for name in _STATISTICS[kind]]
    return pl.concat(result)


def majority_labels(data: StudyData) -> pl.DataFrame:
    """What most raters said of each item, for qualities that are labels (yes/no, choices)."""
    kinds = _kinds(data)
    labelled = [quality for quality, kind in kinds.items() if kind in _LABELS]
    part = data.ratings.filter(pl.col("quality").is_in(labelled))
    if not part.height:
        return LABELS.to_frame()
    keys = ["item", *ITEM, "quality"]
    counts = part.group_by(*keys, "value", maintain_order=True).len()
    best = pl.col("len") == pl.col("len").max()
    return counts.group_by(keys, maintain_order=True).agg(
        n_raters=pl.col("len").sum().cast(pl.Int64),
        label=pl.when(best.sum() == 1).then(pl.col("value").filter(best).first()),
        share=pl.col("len").max() / pl.col("len").sum(),
    )


def _kinds(data: StudyData) -> dict[str, str]:
    """The instrument of every quality that is judged in categories, by one instrument only."""
    found: dict[str, set[str]] = {}
    pairs = data.ratings.select("quality", "scale").unique(maintain_order=True)
    for quality, scale in pairs.iter_rows():
        found.setdefault(quality, set()).add(_kind(scale))
    return {
        quality: next(iter(kinds))
        for quality, kinds in found.items()
        if len(kinds) == 1 and kinds <= set(_STATISTICS)
    }


def _kind(scale: str | None) -> str:
    try:
        parsed = json.loads(scale or "{}")
    except ValueError:
        return str(scale)
    return str(parsed.get("kind", "")) if isinstance(parsed, dict) else str(parsed)
