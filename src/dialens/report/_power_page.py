"""A planned study on one page: what it takes, the table, the curves."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from dialens.base import counted, interval, number
from dialens.report._charts import Chart, named, specification
from dialens.report._page import (
    Fact,
    Facts,
    Finding,
    Findings,
    Notes,
    Page,
    Plot,
    Section,
    Summary,
    Text,
    write_page,
)
from dialens.report._table import Cell, Column, Table, explained
from dialens.statistics.power import Design, FittedParts, VarianceParts

_PARTS = {
    "rater": "Between raters (severity)",
    "item": "Between items",
    "dialog": "Between dialogues on an item",
    "residual": "Rest of a single rating",
    "rater_agent": "Between raters in whom they prefer",
}
_MEASURES = {
    "power": "Power",
    "width": "Width of the interval of the difference",
    "mean_width": "Width of the interval of one agent’s mean",
}


@dataclass(frozen=True)
class PowerPlan:
    """What was asked and what came of it.

    Attributes:
        table: Columns of `dialens.statistics.power._curve.CURVE`.
        parts: What ratings are made of.
        design: What all designs share.
        alpha: Of the tests.
        power: Wanted.
        width: Wanted, of the interval of a difference; None if nothing was.
        fitted: Where the variances come from, if they were fitted.
    """

    table: pl.DataFrame
    parts: VarianceParts
    design: Design
    alpha: float
    power: float
    width: float | None
    fitted: FittedParts | None

    def to_dict(self) -> dict[str, Any]:
        """As `power.json` holds it."""
        return {
            "parts": vars(self.parts),
            "shared_raters": self.design.shared_raters,
            "paired": self.design.paired,
            "scale": self.design.scale,
            "mean": self.design.mean,
            "alpha": self.alpha,
            "wanted_power": self.power,
            "wanted_width": self.width,
            "fitted": None
            if self.fitted is None
            else {
                "quality": self.fitted.quality,
                "n": self.fitted.n,
                "mean": self.fitted.mean,
                "notes": list(self.fitted.notes),
                "method": self.fitted.method,
            },
            "rows": self.table.to_dicts(),
        }


def write_power(plan: PowerPlan, path: Path, *, title: str) -> Summary:
    """Write what a planned study takes into one HTML file that needs nothing else.

    Args:
        plan: What was asked and what came of it.
        path: The file; it appears whole or not at all.
        title: Heading of the page.
    """
    designs = findings(plan)
    notes = plan.fitted.notes if plan.fitted else ()
    parts = [
        Fact(text, f"standard deviation {getattr(plan.parts, name):.3f}")
        for name, text in _PARTS.items()
    ]
    sections = [
        Section("takes", "What it takes", [Findings(designs), Notes("What to know", notes)]),
        Section("curves", "Curves", [_curves(plan)]),
        Section("designs", "Every design", [_designs(plan.table)]),
        Section("about", "How it was computed", [Text(_method(plan), soft=False), Facts(parts)]),
    ]
    return write_page(Page(title, designs[0].claim, _scope(plan), sections), path)


def _curves(plan: PowerPlan) -> Plot:
    charts: dict[str, Chart] = {}
    labels = {}
    for (effect, dialogs), rows in plan.table.group_by("effect", "dialogs", maintain_order=True):
        for measure, text in _MEASURES.items():
            chart = _curve(rows, measure, plan)
            if chart is None or (measure != "power" and f"{measure}|{dialogs}" in charts):
                continue
            key = f"{measure}|{effect}|{dialogs}" if measure == "power" else f"{measure}|{dialogs}"
            charts[key] = chart
            about = f" to see a difference of {effect:g}" if measure == "power" else ""
            each = f", {counted(int(str(dialogs)), 'dialogue')} an item" if dialogs != 1 else ""
            labels[key] = f"{text}{about}{each}"
    return Plot("curve", charts, "Shown", labels)


def findings(plan: PowerPlan) -> list[Finding]:
    """The cheapest designs that give what was wanted, one a wish."""
    found = [
        _power_finding(plan, effect)
        for effect in plan.table["effect"].unique(maintain_order=True)
        if effect and plan.table.filter(pl.col("effect") == effect)["power"].is_not_null().any()
    ]
    if plan.width is not None:
        found.append(_width_finding(plan, plan.width))
    if not found:
        row = plan.table.filter(pl.col("width").is_not_null()).sort("ratings").row(-1, named=True)
        found.append(
            Finding(
                f"With {_design(row)} the interval of a difference is {row['width']:.2f} wide",
                "State an --effect to see power, or a --width to see what it takes",
            )
        )
    return found


def _power_finding(plan: PowerPlan, effect: float) -> Finding:
    rows = plan.table.filter(pl.col("effect") == effect, pl.col("power").is_not_null())
    enough = rows.filter(pl.col("power") >= plan.power).sort("ratings", "raters")
    if enough.height:
        row = enough.row(0, named=True)
        return Finding(
            f"A difference of {effect:g} between two agents is seen with a power of "
            f"{plan.power:g} by {_design(row)}",
            f"Power {row['power']:.2f} (simulation error {row['power_low']:.2f} to "
            f"{row['power_high']:.2f}); the fewest ratings on this grid: "
            f"{row['ratings']:,} for both agents{_fewest_items(enough, row)}",
        )
    row = rows.sort("power", descending=True).row(0, named=True)
    return Finding(
        f"No design on this grid sees a difference of {effect:g} with a power of {plan.power:g}",
        f"The best is {_design(row)}: power {row['power']:.2f}. Try more items: raters alone "
        "cannot make up for few of them",
    )


def _fewest_items(enough: pl.DataFrame, cheapest: Mapping[str, Any]) -> str:
    row = enough.sort("items", "ratings").row(0, named=True)
    if row["items"] == cheapest["items"]:
        return ""
    return f". The fewest items: {_design(row)} ({row['ratings']:,} ratings)"


def _width_finding(plan: PowerPlan, wanted: float) -> Finding:
    rows = plan.table.filter(pl.col("width").is_not_null())
    enough = rows.filter(pl.col("width") <= wanted).sort("ratings", "raters")
    if enough.height:
        row = enough.row(0, named=True)
        return Finding(
            f"An interval of the difference no wider than {wanted:g} takes {_design(row)}",
            f"Mean width {row['width']:.3f} ({row['width_low']:.3f} to {row['width_high']:.3f}); "
            f"the fewest ratings on this grid: {row['ratings']:,} for both agents",
        )
    row = rows.sort("width").row(0, named=True)
    return Finding(
        f"No design on this grid gives an interval of {wanted:g}",
        f"The narrowest, {row['width']:.3f}, is that of {_design(row)}",
    )


def _design(row: Mapping[str, Any]) -> str:
    dialogs = "" if row["dialogs"] == 1 else f" with {row['dialogs']} dialogues each"
    return f"{counted(row['items'], 'item')}{dialogs}, {counted(row['raters'], 'rater')} a dialogue"


def _scope(plan: PowerPlan) -> str:
    designs = plan.table.select("raters", "items", "dialogs").n_unique()
    simulations = int(plan.table["simulations"][0])
    where = (
        f"variances of {counted(plan.fitted.n, 'rating')} of {plan.fitted.quality}"
        if plan.fitted
        else "stated variances"
    )
    return f"{counted(designs, 'design')}, {simulations:,} simulated studies each, from {where}"


def _method(plan: PowerPlan) -> str:
    raters = (
        "The same raters rate all dialogues"
        if plan.design.shared_raters
        else "Every dialogue has raters of its own"
    )
    items = (
        "both agents answer the same items, and items are compared in pairs"
        if plan.design.paired
        else "each agent answers items of its own"
    )
    scale = ""
    if plan.design.scale:
        low, high = plan.design.scale
        scale = f" Ratings are rounded to whole numbers from {low:g} to {high:g}."
    return (
        f"{raters}; {items}.{scale} Ratings are normal around agent, item, dialogue and rater. A "
        f"difference is seen where a two-sided test over items has p below {plan.alpha:g}; where "
        "shared raters differ, both raters and items count as samples (Satterthwaite). Power is "
        "given with the 95 % error of the simulation, and beside it the closed form (noncentral "
        "t), where the design has one. One test: if several will be corrected together, give a "
        "smaller --alpha."
    )


def _designs(table: pl.DataFrame) -> Table:
    tested = bool(table["power"].is_not_null().any())
    measures = [name for name in _MEASURES if tested or name != "power"]
    counts = {
        "raters": "Raters a dialogue",
        "items": "Items",
        "dialogs": "Dialogues an item",
        "ratings": "Ratings for both agents",
    }
    heads: list[Column | str] = [Column(text, "number") for text in counts.values()]
    heads += ["Difference", Column("Power", "number"), "Closed form"] if tested else []
    heads += [Column("Width of the difference", "number"), Column("Width of one mean", "number")]
    rows = []
    for row in table.iter_rows(named=True):
        cells: list[Cell | str] = [Cell(f"{row[name]:,}", row[name]) for name in counts]
        cells += [f"{row['effect']:g}"] if tested else []
        measured = [_measured(row, name) for name in measures]
        if tested:
            measured.insert(1, Cell(number(row["power_exact"], 3)))
        rows.append([*cells, *measured])
    return Table("designs", "Every design", heads, rows)


def _measured(row: Mapping[str, Any], name: str) -> Cell:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    text = number(row[name], 3)
    if low is None:
        return explained(text, row[name], row["reason"])
    return Cell(text, row[name], interval(low, high, 3))


def _curve(rows: pl.DataFrame, measure: str, plan: PowerPlan) -> Chart | None:
    """One line a number of raters over the number of items; bands are simulation error."""
    known = rows.filter(pl.col(measure).is_not_null()).sort("raters", "items")
    if not known.height:
        return None
    records = [
        {
            "items": row["items"],
            "line": counted(row["raters"], "rater"),
            "raters": row["raters"],
            "value": row[measure],
            "low": row[f"{measure}_low"],
            "high": row[f"{measure}_high"],
            "ratings": row["ratings"],
        }
        for row in known.iter_rows(named=True)
    ]
    lines = list(dict.fromkeys(record["line"] for record in records))
    ticks = sorted({record["items"] for record in records})
    x = alt.X(
        "items:Q",
        scale=alt.Scale(type="log", nice=False),
        axis=alt.Axis(title="Items", values=ticks, format="d", grid=True),
    )
    domain = [0, 1] if measure == "power" else [0, max(record["high"] for record in records)]
    y = alt.Y(
        "value:Q",
        scale=alt.Scale(domain=domain, nice=measure != "power"),
        axis=alt.Axis(title=_MEASURES[measure], format="~g", tickCount=6, grid=True),
    )
    colour = alt.Color("line:N", sort=lines, legend=alt.Legend(orient="top"))
    tooltip = [
        alt.Tooltip("raters:Q"),
        alt.Tooltip("items:Q"),
        alt.Tooltip("ratings:Q", title="ratings for both agents"),
        alt.Tooltip("value:Q", title=_MEASURES[measure].lower(), format=".3f"),
        alt.Tooltip("low:Q", title="from", format=".3f"),
        alt.Tooltip("high:Q", title="to", format=".3f"),
    ]
    base = alt.Chart(named("rows")).encode(x=x, color=colour)
    layers: list[alt.Chart] = [
        base.mark_area(opacity=0.16).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(y=y),
        base.mark_point(size=60, filled=True, opacity=1).encode(y=y, tooltip=tooltip),
    ]
    wanted = plan.power if measure == "power" else plan.width if measure == "width" else None
    if wanted is not None:
        rule = alt.Chart(named("wanted")).mark_rule(style="zero").encode(y=alt.Y("value:Q"))
        layers.insert(0, rule)
    simulations = int(rows["simulations"][0])
    return Chart(
        specification(alt.layer(*layers).properties(height=340)),
        {"rows": records, "wanted": [] if wanted is None else [{"value": wanted}]},
        f"{_MEASURES[measure]} over the number of items, one line a number of raters. "
        "The numbers stand in the table below the chart.",
        ("Raters", "Items", "Ratings", _MEASURES[measure], "Simulation error"),
        [
            (
                record["raters"],
                record["items"],
                f"{record['ratings']:,}",
                f"{record['value']:.3f}",
                f"{record['low']:.3f} to {record['high']:.3f}",
            )
            for record in records
        ],
        f"Bands: 95 % error of {simulations:,} simulated studies a point. "
        + ("Dashed: what is wanted." if wanted is not None else ""),
    )
