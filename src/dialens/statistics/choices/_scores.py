"""What was counted: who won against whom, shares of duels won, best–worst scores.

Shares are means of a number between 0 and 1 that each choice gives a candidate. Their intervals are
made on the logit scale, so that they stay inside, with half a win and half a loss added, so that
they exist for who won everything; they allow for people and items at once, as abilities do.
"""

import numpy as np
import polars as pl
from scipy import sparse, special

from dialens.base import Estimate
from dialens.statistics._bootstrap import Floats
from dialens.statistics.choices._clusters import ClusteredErrors, Pulls, clusters_of

WIN_MATRIX = pl.Schema(
    {
        "first": pl.String,
        "second": pl.String,
        "n": pl.Int64,
        "wins": pl.Int64,
        "ties": pl.Int64,
        "losses": pl.Int64,
    }
)
"""One row a pair that was shown together, in alphabetical order: how often `first` stood above,
beside and below `second`."""

SCORES = pl.Schema(
    {
        "candidate": pl.String,
        "n": pl.Int64,
        "n_raters": pl.Int64,
        "n_items": pl.Int64,
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "reason": pl.String,
    }
)
"""One row a candidate, the best first: how many choices, people and items, the value with its
interval."""


def win_matrix(shown: pl.DataFrame) -> pl.DataFrame:
    """Who stood above whom, how often.

    Args:
        shown: One row a candidate shown in a choice: choice, candidate, rank.

    Returns:
        The columns of `WIN_MATRIX`.

    Examples:
        >>> shown = pl.DataFrame(
        ...     {"choice": [0, 0, 1, 1], "candidate": ["a", "b", "b", "a"], "rank": [1, 2, 1, 1]}
        ... )
        >>> win_matrix(shown).rows()
        [('a', 'b', 2, 1, 1, 0)]
    """
    below = pl.col("rank").max().fill_null(0) + 1
    rows = shown.select("choice", "candidate", rank=pl.col("rank").fill_null(below))
    pairs = rows.join(rows, on="choice").filter(pl.col("candidate") < pl.col("candidate_right"))
    above, beside = pl.col("rank") < pl.col("rank_right"), pl.col("rank") == pl.col("rank_right")
    return (
        pairs.group_by(first="candidate", second="candidate_right")
        .agg(
            n=pl.len().cast(pl.Int64),
            wins=above.sum().cast(pl.Int64),
            ties=beside.sum().cast(pl.Int64),
            losses=(~above & ~beside).sum().cast(pl.Int64),
        )
        .sort("first", "second")
        .select(WIN_MATRIX.names())
    )


def win_shares(shown: pl.DataFrame, *, confidence: float = 0.95) -> pl.DataFrame:
    """The share of the candidates shown beside it that each candidate stood above, ties as half.

    Args:
        shown: One row a candidate shown in a choice: choice, candidate, rank, rater, item.
        confidence: Of the intervals.

    Returns:
        The columns of `SCORES`.

    Examples:
        >>> shown = pl.DataFrame(
        ...     {
        ...         "choice": [0, 0, 1, 1, 2, 2],
        ...         "candidate": ["a", "b"] * 3,
        ...         "rank": [1, 2, 1, 1, 1, 2],
        ...         "rater": ["r", "r", "s", "s", "t", "t"],
        ...         "item": [None] * 6,
        ...     }
        ... )
        >>> win_shares(shown).select("candidate", "n", pl.col("value").round(3)).rows()
        [('a', 3, 0.833), ('b', 3, 0.167)]
    """
    below = pl.col("rank").max().fill_null(0) + 1
    rows = shown.with_columns(rank=pl.col("rank").fill_null(below).cast(pl.Float64))
    # Ranks from the worst up, ties at their mean: one less is the number of candidates beaten.
    beaten = pl.col("rank").rank("average", descending=True).over("choice") - 1
    others = pl.len().over("choice") - 1
    return _means(rows.with_columns(share=beaten / others), confidence)


