"""The one chart of estimates: dots with their intervals, a row each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt

from dialens.base import interval, number
from dialens.report._charts import Chart

_NAME = 24
_LANE = 16
_ROW_BESIDE = 30
_ROW_BARE = 13
_ACCENT = "var(--accent)"
_SOFT = "var(--ink-soft)"
_QUIET = "var(--quiet)"
_SURFACE = "var(--surface)"


@dataclass(frozen=True)
class Mark:
    """One estimate.

    Attributes:
        row: Name of its row.
        value: The estimate.
        low: Lower end of its interval.
        high: Upper end.
        series: What its colour stands for; empty if all are alike.
        clear: Filled if true, else hollow.
        tick: A second value to compare it with.
        details: What else is known, by its name: columns of the table behind the chart.
    """

    row: str
    value: float
    low: float | None
    high: float | None
    series: str = ""
    clear: bool = True
    tick: float | None = None
    details: Mapping[str, str] = field(default_factory=dict)


def interval_chart(
    marks: Sequence[Mark],
    *,
    axis: str,
    alt_text: str,
    row: str,
    value: str = "Estimate",
    note: str = "",
    names: str = "above",
    percent: bool = False,
    lines: Mapping[str, Sequence[float]] | None = None,
    domain: Sequence[float] | None = None,
    colours: Mapping[str, str] | None = None,
    tick: str = "",
    write: Callable[[float | None], str] | None = None,
    write_ends: Callable[[float | None, float | None], str] | None = None,
    rows: Sequence[Sequence[Any]] = (),
    columns: Sequence[str] = (),
) -> Chart:
    """Estimates with intervals: rows from top to bottom, series side by side within a row.

    Args:
        marks: What is drawn, in this order.
        axis: Title of the horizontal axis.
        alt_text: One sentence for those who cannot see it.
        row: What a row is, e.g. `Agent`: first column of the table behind the chart.
        value: What the dot is.
        note: Below the chart: how to read it, what was left out.
        names: Where rows are named: `above` their dots, `beside` the axis, or nowhere (`none`).
        percent: Whether values are shares.
        lines: Vertical dashed lines by what they are; an empty name is not written.
        domain: Ends of the axis; chosen from the data if None. Intervals beyond are cut.
        colours: Of each series, as CSS; the usual ones if None.
        tick: What the tick is, where marks have one.
        write: How a value is written; by its size if None.
        write_ends: How an interval is written.
        rows: The table behind the chart, if it holds more than the marks.
        columns: Its heads.

    Examples:
        >>> chart = interval_chart(
        ...     [Mark("x − y", 0.5, 0.1, 0.9)], axis="Difference", alt_text="Two.", row="Pair"
        ... )
        >>> chart.columns, chart.rows
        (('Pair', 'Estimate', '95 % interval'), [('x − y', '0.50', '0.10 to 0.90')])
    """
    write = write or (lambda x: number(x, percent=percent))
    write_ends = write_ends or (lambda low, high: interval(low, high, percent=percent))
    layout = _Layout.of(marks, names)
    details = list(dict.fromkeys(name for mark in marks for name in mark.details))
    records = [
        {
            **layout.place(mark),
            "value": _short(mark.value),
            "left": _short(mark.value if mark.low is None else mark.low),
            "right": _short(mark.value if mark.high is None else mark.high),
            "tick": _short(mark.tick),
            "clear": mark.clear,
            "text": write(mark.value),
            "ends": write_ends(mark.low, mark.high),
            "beside": write(mark.tick),
            **{f"detail{at}": mark.details.get(name, "–") for at, name in enumerate(details)},
        }
        for mark in marks
    ]
    fields = {"label": row, "text": value, "ends": "95 % interval"}
    fields |= {"beside": tick} if tick else {}
    fields |= {f"detail{at}": name for at, name in enumerate(details)}
    rules = [{"x": x, "name": name} for name, at in (lines or {}).items() for x in at]
    x_axis = {"title": axis, "format": "%" if percent else ",~r", "tickCount": 6}
    scale = {"zero": False, "nice": domain is None, **({"domain": list(domain)} if domain else {})}
    layers = [
        *(_rules(layout.height) if rules else []),
        *_dots(layout, x_axis, scale, fields, colours),
        *(_names(layout.y) if names == "above" else []),
    ]
    series = ["Series"] if len(layout.series) > 1 else []
    heads = (row, *series, value, "95 % interval", *([tick.capitalize()] if tick else []), *details)
    table = [
        (
            mark.row,
            *([mark.series] if series else []),
            record["text"],
            record["ends"],
            *([record["beside"]] if tick else []),
            *(mark.details.get(name, "–") for name in details),
        )
        for mark, record in zip(marks, records, strict=True)
    ]
    written = {"names": layout.labels} if names == "above" else {}
    return Chart(
        _specification(layers, layout),
        {"marks": records, **written, **({"rules": rules} if rules else {})},
        f"{alt_text} The numbers stand in the table below the chart.",
        columns or heads,
        rows or table,
        note,
    )


@dataclass(frozen=True)
class _Layout:
    """Where rows and the series within them stand, in pixels from the top."""

    rows: Sequence[str]
    series: Sequence[str]
    names: str
    lanes: int

    @classmethod
    def of(cls, marks: Sequence[Mark], names: str) -> "_Layout":
        rows = list(dict.fromkeys(mark.row for mark in marks))
        series = list(dict.fromkeys(mark.series for mark in marks))
        lanes = len(series) if len(marks) > len(rows) else 1
        return cls(rows, series, names, lanes)

    @property
    def step(self) -> int:
        """Height of a row."""
        if self.names == "above":
            return _NAME + _LANE * self.lanes
        if self.names == "beside":
            return max(_ROW_BESIDE, _LANE * self.lanes)
        return _ROW_BARE * self.lanes

    @property
    def height(self) -> int:
        return max(90, len(self.rows) * self.step) if self.names == "none" else self.end

    @property
    def end(self) -> int:
        return max(1, len(self.rows)) * self.step

    def place(self, mark: Mark) -> dict[str, Any]:
        lane = self.series.index(mark.series) if self.lanes > 1 else 0
        free = _NAME if self.names == "above" else self.step - _LANE * self.lanes
        offset = free if self.names == "above" else free / 2
        inside = _LANE * (lane + (0.4 if self.names == "above" else 0.5))
        if self.names == "none":
            offset, inside = 0, _ROW_BARE * (lane + 0.5)
        return {
            "y": self.rows.index(mark.row) * self.step + offset + inside,
            "series": mark.series,
            "label": f"{mark.row}, {mark.series}" if self.lanes > 1 else mark.row,
        }

    @property
    def labels(self) -> list[dict[str, Any]]:
        return [{"y": at * self.step, "label": name} for at, name in enumerate(self.rows)]

    @property
    def y(self) -> dict[str, Any]:
        """Names beside the axis stand in a parameter: no name is ever read as an expression."""
        scale = {"domain": [self.end, 0], "nice": False, "zero": False}
        axis = None
        if self.names == "beside":
            axis = {
                "values": [(at + 0.5) * self.step for at in range(len(self.rows))],
                "labelExpr": f"names[floor(datum.value / {self.step})]",
                "labelFontSize": 13,
                "grid": True,
                "title": None,
            }
        return {"field": "y", "type": "quantitative", "axis": axis, "scale": scale}


def _specification(layers: Sequence[Mapping[str, Any]], layout: _Layout) -> dict[str, Any]:
    """Written by hand: a page may hold dozens of these, and Altair copies each many times."""
    return {
        "$schema": alt.SCHEMA_URL,
        "layer": list(layers),
        "params": [{"name": "names", "value": list(layout.rows)}],
        "width": "container",
        "height": layout.height,
        "autosize": {"type": "fit-x", "contains": "padding"},
    }


def _dots(
    layout: _Layout,
    axis: Mapping[str, Any],
    scale: Mapping[str, Any],
    fields: Mapping[str, str],
    colours: Mapping[str, str] | None,
) -> list[dict[str, Any]]:
    """Intervals, ticks where there are some, and the dots over both."""
    bare = layout.names == "none"
    stroke, fill = _colours(layout.series, colours)
    shared = {
        "y": layout.y,
        "tooltip": [
            {"field": name, "type": "nominal", "title": title.lower()}
            for name, title in fields.items()
        ],
    }

    def at(field: str) -> dict[str, Any]:
        return {"field": field, "type": "quantitative", "axis": axis, "scale": scale}

    line = {"type": "rule", "strokeWidth": 2 if bare else 3, "strokeCap": "round", "opacity": 0.6}
    tick = {"type": "tick", "thickness": 3, "size": 18, "color": _SOFT, "opacity": 0.9}
    dot = {"type": "point", "size": 30 if bare else 75, "strokeWidth": 2, "opacity": 1}
    layers: list[tuple[dict[str, Any], dict[str, Any]]] = [
        (line, {"x": at("left"), "x2": {"field": "right"}, "stroke": stroke}),
        *([(tick, {"x": at("tick")})] if "beside" in fields else []),
        (dot, {"x": at("value"), "stroke": stroke, "fill": fill}),
    ]
    return [
        {"data": {"name": "marks"}, "mark": {**mark, "clip": True}, "encoding": {**shared, **own}}
        for mark, own in layers
    ]


def _colours(
    series: Sequence[str], colours: Mapping[str, str] | None
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Stroke and fill: one colour for all, paler if not clear; or one a series, with a legend."""
    if colours is None and len(series) < 2:
        accent = {"test": "datum.clear", "value": _ACCENT}
        return {"condition": accent, "value": _QUIET}, {"condition": accent, "value": _SURFACE}
    scale: dict[str, Any] = {"domain": list(series)}
    if colours is not None:
        scale["range"] = [colours.get(name, _ACCENT) for name in series]
    channel: dict[str, Any] = {"field": "series", "type": "nominal", "scale": scale}
    if len(series) < 2:
        channel["legend"] = None
    return channel, {"condition": {"test": "datum.clear", **channel}, "value": _SURFACE}


