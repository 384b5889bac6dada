"""Items that raters saw in both orders: how often verdicts change, which place they favour."""

import polars as pl

from dialens.base import Estimate
from dialens.statistics.choices import clustered_share
from dialens.statistics.judges import FEWEST_PAIRS, Orders, both_orders

_NEEDED = ("pair", "order_shown", "quality", "rater")


def verdicts(ratings: pl.DataFrame) -> pl.DataFrame:
    """Which of two places won, each time a pair was shown: by choice, or by the better rating.

    Args:
        ratings: Rows of a study with `pair`, `order_shown`, `position`; `place` where the answer
            was a choice.

    Returns:
        rater, quality, item, pair (of a rater and repeat), order, place; empty if nothing was
        shown in both orders, or more than two responses were.
    """
    schema = {"rater": pl.String, "quality": pl.String, "item": pl.String, "pair": pl.String}
    empty = pl.DataFrame(schema={**schema, "order": pl.Int64, "place": pl.Int64})
    if not set(_NEEDED) <= set(ratings.columns):
        return empty
    shown = ratings.drop_nulls(["pair", "order_shown", "quality"])
    told = ("rater", "attempt", "screen") if "screen" in shown.columns else (
        "rater", "attempt", "repeat", "order",
    )  # fmt: skip
    asked = [name for name in told if name in shown.columns]
    chosen = pl.lit(None, pl.Int64)
    if "place" in shown.columns:
        chosen = pl.col("place").drop_nulls().first().cast(pl.Int64)
    rated = pl.lit(None, pl.Int64)
    if {"position", "value"} <= set(shown.columns):
        best = pl.col("position").filter(pl.col("value") == pl.col("value").max()).first()
        least = pl.col("position").filter(pl.col("value") == pl.col("value").min()).first()
        small = pl.col("quality").first().is_in(_lower_is_better(shown))
        winner = pl.when(small).then(least).otherwise(best).cast(pl.Int64) + 1
        both = (pl.len() == 2) & (pl.col("value").null_count() == 0)
        rated = pl.when(both & (pl.col("value").n_unique() == 1)).then(0).when(both).then(winner)
    seen = (
        shown.group_by(["pair", "order_shown", "quality", *asked], maintain_order=True)
        .agg(n=pl.len(), place=pl.coalesce(chosen, rated))
        .filter(pl.col("n") <= 2)
    )
    if not seen.height:
        return empty
    again = [name for name in ("attempt", "repeat") if name in seen.columns]
    named = pl.concat_str(
        [pl.col(name).cast(pl.String) for name in ("rater", *again, "pair")],
        separator=" | ",
        ignore_nulls=True,
    )
    return seen.select(
        "rater",
        "quality",
        item="pair",
        pair=named,
        order=pl.col("order_shown").cast(pl.Int64),
        place="place",
    )


def _lower_is_better(ratings: pl.DataFrame) -> list[str]:
    """Qualities of which less is better, and ranks, as the column `scale` says it."""
    if "scale" not in ratings.columns:
        return []
    said = pl.col("scale").cast(pl.String)
    small = said.str.contains('"lower_is_better": true') | said.str.contains('"reversed": true')
    return ratings.filter(small)["quality"].unique().to_list()


def order_shares(shown: pl.DataFrame, *, confidence: float = 0.95) -> Orders:
    """Flip rate and the share of the first place, with intervals over raters and items.

    With one rater, or few pairs, the interval of the flip rate is Wilson's over pairs. Where a
    rater judged the same two several times (repeats of a model), they count once, by their mean;
    of one rater, items are the units.

    Args:
        shown: What `verdicts` gives, of one quality.
        confidence: Of the intervals.
    """
    plain = both_orders(shown, confidence=confidence)
    alone = shown["rater"].n_unique() < 2
    again = shown["pair"].n_unique() > shown.select("rater", "item").n_unique()
    if plain.pairs < FEWEST_PAIRS or (alone and not again) or plain.first.value is None:
        return plain
    turned = pl.when(pl.col("place") == 0).then(0).otherwise(3 - pl.col("place"))
    winner = pl.when(pl.col("order") == shown["order"].min()).then("place").otherwise(turned)
    each = (
        shown.with_columns(winner=winner)
        .drop_nulls("winner")
        .group_by("pair", "rater", "item", maintain_order=True)
        .agg(n=pl.len(), kinds=pl.col("winner").n_unique())
        .filter(pl.col("n") == 2)
    )
    flips = each.select("rater", "item", share=(pl.col("kinds") == 2).cast(pl.Float64))
    decided = shown.filter(pl.col("place").is_in([1, 2])).select(
        "rater", "item", share=(pl.col("place") == 1).cast(pl.Float64)
    )
    if alone and each["item"].n_unique() < FEWEST_PAIRS:
        few = f"there are fewer than {FEWEST_PAIRS} items"
        return Orders(
            Estimate(plain.flip_rate.value, n=plain.pairs, reason=few),
            Estimate(plain.first.value, n=plain.first.n, reason=few),
            plain.pairs,
            plain.missing,
        )
    if again:
        flips, decided = (_by_item(rows, alone=alone) for rows in (flips, decided))
    flip = clustered_share(flips, confidence=confidence)
    flip = Estimate(flip.value, flip.low, flip.high, n=flip.n, reason=flip.reason)
    first = clustered_share(decided, confidence=confidence)
    return Orders(flip, first, plain.pairs, plain.missing)


def _by_item(rows: pl.DataFrame, *, alone: bool) -> pl.DataFrame:
    """The mean share of each rater and item, a row each: what one says again is no news."""
    means = rows.group_by("rater", "item", maintain_order=True).agg(pl.col("share").mean())
    if not alone:
        return means.select("rater", "item", "share")
    return means.select("share", rater=pl.lit(None, pl.String), item=pl.lit(None, pl.String))
