"""Agreement in pictures: intervals by group, reliability by number of raters, raters in a row."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from dialens.report._charts import Chart, Drawing, named, specification
from dialens.report._wording import counted
from dialens.report.agreement._words import number, place, span

_MOST_ROWS = 40
_MOST_RATERS = 150
_MOST_LINES = 6
_FURTHEST = 60
_ZERO = ({"x": 0},)


def interval_chart(rows: pl.DataFrame, statistic: str) -> Chart:
    """One statistic for every quality and group, with the interval to report."""
    there = rows.filter((pl.col("statistic") == statistic) & pl.col("value").is_not_null())
    shown = [
        {
            "row": line,
            "name": place(row["quality"], row["group"]),
            "x": row["value"],
            "low": row["low"],
            "high": row["high"],
            "basis": row["interval"] or row["reason"],
        }
        for line, row in enumerate(there.head(_MOST_ROWS).iter_rows(named=True))
    ]
    tooltip = [
        alt.Tooltip("name:N", title="ratings"),
        alt.Tooltip("x:Q", title=statistic, format=".3~f"),
        alt.Tooltip("low:Q", title="from", format=".3~f"),
        alt.Tooltip("high:Q", title="to", format=".3~f"),
        alt.Tooltip("basis:N", title="interval"),
    ]
    rest = rows.filter(pl.col("statistic") == statistic).height - len(shown)
    note = "Dots are estimates, lines 95 % intervals; the dashed line is chance."
    if rest:
        note += f" {counted(rest, 'group')} without a value, or beyond the first {_MOST_ROWS}."
    also = str(there["also"][0]) if there.height else statistic
    title = statistic if statistic.startswith("ICC") else also
    return Chart(
        specification(_rows(shown, title, tooltip, names=True)),
        {"rows": shown, "zero": _ZERO},
        f"{title} for {counted(len(shown), 'group')} of ratings with 95 % intervals.",
        ("Ratings", title, "95 % interval", "Interval from"),
        [
            (row["name"], number(row["x"], 3), span(row["low"], row["high"], 3), row["basis"])
            for row in shown
        ],
        note,
    )


def _rows(
    shown: Sequence[Mapping[str, Any]],
    title: str,
    tooltip: list[alt.Tooltip],
    *,
    names: bool,
    colour: Any = None,
) -> Drawing:
    """Dots with intervals on rows, names above the lines or nowhere."""
    count = max(1, len(shown))
    ends = [row[key] for row in shown for key in ("x", "low", "high") if row[key] is not None]
    domain = [min([0.0, *ends]) - 0.02, max([*ends, 0.2]) + 0.02]
    scale = alt.Scale(domain=[count - 0.5, -0.75], nice=False, zero=False)
    y = alt.Y("row:Q", axis=None, scale=scale)
    x = alt.X(
        "x:Q",
        axis=alt.Axis(title=title, format="~g", tickCount=6),
        scale=alt.Scale(domain=domain, nice=False, zero=False),
    )
    colour = colour if colour is not None else alt.value("var(--accent)")
    base = alt.Chart(named("rows")).encode(y=y)
    zero = alt.Chart(named("zero")).mark_rule(style="zero").encode(x=x)
    line = base.mark_rule(strokeWidth=3 if names else 2, strokeCap="round", opacity=0.55).encode(
        x=alt.X("low:Q"), x2="high:Q", color=colour, tooltip=tooltip
    )
    dot = base.mark_point(size=80 if names else 36, opacity=1, filled=True).encode(
        x=x, color=colour, tooltip=tooltip
    )
    layers = [zero, line, dot]
    if names:
        text: dict[str, Any] = {
            "align": "left",
            "baseline": "bottom",
            "dy": -9,
            "fontSize": 12,
            "limit": 420,
        }
        halo: dict[str, Any] = {"stroke": "var(--surface)", "strokeWidth": 4, "strokeJoin": "round"}
        layers += [
            base.mark_text(**text, **look).encode(text="name:N", x=alt.value(0))
            for look in (halo, {"color": "var(--ink)"})
        ]
    height = 44 * count + 14 if names else max(90, 13 * count + 14)
    return alt.layer(*layers).properties(height=height)


def rater_chart(raters: pl.DataFrame, where: str) -> Chart:
    """Every rater's correlation with the mean of the others, lowest first."""
    there = raters.filter(pl.col("agreement").is_not_null())
    shown = [
        {
            "row": line,
            "rater": row["rater"],
            "x": row["agreement"],
            "low": row["low"],
            "high": row["high"],
            "n": row["n_items"],
            "odd": bool(row["at_odds"]),
        }
        for line, row in enumerate(there.head(_MOST_RATERS).iter_rows(named=True))
    ]
    tooltip = [
        alt.Tooltip("rater:N", title="rater"),
        alt.Tooltip("x:Q", title="correlation", format=".3~f"),
        alt.Tooltip("low:Q", title="from", format=".3~f"),
        alt.Tooltip("high:Q", title="to", format=".3~f"),
        alt.Tooltip("n:Q", title="items shared", format=","),
    ]
    colour = alt.condition("datum.odd", alt.value("var(--focus)"), alt.value("var(--accent)"))
    chart = _rows(
        shown, "Correlation with the mean of the others", tooltip, names=False, colour=colour
    )
    odd = sum(row["odd"] for row in shown)
    note = f"One line a rater, the one who agrees least on top; {odd} at odds with the rest"
    note += " (orange)." if odd else "."
    rest = raters.height - len(shown)
    if rest:
        note += f" {counted(rest, 'rater')} with too few items, or beyond the first {_MOST_RATERS}."
    return Chart(
        specification(chart),
        {"rows": shown, "zero": _ZERO},
        f"Agreement of {counted(len(shown), 'rater')} with the rest, {where}.",
        ("Rater", "Correlation", "95 % interval", "Items shared"),
        [
            (row["rater"], number(row["x"], 3), span(row["low"], row["high"], 3), f"{row['n']:,}")
            for row in shown
        ],
        note,
    )


