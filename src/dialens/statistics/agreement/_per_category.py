"""Agreement on each category by itself: is it this one, or any other?"""

import numpy as np
import polars as pl

from dialens.statistics.agreement._categories import ValueCounts
from dialens.statistics.agreement._gwet import MOST_CATEGORIES
from dialens.statistics.agreement._jackknife import spreads
from dialens.statistics.agreement._matrix import RatingMatrix
from dialens.statistics.agreement._rare import rarely_said

CATEGORIES = pl.Schema(
    {
        "quality": pl.String,
        "group": pl.String,
        "category": pl.String,
        "n_ratings": pl.Int64,
        "share": pl.Float64,
        "kappa": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "interval": pl.String,
        "reason": pl.String,
    }
)
"""One row a category: how often it was said, and Fleiss' kappa of it against all others."""


def category_rows(
    table: RatingMatrix, words: tuple[str, ...] = (), *, confidence: float = 0.95
) -> pl.DataFrame:
    """Fleiss' kappa of each category against all others (Fleiss 1971), with intervals.

    Args:
        table: The ratings.
        words: What ratings say where they are words; the values are then places among them.
        confidence: Of the intervals.

    Returns:
        The columns of `CATEGORIES` without quality and group; no rows where values are not
        categories.

    Examples:
        >>> said = [[1, 1, 1], [2, 2, 3], [3, 3, 2], [1, 1, 1], [2, 3, 3], [1, 1, 1], [3, 2, 2]]
        >>> found = category_rows(RatingMatrix.of_array(said))
        >>> found.select("category", pl.col("kappa").round(2)).rows()
        [('1', 1.0), ('2', 0.07), ('3', 0.07)]
    """
    schema = {name: dtype for name, dtype in CATEGORIES.items() if name not in ("quality", "group")}
    values = np.unique(table.value)
    if not 2 < len(values) <= MOST_CATEGORIES or table.per_item.max(initial=0) < 2:
        return pl.DataFrame(schema=schema)  # of two categories, each is the other's mirror
    rows = []
    for value in values:
        name = words[int(value)] if words else f"{value:g}"
        own = table.with_values((table.value == value).astype(np.float64))
        rows.append(
            {
                "category": name,
                "n_ratings": int(own.value.sum()),
                "share": float(own.value.mean()),
                **_kappa(own, confidence),
            }
        )
    return pl.DataFrame(rows, schema=schema)


def _kappa(own: RatingMatrix, confidence: float) -> dict[str, object]:
    counts = ValueCounts.of(own)
    found = spreads(
        lambda weights: counts.of_all(["fleiss_kappa"], weights), len(own.items), len(own.raters)
    )["fleiss_kappa"]
    if np.isnan(found.estimate):
        return {"reason": "only items with one rating have it"}
    rare = rarely_said(own)
    for over, what in (("both", "items and raters"), ("items", "items")):
        drawn = found.over(over, confidence)
        if drawn.has_interval and rare is None:
            ends = {"low": drawn.low, "high": drawn.high, "interval": f"jackknife over {what}"}
            return {"kappa": found.estimate, **ends}
    return {"kappa": found.estimate, "reason": f"no interval: {rare or drawn.reason}"}
