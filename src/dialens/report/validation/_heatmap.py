"""Metrics with each other: absolute correlations, both axes clustered, with their trees.

Cells, trees and labels share one coordinate system, so that the figure grows and shrinks with the
page. Shade is the strength, whatever the sign; the sign stands in the cell or its hint.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np

from dialens.analysis.validation import MetricMatrix
from dialens.base import counted, number
from dialens.report._charts import Chart, named, specification

_MOST_PRINTED = 16
_TREE = 0.16


def heat_map(
    matrix: MetricMatrix, psychological: Collection[str], labels: Mapping[str, str]
) -> Chart:
    """The correlations of metrics, clustered; trees of psychological ones in their own colour."""
    size = len(matrix.metrics)
    deep = max(1.2, _TREE * size)
    names = [labels[name] for name in matrix.metrics]
    cells = _cells(matrix, names)
    lines = _lines(matrix, set(psychological), deep)
    x = alt.X(
        "x:Q",
        scale=alt.Scale(domain=[-deep, size], nice=False, zero=False),
        axis=alt.Axis(
            orient="bottom",
            values=[place + 0.5 for place in range(size)],
            labelExpr="names[floor(datum.value)]",
            labelAngle=-50,
            labelAlign="right",
            labelBaseline="middle",
            labelOverlap=False,
            labelLimit=150,
            grid=False,
            ticks=False,
            domain=False,
            title=None,
        ),
    )
    y = alt.Y(
        "y:Q",
        scale=alt.Scale(domain=[size, -deep], nice=False, zero=False),
        axis=alt.Axis(
            orient="right",
            values=[place + 0.5 for place in range(size)],
            labelExpr="names[floor(datum.value)]",
            labelOverlap=False,
            labelLimit=190,
            grid=False,
            ticks=False,
            domain=False,
            title=None,
        ),
    )
    tooltip = [
        alt.Tooltip("a:N", title="metric"),
        alt.Tooltip("b:N", title="with"),
        alt.Tooltip("r:Q", title="r", format="+.3f"),
        alt.Tooltip("n:Q", title="units"),
    ]
    rect = (
        alt.Chart(named("cells"))
        .mark_rect(fill="var(--accent)", stroke="var(--surface)", strokeWidth=1)
        .encode(
            x=x,
            x2="x2:Q",
            y=y,
            y2="y2:Q",
            fillOpacity=alt.FillOpacity(
                "strength:Q", scale=alt.Scale(domain=[0, 1], range=[0.04, 1]), legend=None
            ),
            tooltip=tooltip,
        )
    )
    tree = (
        alt.Chart(named("lines"))
        .mark_rule(strokeWidth=1.6, strokeCap="round")
        .encode(
            x=x,
            x2="x2:Q",
            y=y,
            y2="y2:Q",
            color=alt.condition(
                "datum.own", alt.value("var(--agent-2)"), alt.value("var(--ink-soft)")
            ),
        )
    )
    layers: list[alt.Chart] = [rect, tree]
    if size <= _MOST_PRINTED:
        layers.append(
            alt.Chart(named("cells"))
            .mark_text(fontSize=11, opacity=alt.expr("width < 480 ? 0 : 1"))
            .encode(
                x=alt.X("middle_x:Q"),
                y=alt.Y("middle_y:Q"),
                text="text:N",
                color=alt.condition(
                    "datum.strength > 0.55", alt.value("var(--surface)"), alt.value("var(--ink)")
                ),
                tooltip=tooltip,
            )
        )
    height = int((size + deep) * (34 if size <= _MOST_PRINTED else 18)) + 20
    chart = (
        alt.layer(*layers)
        .add_params(alt.param(name="names", value=names))
        .properties(height=height)
    )
    note = (
        "Shade: |r|, from none to full. Both axes in the order of average linkage on 1 − |r|; "
        "branches over nothing but psychological metrics are coloured."
    )
    if matrix.left_out:
        left = counted(len(matrix.left_out), "metric is", "metrics are")
        note += f" {left} left out: no values or no variance."
    return Chart(
        specification(chart),
        {"cells": cells, "lines": lines},
        f"Correlations of {counted(size, 'metric')} with each other, clustered by strength. "
        "The numbers stand in the table below the chart.",
        ("Metric", *names),
        [
            (names[i], *("–" if np.isnan(r) else number(float(r), 2) for r in matrix.r[i]))
            for i in range(size)
        ],
        note,
    )


def _cells(matrix: MetricMatrix, names: Sequence[str]) -> list[dict[str, Any]]:
    cells = []
    for i, a in enumerate(names):
        for j, b in enumerate(names):
            r = float(matrix.r[i, j])
            if np.isnan(r):
                continue
            cells.append(
                {
                    "x": j,
                    "x2": j + 1,
                    "y": i,
                    "y2": i + 1,
                    "middle_x": j + 0.5,
                    "middle_y": i + 0.5,
                    "a": a,
                    "b": b,
                    "r": round(r, 4),
                    "strength": round(abs(r), 4),
                    "text": "" if i == j else number(r, 2).replace("0.", ".", 1),
                    "n": int(matrix.n[i, j]),
                }
            )
    return cells


def _lines(matrix: MetricMatrix, psychological: set[str], deep: float) -> list[dict[str, Any]]:
    """Both trees as straight lines: above the columns, and left of the rows."""
    highest = max((branch.height for branch in matrix.branches), default=1.0) or 1.0
    unit = (deep - 0.25) / highest
    lines = []
    for branch in matrix.branches:
        own = set(branch.members) <= psychological
        sides = (set(part) <= psychological for part in (branch.left_members, branch.right_members))
        left, right = branch.left + 0.5, branch.right + 0.5
        top = branch.height * unit + 0.1
        feet = ((left, branch.left_height), (right, branch.right_height))
        for (at, foot), below in zip(feet, sides, strict=True):
            base = foot * unit + (0.1 if foot else 0.0)
            lines.append(_line(at, at, -base, -top, own=below))
            lines.append(_line(-base, -top, at, at, own=below))
        lines.append(_line(left, right, -top, -top, own=own))
        lines.append(_line(-top, -top, left, right, own=own))
    return lines


def _line(x: float, x2: float, y: float, y2: float, *, own: bool) -> dict[str, Any]:
    ends = {"x": x, "x2": x2, "y": y, "y2": y2}
    return {**{key: round(end, 3) for key, end in ends.items()}, "own": own}
