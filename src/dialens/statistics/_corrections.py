"""Correction of p-values for the number of tests (Benjamini & Hochberg 1995)."""

from collections.abc import Sequence
from typing import Final

import numpy as np
import polars as pl
from scipy import stats

from dialens.statistics._bootstrap import Floats

TESTED: Final = {
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p": pl.Float64,
    "p_adjusted": pl.Float64,
    "family": pl.Int64,
}
"""Columns of an estimate with its interval and test, and what `corrected` adds."""


def adjusted(p: Floats) -> Floats:
    """P-values corrected over all that are not NaN; NaN stays NaN.

    Examples:
        >>> adjusted(np.array([0.01, np.nan, 0.02])).tolist()
        [0.02, nan, 0.02]
    """
    tested = ~np.isnan(p)
    result = np.full(len(p), np.nan)
    if tested.any():
        result[tested] = stats.false_discovery_control(p[tested])
    return result


def corrected(
    table: pl.DataFrame,
    p: str = "p",
    *,
    by: Sequence[str] = (),
    where: pl.Expr | None = None,
    family: str | None = "family",
) -> pl.DataFrame:
    """Add `{p}_adjusted`, corrected over the rows with a p-value, and how many those are.

    Args:
        table: One test a row; a null p-value was not tested.
        p: The column of p-values.
        by: Columns whose values separate families of tests; none makes the table one family.
        where: Which rows belong to a family; the others stay without a corrected p-value.
        family: The column for the size of the family; None writes none.

    Examples:
        >>> table = pl.DataFrame({"p": [0.01, None, 0.02], "agent": ["a", "a", "b"]})
        >>> corrected(table).select("p_adjusted", "family").rows()
        [(0.02, 2), (None, None), (0.02, 2)]
        >>> corrected(table, by=["agent"])["p_adjusted"].to_list()
        [0.01, None, 0.02]
    """
    tested = pl.col(p).is_not_null()
    if where is not None:
        tested = tested & where
    values = table.select(pl.when(tested).then(pl.col(p)).cast(pl.Float64)).to_series()
    numbers = values.fill_null(np.nan).to_numpy()
    result = np.full(table.height, np.nan)
    size = np.zeros(table.height, dtype=np.int64)
    for rows in _families(table, by):
        result[rows] = adjusted(numbers[rows])
        size[rows] = np.count_nonzero(~np.isnan(numbers[rows]))
    columns = [pl.Series(f"{p}_adjusted", result, nan_to_null=True)]
    if family is not None:
        counts = pl.DataFrame({"size": size, "p": values})
        columns.append(
            counts.select(pl.when(pl.col("p").is_not_null()).then("size").alias(family)).to_series()
        )
    return table.with_columns(columns)


def _families(table: pl.DataFrame, by: Sequence[str]) -> list[np.ndarray]:
    if not by:
        return [np.arange(table.height)]
    numbered = table.select(by).with_row_index("row")
    return [part["row"].to_numpy() for _, part in numbered.group_by(by, maintain_order=True)]
