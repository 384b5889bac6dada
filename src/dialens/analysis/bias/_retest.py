"""How far raters agree with themselves when they judge the same things again in a later wave."""

from typing import Any

import numpy as np
import polars as pl

from dialens.analysis.bias._scales import LOG, Note, is_choice
from dialens.base import counted
from dialens.statistics.agreement import ICC, SAME, Occasions

WAVE = "wave"
REPEATED = "later waves"
FEW_ITEMS = 10
"""With fewer items, intervals of test–retest agreement hold the true value in 87 to 90 %."""

RETEST = pl.Schema(
    {
        "quality": pl.String,
        "wave": pl.Int64,
        "statistic": pl.String,
        "value": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "n_raters": pl.Int64,
        "n_items": pl.Int64,
        "n_pairs": pl.Int64,
        "awaited": pl.Int64,
        "days": pl.Float64,
        "reason": pl.String,
    }
)
"""Against the first time; `awaited` is who judged the quality then, `days` the median between."""

_SAME_THING = ["rater", "quality", "item"]
_WHOSE = ("rater", "item")


def without_repeated(table: pl.DataFrame, notes: list[Note]) -> tuple[pl.DataFrame, pl.DataFrame]:
    """First ratings, and those of later waves of something that the rater had judged before.

    Everything but test–retest agreement rests on first ratings: a second one of the same rater is
    no second rater.

    Args:
        table: Ratings with `item`.
        notes: What has to be known is added here.
    """
    if WAVE not in table.columns or table[WAVE].drop_nulls().n_unique() < 2:
        return table, table.clear()
    first = pl.col(WAVE) == pl.col(WAVE).min().over(_SAME_THING)
    again = table.filter(~first)
    if again.height:
        told = f"{counted(again.height, 'rating')} of things that the rater had judged in an "
        notes.append(Note(REPEATED, f"{told}earlier wave count for test–retest agreement only"))
    return table.filter(first), again


def retest(
    first: pl.DataFrame, again: pl.DataFrame, normalise: dict[str, str], *, confidence: float
) -> pl.DataFrame:
    """Agreement of raters with themselves, per quality and later wave (`RETEST`).

    Args:
        first: First ratings, with `item` and `scale`.
        again: What `without_repeated` set aside.
        normalise: How each quality is taken; magnitudes as logarithms.
        confidence: Of the intervals.
    """
    if not again.height:
        return pl.DataFrame(schema=RETEST)
    chosen = set(first.filter(is_choice(first))["quality"])
    columns = [*_SAME_THING, "value", "answered_at"]
    rows = []
    for (quality, wave), later in again.group_by("quality", WAVE, maintain_order=True):
        before = first.filter(pl.col("quality") == quality)
        pairs = before.select(columns).join(
            later.select(columns), on=_SAME_THING, suffix="_again", maintain_order="left"
        )
        if normalise.get(str(quality)) == LOG:
            pairs = _logarithms(pairs)
        statistic = SAME if quality in chosen else ICC
        known = {"quality": quality, "wave": wave, "awaited": before["rater"].n_unique()}
        rows.append(known | _compared(pairs, statistic, confidence))
    return pl.DataFrame(rows, schema=RETEST).sort("wave", maintain_order=True)


def _logarithms(pairs: pl.DataFrame) -> pl.DataFrame:
    """Pairs of magnitudes that both have a logarithm, as those."""
    values = pl.col("value", "value_again")
    return pairs.filter(pl.min_horizontal(values) > 0).with_columns(values.log10())


def _compared(pairs: pl.DataFrame, statistic: str, confidence: float) -> dict[str, Any]:
    """What the first and the second time have in common, and what that rests on."""
    between = (pl.col("answered_at_again") - pl.col("answered_at")).dt.total_seconds()
    first, second = (pairs[name].to_numpy() for name in ("value", "value_again"))
    rater, item = (pairs[name].rank("dense").to_numpy().astype(np.int64) - 1 for name in _WHOSE)
    found = Occasions(first, second, rater, item).estimate(statistic, confidence=confidence)
    return {
        "statistic": statistic,
        "value": found.value,
        "low": found.low,
        "high": found.high,
        "n_raters": pairs["rater"].n_unique(),
        "n_items": pairs["item"].n_unique(),
        "n_pairs": pairs.height,
        "days": pairs.select(between.median() / 86_400).item(),
        "reason": found.reason,
    }
