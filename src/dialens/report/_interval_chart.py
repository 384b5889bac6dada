"""The one chart of estimates: dots with their intervals, a row each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import altair as alt

from dialens.base._wording import interval, number
from dialens.report.charts import Chart, named, specification

_NAME = 24
_LANE = 16
_ROW_BESIDE = 30
_ROW_BARE = 13
_ACCENT = "var(--accent)"
_SOFT = "var(--ink-soft)"
_HOLLOW = alt.value("var(--surface)")


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
            "low": _short(mark.low),
            "high": _short(mark.high),
            "tick": _short(mark.tick),
            "clear": mark.clear,
            "text": write(mark.value),
            "ends": write_ends(mark.low, mark.high),
            "beside": write(mark.tick),
            **{f"detail{at}": mark.details.get(name, "–") for at, name in enumerate(details)},
        }
        for mark in marks
    ]
    tooltip = [
        alt.Tooltip("label:N", title=row.lower()),
        alt.Tooltip("text:N", title=value.lower()),
        alt.Tooltip("ends:N", title="95 % interval"),
        *([alt.Tooltip("beside:N", title=tick)] if tick else []),
        *(alt.Tooltip(f"detail{at}:N", title=name.lower()) for at, name in enumerate(details)),
    ]
    rules = [{"x": x, "name": name} for name, at in (lines or {}).items() for x in at]
    drawing = _drawing(layout, _axis(axis, domain, percent=percent), tooltip, colours, tick)
    if rules:
        drawing = alt.layer(*_ruled(layout.height), drawing)
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
        specification(drawing.add_params(alt.param(name="names", value=list(layout.rows)))),
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
    def axis(self) -> alt.Y:
        """Names beside the axis stand in a parameter: no name is ever read as an expression."""
        scale = alt.Scale(domain=[self.end, 0], nice=False, zero=False)
        if self.names != "beside":
            return alt.Y("y:Q", axis=None, scale=scale)
        axis = alt.Axis(
            values=[(at + 0.5) * self.step for at in range(len(self.rows))],
            labelExpr=f"names[floor(datum.value / {self.step})]",
            labelFontSize=13,
            grid=True,
            title=None,
        )
        return alt.Y("y:Q", axis=axis, scale=scale)


def _axis(title: str, domain: Sequence[float] | None, *, percent: bool) -> alt.X:
    scale = (
        alt.Scale(zero=False, nice=True)
        if domain is None
        else alt.Scale(domain=list(domain), zero=False, nice=False)
    )
    form = "%" if percent else ",~r"
    return alt.X("value:Q", axis=alt.Axis(title=title, format=form, tickCount=6), scale=scale)


def _drawing(
    layout: _Layout,
    x: alt.X,
    tooltip: list[alt.Tooltip],
    colours: Mapping[str, str] | None,
    tick: str,
) -> alt.LayerChart:
    y = layout.axis
    base = alt.Chart(named("marks")).encode(y=y, tooltip=tooltip)
    stroke = _colour(alt.Stroke, layout.series, colours)
    fill = alt.condition("datum.clear", _colour(alt.Fill, layout.series, colours), _HOLLOW)
    bare = layout.names == "none"
    line = base.mark_rule(strokeWidth=2 if bare else 3, strokeCap="round", opacity=0.6, clip=True)
    dot = base.mark_point(size=30 if bare else 75, strokeWidth=2, opacity=1, clip=True)
    layers: list[alt.Chart] = [line.encode(x=alt.X("low:Q"), x2="high:Q", stroke=stroke)]
    if tick:
        # Under the dot, so that it may be covered and never covers.
        mark = base.mark_tick(thickness=3, size=18, color=_SOFT, opacity=0.9, clip=True)
        layers.append(mark.encode(x=alt.X("tick:Q")))
    layers.append(dot.encode(x=x, stroke=stroke, fill=fill))
    if layout.names == "above":
        layers += _written(y)
    return alt.layer(*layers).properties(height=layout.height)


def _ruled(height: int) -> list[alt.Chart]:
    """Vertical dashed lines, named at their lower end."""
    rules = alt.Chart(named("rules")).encode(x=alt.X("x:Q"))
    name = rules.mark_text(align="right", baseline="bottom", dx=-5, dy=-3, fontSize=11, color=_SOFT)
    return [
        rules.mark_rule(style="zero", clip=True),
        name.encode(y=alt.value(height), text="name:N"),
    ]


def _colour(channel: Any, series: Sequence[str], colours: Mapping[str, str] | None) -> Any:
    """One colour for all, paler where an estimate is not clear; or one a series with a legend."""
    if colours is None and len(series) < 2:
        if channel is alt.Fill:
            return alt.value(_ACCENT)
        return alt.condition("datum.clear", alt.value(_ACCENT), alt.value("var(--quiet)"))
    scale = alt.Scale(domain=list(series))
    if colours is not None:
        scale = alt.Scale(
            domain=list(series), range=[colours.get(name, _ACCENT) for name in series]
        )
    return channel("series:N", scale=scale, legend=alt.Legend() if len(series) > 1 else None)


def _written(y: alt.Y) -> list[alt.Chart]:
    """Names above the dots, with a halo where they cross a line."""
    base = alt.Chart(named("names")).encode(y=y, x=alt.value(0), text="label:N")
    look: dict[str, Any] = {
        "align": "left", "baseline": "top", "dy": 7, "fontSize": 12, "limit": 900,
    }  # fmt: skip
    halo: dict[str, Any] = {"stroke": "var(--surface)", "strokeWidth": 4, "strokeJoin": "round"}
    return [base.mark_text(**look, **halo), base.mark_text(**look, color="var(--ink)")]


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 6)
