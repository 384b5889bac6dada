"""The charts of an agent's profile: traits of all agents, and values beside a yardstick."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import wrap
from typing import Any

import altair as alt

from dialens.report._charts import FEW_AGENTS, Chart, Drawing, named, specification
from dialens.report._interval_chart import Mark, interval_chart

_MOST_ROWS = 10
_WIDEST_NAME = 150
_LINE = 18


@dataclass(frozen=True)
class Words:
    """What a chart says.

    Attributes:
        axis: Title of its axis.
        value: What the dot is.
        yardstick: What the tick is.
        alt: The chart in one sentence.
        note: How to read it.
    """

    axis: str
    value: str
    yardstick: str
    alt: str
    note: str


def yardstick_chart(
    marks: Sequence[Mark],
    words: Words,
    columns: Sequence[str],
    rows: Sequence[Sequence[Any]],
    *,
    from_zero: bool,
    percent: bool = False,
) -> Chart:
    """One row a mark: a dot with its interval, and a tick for the yardstick.

    Where there are too many, the highest and the lowest are shown.
    """
    shown = _most_telling(marks)
    ends = [end for m in shown for end in (m.value, m.low, m.high, m.tick) if end is not None]
    ticked = any(mark.tick is not None for mark in shown)
    note = words.note
    if len(shown) < len(marks):
        half = _MOST_ROWS // 2
        note += f" Shown are the {half} highest and the {half} lowest of {len(marks):,}."
    return interval_chart(
        shown,
        axis=words.axis,
        alt_text=words.alt,
        row=columns[0],
        value=words.value,
        tick=words.yardstick if ticked else "",
        note=note,
        names="beside",
        percent=percent,
        domain=_domain(ends, from_zero=from_zero),
        columns=columns,
        rows=rows,
    )


def traits_chart(
    traits: Sequence[str],
    values: Sequence[Mapping[str, Any]],
    agents: Sequence[str],
    rows: Sequence[Sequence[Any]],
) -> Chart:
    """Every trait a row, every agent a dot on one scale of standard deviations.

    Args:
        traits: Labels, from the top.
        values: `trait` (a label), `number` of the agent, `x`, `low`, `high`, and `mean` as it was.
        agents: Names by number.
        rows: The table behind it: one row an agent.
    """
    few = len(agents) <= FEW_AGENTS
    ends = [row[key] for row in values for key in ("x", "low", "high") if row[key] is not None]
    x = alt.X(
        "x:Q",
        axis=alt.Axis(title="Standard deviations of single dialogues", format="+~g", tickCount=6),
        scale=alt.Scale(domain=_domain(ends, from_zero=False), nice=False, zero=False),
    )
    y = alt.Y(
        "trait:N",
        sort=list(traits),
        axis=alt.Axis(
            title=None,
            grid=True,
            tickBand="extent",
            labelFontSize=13,
            labelLimit=_WIDEST_NAME,
            labelExpr="names[indexof(traits, datum.label)]",
        ),
    )
    tooltip = [
        alt.Tooltip("agent:N", title="agent"),
        alt.Tooltip("trait:N", title="trait"),
        alt.Tooltip("mean:Q", title="mean", format=".3~f"),
        alt.Tooltip("x:Q", title="from the mean of agents", format="+.2f"),
    ]
    base = alt.Chart(named("rows")).encode(y=y, tooltip=tooltip)
    zero = (
        alt.Chart(named("middle"))
        .mark_rule(color="var(--ink-soft)", strokeDash=[3, 3])
        .encode(x=alt.X("x:Q"))
    )
    drawing = _coloured(base, zero, x, agents, traits) if few else _picked(base, zero, x, traits)
    lines = [wrap(trait, _LINE) for trait in traits]
    drawing = drawing.add_params(
        alt.param(name="traits", value=list(traits)), alt.param(name="names", value=lines)
    )
    note = (
        "0 is the mean of all agents; lines are 95 % intervals over dialogues."
        if few
        else "0 is the mean of all agents. Every agent is a tick; one is picked out with its 95 % "
        "interval over dialogues."
    )
    return Chart(
        specification(drawing),
        {"rows": values, "middle": [{"x": 0}]},
        "Traits of every agent on one scale, as distances from the mean of all agents. The numbers "
        "stand in the table below the chart.",
        ("Agent", *traits),
        rows,
        note,
        pick=not few,
    )


def _coloured(
    base: alt.Chart, zero: alt.Chart, x: alt.X, agents: Sequence[str], traits: Sequence[str]
) -> Drawing:
    names = list(agents)
    colour = alt.Color("agent:N", sort=names, legend=alt.Legend()).scale(domain=names)
    shape = alt.Shape("agent:N", sort=names).scale(domain=names)
    offset = alt.YOffset("agent:N", sort=names).scale(domain=names, paddingOuter=0.9)
    each = base.encode(yOffset=offset, color=colour)
    lines = each.mark_rule(strokeWidth=2.5, strokeCap="round", opacity=0.55)
    dots = each.mark_point(size=52, filled=True, opacity=1).encode(shape=shape)
    step = max(34, 13 * len(names) + 12)
    layered: Drawing = alt.layer(
        zero, lines.encode(x=alt.X("low:Q"), x2="high:Q"), dots.encode(x=x)
    ).properties(height=step * len(traits))
    return layered


def _picked(base: alt.Chart, zero: alt.Chart, x: alt.X, traits: Sequence[str]) -> Drawing:
    everyone = base.mark_tick(thickness=2, size=18, style="quiet", opacity=0.5).encode(x=x)
    one = base.transform_filter("datum.number === pick")
    line = one.mark_rule(strokeWidth=4, strokeCap="round", style="picked", opacity=0.5)
    dot = one.mark_circle(size=110, style="picked", opacity=1)
    layered: Drawing = (
        alt.layer(zero, everyone, line.encode(x=alt.X("low:Q"), x2="high:Q"), dot.encode(x=x))
        .add_params(alt.param(name="pick", value=0))
        .properties(height=34 * len(traits))
    )
    return layered


def _most_telling(marks: Sequence[Mark]) -> list[Mark]:
    if len(marks) <= _MOST_ROWS:
        return list(marks)
    ordered = sorted(marks, key=lambda mark: -mark.value)
    return [*ordered[: _MOST_ROWS // 2], *ordered[-_MOST_ROWS // 2 :]]


def _domain(ends: Sequence[float], *, from_zero: bool) -> list[float]:
    if from_zero:
        # A margin on the left, too: a dot at 0 shall be seen whole.
        top = max(ends) or 1.0
        return [-0.03 * top, 1.05 * top]
    margin = (max(ends) - min(ends)) * 0.06 or 0.1
    return [min(ends) - margin, max(ends) + margin]
