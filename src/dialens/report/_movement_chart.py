"""How states move over a dialogue: a metric by the agent's first, second, … turn."""

import altair as alt
import polars as pl

from dialens.base import counted
from dialens.report._charts import FEW_AGENTS, Chart, named, specification
from dialens.report._digest import Digest

_FEW = 10
_SHARE_OF_START = 0.1
_MOST_ROWS = 400


def moving_metrics(digest: Digest) -> list[str]:
    """The metrics that have values by position, headline metrics first, then emotions."""
    there = digest.positions["metric"].unique(maintain_order=True).to_list()
    first = [name for name in digest.headline if name in there]
    emotions = [name for name in there if digest.cards[name].part_of == "emotions"]
    return [*first, *(name for name in emotions if name not in first)]


def longest(digest: Digest) -> int:
    """How many turns an agent takes at most, as far as they are counted."""
    top = digest.positions["turn"].max()
    return 0 if top is None else int(top) + 1  # type: ignore[arg-type]


def movement_chart(digest: Digest, name: str) -> Chart | None:
    """A line an agent; where few dialogues last that long, it fades."""
    frame = (
        digest.positions.filter(pl.col("metric") == name)
        .with_columns(all=pl.col("n") + pl.col("n_missing"))
        .with_columns(start=pl.col("all").max().over("agent"))
        .filter(pl.col("value").is_not_null())
        .sort("agent", "turn")
    )
    if not frame.height:
        return None
    scale = digest.scales[name]
    rows = [
        {
            "number": row["agent"],
            "turn": row["turn"] + 1,
            "y": round(row["value"], 5),
            "n": row["all"],
            "faint": int(row["all"] < max(_FEW, _SHARE_OF_START * row["start"])),
        }
        for row in frame.iter_rows(named=True)
    ]
    totals: dict[int, int] = {}
    for row in rows:
        totals[row["turn"]] = totals.get(row["turn"], 0) + row["n"]
    few = len(digest.agents) <= FEW_AGENTS
    low, high = min(row["y"] for row in rows), max(row["y"] for row in rows)
    margin = (high - low) * 0.12 or abs(high) * 0.1 or 0.1
    last = max(totals)
    x = alt.X(
        "turn:Q",
        axis=alt.Axis(
            title="Turn of the agent, and how many dialogues have one",
            values=list(range(1, last + 1)),
            labelExpr="[datum.value, format(counts[datum.value], ',')]",
            grid=False,
            labelOverlap="greedy",
            labelSeparation=6,
            labelLineHeight=15,
        ),
        scale=alt.Scale(domain=[0.7, last + 0.3], nice=False),
    )
    y = alt.Y(
        "y:Q",
        axis=alt.Axis(title=digest.label(name), format="%" if scale.percent else "~g", tickCount=5),
        scale=alt.Scale(zero=False, domain=[low - margin, high + margin], nice=False, clamp=False),
    )
    tooltip = [
        alt.Tooltip("agent:N", title="agent"),
        alt.Tooltip("turn:Q", title="turn"),
        alt.Tooltip("y:Q", title=digest.label(name), format=".1%" if scale.percent else ".3~f"),
        alt.Tooltip("n:Q", title="dialogues", format=","),
    ]
    base = alt.Chart(named("rows")).encode(x=x, y=y)
    fade = alt.Opacity("faint:Q", legend=None).scale(domain=[0, 1], range=[1, 0.22])
    if few:
        agents = [unit.name for unit in digest.agents]
        legend = alt.Legend() if len(agents) > 1 else None
        colour = alt.Color("agent:N", sort=agents, legend=legend).scale(domain=agents)
        shape = alt.Shape("agent:N", sort=agents, legend=legend).scale(domain=agents)
        chart = alt.layer(
            base.mark_line(strokeWidth=1.6, opacity=0.35, clip=True).encode(
                color=colour, detail="number:N"
            ),
            base.mark_point(size=55, filled=True, clip=True).encode(
                color=colour, shape=shape, opacity=fade, tooltip=tooltip
            ),
        )
    else:
        one = base.transform_filter("datum.number === pick")
        chart = alt.layer(
            base.transform_filter("!datum.faint")
            .mark_line(strokeWidth=1.2, opacity=0.4, clip=True, style="quiet", fill=None)
            .encode(detail="number:N", tooltip=tooltip),
            one.mark_line(
                strokeWidth=2.2, opacity=0.8, clip=True, style="picked", fill=None
            ).encode(detail="number:N"),
            one.mark_circle(size=70, clip=True, style="picked").encode(
                opacity=fade, tooltip=tooltip
            ),
        ).add_params(alt.param(name="pick", value=0))
    counts = [0] + [totals.get(turn, 0) for turn in range(1, last + 1)]
    chart = chart.add_params(alt.param(name="counts", value=counts)).properties(height=300)
    faint = sum(row["faint"] for row in rows)
    note = (
        f"Pooled over dialogues. Points are faint where fewer than {_FEW} dialogues, or fewer than "
        "a tenth of those the agent began, reach that turn."
        if faint
        else "Pooled over dialogues."
    )
    if last >= 20:
        note += " Later turns than the twentieth are not shown."
    return Chart(
        specification(chart),
        {"rows": rows},
        f"{digest.cards[name].long_label} by the agent's turn, from the first to number {last}, "
        f"for {counted(len(digest.agents), 'agent')}. The numbers stand in the table below the "
        "chart.",
        ("Agent", "Turn", digest.label(name), "Dialogues"),
        [
            (digest.agents[r["number"]].name, r["turn"], scale.text(r["y"]), r["n"])
            for r in rows[:_MOST_ROWS]
        ],
        note,
        pick=not few,
    )
