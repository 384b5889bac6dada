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
        rows.append(
            {"quality": quality, "wave": wave, "awaited": before["rater"].n_unique()}
            | _row(pairs, choice=quality in chosen, logs=normalise.get(str(quality)) == LOG)
            | _estimate(pairs, quality in chosen, normalise.get(str(quality)) == LOG, confidence)
        )
    return pl.DataFrame(rows, schema=RETEST).sort("wave", maintain_order=True)


def _row(pairs: pl.DataFrame, *, choice: bool, logs: bool) -> dict[str, Any]:
    between = (pairs["answered_at_again"] - pairs["answered_at"]).dt.total_seconds().median()
    usable = _usable(pairs, logs)
    return {
        "statistic": SAME if choice else ICC,
        "n_raters": usable["rater"].n_unique(),
        "n_items": usable["item"].n_unique(),
        "n_pairs": usable.height,
        "days": None if between is None else float(between) / 86_400,  # type: ignore[arg-type]
    }


def _estimate(pairs: pl.DataFrame, choice: bool, logs: bool, confidence: float) -> dict[str, Any]:
    usable = _usable(pairs, logs)
    values = [usable[name].to_numpy() for name in ("value", "value_again")]
    first, second = (np.log10(x) for x in values) if logs else values
    places = [usable[name].rank("dense").to_numpy().astype(np.int64) - 1 for name in _PLACES]
    found = Occasions(first, second, *places).estimate(
        SAME if choice else ICC, confidence=confidence
    )
    return {"value": found.value, "low": found.low, "high": found.high, "reason": found.reason}


_PLACES = ("rater", "item")


def _usable(pairs: pl.DataFrame, logs: bool) -> pl.DataFrame:
    """Pairs that have a logarithm, where that is what is compared."""
    positive = (pl.col("value") > 0) & (pl.col("value_again") > 0)
    return pairs.filter(positive) if logs else pairs
