"""What to change in a study that sees too little: more items or more raters, gain and price."""

from collections.abc import Callable
from dataclasses import dataclass
from math import hypot, isqrt
from typing import Any, Literal

import polars as pl

from dialens.base import counted
from dialens.statistics.power._design import PlannedPower

_STEP = 4  # a change is about a quarter of what there is
_NEARLY = 0.1
_CLOSE = 32  # a searched number is right to about a thirtieth of itself

What = Literal["items", "raters"]
Plan = Callable[[int, int], PlannedPower]
"""A study of so many raters and items."""


@dataclass(frozen=True)
class Change:
    """More of one thing: what a step brings, and how much of it gives the power that is wanted.

    Attributes:
        what: `items` or `raters`.
        more: How many are added in the step.
        gain: Of power.
        error: Half the 95 % interval of that gain, where both powers were simulated.
        ratings: More that the step takes.
        needed: How many there must be in all for the power wanted; None if none that was tried do.
        needed_power: The power with so many.
        needed_ratings: More ratings that they take.
        tried: The largest number tried.
    """

    what: What
    more: int
    gain: float
    error: float | None
    ratings: int
    needed: int | None
    needed_power: float | None
    needed_ratings: int | None
    tried: int


@dataclass(frozen=True)
class Advice:
    """Both ways to see more, and the cheaper one.

    Attributes:
        study: The study as it is.
        wanted: The power that is wanted.
        items: What more items bring.
        raters: What more raters bring.
        together: A study with more of both that has the power wanted; only looked for where
            neither alone does.
    """

    study: PlannedPower
    wanted: float
    items: Change
    raters: Change
    together: PlannedPower | None = None

    @property
    def better(self) -> Change:
        """The way that reaches the power wanted with fewer ratings; else the larger gain a rating.

        Where only one way gets there, it is that one.
        """
        ways = (self.raters, self.items)
        reach = [way for way in ways if way.needed_ratings is not None]
        if reach:
            return min(reach, key=lambda way: way.needed_ratings or 0)
        return max(ways, key=lambda way: way.gain / way.ratings)


def advise(plan: Plan, raters: int, items: int, *, wanted: float, most: int) -> Advice | None:
    """What more items and more raters would bring to a study, at the same price.

    Args:
        plan: Gives the power of so many raters and items.
        raters: Of the study as it is.
        items: Of the study as it is.
        wanted: The power that is wanted.
        most: How many times the present number to try at most.

    Returns:
        Both ways, or None where the study as it is cannot be tested.

    Examples:
        >>> from dialens.statistics.power._between import power_between
        >>> from dialens.statistics.power._design import VarianceParts
        >>> parts = VarianceParts(rater=1.0, residual=0.5)
        >>> def cells(raters: int, items: int) -> PlannedPower:
        ...     return power_between(parts, 0.6, raters=raters, items=items)
        >>> advice = advise(cells, 20, 10, wanted=0.8, most=10)
        >>> advice.better.what, advice.raters.needed, advice.items.needed
        ('raters', 46, None)
    """
    study = plan(raters, items)
    if study.power.value is None:
        return None
    step = max(1, round(raters / _STEP))
    more_items = max(1, round(step * items / raters))
    by_items = _change("items", more_items, study, lambda n: plan(raters, n), wanted, most)
    by_raters = _change("raters", step, study, lambda n: plan(n, items), wanted, most)
    together = None
    if by_items.needed is None and by_raters.needed is None:
        largest = max(2, isqrt(most))  # of both, so that no larger study is drawn than before
        together = _needed(lambda n: plan(n, round(items * n / raters)), raters, wanted, largest)
    return Advice(study, wanted, by_items, by_raters, together)


def cheapest(table: pl.DataFrame, effect: float, wanted: float) -> dict[str, Any] | None:
    """The design of a table to speak of: the cheapest that has the power wanted.

    Where none has, it is the cheapest that comes within a tenth of the most powerful: it would be
    a poor start to add raters to a study that has ten times too many items.

    Args:
        table: What `power_curve` or `curve_of` give.
        effect: What is looked for.
        wanted: The power that is wanted.

    Returns:
        Its row, with `known`, the closed form of its power or else the simulated one; None if no
        design could be tested.
    """
    rows = (
        table.filter(pl.col("effect") == effect)
        .with_columns(known=pl.coalesce("power_exact", "power"))
        .filter(pl.col("power").is_not_null())
        .sort("ratings", "raters")
    )
    if not rows.height:
        return None
    limit = pl.min_horizontal(pl.lit(wanted), pl.col("known").max() - _NEARLY)
    enough = rows.filter(pl.col("known") >= wanted)
    return (enough if enough.height else rows.filter(pl.col("known") >= limit)).row(0, named=True)


def price_of(ratings: int, price: float | None = None) -> str:
    """What ratings cost, in ratings and, if one has a price, in money.

    Examples:
        >>> price_of(60), price_of(60, 0.25)
        ('60 ratings', '60 ratings (15.00)')
    """
    return counted(ratings, "rating") + ("" if price is None else f" ({ratings * price:,.2f})")


def _change(
    what: What,
    more: int,
    study: PlannedPower,
    plan: Callable[[int], PlannedPower],
    wanted: float,
    most: int,
) -> Change:
    now = getattr(study, what)
    stepped = plan(now + more)
    reached = _needed(plan, now, wanted, most)
    return Change(
        what=what,
        more=more,
        gain=_power(stepped) - _power(study),
        error=_error(study, stepped),
        ratings=stepped.ratings - study.ratings,
        needed=None if reached is None else getattr(reached, what),
        needed_power=None if reached is None else _power(reached),
        needed_ratings=None if reached is None else reached.ratings - study.ratings,
        tried=now * most,
    )


def _needed(
    plan: Callable[[int], PlannedPower], now: int, wanted: float, most: int
) -> PlannedPower | None:
    """The smallest study that has the power wanted, by doubling and halving."""
    low, high, found = now, now, plan(now)
    while _power(found) < wanted:
        if high == now * most:
            return None
        low, high = high, min(2 * high, now * most)
        found = plan(high)
    while high - low > max(1, high // _CLOSE if found.power.has_interval else 1):
        middle = (low + high) // 2
        tried = plan(middle)
        if _power(tried) >= wanted:
            high, found = middle, tried
        else:
            low = middle
    return found


def _power(study: PlannedPower) -> float:
    return study.power.value or 0.0


def _error(one: PlannedPower, other: PlannedPower) -> float | None:
    if not (one.power.has_interval and other.power.has_interval):
        return None
    halves = [((s.power.high or 0) - (s.power.low or 0)) / 2 for s in (one, other)]
    return hypot(*halves)
