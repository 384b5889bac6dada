"""Magnitude estimates on a common scale: logarithms, over the modulus or the rater's own mean.

In magnitude estimation every rater uses numbers of a size of their own. Where a modulus (a number
for the standard response) was shown, `log10(rating / modulus)` is comparable. Where none was
shown, each rater's mean log is taken off, so that their scale drops out. The mean is taken within
a study, a quality and a scale: without a modulus every question is a scale by itself.
"""

import json
import re
from collections.abc import Sequence

import polars as pl

from dialens.statistics._ratings import rated_items

_STATED = re.compile(r"modulus\W{0,3}(\d+(?:\.\d+)?)", re.IGNORECASE)
OWN_SCALE = ("study", "quality", "scale")
"""Within what a rater is taken to use one scale."""


def log_normalised(
    ratings: pl.DataFrame, *, modulus: float | None = None, within: Sequence[str] = OWN_SCALE
) -> pl.DataFrame:
    """Fill the column `normalised` with log magnitudes; null where there is no logarithm.

    Args:
        ratings: In the columns of `RATINGS`.
        modulus: The modulus that was shown; if not given, a column `modulus`, or what `scale`
            says (`{"modulus": 100}`, or the words "modulus 100").
        within: Columns within which a rater's mean log is taken, where no modulus was shown.

    Examples:
        >>> table = pl.DataFrame({"rater": ["a", "a", "b", "b"], "value": [1.0, 100.0, 5.0, 500.0]})
        >>> log_normalised(table)["normalised"].round(2).to_list()
        [-1.0, 1.0, -1.0, 1.0]
        >>> log_normalised(table, modulus=100)["normalised"].round(2).to_list()
        [-2.0, 0.0, -1.3, 0.7]
    """
    logs = pl.when(pl.col("value") > 0).then(pl.col("value").log10())
    own = logs.mean().over("rater", *(name for name in within if name in ratings.columns))
    known = pl.when(pl.col("rater").is_not_null()).then(own)
    shown = _moduli(ratings, modulus)
    return ratings.with_columns(
        (logs - pl.coalesce(shown.log10(), known)).alias("normalised"),
    )


def not_positive(ratings: pl.DataFrame) -> str | None:
    """Where ratings that have no logarithm stand, in words; None where there are none.

    Examples:
        >>> not_positive(pl.DataFrame({"dialog": ["d1"], "rater": ["r"], "value": [0.0]}))
        '1 rating is zero or less and has no logarithm (first: 0 by rater r for item d1)'
    """
    bad = ratings.with_columns(_item=rated_items(ratings)).filter(pl.col("value") <= 0)
    if not bad.height:
        return None
    first = bad.sort("_item", "rater").row(0, named=True)
    who = f"rater {first['rater']}" if first["rater"] is not None else "an unknown rater"
    many = "1 rating is" if bad.height == 1 else f"{bad.height:,} ratings are"
    have = "has" if bad.height == 1 else "have"
    return (
        f"{many} zero or less and {have} no logarithm "
        f"(first: {first['value']:g} by {who} for item {first['_item']})"
    )


def _moduli(ratings: pl.DataFrame, modulus: float | None) -> pl.Series:
    """The modulus each rating was given against; null where none was shown."""
    if modulus is not None:
        return pl.Series("modulus", [modulus], pl.Float64).new_from_index(0, ratings.height)
    if "modulus" in ratings.columns:
        return ratings["modulus"].cast(pl.Float64, strict=False)
    if "scale" not in ratings.columns:
        return pl.Series("modulus", [None], pl.Float64).new_from_index(0, ratings.height)
    scales = ratings["scale"].cast(pl.String)
    known = {text: _modulus_of(text) for text in scales.drop_nulls().unique()}
    return scales.replace_strict(known, default=None, return_dtype=pl.Float64).alias("modulus")


def _modulus_of(scale: str) -> float | None:
    """The modulus a scale states.

    Examples:
        >>> _modulus_of('{"modulus": 50}'), _modulus_of('"positive, modulus 100"'), _modulus_of("5")
        (50.0, 100.0, None)
    """
    try:
        parsed = json.loads(scale)
    except ValueError:
        parsed = scale
    if isinstance(parsed, dict) and isinstance(parsed.get("modulus"), int | float):
        return float(parsed["modulus"])
    stated = _STATED.search(parsed) if isinstance(parsed, str) else None
    return float(stated[1]) if stated else None