def _rules(height: int) -> list[dict[str, Any]]:
    """Vertical dashed lines, named at their lower end."""
    x = {"field": "x", "type": "quantitative"}
    name = {
        "type": "text", "align": "right", "baseline": "bottom", "dx": -5, "dy": -3, "fontSize": 11,
        "color": _SOFT,
    }  # fmt: skip
    text = {"field": "name", "type": "nominal"}
    data = {"name": "rules"}
    return [
        {
            "data": data,
            "mark": {"type": "rule", "style": "zero", "clip": True},
            "encoding": {"x": x},
        },
        {"data": data, "mark": name, "encoding": {"x": x, "y": {"value": height}, "text": text}},
    ]


def _names(y: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Names above the dots, with a halo where they cross a line."""
    look = {
        "type": "text", "align": "left", "baseline": "top", "dy": 7, "fontSize": 12, "limit": 900,
    }  # fmt: skip
    halo = {"stroke": _SURFACE, "strokeWidth": 4, "strokeJoin": "round"}
    text = {"field": "label", "type": "nominal"}
    encoding = {"x": {"value": 0}, "y": y, "text": text}
    return [
        {"data": {"name": "names"}, "mark": {**look, **paint}, "encoding": encoding}
        for paint in (halo, {"color": "var(--ink)"})
    ]


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
