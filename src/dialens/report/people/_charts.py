"""Charts of what people said: agents' means, the distribution of answers, who won against whom."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import polars as pl

from dialens.analysis.people import People
from dialens.base import number
from dialens.report._charts import Chart, named, specification
from dialens.report._interval_chart import Mark, interval_chart

_PRINTED = 12
_ROW = 34


def agents_chart(people: People, quality: str) -> Chart:
    """Means of agents with their intervals, the best first."""
    rows = people.agents.filter(pl.col("quality") == quality).drop_nulls("mean")
    rows = rows.sort("mean", descending=quality not in people.lower)
    unit = str(rows["unit"][0])
    marks = [
        Mark(
            row["agent"],
            row["mean"],
            row["low"],
            row["high"],
            details={
                "Rank": rank(row["rank"], row["rank_low"], row["rank_high"]),
                "Judgements": f"{row['n']:,}",
                "Raters": f"{row['n_raters']:,}",
                "Note": row["reason"] or "–",
            },
        )
        for row in rows.iter_rows(named=True)
    ]
    titles = {"share": "Share", "magnitude": "Geometric mean", "score": "Best minus worst"}
    return interval_chart(
        marks,
        axis=f"{quality}: {titles.get(unit, 'mean rating').lower()}",
        row="Agent",
        value=titles.get(unit, "Mean"),
        alt_text=f"{quality} of each agent with 95 % intervals.",
        percent=unit == "share",
        note="Dots are means, lines 95 % intervals for other raters and other items than these. "
        "Intervals of two agents may overlap although their difference is clear: the table of "
        "differences tells.",
    )


def rank(place: int | None, low: int | None, high: int | None) -> str:
    """A rank with its interval.

    Examples:
        >>> rank(1, 1, 2), rank(3, 3, 3), rank(None, None, None)
        ('1 (1 to 2)', '3', '–')
    """
    if place is None:
        return "–"
    return f"{place}" if low is None or low == high else f"{place} ({low} to {high})"


def distribution_bars(people: People, quality: str) -> Chart:
    """Answers of each agent as a bar of shares."""
    rows = people.distributions.filter(pl.col("quality") == quality)
    answers = rows["answer"].unique(maintain_order=True).to_list()
    agents = rows["agent"].unique(maintain_order=True).to_list()
    bars = (
        rows.with_columns(end=pl.col("share").cum_sum().over("agent"))
        .with_columns(
            start=pl.col("end") - pl.col("share"),
            y=pl.col("agent").replace_strict({name: at for at, name in enumerate(agents)}),
            place=pl.col("answer").replace_strict({name: at for at, name in enumerate(answers)}),
        )
        .select("agent", "answer", "n", "share", "start", "end", "y", "place")
    )
    y = alt.Y(
        "y:O",
        axis=alt.Axis(labelExpr="names[datum.value]", title=None, labelLimit=220, ticks=False),
    )
    opacity = alt.FillOpacity(
        "place:Q",
        scale=alt.Scale(domain=[0, max(len(answers) - 1, 1)], range=[0.12, 1]),
        legend=None,
    )
    base = alt.Chart(named("bars")).encode(y=y)
    drawn = base.mark_bar(fill="var(--accent)", stroke="var(--surface)", height=20).encode(
        x=alt.X("start:Q", axis=alt.Axis(title="Share of answers", format="%"),
                scale=alt.Scale(domain=[0, 1])),
        x2="end:Q",
        fillOpacity=opacity,
        tooltip=[
            alt.Tooltip("agent:N", title="agent"),
            alt.Tooltip("answer:N", title="answer"),
            alt.Tooltip("share:Q", title="share", format=".0%"),
            alt.Tooltip("n:Q", title="answers"),
        ],
    )  # fmt: skip
    text = (
        base.transform_filter("datum.share >= 0.06")
        .transform_calculate(middle="(datum.start + datum.end) / 2")
        .mark_text(fontSize=11)
        .encode(
            x="middle:Q",
            text="answer:N",
            color=alt.condition(
                f"datum.place > {0.55 * (len(answers) - 1)}",
                alt.value("var(--surface)"),
                alt.value("var(--ink)"),
            ),
        )
    )
    chart = (
        alt.layer(drawn, text)
        .add_params(alt.param(name="names", value=agents))
        .properties(height=_ROW * len(agents))
    )
    shares = {(row["agent"], row["answer"]): row["share"] for row in rows.iter_rows(named=True)}
    return Chart(
        specification(chart),
        {"bars": bars.to_dicts()},
        f"How often each answer on {quality} was given to each agent. "
        "The numbers stand in the table below the chart.",
        ("Agent", *answers),
        [
            (agent, *(number(shares[agent, answer], percent=True) for answer in answers))
            for agent in agents
        ],
        "From the lowest answer, on the left, to the highest, on the right.",
    )


def wins_chart(people: People, quality: str) -> Chart:
    """How often the agent of the row won against the agent of the column."""
    rows = people.wins.filter(pl.col("quality") == quality)
    agents = _ordered(people, quality, rows)
    cells: list[dict[str, Any]] = []
    for row in rows.iter_rows(named=True):
        for a, b, won in (
            (row["first"], row["second"], row["wins"]),
            (row["second"], row["first"], row["losses"]),
        ):
            if not row["n"] or any(cell["a"] == a and cell["b"] == b for cell in cells):
                continue
            share = (won + row["ties"] / 2) / row["n"]
            text = number(share, percent=True)
            place = {"x": agents.index(b), "y": agents.index(a)}
            cells.append({"a": a, "b": b, "share": share, "n": row["n"], "text": text} | place)
    axis: dict[str, Any] = {"labelExpr": "names[datum.value]", "labelLimit": 150, "ticks": False}
    x = alt.X("x:O", axis=alt.Axis(**axis, title="against", labelAngle=-40))
    y = alt.Y("y:O", axis=alt.Axis(**axis, title=None))
    base = alt.Chart(named("cells")).encode(x=x, y=y)
    shade = alt.FillOpacity("share:Q", scale=alt.Scale(domain=[0, 1], range=[0.04, 1]), legend=None)
    tooltip = [
        alt.Tooltip("a:N", title="agent"),
        alt.Tooltip("b:N", title="against"),
        alt.Tooltip("share:Q", title="won", format=".0%"),
        alt.Tooltip("n:Q", title="choices"),
    ]
    layers = [
        base.mark_rect(fill="var(--accent)", stroke="var(--surface)").encode(
            fillOpacity=shade, tooltip=tooltip
        )
    ]
    if len(agents) <= _PRINTED:
        colour = alt.condition(
            "datum.share > 0.55", alt.value("var(--surface)"), alt.value("var(--ink)")
        )
        layers.append(base.mark_text(fontSize=11).encode(text="text:N", color=colour))
    chart = (
        alt.layer(*layers)
        .add_params(alt.param(name="names", value=agents))
        .properties(height=_ROW * len(agents) + 20)
    )
    return Chart(
        specification(chart),
        {"cells": cells},
        f"Share of choices on {quality} that the agent of the row won against each other agent. "
        "The numbers stand in the table below the chart.",
        ("Agent", "Against", "Won", "Choices"),
        [(cell["a"], cell["b"], cell["text"], f"{cell['n']:,}") for cell in cells],
        "A tie counts as half a win for both.",
    )


def _ordered(people: People, quality: str, rows: pl.DataFrame) -> Sequence[str]:
    ranked = people.agents.filter(pl.col("quality") == quality).sort(
        "mean", descending=quality not in people.lower
    )
    names: list[str] = ranked["agent"].to_list()
    also = pl.concat([rows["first"], rows["second"]]).unique().sort().to_list()
    return [*names, *(name for name in also if name not in names)]
