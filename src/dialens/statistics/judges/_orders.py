"""Pairs judged in both orders: how often the verdict changes with the place."""

from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import special, stats

from dialens.base import Estimate

FEWEST_PAIRS = 6
"""Pairs below which there is no interval."""

_ALL_TIES = "every verdict is a tie"


@dataclass(frozen=True)
class Orders:
    """What became of pairs that were shown in both orders.

    Attributes:
        flip_rate: Share of pairs with another verdict in the other order; ties are a verdict, but
            where there is nothing else, there is none to change.
        first: Share of the verdicts, without ties, that went to the first place.
        pairs: Pairs with a verdict in both orders.
        missing: Pairs that lack one.
    """

    flip_rate: Estimate
    first: Estimate
    pairs: int
    missing: int


def both_orders(verdicts: pl.DataFrame, *, confidence: float = 0.95) -> Orders:
    """How steady verdicts are, and which place they favour.

    Args:
        verdicts: `pair`; `order`, two values; the `place` that won, 1 or 2, 0 for a tie, null if
            there was no verdict.
        confidence: Of the intervals; that of `first` takes pairs as its units.

    Examples:
        Six pairs, of which two are won by the same place both times:

        >>> said = [(1, 2), (1, 2), (2, 1), (0, 0), (1, 1), (1, 1)]
        >>> rows = [(f"p{n}", o + 1, said[n][o]) for n in range(6) for o in range(2)]
        >>> done = both_orders(pl.DataFrame(rows, ["pair", "order", "place"], orient="row"))
        >>> round(done.flip_rate.value, 2), done.first.value, done.pairs
        (0.33, 0.7, 6)
    """
    # The winner itself: the same response stands first in one order and second in the other.
    orders = verdicts["order"].unique().sort()
    turned = pl.when(pl.col("place") == 0).then(0).otherwise(3 - pl.col("place"))
    winner = pl.when(pl.col("order") == orders[0]).then("place").otherwise(turned)
    by_pair = verdicts.group_by("pair", maintain_order=True).agg(
        said=winner.drop_nulls().len(),
        kinds=winner.drop_nulls().n_unique(),
        first=(pl.col("place") == 1).sum(),
        decided=pl.col("place").is_in([1, 2]).sum(),
    )
    both = by_pair.filter(pl.col("said") == 2)
    flipped = int((both["kinds"] == 2).sum())
    flips = _share(flipped, both.height, confidence)
    if both.height and not by_pair["decided"].sum():
        flips = Estimate(n=both.height, reason=_ALL_TIES)
    return Orders(
        flips,
        _ratio(by_pair["first"].to_numpy(), by_pair["decided"].to_numpy(), confidence),
        both.height,
        by_pair.height - both.height,
    )


def _share(count: int, n: int, confidence: float) -> Estimate:
    if n == 0:
        return Estimate(reason="no pair has a verdict in both orders")
    interval = stats.binomtest(count, n).proportion_ci(confidence, method="wilson")
    return Estimate(count / n, float(interval.low), float(interval.high), n=n, basis="wilson")


def _ratio(first: np.ndarray, decided: np.ndarray, confidence: float) -> Estimate:
    total = int(decided.sum())
    if total == 0:
        return Estimate(reason=_ALL_TIES)
    value, units = float(first.sum() / total), int((decided > 0).sum())
    if units < FEWEST_PAIRS:
        return Estimate(value, n=total, reason=f"there are fewer than {FEWEST_PAIRS} decided pairs")
    pulls = (first - value * decided)[decided > 0] / total
    error = np.sqrt(np.square(pulls).sum() * units / (units - 1))
    reach = float(error * special.stdtrit(units - 1, (1 + confidence) / 2))
    if error == 0:  # all pairs went alike: as far as Wilson's interval of n of n reaches
        all_alike = stats.binomtest(units, units).proportion_ci(confidence, method="wilson")
        reach = float(1 - all_alike.low) / 2
    low, high = max(value - reach, 0.0), min(value + reach, 1.0)
    p = float(2 * special.stdtr(units - 1, -abs(value - 0.5) / error)) if error > 0 else None
    return Estimate(value, low, high, p=p, n=total, basis="clusters")
