"""Correlations with their intervals, and what P adds to A."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from dialens.report._charts import Chart, Drawing, named, row_axis, specification
from dialens.report._wording import counted
from dialens.report.validation._words import ALPHA, interval, number, p_text

_MOST_ROWS = 26
_GROUPS = {"psychological": "psychological", "automatic": "automatic", None: "other"}


def correlation_chart(rows: pl.DataFrame, quality: str, labels: Mapping[str, str]) -> Chart | None:
    """Pearson's coefficients of one quality with intervals; the dashed lines are the ceiling."""
    known = rows.filter(pl.col("pearson").is_not_null())
    if not known.height:
        return None
    ordered = known.sort(pl.col("pearson").abs(), descending=True, maintain_order=True)
    grouped = ordered.filter(pl.col("group").is_not_null())
    rest = ordered.filter(pl.col("group").is_null()).head(max(0, _MOST_ROWS - grouped.height))
    shown = pl.concat([grouped, rest]).sort("pearson", descending=True, maintain_order=True)
    records = [
        _record(number, row, labels) for number, row in enumerate(shown.iter_rows(named=True))
    ]
    limit = known["highest_r"].max()
    edge = float(limit) if isinstance(limit, float) else None
    chart = _layers(records, edge)
    hidden = known.height - len(records)
    note = f"Filled dots: corrected p below {ALPHA:g}. Ticks: Spearman’s coefficient."
    if limit is not None:
        note += " Dashed lines: what a perfect metric would reach with these raters."
    if hidden:
        note += f" {counted(hidden, 'weaker metric')} in the table only."
    return Chart(
        specification(chart),
        {
            "rows": records,
            "zero": [{"x": 0.0}],
            "limits": [] if edge is None else [{"x": edge}, {"x": -edge}],
        },
        f"Correlation of {counted(len(records), 'metric')} with {quality}, with 95 % intervals. "
        "The numbers stand in the table below the chart.",
        ("Metric", "Group", "Pearson", "95 % interval", "Spearman", "n", "Corrected p"),
        [
            (
                record["name"],
                record["group"],
                number(record["x"]),
                interval(record["low"], record["high"]) or "–",
                number(record["spearman"]),
                record["n"],
                record["p"],
            )
            for record in records
        ],
        note,
    )


def _record(place: int, row: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "row": place,
        "name": labels[row["metric"]],
        "group": _GROUPS[row["group"]],
        "x": row["pearson"],
        "low": row["pearson_low"],
        "high": row["pearson_high"],
        "spearman": row["spearman"],
        "n": row["n"],
        "p": p_text(row["pearson_p_adjusted"]),
        "told": row["pearson_p_adjusted"] is not None and row["pearson_p_adjusted"] < ALPHA,
    }


def _layers(records: Sequence[Mapping[str, Any]], limit: float | None) -> Drawing:
    y = row_axis(len(records))
    ends = [abs(end) for r in records for end in (r["x"], r["low"], r["high"]) if end is not None]
    reach = min(1.0, max([*ends, limit or 0.0]) + 0.05)
    low = -reach if any((r["low"] or r["x"]) < -0.02 for r in records) else -0.05
    scale = alt.Scale(domain=[low, reach], nice=False, zero=True)
    x = alt.X("x:Q", scale=scale, axis=alt.Axis(title="Pearson’s r", format="~g", tickCount=8))
    colours = alt.Scale(
        domain=["psychological", "automatic", "other"],
        range=["var(--agent-2)", "var(--accent)", "var(--quiet)"],
    )
    stroke = alt.Stroke("group:N", scale=colours, legend=None)
    hollow = alt.value("var(--surface)")
    fill = alt.condition("datum.told", alt.Fill("group:N", scale=colours), hollow)
    tooltip = [
        alt.Tooltip("name:N", title="metric"),
        alt.Tooltip("group:N"),
        alt.Tooltip("x:Q", title="Pearson", format=".3f"),
        alt.Tooltip("low:Q", title="from", format=".3f"),
        alt.Tooltip("high:Q", title="to", format=".3f"),
        alt.Tooltip("spearman:Q", title="Spearman", format=".3f"),
        alt.Tooltip("n:Q"),
        alt.Tooltip("p:N", title="corrected p"),
    ]
    base = alt.Chart(named("rows")).encode(y=y)
    zero = alt.Chart(named("zero")).mark_rule(style="zero").encode(x=x)
    layers: list[alt.Chart] = [zero]
    if limit is not None:
        rule = alt.Chart(named("limits")).mark_rule(
            strokeDash=[6, 4], stroke="var(--focus)", strokeWidth=1.5, clip=True
        )
        layers.append(rule.encode(x=x))
    line = base.mark_rule(strokeWidth=3, strokeCap="round", opacity=0.55, clip=True)
    tick = base.mark_tick(thickness=2, height=13, color="var(--ink)", opacity=0.8, clip=True)
    dot = base.mark_point(size=80, strokeWidth=2, opacity=1)
    layers += [
        line.encode(x=alt.X("low:Q", scale=scale), x2="high:Q", stroke=stroke, tooltip=tooltip),
        tick.encode(x=alt.X("spearman:Q", scale=scale), tooltip=tooltip),
        dot.encode(x=x, stroke=stroke, fill=fill, tooltip=tooltip),
    ]
    names = [record["name"] for record in records]
    return (
        alt.layer(*layers)
        .add_params(alt.param(name="names", value=names))
        .properties(height=24 * len(records) + 12)
    )


