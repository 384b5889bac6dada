"""The emotions of each agent's words: eight shares with their intervals."""

import altair as alt

from dialens.base import Estimate
from dialens.report._charts import (
    FEW_AGENTS,
    Chart,
    Drawing,
    drawn_interval,
    named,
    picked_among_all,
    specification,
)
from dialens.report._digest import Digest

_FEW_DIALOGS = 10


def emotion_chart(digest: Digest) -> Chart | None:
    """A grouped dot plot for a few agents; for many, all of them quiet and one picked out."""
    names = [name for name, card in digest.cards.items() if card.part_of == "emotions"]
    rows = []
    any_large = any(unit.dialogs >= _FEW_DIALOGS for unit in digest.agents)
    for unit in digest.agents:
        for name in names:
            estimate = unit.estimates[name]
            if estimate.value is None:
                continue
            rows.append(
                {
                    "emotion": digest.label(name),
                    "number": unit.number,
                    "small": int(any_large and unit.dialogs < _FEW_DIALOGS),
                    "x": round(estimate.value, 5),
                    "low": None if estimate.low is None else round(estimate.low, 5),
                    "high": None if estimate.high is None else round(estimate.high, 5),
                    **drawn_interval(estimate.value, estimate.low, estimate.high),
                }
            )
    if not rows:
        return None
    order = [digest.label(name) for name in names]
    few = len(digest.agents) <= FEW_AGENTS
    chart = _grouped(digest, order) if few else _picked(order)
    table = [
        (unit.name, *(_text(digest, unit.estimates[name], name) for name in names))
        for unit in digest.agents
    ]
    note = "Lines are 95 % intervals over dialogues. Shares of the eight emotions add up to 100 %."
    if not few:
        small = any_large and any(unit.dialogs < _FEW_DIALOGS for unit in digest.agents)
        but = f" with at least {_FEW_DIALOGS} dialogues" if small else ""
        note = f"Every agent{but} is a tick; one is picked out with its interval. {note}"
    return Chart(
        specification(chart),
        {"rows": rows},
        "Share of each of eight emotions in the words of every agent, with 95 % intervals. "
        "The numbers stand in the table below the chart.",
        ("Agent", *order),
        table,
        note,
        pick=not few,
    )


def _text(digest: Digest, estimate: Estimate, name: str) -> str:
    scale = digest.scales[name]
    interval = scale.interval(estimate.low, estimate.high)
    return scale.text(estimate.value) + (f" ({interval})" if interval else "")


_TOOLTIP = [
    alt.Tooltip("agent:N", title="agent"),
    alt.Tooltip("emotion:N", title="emotion"),
    alt.Tooltip("x:Q", title="share", format=".1%"),
    alt.Tooltip("low:Q", title="from", format=".1%"),
    alt.Tooltip("high:Q", title="to", format=".1%"),
]


def _axes(order: list[str]) -> tuple[alt.X, alt.Y]:
    x = alt.X(
        "x:Q",
        axis=alt.Axis(title="Share of the agent's emotion words", format="%", tickCount=6),
        scale=alt.Scale(zero=True, nice=True),
    )
    y = alt.Y(
        "emotion:N",
        sort=order,
        axis=alt.Axis(title=None, grid=True, tickBand="extent", labelFontSize=13),
    )
    return x, y


def _grouped(digest: Digest, order: list[str]) -> Drawing:
    x, y = _axes(order)
    agents = [unit.name for unit in digest.agents]
    several = len(agents) > 1
    colour = alt.Color("agent:N", sort=agents, legend=alt.Legend() if several else None).scale(
        domain=agents
    )
    offset = alt.YOffset("agent:N", sort=agents).scale(domain=agents, paddingOuter=0.9)
    base = alt.Chart(named("rows")).encode(y=y, yOffset=offset, color=colour, tooltip=_TOOLTIP)
    lines = base.mark_rule(strokeWidth=2.5, strokeCap="round", opacity=0.55)
    dots = base.mark_circle(size=62, opacity=1)
    shape = alt.Shape("agent:N", sort=agents).scale(domain=agents)
    dots = base.mark_point(size=52, filled=True, opacity=1).encode(shape=shape) if several else dots
    step = max(34, 13 * len(agents) + 16)
    return alt.layer(lines.encode(x=alt.X("left:Q"), x2="right:Q"), dots.encode(x=x)).properties(
        height=step * len(order)
    )


def _picked(order: list[str]) -> Drawing:
    x, y = _axes(order)
    base = alt.Chart(named("rows")).encode(y=y, tooltip=_TOOLTIP)
    return picked_among_all(base, x, height=36 * len(order))