def panel_chart(panel: pl.DataFrame, basis: str) -> Chart:
    """Reliability of an item's mean by how many ratings it is the mean of."""
    once = panel.filter((pl.col("basis") == basis) & (pl.col("single") > 0)).unique(
        ["quality", "group"], maintain_order=True
    )
    drawn = once.head(_MOST_LINES)
    furthest = _furthest(panel.filter(pl.col("basis") == basis), drawn)
    lines = [
        {
            "name": place(row["quality"], row["group"]),
            "m": m,
            "x": m * row["single"] / (1 + (m - 1) * row["single"]),
        }
        for row in drawn.iter_rows(named=True)
        for m in range(1, furthest + 1)
    ]
    now = [
        {"name": place(row["quality"], row["group"]), "m": row["now"], "x": row["reliability_now"]}
        for row in drawn.iter_rows(named=True)
        if row["now"] <= furthest
    ]
    x = alt.X(
        "m:Q",
        axis=alt.Axis(title="Ratings an item", tickMinStep=1, format="d"),
        scale=alt.Scale(domain=[1, max(2, furthest)], nice=False, zero=False),
    )
    y = alt.Y(
        "x:Q", axis=alt.Axis(title="Reliability", format="~g"), scale=alt.Scale(domain=[0, 1])
    )
    tooltip = [
        alt.Tooltip("name:N", title="ratings"),
        alt.Tooltip("m:Q", title="ratings an item"),
        alt.Tooltip("x:Q", title="reliability", format=".3~f"),
    ]
    legend = None if drawn.height == 1 else alt.Legend(columns=2)
    colour = alt.Color("name:N", sort=None, legend=legend)
    curve = (
        alt.Chart(named("lines")).mark_line(strokeWidth=2.5).encode(x, y, colour, tooltip=tooltip)
    )
    dots = (
        alt.Chart(named("now"))
        .mark_point(size=90, filled=True, opacity=1)
        .encode(x, y, colour, tooltip=tooltip)
    )
    wanted = [{"x": target} for target in sorted(set(panel["target"]))]
    marks = alt.Chart(named("wanted")).mark_rule(style="zero")
    rest = once.height - drawn.height
    note = "Dashed lines are the wanted reliabilities"
    note += "; dots are where the data stand now." if now else "; the data stand beyond the right."
    if rest:
        note += f" The first {_MOST_LINES} groups of {once.height}."
    return Chart(
        specification(alt.layer(marks.encode(y=y), curve, dots).properties(height=280)),
        {"lines": lines, "now": now, "wanted": wanted},
        f"Reliability by number of ratings for {counted(drawn.height, 'group')}.",
        ("Ratings", "One rating", "Now", "Reliability now"),
        [
            (
                place(row["quality"], row["group"]),
                number(row["single"], 3),
                f"{row['now']:,.3g}",
                number(row["reliability_now"], 3),
            )
            for row in drawn.iter_rows(named=True)
        ],
        note,
    )


def _furthest(panel: pl.DataFrame, drawn: pl.DataFrame) -> int:
    """As far as the wanted reliabilities lie, within reason."""
    needed = panel.join(drawn, on=["quality", "group"], how="semi")["needed"].drop_nulls()
    wanted = int(needed.max() or 10) if len(needed) else 10  # type: ignore[arg-type]
    return max(4, min(_FURTHEST, wanted + 2))
