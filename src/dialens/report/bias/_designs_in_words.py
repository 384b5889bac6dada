"""Designs of judges in words: what they are, what they reach, and what they cost."""

import itertools
import math
from collections.abc import Mapping
from typing import Any

import polars as pl

from dialens.base import counted, interval, number

TARGETS = (0.8, 0.7)
"""Reliabilities for which the cheapest design is named."""

FACETS = ("judge", "prompt", "repeat")
"""What a design has a number of."""


def cheapest(designs: pl.DataFrame, target: float) -> dict[str, Any] | None:
    """The cheapest design that reaches a target, by price or else by ratings."""
    enough = designs.filter(pl.col("relative") >= target).sort(
        "price", "ratings", "relative", descending=[False, False, True], nulls_last=True
    )
    return enough.row(0, named=True) if enough.height else None


def in_words(row: Mapping[str, Any]) -> str:
    """A design in words: `3 judges × 2 prompts × 1 repeat`."""
    return " × ".join(counted(row[f"{name}s"], name) for name in FACETS)


def tried_up_to(sizes: pl.Series) -> int:
    """Up to which number every number was tried; what was judged may lie beyond."""
    there = set(sizes.to_list())
    return next(many for many in itertools.count(1) if many + 1 not in there)


def reliability(value: float) -> str:
    """With two decimals, rounded down where it would else seem to reach a target.

    Examples:
        >>> reliability(0.697), reliability(0.703), reliability(0.687)
        ('0.69', '0.70', '0.69')
    """
    short = any(value < target <= round(value, 2) for target in TARGETS)
    return number(math.floor(value * 100) / 100 if short else value, 2)


def worth_of(row: Mapping[str, Any]) -> str:
    told = f"Eρ² {reliability(row['relative'])}"
    if row["relative_low"] is not None:
        bounds = interval(row["relative_low"], row["relative_high"], 2)
        told += f" (95 % interval {bounds})"
    told += f", {counted(row['ratings'], 'rating')} an item"
    if row["price"] is not None:
        told += f", {price_of(row['price'])} for {counted(row['n_items'], 'item')}"
    return told


def price_of(value: float | None) -> str:
    """With two decimals, or as many as a small price needs."""
    if value is None:
        return ""
    return number(value, 2) if value >= 0.1 else f"{value:.2g}"
