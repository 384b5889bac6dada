"""Emotions as the classifier reads them: a heat map for a few agents, ticks for many."""

from collections.abc import Sequence

import altair as alt

from dialens.base import counted
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

_PREFIX = "emotion_"
_OTHERS = ("emotion_matching",)
_NEUTRAL = "emotion_neutral"
_MOST_EMOTIONS = 12
_FEW_DIALOGS = 10


def classified_emotions(metrics: Sequence[str]) -> list[str]:
    """The metrics that give a label of the emotion classifier each.

    Examples:
        >>> classified_emotions(["emotion_matching", "emotion_joy", "joy_share"])
        ['emotion_joy']
    """
    return [n for n in metrics if n.startswith(_PREFIX) and not n.startswith(_OTHERS)]


def model_emotion_chart(digest: Digest) -> Chart | None:
    """The emotions that are strongest in any agent; None where none was classified."""
    every = classified_emotions(digest.metrics)
    names = sorted((n for n in every if n != _NEUTRAL), key=lambda n: -_highest(digest, n))
    names = [name for name in names if _highest(digest, name) > 0][:_MOST_EMOTIONS]
    if not names:
        return None
    few = len(digest.agents) <= FEW_AGENTS
    any_large = any(unit.dialogs >= _FEW_DIALOGS for unit in digest.agents)
    rows = [
        {
            "emotion": digest.label(name),
            "number": unit.number,
            "small": int(any_large and unit.dialogs < _FEW_DIALOGS),
            "x": round(estimate.value, 5),
            "low": None if estimate.low is None else round(estimate.low, 5),
            "high": None if estimate.high is None else round(estimate.high, 5),
            **drawn_interval(estimate.value, estimate.low, estimate.high),
            "text": _percent(estimate.value),
        }
        for unit in digest.agents
        for name in names
        if (estimate := unit.estimates[name]).value is not None
    ]
    order = [digest.label(name) for name in names]
    left_out = sum(name != _NEUTRAL for name in every) - len(names)
    return Chart(
        specification(_heat_map(digest, order) if few else _picked(order)),
        {"rows": rows},
        f"The {counted(len(order), 'emotion')} that the classifier finds most often, for every "
        "agent. The numbers stand in the table below the chart.",
        ("Agent", *(digest.label(name) for name in every)),
        [
            (unit.name, *(_percent(unit.estimates[name].value) for name in every))
            for unit in digest.agents
        ],
        _note(every, left_out, few=few),
        pick=not few,
    )


def _note(every: Sequence[str], left_out: int, *, few: bool) -> str:
    parts = [
        "How sure the classifier is of each emotion, averaged over the agent’s turns. A turn may "
        "carry several, so they do not add up to 100 %."
    ]
    if not few:
        parts.append("Every agent is a tick; one is picked out with its 95 % interval.")
    weaker = f"{counted(left_out, 'weaker emotion')}" if left_out else ""
    rest = " and ".join(part for part in (weaker, "neutral" if _NEUTRAL in every else "") if part)
    if rest:
        verb = "stand" if left_out > 1 or " and " in rest else "stands"
        parts.append(f"{rest[0].upper()}{rest[1:]} {verb} in the numbers behind the chart.")
    return " ".join(parts)


def _highest(digest: Digest, name: str) -> float:
    return max((unit.estimates[name].value or 0.0 for unit in digest.agents), default=0.0)


def _percent(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{100 * value:.0f} %" if value >= 0.005 else "< 1 %" if value > 0 else "0 %"


_TOOLTIP = [
    alt.Tooltip("agent:N", title="agent"),
    alt.Tooltip("emotion:N", title="emotion"),
    alt.Tooltip("x:Q", title="mean", format=".1%"),
    alt.Tooltip("low:Q", title="from", format=".1%"),
    alt.Tooltip("high:Q", title="to", format=".1%"),
]


def _heat_map(digest: Digest, order: Sequence[str]) -> Drawing:
    # Opacity of one colour rather than a ramp: it follows the page's scheme by itself, and half of
    # the accent leaves the numbers readable in both.
    x = alt.X(
        "number:O",
        axis=alt.Axis(
            title=None, orient="top", labelExpr="names[datum.value]", labelAngle=0, domain=False,
            ticks=False, labelFontSize=13, labelLimit=130, labelOverlap=False,
        ),
        scale=alt.Scale(paddingInner=0.03),
    )  # fmt: skip
    y = alt.Y(
        "emotion:N",
        sort=list(order),
        axis=alt.Axis(title=None, labelFontSize=13),
        scale=alt.Scale(paddingInner=0.08),
    )
    base = alt.Chart(named("rows")).encode(x=x, y=y, tooltip=_TOOLTIP)
    cells = base.mark_rect(color="var(--accent)", cornerRadius=3).encode(
        fillOpacity=alt.FillOpacity(
            "x:Q", legend=None, scale=alt.Scale(type="sqrt", domainMin=0, range=[0.02, 0.5])
        )
    )
    words = base.mark_text(color="var(--ink)", fontSize=12).encode(text="text:N")
    return (
        alt.layer(cells, words)
        .add_params(alt.param(name="names", value=[unit.name for unit in digest.agents]))
        .properties(height=30 * len(order))
    )


def _picked(order: Sequence[str]) -> Drawing:
    x = alt.X("x:Q", axis=alt.Axis(title="Mean over the agent’s turns", format="%", tickCount=6))
    y = alt.Y(
        "emotion:N",
        sort=list(order),
        axis=alt.Axis(title=None, grid=True, tickBand="extent", labelFontSize=13),
    )
    base = alt.Chart(named("rows")).encode(y=y, tooltip=_TOOLTIP)
    return picked_among_all(base, x, height=34 * len(order))
