"""The charts, as Vega-Lite specifications made with Altair.

Colours are CSS variables of the page, so that light, dark and print follow by themselves. Names of
agents travel as data and parameters, never inside an expression.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt

Drawing = alt.Chart | alt.LayerChart | alt.FacetChart

FEW_AGENTS = 6
_FONT = "ui-sans-serif, system-ui, 'Segoe UI', Roboto, 'Liberation Sans', sans-serif"

CONFIG: dict[str, Any] = {
    "background": "transparent",
    "aria": False,
    "font": _FONT,
    "view": {"stroke": None},
    "axis": {
        "domainColor": "var(--line-strong)",
        "gridColor": "var(--line)",
        "tickColor": "var(--line-strong)",
        "labelColor": "var(--ink-soft)",
        "titleColor": "var(--ink-soft)",
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "titlePadding": 10,
        "labelPadding": 6,
    },
    "axisY": {"domain": False, "ticks": False},
    "legend": {
        "labelColor": "var(--ink)",
        "titleColor": "var(--ink-soft)",
        "labelFontSize": 12,
        "symbolSize": 90,
        "symbolOpacity": 1,
        "orient": "top",
        "direction": "horizontal",
        "columns": 6,
        "labelLimit": 220,
        "title": None,
    },
    "range": {"category": [f"var(--agent-{number})" for number in range(1, FEW_AGENTS + 1)]},
    "style": {
        "quiet": {"color": "var(--quiet)", "fill": "var(--quiet)", "stroke": "var(--quiet)"},
        "picked": {"color": "var(--accent)", "fill": "var(--accent)", "stroke": "var(--accent)"},
        "zero": {"stroke": "var(--ink-soft)", "strokeDash": [3, 3]},
    },
}
"""Handed to the renderer with every chart."""


@dataclass(frozen=True)
class Chart:
    """A chart and what stands for it where it cannot be seen.

    Attributes:
        spec: Vega-Lite; it names its data.
        data: The rows behind each name. They never pass through Altair, whose checks would look
            at every single one.
        alt: One sentence that says what is shown.
        columns: Heads of the table of numbers behind it.
        rows: That table.
        note: What a reader should know: samples, bins, what was left out.
        pick: Whether one of many agents can be picked out.
    """

    spec: dict[str, Any]
    data: Mapping[str, Sequence[Mapping[str, Any]]]
    alt: str
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[Any]] = ()
    note: str = ""
    pick: bool = False

    def to_dict(self) -> dict[str, Any]:
        """As the page's script reads it."""
        return {
            "spec": self.spec,
            "alt": self.alt,
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "note": self.note,
            "pick": self.pick,
            "data": {name: _packed(rows) for name, rows in self.data.items()},
        }


def _packed(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Rows without their keys, which stand once at the head."""
    columns = list(rows[0]) if rows else []
    return {"columns": columns, "rows": [[row[key] for key in columns] for row in rows]}


def named(name: str) -> alt.NamedData:
    """Data that the page fills in."""
    return alt.NamedData(name=name)


def specification(chart: Drawing) -> dict[str, Any]:
    """The finished specification, as wide as its place on the page."""
    made: dict[str, Any] = chart.properties(width="container").to_dict(validate=False)
    made.pop("config", None)
    made["autosize"] = {"type": "fit-x", "contains": "padding"}
    return made


def drawn_interval(
    value: float | None, low: float | None, high: float | None
) -> dict[str, float | None]:
    """Ends of the line to draw, `left` and `right`: no line but the dot where there is no interval.

    Columns without a single number would leave the axis without an extent.

    Examples:
        >>> drawn_interval(0.5, None, None)
        {'left': 0.5, 'right': 0.5}
    """
    bare = value is None or low is None or high is None
    left, right = (value, value) if bare else (low, high)
    return {
        "left": None if left is None else round(left, 5),
        "right": None if right is None else round(right, 5),
    }


def picked_among_all(base: alt.Chart, x: alt.X, *, height: int) -> Drawing:
    """Every agent as a quiet tick, and over them the dot and interval of the one the reader picks.

    Args:
        base: Rows with the columns `small`, `number`, `left` and `right`, and the vertical axis.
        x: The horizontal axis.
        height: Of the whole chart.
    """
    others = base.transform_filter("!datum.small")
    ticks = others.mark_tick(thickness=2, size=19, style="quiet", opacity=0.5).encode(x=x)
    picked = base.transform_filter("datum.number === pick")
    line = picked.mark_rule(strokeWidth=4, strokeCap="round", style="picked", opacity=0.5)
    dot = picked.mark_circle(size=110, style="picked", opacity=1)
    layers = alt.layer(ticks, line.encode(x=alt.X("left:Q"), x2="right:Q"), dot.encode(x=x))
    return layers.add_params(alt.param(name="pick", value=0)).properties(height=height)


def row_axis(count: int, names: str = "names") -> alt.Y:
    """A vertical axis of rows 0 … count - 1, labelled from the parameter `names`.

    Rows are numbers, not names: shapes can then rise above their row, names that occur twice stay
    apart, and no name is ever read as an expression.
    """
    axis = alt.Axis(
        values=list(range(count)),
        labelExpr=f"{names}[datum.value]",
        grid=True,
        title=None,
    )
    scale = alt.Scale(domain=[count - 0.35, -0.85], nice=False, zero=False)
    return alt.Y("row:Q", axis=axis, scale=scale)


def value_axis(title: str, *, percent: bool, domain: Sequence[float]) -> alt.X:
    """A horizontal axis of values."""
    scale = alt.Scale(zero=False, nice=False, domain=domain)
    axis = alt.Axis(title=title, format="%" if percent else "~g", tickCount=6, labelOverlap=True)
    return alt.X("x:Q", axis=axis, scale=scale)