def best_worst_scores(shown: pl.DataFrame, *, confidence: float = 0.95) -> pl.DataFrame:
    """How much more often each candidate was the best than the worst, by how often it was shown.

    Args:
        shown: One row a candidate shown in a choice: choice, candidate, rank (the smallest is the
            best, the largest the worst), rater, item.
        confidence: Of the intervals.

    Returns:
        The columns of `SCORES`; values from −1 (always the worst) to 1 (always the best).

    Examples:
        >>> shown = pl.DataFrame(
        ...     {
        ...         "choice": [0, 0, 0, 1, 1, 1],
        ...         "candidate": ["a", "b", "c"] * 2,
        ...         "rank": [1, 2, 3, 1, 3, 2],
        ...         "rater": ["r"] * 3 + ["s"] * 3,
        ...         "item": [None] * 6,
        ...     }
        ... )
        >>> best_worst_scores(shown).select("candidate", "value").rows()
        [('a', 1.0), ('b', -0.5), ('c', -0.5)]
    """
    best = (pl.col("rank") == pl.col("rank").min().over("choice")).cast(pl.Float64)
    worst = (pl.col("rank") == pl.col("rank").max().over("choice")).cast(pl.Float64)
    shares = _means(shown.with_columns(share=(best - worst + 1) / 2), confidence)
    return shares.with_columns(pl.col("value", "low", "high") * 2 - 1)


def _means(rows: pl.DataFrame, confidence: float) -> pl.DataFrame:
    found = []
    for (name,), part in rows.group_by("candidate"):
        share = clustered_share(part, confidence=confidence)
        found.append(
            {
                "candidate": str(name),
                "n": part.height,
                "n_raters": part["rater"].drop_nulls().n_unique() or None,
                "n_items": part["item"].drop_nulls().n_unique() or None,
                "value": share.value,
                "low": share.low,
                "high": share.high,
                "reason": share.reason,
            }
        )
    table = pl.DataFrame(found, schema=SCORES)
    return table.sort("value", "candidate", descending=[True, False])


def clustered_share(rows: pl.DataFrame, *, confidence: float = 0.95) -> Estimate:
    """The mean of the column `share` with its interval, over raters and items.

    Args:
        rows: One row an observation: share (from 0 to 1), rater, item; null where not known.
        confidence: Of the interval.

    Returns:
        The mean, its interval, and the p-value of its being one half.

    Examples:
        >>> rows = pl.DataFrame(
        ...     {"share": [1.0, 0.0, 1.0, 1.0], "rater": ["r", "s", "t", "u"], "item": [None] * 4}
        ... )
        >>> found = clustered_share(rows)
        >>> found.n, found.value, round(found.low, 2), round(found.high, 2)
        (4, 0.75, 0.05, 0.99)
    """
    share = rows["share"].to_numpy().astype(np.float64)
    clusters = {
        kind: clusters_of(rows[kind])
        for kind in ("rater", "item")
        if rows[kind].null_count() < rows.height
    }
    middle = float((share.sum() + 0.5) / (len(share) + 1))
    errors = ClusteredErrors.of(_share_pulls(share, middle), clusters)
    log_odds = float(special.logit(middle))
    found = errors.estimate(np.ones(1), log_odds, confidence=confidence)
    value = float(share.mean())
    low, high = (None if e is None else float(special.expit(e)) for e in (found.low, found.high))
    if low is not None and high is not None:  # that of the middle, which no edge is
        low, high = min(low, value), max(high, value)
    return Estimate(value, low, high, found.p, n=len(share), reason=found.reason)


def _share_pulls(share: Floats, middle: float) -> Pulls:
    """How each choice pulls at the log-odds of a mean share."""
    weight = middle * (1 - middle)
    n = len(share)
    # Ties make shares vary less than wins and losses would: their own variance, half a win and
    # half a loss included, is that of independent choices.
    squares = np.square(share - middle).sum() + 0.5 * (1 - middle) ** 2 + 0.5 * middle**2
    independent = np.array([[squares / (n + 1) / (n * weight**2)]])
    information = np.full((n, 1, 1), weight)
    return Pulls((share - middle)[:, None], information, sparse.eye_array(n).tocsr(), independent)
