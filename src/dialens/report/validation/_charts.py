"""Correlations with their intervals, and what P adds to A."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import polars as pl

from dialens.base import counted, interval, number, p_value
from dialens.report._charts import Chart, named, row_axis, specification
from dialens.report._interval_chart import Mark, interval_chart
from dialens.report.validation._words import ALPHA

_MOST_ROWS = 26
_COLOURS = {
    "psychological": "var(--agent-2)",
    "automatic": "var(--accent)",
    "other": "var(--quiet)",
}


def correlation_chart(rows: pl.DataFrame, quality: str, labels: Mapping[str, str]) -> Chart | None:
    """Pearson's coefficients of one quality with intervals; the dashed lines are the ceiling."""
    known = rows.filter(pl.col("pearson").is_not_null())
    if not known.height:
        return None
    ordered = known.sort(pl.col("pearson").abs(), descending=True, maintain_order=True)
    grouped = ordered.filter(pl.col("group").is_not_null())
    rest = ordered.filter(pl.col("group").is_null()).head(max(0, _MOST_ROWS - grouped.height))
    shown = pl.concat([grouped, rest]).sort("pearson", descending=True, maintain_order=True)
    marks = [_mark(row, labels[row["metric"]]) for row in shown.iter_rows(named=True)]
    limit = known["highest_r"].max()
    ceiling = float(limit) if isinstance(limit, float) else None
    note = f"Filled dots: corrected p below {ALPHA:g}. Ticks: Spearman’s coefficient."
    if ceiling is not None:
        note += " Dashed lines: zero, and what a perfect metric would reach with these raters."
    hidden = known.height - len(marks)
    if hidden:
        note += f" {counted(hidden, 'weaker metric')} in the table only."
    return interval_chart(
        marks,
        axis="Pearson’s r",
        alt_text=f"Correlation of {counted(len(marks), 'metric')} with {quality}, with 95 % "
        "intervals.",
        row="Metric",
        value="Pearson",
        tick="Spearman",
        note=note,
        names="beside",
        domain=_domain(marks, ceiling),
        lines={"": [0.0]} | ({"ceiling": [ceiling], " ": [-ceiling]} if ceiling else {}),
        colours=_COLOURS,
        write=lambda value: number(value, 2),
        write_ends=lambda low, high: interval(low, high, 2),
    )


def _mark(row: Mapping[str, Any], name: str) -> Mark:
    p = row["pearson_p_adjusted"]
    return Mark(
        name,
        row["pearson"],
        row["pearson_low"],
        row["pearson_high"],
        row["group"] or "other",
        p is not None and p < ALPHA,
        row["spearman"],
        {"n": f"{row['n']:,}", "Corrected p": p_value(p)},
    )


def _domain(marks: Sequence[Mark], ceiling: float | None) -> tuple[float, float]:
    """From zero, or both ways where coefficients are negative."""
    ends = [abs(end) for m in marks for end in (m.value, m.low, m.high) if end is not None]
    reach = min(1.0, max([*ends, ceiling or 0.0]) + 0.05)
    negative = any((m.low or m.value) < -0.02 for m in marks)
    return (-reach if negative else -0.05, reach)


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
                    "p": p_value(row["p_adjusted" if lift < 0 else "cv_p_adjusted"]),
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