def increment_chart(
    rows: pl.DataFrame, psychological: str, labels: Mapping[str, str]
) -> Chart | None:
    """From A to P+A for every automatic metric: adjusted R², and R² on clusters not seen."""
    known = rows.filter(pl.col("psychological") == psychological, pl.col("r2_pa").is_not_null())
    if not known.height:
        return None
    ordered = known.sort("r2_pa", descending=True, maintain_order=True)
    records = []
    for place, row in enumerate(ordered.iter_rows(named=True)):
        for kind, a, both, lift in (
            ("on the same units", row["r2_a"], row["r2_pa"], -0.17),
            ("on clusters not seen", row["cv_r2_a"], row["cv_r2_pa"], 0.17),
        ):
            if a is None:
                continue
            records.append(
                {
                    "row": place + lift,
                    "name": labels[row["automatic"]],
                    "kind": kind,
                    "x": a,
                    "both": both,
                    "gain": both - a,
                    "p": p_text(row["p_adjusted" if lift < 0 else "cv_p_adjusted"]),
                    "n": row["n"],
                }
            )
    names = [labels[name] for name in ordered["automatic"]]
    y = row_axis(len(names))
    x = alt.X(
        "x:Q",
        axis=alt.Axis(title="R² (adjusted on the same units)", format="~g", tickCount=7),
        scale=alt.Scale(zero=True),
    )
    scale = alt.Scale(
        domain=["on the same units", "on clusters not seen"],
        range=["var(--quiet)", "var(--accent)"],
    )
    colour = alt.Color(
        "kind:N",
        scale=scale,
        legend=alt.Legend(orient="top", symbolType="stroke", symbolStrokeWidth=3),
    )
    tooltip = [
        alt.Tooltip("name:N", title="automatic"),
        alt.Tooltip("kind:N", title="measure"),
        alt.Tooltip("x:Q", title="A", format=".3f"),
        alt.Tooltip("both:Q", title="P+A", format=".3f"),
        alt.Tooltip("gain:Q", title="gain", format="+.3f"),
        alt.Tooltip("p:N", title="corrected p"),
    ]
    base = alt.Chart(named("rows")).encode(y=y, tooltip=tooltip)
    chart = alt.layer(
        alt.Chart(named("zero")).mark_rule(style="zero").encode(x=x),
        base.mark_rule(strokeWidth=3, strokeCap="round").encode(x=x, x2="both:Q", color=colour),
        base.mark_point(
            size=50, filled=False, fill="var(--surface)", strokeWidth=2, opacity=1
        ).encode(x=x, color=colour),
        base.mark_point(size=70, filled=True, opacity=1).encode(x=alt.X("both:Q"), color=colour),
    )
    chart = chart.add_params(alt.param(name="names", value=names)).properties(
        height=44 * len(names) + 12
    )
    return Chart(
        specification(chart),
        {"rows": records, "zero": [{"x": 0.0}]},
        f"R² of each automatic metric alone and together with {labels[psychological].lower()}. "
        "The numbers stand in the table below the chart.",
        ("Automatic", "Measure", "A", "P+A", "Gain", "Corrected p", "n"),
        [
            (
                record["name"],
                record["kind"],
                number(record["x"], 3),
                number(record["both"], 3),
                number(record["gain"], 3),
                record["p"],
                record["n"],
            )
            for record in records
        ],
        f"Ring: the automatic metric alone (A). Dot: with {labels[psychological].lower()} (P+A). A "
        "dot left of its ring means that the addition predicts worse.",
    )
