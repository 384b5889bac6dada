"""Labels: how far raters agree where ratings are categories, and what the items are."""

from collections.abc import Iterator

import polars as pl

from dialens.analysis.bias._cells import USUAL, Resampling
from dialens.analysis.bias._data import StudyData
from dialens.analysis.bias._scales import scale_kind
from dialens.statistics import ITEM
from dialens.statistics.agreement import AGREEMENT, measure_agreement
from dialens.statistics.labels import dawid_skene, mace, majority_vote

LABELS = pl.Schema(
    {
        "item": pl.String,
        **{name: pl.Int64 if name == "turn" else pl.String for name in ITEM},
        "quality": pl.String,
        "n_raters": pl.Int64,
        "label": pl.Float64,
        "share": pl.Float64,
        "dawid_skene": pl.Float64,
        "dawid_skene_p": pl.Float64,
        "mace": pl.Float64,
        "mace_p": pl.Float64,
        "differs": pl.Boolean,
        "reason": pl.String,
    }
)
"""One row an item and quality.

`label` is what most raters said, null where they are split; `dawid_skene` and `mace` are what
models that weigh raters by how well they do come to, with their probability; `differs` is whether
one of them is not the majority's. `reason` says why there is no model.
"""

LABEL_RATERS = pl.Schema(
    {
        "quality": pl.String,
        "rater": pl.String,
        "n_ratings": pl.Int64,
        "dawid_skene": pl.Float64,
        "dawid_skene_low": pl.Float64,
        "dawid_skene_high": pl.Float64,
        "mace": pl.Float64,
        "mace_low": pl.Float64,
        "mace_high": pl.Float64,
        "reason": pl.String,
    }
)
"""One row a rater and quality: the share of items labelled as they are (Dawid & Skene), and the
share of ratings in which the rater knew rather than answered by habit (MACE)."""

_LABELS = ("yes_no", "choice")
_STATISTICS = {
    "yes_no": ("fleiss_kappa", "alpha_nominal", "gwet_ac1", "percent_agreement"),
    "choice": ("fleiss_kappa", "alpha_nominal", "gwet_ac1", "percent_agreement"),
    "likert": ("fleiss_kappa", "alpha_ordinal", "gwet_ac2_ordinal", "percent_agreement"),
}


def category_agreement(data: StudyData, *, draws: Resampling = USUAL) -> pl.DataFrame:
    """Agreement of every quality that is judged in categories, with intervals.

    Args:
        data: The study; a rating's `scale` says which instrument gave it.
        draws: Whose confidence level the intervals have.

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


def item_labels(data: StudyData) -> pl.DataFrame:
    """What each item is, for qualities that are labels (yes/no, choices), in three ways.

    Args:
        data: The study.

    Returns:
        The columns of `LABELS`: what most raters said, and what Dawid and Skene's model and MACE
        make of it, which trust some raters more than others.

    Examples:
        >>> from dialens.analysis.bias._data import study_data
        >>> from dialens.corpus import RATINGS
        >>> said = [[1, 1, 1, 0], [1, 1, 1, 1], [0, 0, 0, 1], [0, 0, 0, 0], [1, 1, 1, 0]] * 3
        >>> rows = [
        ...     {"dialog": f"d{i:02d}", "rater": f"r{j}", "quality": "engaging", "value": float(v)}
        ...     | {"scale": '{"kind": "yes_no"}'}
        ...     for i, line in enumerate(said)
        ...     for j, v in enumerate(line)
        ... ]
        >>> found = item_labels(study_data(pl.DataFrame(rows, schema=RATINGS)))
        >>> found.select("item", "label", "dawid_skene", "mace").row(0)
        ('d00', 1.0, 1.0, 1.0)
    """
    result = [LABELS.to_frame()]
    for quality, part in _labelled(data):
        places = part.select("item", *ITEM).unique("item", maintain_order=True)
        votes = majority_vote(part).rename({"majority": "label", "n_ratings": "n_raters"})
        table = places.join(votes, on="item", maintain_order="left")
        reason = None
        for name, fit in (("dawid_skene", dawid_skene(part)), ("mace", mace(part))):
            reason = fit.reason
            if reason is None:
                found = fit.items.select("item", pl.col("label").alias(name), p=pl.col("p"))
                table = table.join(found.rename({"p": f"{name}_p"}), on="item", how="left")
        lacking = [name for name in LABELS if name not in (*table.columns, "differs")]
        table = table.with_columns(pl.lit(None).cast(LABELS[name]).alias(name) for name in lacking)
        differs = pl.any_horizontal(pl.col("dawid_skene", "mace").ne_missing(pl.col("label")))
        table = table.with_columns(
            quality=pl.lit(quality),
            reason=pl.lit(reason, dtype=pl.String),
            differs=differs if reason is None else pl.lit(None, dtype=pl.Boolean),
        )
        result.append(table.select(LABELS.names()).cast(LABELS))
    return pl.concat(result)


def label_raters(data: StudyData) -> pl.DataFrame:
    """How far each rater is to be trusted on qualities that are labels, by both models.

    Args:
        data: The study.

    Returns:
        The columns of `LABEL_RATERS`; one row with a reason where no model can be fitted.
    """
    result = [LABEL_RATERS.to_frame()]
    for quality, part in _labelled(data):
        fits = {"dawid_skene": dawid_skene(part), "mace": mace(part)}
        reason = fits["mace"].reason
        if reason is not None:
            row = {"quality": quality, "reason": reason}
            result.append(pl.DataFrame([row], schema=LABEL_RATERS))
            continue
        tables = [
            fit.raters.rename(
                {"competence": name, "low": f"{name}_low", "high": f"{name}_high"}
            ).with_columns(pl.col("reason").alias(f"_{name}"))
            for name, fit in fits.items()
        ]
        joined = tables[0].join(tables[1].drop("n_ratings", "reason"), on="rater")
        joined = joined.with_columns(
            quality=pl.lit(quality), reason=pl.coalesce("_dawid_skene", "_mace")
        )
        result.append(joined.select(LABEL_RATERS.names()).cast(LABEL_RATERS))
    return pl.concat(result)


def _labelled(data: StudyData) -> Iterator[tuple[str, pl.DataFrame]]:
    """The ratings of every quality that is a label, with the label as a column."""
    for quality, kind in _kinds(data).items():
        part = data.ratings.filter(pl.col("quality") == quality).drop_nulls("value")
        if kind in _LABELS and part.height:
            yield quality, part.with_columns(label=pl.col("value"))


def _kinds(data: StudyData) -> dict[str, str]:
    """The instrument of every quality that is judged in categories, by one instrument only.

    Means over a judge's repeats, or over the answers it weighed, are no categories.
    """
    whole = pl.col("value") == pl.col("value").round()
    between = set(data.ratings.filter(~whole)["quality"])
    found: dict[str, set[str]] = {}
    pairs = data.ratings.select("quality", "scale").unique(maintain_order=True)
    for quality, scale in pairs.iter_rows():
        found.setdefault(quality, set()).add(scale_kind(scale))
    return {
        quality: next(iter(kinds))
        for quality, kinds in found.items()
        if len(kinds) == 1 and kinds <= set(_STATISTICS) and quality not in between
    }
