"""Ranks with intervals, from pairwise tests."""

from collections.abc import Sequence

import numpy as np
import polars as pl


def holm(p: pl.Series) -> pl.Series:
    """P-values corrected so that none of all is wrong but in one of twenty (Holm 1979).

    Examples:
        >>> holm(pl.Series([0.01, None, 0.04])).to_list()
        [0.02, None, 0.04]
    """
    values = p.drop_nulls().to_numpy()
    order = np.argsort(values)
    steps = np.arange(len(values), 0, -1)
    raised = np.minimum(np.maximum.accumulate(values[order] * steps), 1.0)
    corrected = np.empty(len(values))
    corrected[order] = raised
    result = np.full(len(p), np.nan)
    result[p.is_not_null().to_numpy()] = corrected
    return pl.Series("p_holm", result, nan_to_null=True)


def rank_intervals(
    candidates: Sequence[str], differences: pl.DataFrame, confidence: float = 0.95
) -> pl.DataFrame:
    """Ranks that hold for all candidates at once, from pairwise tests corrected after Holm.

    A candidate can be no better than one after all that are clearly better, and no worse than one
    before all that are clearly worse.

    Args:
        candidates: Their names.
        differences: Columns first, second, difference, p_holm.
        confidence: That all intervals hold.

    Examples:
        >>> table = pl.DataFrame(
        ...     {
        ...         "first": ["a", "a", "b"],
        ...         "second": ["b", "c", "c"],
        ...         "difference": [1.0, 2.0, 0.1],
        ...         "p_holm": [0.01, 0.001, 0.8],
        ...     }
        ... )
        >>> rank_intervals(["a", "b", "c"], table).rows()
        [('a', 1, 1), ('b', 2, 3), ('c', 2, 3)]
    """
    clear = differences.filter(pl.col("p_holm") < 1 - confidence)
    upper = pl.when(pl.col("difference") > 0)
    pairs = clear.select(
        better=upper.then("first").otherwise("second"),
        worse=upper.then("second").otherwise("first"),
    )
    better = dict(pairs.group_by("worse").len().iter_rows())
    worse = dict(pairs.group_by("better").len().iter_rows())
    return pl.DataFrame(
        {
            "candidate": list(candidates),
            "rank_low": [1 + better.get(name, 0) for name in candidates],
            "rank_high": [len(candidates) - worse.get(name, 0) for name in candidates],
        },
        schema_overrides={"candidate": pl.String, "rank_low": pl.Int64, "rank_high": pl.Int64},
    )
