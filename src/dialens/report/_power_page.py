"""A planned study on one page: what it takes, the table, the curves."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import altair as alt
import polars as pl

from dialens.base import counted, interval, number
from dialens.report._charts import Chart, named, specification
from dialens.report._page import (
    Fact,
    Facts,
    Findings,
    Notes,
    Page,
    Plot,
    Section,
    Summary,
    Text,
    write_page,
)
from dialens.report._power_words import PowerPlan, findings, subject, whose
from dialens.report._table import Cell, Column, Table, explained

_PARTS = {
    "rater": "Between raters (severity)",
    "item": "Between items",
    "dialog": "Between dialogues on an item",
    "residual": "Rest of a single rating",
    "rater_agent": "Between raters in whom they prefer",
    "item_cell": "Between items in how much a condition moves them",
}


def _measures(plan: PowerPlan) -> dict[str, str]:
    """What the table and the curves show, by column."""
    if plan.outcome == "icc":
        wanted = f" of {plan.width:g}" if plan.width else ""
        return {"width": "Width of the interval of the ICC", "power": f"Chance of a width{wanted}"}
    what = "win rate" if plan.outcome == "pairwise" else "difference"
    measures = {"power": "Power", "width": f"Width of the interval of the {what}"}
    if plan.table["mean_width"].is_not_null().any():
        measures["mean_width"] = "Width of the interval of one mean"
    return measures


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
        Fact(_PARTS[name], f"standard deviation {value:.3f}{_unit(plan)}")
        for name, value in plan.parts.items()
    ]
    sections = [
        Section("takes", "What it takes", [Findings(designs), Notes("What to know", notes)]),
        Section("curves", "Curves", [_curves(plan)]),
        Section("designs", "Every design", [_designs(plan)]),
        Section("about", "How it was computed", _about(plan, parts)),
    ]
    return write_page(Page(title, designs[0].claim, _scope(plan), sections), path)


def _about(plan: PowerPlan, parts: list[Fact]) -> list[Text | Facts]:
    method: list[Text | Facts] = [Text(_method(plan), soft=False)]
    return [*method, Facts(parts)] if parts else method


def _unit(plan: PowerPlan) -> str:
    return "" if plan.outcome == "mean" else " logits"


def _curves(plan: PowerPlan) -> Plot:
    charts: dict[str, Chart] = {}
    labels = {}
    for (effect, dialogs), rows in plan.table.group_by("effect", "dialogs", maintain_order=True):
        for measure, text in _measures(plan).items():
            chart = _curve(rows, measure, plan)
            # Widths of means are those of any effect; those of shares and ICCs are not.
            own = measure == "power" or plan.outcome != "mean"
            key = f"{measure}|{effect}|{dialogs}" if own else f"{measure}|{dialogs}"
            if chart is None or key in charts:
                continue
            charts[key] = chart
            about = f": {_looked_for(plan, float(str(effect)))}" if own else ""
            each = f", {counted(int(str(dialogs)), 'dialogue')} an item" if dialogs != 1 else ""
            labels[key] = f"{text}{about}{each}"
    return Plot("curve", charts, "Shown", labels)


def _looked_for(plan: PowerPlan, effect: float) -> str:
    if plan.outcome == "icc":
        return f"an ICC of {effect:g}"
    text = subject(plan, effect)
    return text[0].lower() + text[1:]


def _scope(plan: PowerPlan) -> str:
    designs = plan.table.select("raters", "items", "dialogs").n_unique()
    simulations = int(plan.table["simulations"].max())  # type: ignore[arg-type]
    how = f"{simulations:,} simulated studies each" if simulations else "computed in closed form"
    where = (
        f"variances of {counted(plan.fitted.n, 'rating')} of {plan.fitted.quality}"
        if plan.fitted
        else "stated variances"
    )
    origin = f", from {where}" if plan.parts else ""
    return f"{counted(designs, 'design')}, {how}{origin}"


def _method(plan: PowerPlan) -> str:
    design = plan.design
    raters = (
        "The same raters rate all dialogues"
        if design.shared_raters
        else "Every dialogue has raters of its own"
    )
    items = (
        "both agents answer the same items, and items are compared in pairs"
        if design.paired
        else "each agent answers items of its own"
    )
    who = f"{raters}; {items}."
    if design.between:
        who = "Every cell has raters of its own; the cells show the same items."
    if plan.outcome in ("pairwise", "icc"):
        who = f"{raters}."
    scale = ""
    if design.scale:
        low, high = design.scale
        scale = f" Ratings are rounded to whole numbers from {low:g} to {high:g}."
    return f"{who}{scale} {_test(plan)} {_level(plan)}"


def _test(plan: PowerPlan) -> str:
    error = (
        "Power is given with the 95 % error of the simulation, and beside it the closed form, "
        "where the design has one."
    )
    if plan.outcome == "icc":
        return (
            "The interval is the exact one by F, averaged over its distribution (of ICC(1), or of "
            "ICC(3,1) for raters who rate everything), or McGraw and Wong's of ICC(2,1) in "
            "simulated studies, where raters' own levels have a share of the variance. Bonett's "
            "(2002) formula gives almost the same numbers of items."
        )
    if plan.outcome == "pairwise":
        return (
            "Without variance of raters and items it is the exact binomial test of the comparisons "
            "that are decided. Otherwise comparisons are drawn from a logistic model, a tie is "
            f"half a win, and the mean is tested over items, and raters who come back. {error}"
        )
    if plan.outcome == "binary":
        return (
            "Without variance of raters and items it is the normal test of two proportions. "
            "Otherwise answers are drawn from a logistic model, and shares are compared over items "
            f"or raters, whichever were sampled. {error}"
        )
    if plan.design.between:
        return (
            "A difference is tested over the means of raters, and where a condition moves some "
            "items more than others, over items as well (Satterthwaite); its power is the tail of "
            "a noncentral t."
        )
    return (
        "Ratings are normal around agent, item, dialogue and rater. A difference is tested over "
        "items; where shared raters differ, both raters and items count as samples "
        f"(Satterthwaite). {error}"
    )


def _level(plan: PowerPlan) -> str:
    if plan.outcome == "icc":
        return f"The intervals have a confidence of {number(1 - plan.alpha, percent=True)}."
    shared = (
        f"{plan.comparisons} comparisons share the error: each is tested at {plan.alpha:.3g} "
        "(Bonferroni; Holm's correction sees at least as much)."
        if plan.comparisons > 1
        else ""
    )
    if plan.margin is not None:
        return (
            "Equivalence is shown where both one-sided tests against the margin have p below "
            f"{plan.alpha:.3g}. {shared}"
        ).strip()
    if shared:
        return shared
    return (
        f"One two-sided test at {plan.alpha:.3g}; if several will be corrected together, give "
        "--comparisons."
    )


def _designs(plan: PowerPlan) -> Table:
    table = plan.table
    tested = bool(table["power"].is_not_null().any())
    measures = {k: v for k, v in _measures(plan).items() if tested or k != "power"}
    simulated = tested and bool((table["simulations"] > 0).any())
    counts = {
        "raters": f"Raters{whose(plan)}",
        "items": "Items",
        "dialogs": "Dialogues an item",
        "ratings": "Ratings in all",
    }
    if (table["dialogs"] == 1).all():
        del counts["dialogs"]
    varied = tested or plan.outcome == "icc"
    heads: list[Column | str] = [Column(text, "number") for text in counts.values()]
    heads += [_effect_head(plan)] if varied else []
    for name, text in measures.items():
        heads.append(Column(text, "number"))
        heads += ["Closed form"] if name == "power" and simulated else []
    rows = []
    for row in table.iter_rows(named=True):
        cells: list[Cell | str] = [Cell(f"{row[name]:,}", row[name]) for name in counts]
        cells += [_effect(plan, row["effect"])] if varied else []
        for name in measures:
            cells.append(_measured(row, name))
            if name == "power" and simulated:
                cells.append(Cell(number(row["power_exact"], 3)))
        rows.append(cells)
    return Table("designs", "Every design", heads, rows)


def _effect_head(plan: PowerPlan) -> str:
    heads = {"binary": "Shares", "pairwise": "Win rate", "icc": "ICC"}
    return heads.get(plan.outcome, "Difference")


def _effect(plan: PowerPlan, effect: float) -> str:
    if plan.outcome == "binary":
        ends = (number(share, percent=True) for share in (plan.first, plan.first + effect))
        return " and ".join(ends)
    if plan.outcome == "pairwise":
        return number(0.5 + effect, percent=True)
    return f"{effect:g}"


def _measured(row: Mapping[str, Any], name: str) -> Cell:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    text = number(row[name], 3)
    if low is None and row[name] is not None:
        return Cell(text, row[name])
    if low is None:
        return explained(text, row[name], row["reason"])
    return Cell(text, row[name], interval(low, high, 3))


def _end(row: Mapping[str, Any], measure: str, end: str) -> float:
    """An end of the band of simulation error; the value itself where it was computed."""
    bound = row[f"{measure}_{end}"]
    return float(row[measure] if bound is None else bound)


def _curve(rows: pl.DataFrame, measure: str, plan: PowerPlan) -> Chart | None:
    """One line a number of raters over the number of items; bands are simulation error."""
    known = rows.filter(pl.col(measure).is_not_null()).sort("raters", "items")
    if not known.height:
        return None
    title = _measures(plan)[measure]
    records = [
        {
            "items": row["items"],
            "line": counted(row["raters"], "rater"),
            "raters": row["raters"],
            "value": row[measure],
            "low": _end(row, measure, "low"),
            "high": _end(row, measure, "high"),
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
        axis=alt.Axis(title=title, format="~g", tickCount=6, grid=True),
    )
    colour = alt.Color("line:N", sort=lines, legend=alt.Legend(orient="top"))
    tooltip = [
        alt.Tooltip("raters:Q"),
        alt.Tooltip("items:Q"),
        alt.Tooltip("ratings:Q", title="ratings in all"),
        alt.Tooltip("value:Q", title=title.lower(), format=".3f"),
        alt.Tooltip("low:Q", title="from", format=".3f"),
        alt.Tooltip("high:Q", title="to", format=".3f"),
    ]
    base = alt.Chart(named("rows")).encode(x=x, color=colour)
    layers: list[alt.Chart] = [
        base.mark_area(opacity=0.16).encode(y=alt.Y("low:Q"), y2="high:Q"),
        base.mark_line(strokeWidth=2).encode(y=y),
        base.mark_point(size=60, filled=True, opacity=1).encode(y=y, tooltip=tooltip),
    ]
    assured = None if plan.outcome == "icc" else plan.power
    wanted = assured if measure == "power" else plan.width if measure == "width" else None
    if wanted is not None:
        rule = alt.Chart(named("wanted")).mark_rule(style="zero").encode(y=alt.Y("value:Q"))
        layers.insert(0, rule)
    simulations = int(rows["simulations"][0])
    bands = f"Bands: 95 % error of {simulations:,} simulated studies a point. "
    return Chart(
        specification(alt.layer(*layers).properties(height=340)),
        {"rows": records, "wanted": [] if wanted is None else [{"value": wanted}]},
        f"{title} over the number of items, one line a number of raters. "
        "The numbers stand in the table below the chart.",
        ("Raters", "Items", "Ratings", title, "Simulation error"),
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
        (bands if simulations else "Computed in closed form. ")
        + ("Dashed: what is wanted." if wanted is not None else ""),
    )
