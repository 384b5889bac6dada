"""The vote of most raters."""

import polars as pl


def majority_vote(ratings: pl.DataFrame) -> pl.DataFrame:
    """What most raters said of each item.

    Args:
        ratings: With the columns item and label, one row a rating.

    Returns:
        One row an item: item, n_ratings, majority (null where raters are split), share.

    Examples:
        >>> said = pl.DataFrame({"item": [*"aaabb"], "label": [1, 1, 0, 1, 0]})
        >>> majority_vote(said).rows()
        [('a', 3, 1, 0.6666666666666666), ('b', 2, None, 0.5)]
    """
    counts = ratings.drop_nulls(["item", "label"]).group_by("item", "label").len()
    best = pl.col("len") == pl.col("len").max()
    return (
        counts.group_by("item")
        .agg(
            n_ratings=pl.col("len").sum().cast(pl.Int64),
            majority=pl.when(best.sum() == 1).then(pl.col("label").filter(best).first()),
            share=pl.col("len").max() / pl.col("len").sum(),
        )
        .sort("item")
    )
