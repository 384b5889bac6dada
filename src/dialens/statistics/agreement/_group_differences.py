"""Whether groups of ratings differ in how far raters agree: every two groups of a quality."""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import polars as pl

from dialens.statistics._corrections import corrected
from dialens.statistics.agreement._difference import agreement_difference
from dialens.statistics.agreement._groups import Group

GROUP_DIFFERENCES = pl.Schema(
    {
        "quality": pl.String,
        "group": pl.String,
        "than": pl.String,
        "statistic": pl.String,
        "value": pl.Float64,
        "other": pl.Float64,
        "difference": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "p": pl.Float64,
        "p_adjusted": pl.Float64,
        "family": pl.Int64,
        "n_items": pl.Int64,
        "paired": pl.Boolean,
        "over": pl.String,
        "reason": pl.String,
    }
)
"""One row a statistic of two groups; `difference` is `value` (of `group`) minus `other` (of
`than`), `paired` where most items are the same, `over` what was left out in turn."""

_MOST_GROUPS = 6
_MOST_CATEGORIES = 20
_ADDED = ("p_adjusted", "family")


def group_differences(groups: Sequence[Group], *, confidence: float = 0.95) -> pl.DataFrame:
    """Differences of kappas and alphas between every two groups, or from the first of many.

    Args:
        groups: What `divided` gives.
        confidence: Of the intervals.

    Returns:
        In the columns of `GROUP_DIFFERENCES`.
    """
    qualities: dict[str, list[Group]] = {}
    for group in groups:
        if group.table is not None:
            qualities.setdefault(group.quality, []).append(group)
    rows = [row for mine in qualities.values() for row in _rows(mine, confidence)]
    schema = {k: v for k, v in GROUP_DIFFERENCES.items() if k not in _ADDED}
    return corrected(pl.DataFrame(rows, schema=schema)).select(GROUP_DIFFERENCES.names())


def _rows(groups: Sequence[Group], confidence: float) -> Iterator[dict[str, Any]]:
    statistics = _statistics(groups)
    pairs = list(combinations(groups, 2))
    if len(groups) > _MOST_GROUPS:
        pairs = pairs[: len(groups) - 1]
    for first, second in pairs:
        if first.table is None or second.table is None:
            continue
        for statistic in statistics:
            found = agreement_difference(
                first.table,
                second.table,
                statistic,
                words=bool(first.words or second.words),
                confidence=confidence,
            )
            yield {
                "quality": first.quality,
                "group": first.name,
                "than": second.name,
                "statistic": statistic,
                "value": found.first,
                "other": found.second,
                "difference": found.value,
                "low": found.low,
                "high": found.high,
                "p": found.p,
                "n_items": len({*first.table.items, *second.table.items}),
                "paired": found.paired,
                "over": found.basis,
                "reason": found.reason,
            }


def _statistics(groups: Sequence[Group]) -> tuple[str, ...]:
    """Kappa and alpha of labels and points; alpha for intervals of what has many values."""
    values = np.concatenate([group.table.value for group in groups if group.table is not None])
    if any(group.words for group in groups):
        return ("fleiss_kappa", "alpha_nominal")
    if any(group.logs for group in groups) or len(np.unique(values)) > _MOST_CATEGORIES:
        return ("alpha_interval",)
    return ("fleiss_kappa", "alpha_ordinal")
