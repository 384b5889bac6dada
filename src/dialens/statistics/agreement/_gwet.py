"""Gwet's AC1 and AC2, and the agreement per cent that they start from.

Kappa and alpha take for chance that raters draw values as often as they occur. Where one value is
common, nearly all agreement is then chance, and raters who agree on 95 of 100 items have a kappa
near zero (Feinstein & Cicchetti 1990 call it a paradox). Gwet's chance grows with how hard the
values are to tell apart: `T / (q (q − 1)) · Σ π (1 − π)`, with π the shares of the q values and T
the sum of the weights of agreement (Gwet 2014, "Handbook of inter-rater reliability", 4th edition,
chapters 4 and 5). Weights of AC2 are partial credit for values close to each other; q are the
values that occur.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from dialens.statistics.agreement._matrix import Floats, RatingMatrix, weighted_sum

AC2_WEIGHTS = ("ordinal", "linear", "quadratic")
MOST_CATEGORIES = 50


class Counted(Protocol):
    """Some resamples: pairs of ratings of each item, and how often items count."""

    @property
    def pairs(self) -> Floats: ...
    @property
    def v(self) -> Floats: ...


def likeness(values: Floats, weighting: str) -> Floats:
    """Credit for every pair of values, 1 where they are the same.

    Args:
        values: The values, ascending.
        weighting: `none`, `linear`, `quadratic` (in the distance of the values themselves), or
            `ordinal` (by how many values lie between the two).

    Examples:
        >>> likeness(np.array([1.0, 2.0, 4.0]), "linear").round(2).tolist()
        [[1.0, 0.67, 0.0], [0.67, 1.0, 0.33], [0.0, 0.33, 1.0]]
        >>> likeness(np.array([1.0, 2.0, 4.0]), "ordinal").round(2).tolist()
        [[1.0, 0.67, 0.0], [0.67, 1.0, 0.67], [0.0, 0.67, 1.0]]
    """
    gap = np.abs(values[:, None] - values)
    if weighting == "none":
        return np.eye(len(values))
    if weighting == "ordinal":
        place = np.arange(len(values))
        steps = np.abs(place[:, None] - place) + 1.0
        gap = steps * (steps - 1) / 2
    elif weighting == "quadratic":
        gap = gap**2
    credit: Floats = 1 - gap / max(float(gap.max()), 1e-300)
    return credit


def percent_agreement(alike: Floats, block: Counted) -> Floats:
    """The share of pairs of ratings of an item that are the same, averaged over items.

    Args:
        alike: Pairs of the same value in each item, for each resample.
        block: The resamples.
    """
    present = np.where(block.pairs > 0, block.v, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(block.pairs > 0, alike / block.pairs, 0.0)
        return np.asarray(weighted_sum(present, share) / present.sum(axis=0))


def gwet_ac(
    values: Floats,
    weighting: str,
    alike: Floats,
    different: Callable[[Floats], Floats],
    shares: Floats,
    block: Counted,
) -> Floats:
    """AC1 (`none`) or AC2 for each resample.

    Args:
        values: The values that occur, ascending.
        weighting: One of `AC2_WEIGHTS`, or `none`.
        alike: Pairs of the same value in each item.
        different: Gives pairs of different values in each item, each kind weighted.
        shares: How common each value is (values × resamples).
        block: The resamples.
    """
    credit = likeness(values, weighting)
    agreeing = alike if weighting == "none" else alike + different(credit)
    observed = percent_agreement(agreeing, block)
    q = len(values)
    chance = credit.sum() / (q * (q - 1)) * (shares * (1 - shares)).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(chance < 1, (observed - chance) / (1 - chance), np.nan)


def why_no_ac(table: RatingMatrix, weighting: str, *, words: Sequence[str] = ()) -> str | None:
    """Why AC1 or AC2 cannot be computed; None where it can."""
    if words and weighting != "none":
        return f"ratings are words ({', '.join(words[:3])} …), which have no order or distance"
    if table.per_item.max(initial=0) < 2:
        return "no item has more than one rating: there is nothing to compare"
    different = len(np.unique(table.value))
    if different < 2:
        return (
            f"all ratings are the same ({table.value[0]:g}): agreement beyond chance is not defined"
        )
    if different > MOST_CATEGORIES:
        return f"there are {different:,} different values: they are not categories"
    return None
