"""What a planned study takes, in sentences: its power first, then what to change."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import polars as pl

from dialens.base import counted, number
from dialens.report._page import Finding
from dialens.report._power_judge import mix_finding
from dialens.statistics.power import (
    Advice,
    Change,
    Design,
    FittedParts,
    JudgeMix,
    cheapest,
    price_of,
)

_KNOWN = pl.coalesce("power_exact", "power")
"""Power: the closed form where there is one, for it has no error."""


@dataclass(frozen=True)
class PowerPlan:
    """What was asked and what came of it.

    Attributes:
        table: One row a design (`dialens.statistics.power.power_curve` says which columns).
        outcome: `mean`, `binary`, `pairwise` or `icc`.
        parts: Standard deviations that were assumed, by name.
        design: What all designs share.
        settings: Everything else that was assumed, by name, for `power.json`.
        alpha: Of each test.
        comparisons: How many tests share the error; `alpha` is already divided by it.
        power: Wanted.
        width: Wanted, of the interval of a difference; None if nothing was.
        margin: The smallest difference that matters, where equivalence is to be shown.
        first: Share of the first agent, of a binary outcome.
        advice: What to change, by what is looked for, where the best design sees too little.
        price: Of one rating, in money.
        fitted: Where the variances come from, if they were fitted.
        mixes: The cheapest mix of people and a judge, by what is looked for, if one was asked for.
    """

    table: pl.DataFrame
    outcome: str
    parts: Mapping[str, float]
    design: Design
    alpha: float
    power: float
    comparisons: int = 1
    width: float | None = None
    margin: float | None = None
    first: float = 0.5
    settings: Mapping[str, Any] = field(default_factory=dict)
    advice: Mapping[float, Advice] = field(default_factory=dict)
    price: float | None = None
    fitted: FittedParts | None = None
    mixes: Mapping[float, JudgeMix] = field(default_factory=dict)

    @property
    def whom(self) -> str:
        """What is compared."""
        return "cells" if self.design.between else "agents"

    def to_dict(self) -> dict[str, Any]:
        """As `power.json` holds it."""
        return {
            "outcome": self.outcome,
            "parts": dict(self.parts),
            "between": self.design.between,
            "shared_raters": self.design.shared_raters,
            "paired": self.design.paired,
            "scale": self.design.scale,
            "mean": self.design.mean,
            **self.settings,
            "alpha": self.alpha,
            "comparisons": self.comparisons,
            "wanted_power": self.power,
            "wanted_width": self.width,
            "margin": self.margin,
            "price": self.price,
            "fitted": None
            if self.fitted is None
            else {
                "quality": self.fitted.quality,
                "n": self.fitted.n,
                "mean": self.fitted.mean,
                "notes": list(self.fitted.notes),
                "method": self.fitted.method,
            },
            "advice": [
                {"effect": effect, "better": advice.better.what}
                | {change.what: vars(change) for change in (advice.items, advice.raters)}
                for effect, advice in self.advice.items()
            ],
            "judge": [vars(mix) for mix in self.mixes.values()],
            "rows": self.table.to_dicts(),
        }


def findings(plan: PowerPlan) -> list[Finding]:
    """What the study sees and how to see more, one finding for each thing looked for."""
    found = [mix_finding(mix, plan.power) for mix in plan.mixes.values()]
    found += [
        _power_finding(plan, effect)
        for effect in plan.table["effect"].unique(maintain_order=True)
        if plan.table.filter(pl.col("effect") == effect)["power"].is_not_null().any()
        and plan.outcome != "icc"
    ]
    if plan.width is not None:
        effects = plan.table["effect"].unique(maintain_order=True) if plan.outcome == "icc" else [0]
        found += [_width_finding(plan, plan.width, float(effect)) for effect in effects]
    if not found:
        row = plan.table.filter(pl.col("width").is_not_null()).sort("ratings").row(-1, named=True)
        remedy = {"mean": "State an --effect to see power, or a", "icc": "State a"}
        found.append(
            Finding(
                f"With {design_of(plan, row)} {_interval_of(plan, row['effect'])} is "
                f"{row['width']:.2f} wide",
                f"{remedy.get(plan.outcome, 'State a')} --width to see what it takes",
            )
        )
    return found


def subject(plan: PowerPlan, effect: float) -> str:
    """What is looked for, as it begins a sentence."""
    if plan.margin is not None:
        true = f" (the true difference is {effect:g})" if effect else ""
        return f"That two {plan.whom} differ by less than {plan.margin:g}{true}"
    if plan.outcome == "binary":
        shares = [number(share, percent=True) for share in (plan.first, plan.first + effect)]
        return f"A difference between shares of {shares[0]} and {shares[1]}"
    if plan.outcome == "pairwise":
        return f"A win rate of {number(0.5 + effect, percent=True)}"
    return f"A difference of {effect:g} between two {plan.whom}"


def design_of(plan: PowerPlan, row: Mapping[str, Any]) -> str:
    """A design in a few words."""
    items = counted(row["items"], "item")
    if plan.design.between:
        each = plan.settings.get("each")
        dealt = f", of which each rater rates {each}" if each else ""
        return f"{counted(row['raters'], 'rater')}{whose(plan)} and {items}{dealt}"
    dialogs = "" if row["dialogs"] == 1 else f" with {row['dialogs']} dialogues each"
    return f"{items}{dialogs}, {counted(row['raters'], 'rater')}{whose(plan)}"


def whose(plan: PowerPlan) -> str:
    """What raters are counted by."""
    if plan.design.between:
        return " a cell"
    if plan.design.shared_raters:
        return " for all"
    return {"pairwise": " a pair", "icc": " an item"}.get(plan.outcome, " a dialogue")


def _power_finding(plan: PowerPlan, effect: float) -> Finding:
    row = cheapest(plan.table, effect, plan.power)
    assert row is not None  # `findings` asks only for what could be tested
    rows = plan.table.filter(pl.col("effect") == effect, pl.col("power").is_not_null())
    rows = rows.with_columns(known=_KNOWN)
    verb = "shown" if plan.margin is not None else "seen"
    claim = (
        f"{subject(plan, effect)} is {verb} with a power of {row['known']:.2f} by "
        f"{design_of(plan, row)}"
    )
    basis = f"{price_of(row['ratings'], plan.price)} in all{_error(row)}"
    if row["known"] >= plan.power:
        alone = rows.height == 1
        fewest = f"{basis}; {'enough for' if alone else 'the fewest on this grid for'} the "
        enough = rows.filter(pl.col("known") >= plan.power)
        return Finding(claim, f"{fewest}{plan.power:g} wanted{_fewest_items(plan, enough, row)}")
    claim += f", less than the {plan.power:g} wanted"
    best = rows.sort("known", descending=True).row(0, named=True)
    if best["known"] > row["known"]:
        basis += (
            f"; the most powerful on this grid, {design_of(plan, best)}, has {best['known']:.2f} "
            f"for {price_of(best['ratings'], plan.price)}"
        )
    advice = plan.advice.get(effect)
    return Finding(claim, basis if advice is None else f"{basis}. {advised(advice, plan.price)}")


def _error(row: Mapping[str, Any]) -> str:
    if row["power_exact"] is not None or row["power_low"] is None:
        return ""
    return f", simulation error {row['power_low']:.2f} to {row['power_high']:.2f}"


def advised(advice: Advice, price: float | None = None) -> str:
    """Both ways to see more with their gain and price, and the cheaper one.

    Args:
        advice: What more items and more raters bring.
        price: Of one rating, in money.
    """
    better = advice.better
    other = advice.items if better is advice.raters else advice.raters
    steps = "; ".join(_step(change, price) for change in (better, other))
    if better.needed is None or better.needed_ratings is None:
        neither = (
            f"{steps}. Neither alone reaches {advice.wanted:g} ({better.tried:,} {better.what} or "
            f"{other.tried:,} {other.what} were tried); {better.what} bring more for a rating"
        )
        both = advice.together
        if both is None:
            return f"{neither}, and no larger study of both that was tried gets there either"
        extra = price_of(both.ratings - advice.study.ratings, price)
        return (
            f"{neither}. Both together do: {counted(both.raters, 'rater')} and "
            f"{counted(both.items, 'item')} give a power of {both.power.value:.2f} for {extra} more"
        )
    reached = (
        f"{steps}. More {better.what} are the cheaper way: {better.needed:,} in all give a power "
        f"of {better.needed_power:.2f} for {price_of(better.needed_ratings, price)} more"
    )
    if other.needed is None or other.needed_ratings is None:
        return f"{reached}; {other.what} alone do not get there, not even {other.tried:,}"
    return (
        f"{reached}; with {other.what} it takes {other.needed:,} and "
        f"{price_of(other.needed_ratings, price)} more"
    )


def _step(change: Change, price: float | None) -> str:
    noun = change.what.removesuffix("s")
    error = "" if change.error is None else f" (± {change.error:.2f})"
    more = counted(change.more, f"more {noun}", f"more {change.what}")
    sign = "+" if change.gain >= 0 else "−"
    return f"{more}: {sign}{abs(change.gain):.2f}{error} for {price_of(change.ratings, price)}"


def _fewest_items(plan: PowerPlan, enough: pl.DataFrame, cheapest: Mapping[str, Any]) -> str:
    row = enough.sort("items", "ratings").row(0, named=True)
    if row["items"] == cheapest["items"]:
        return ""
    return f". The fewest items: {design_of(plan, row)} ({price_of(row['ratings'], plan.price)})"


def _interval_of(plan: PowerPlan, effect: float) -> str:
    if plan.outcome == "icc":
        return f"the interval of an ICC of {effect:g}"
    return f"the interval of {'a win rate' if plan.outcome == 'pairwise' else 'a difference'}"


def _width_finding(plan: PowerPlan, wanted: float, effect: float) -> Finding:
    rows = plan.table.filter(pl.col("width").is_not_null())
    if plan.outcome == "icc":
        rows = rows.filter(pl.col("effect") == effect)
    enough = rows.filter(pl.col("width") <= wanted).sort("ratings", "raters")
    what = _interval_of(plan, effect)
    if not enough.height:
        row = rows.sort("width").row(0, named=True)
        return Finding(
            f"No design on this grid makes {what} as narrow as {wanted:g}",
            f"The narrowest, {row['width']:.3f}, is that of {design_of(plan, row)}. "
            + _narrower(plan, rows, row),
        )
    row = enough.row(0, named=True)
    assured = ""
    if plan.outcome == "icc":
        assured = f"; {number(row['power'], percent=True)} of studies have one that narrow"
    return Finding(
        f"{what[0].upper()}{what[1:]} no wider than {wanted:g} takes {design_of(plan, row)}",
        f"Mean width {row['width']:.3f}{assured}; {price_of(row['ratings'], plan.price)} in all, "
        "the fewest on this grid",
    )


def _narrower(plan: PowerPlan, rows: pl.DataFrame, best: Mapping[str, Any]) -> str:
    """How much narrower the interval got with the last step of items and of raters."""
    said = []
    for what, other in (("items", "raters"), ("raters", "items")):
        line = rows.filter(pl.col(other) == best[other]).sort(what)
        fewer = line.filter(pl.col(what) < best[what])
        if fewer.height:
            before = fewer.row(-1, named=True)
            said.append(
                f"from {before[what]:,} to {best[what]:,} {what} it lost "
                f"{before['width'] - best['width']:.3f} for "
                f"{price_of(best['ratings'] - before['ratings'], plan.price)}"
            )
    return "Try more of both" if not said else f"On this grid, {' and '.join(said)}"
