"""Metrics with human judgements: a cell a pair, coloured by the sign and strength of r."""

from collections.abc import Mapping
from typing import Any

import altair as alt
import polars as pl

from dialens.base import counted, interval, number, p_value
from dialens.report._charts import Chart, named, specification
from dialens.report.validation._words import ALPHA

_ROW = 24


def judgement_map(rows: pl.DataFrame, labels: Mapping[str, str]) -> Chart | None:
    """Pearson's coefficients of all metrics with all qualities, of one level and scope."""
    known = rows.filter(pl.col("pearson").is_not_null())
    if not known.height:
        return None
    strength = known.group_by("metric", maintain_order=True).agg(pl.col("pearson").abs().max())
    metrics = strength.sort("pearson", descending=True, maintain_order=True)["metric"].to_list()
    qualities = known["quality"].unique(maintain_order=True).to_list()
    cells = [_cell(row, labels) for row in known.iter_rows(named=True)]
    names = [labels[name] for name in metrics]
    x = alt.X(
        "quality:N",
        sort=qualities,
        axis=alt.Axis(
            orient="top",
            title=None,
            ticks=False,
            domain=False,
            labelAngle=0,
            labelLimit=110,
            labelOverlap=False,
        ),
    )
    y = alt.Y(
        "metric:N",
        sort=names,
        axis=alt.Axis(title=None, ticks=False, domain=False, labelLimit=190, labelOverlap=False),
    )
    tooltip = [
        alt.Tooltip("metric:N", title="metric"),
        alt.Tooltip("quality:N", title="judgement"),
        alt.Tooltip("r:Q", title="r", format="+.3f"),
        alt.Tooltip("ends:N", title="95 % interval"),
        alt.Tooltip("p:N", title="corrected p"),
        alt.Tooltip("n:Q", title="n"),
    ]
    base = alt.Chart(named("cells")).encode(x=x, y=y, tooltip=tooltip)
    rect = base.mark_rect(stroke="var(--surface)", strokeWidth=1).encode(
        fill=alt.condition("datum.r < 0", alt.value("var(--agent-2)"), alt.value("var(--accent)")),
        fillOpacity=alt.FillOpacity(
            "strength:Q", scale=alt.Scale(domain=[0, 1], range=[0.03, 1]), legend=None
        ),
    )
    text = base.mark_text(fontSize=11).encode(
        text="text:N",
        color=alt.condition(
            "datum.strength > 0.55", alt.value("var(--surface)"), alt.value("var(--ink)")
        ),
    )
    chart = alt.layer(rect, text).properties(height=_ROW * len(names) + 20)
    return Chart(
        specification(chart),
        {"cells": cells},
        f"Correlations of {counted(len(names), 'metric')} with "
        f"{counted(len(qualities), 'human judgement')}. The numbers stand in the table below the "
        "chart.",
        ("Metric", "Judgement", "r", "95 % interval", "Corrected p", "n"),
        [
            (
                cell["metric"],
                cell["quality"],
                number(cell["r"], 2),
                cell["ends"],
                cell["p"],
                cell["n"],
            )
            for cell in cells
        ],
        f"Shade: |r|, the second colour for negative ones. A star: corrected p below {ALPHA:g}.",
    )


def _cell(row: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    p = row["pearson_p_adjusted"]
    star = "*" if p is not None and p < ALPHA else ""
    return {
        "metric": labels[row["metric"]],
        "quality": row["quality"],
        "r": round(row["pearson"], 4),
        "strength": round(abs(row["pearson"]), 4),
        "text": f"{number(row['pearson'], 2).replace('0.', '.', 1)}{star}",
        "ends": interval(row["pearson_low"], row["pearson_high"], 2),
        "p": p_value(p),
        "n": row["n"],
    }
