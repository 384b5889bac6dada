"""How a metric is distributed over the dialogues of each agent: dots if few, shapes if many."""

from collections.abc import Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from dialens.base import counted
from dialens.report._charts import Chart, named, row_axis, specification, value_axis
from dialens.report._digest import Digest

_MOST_DOTS = 900
_MOST_DOTS_OF_ONE = 200
_MOST_ROWS = 24
_FEW = 20
_BINS = 44
_TAIL = 0.005


def distribution_chart(digest: Digest, name: str, *, seed: int = 0) -> Chart | None:
    """One row an agent; None where no dialogue has a value."""
    scale = digest.scales[name]
    values = digest.dialogs.select("agent", x=name).collect(engine="streaming")
    frame = values.with_row_index("place").drop_nulls("x")
    if not frame.height:
        return None
    chosen = _rows(digest, name)
    place = {number: row for row, number in enumerate(chosen)}
    frame = frame.filter(pl.col("agent").is_in(chosen)).with_columns(
        row=pl.col("agent").replace_strict(place, return_dtype=pl.Int64)
    )
    summary = (
        frame.group_by("row")
        .agg(
            n=pl.len(),
            low=pl.col("x").quantile(0.25),
            middle=pl.col("x").median(),
            high=pl.col("x").quantile(0.75),
        )
        .sort("row")
    )
    boxes = summary.to_dicts()
    shown = {row["row"]: row["n"] for row in boxes}
    names = [digest.agents[number].name for number in chosen]
    largest = int(summary["n"].max())  # type: ignore[arg-type]
    dots = frame.height <= _MOST_DOTS and largest <= _MOST_DOTS_OF_ONE
    domain = _domain(frame["x"])
    lone = [row for row, dialogs in shown.items() if dots or dialogs < _FEW]
    parts, data = _body(digest, frame, lone, domain, seed)
    count = len(chosen)
    y = row_axis(count)
    x = value_axis(digest.label(name), percent=scale.percent, domain=domain)
    base = alt.Chart(named("boxes")).encode(y=y)
    tooltip = [
        alt.Tooltip("middle:Q", title="median", format=".3~f"),
        alt.Tooltip("low:Q", title="lower quartile", format=".3~f"),
        alt.Tooltip("high:Q", title="upper quartile", format=".3~f"),
        alt.Tooltip("n:Q", title="dialogues"),
    ]
    box = base.mark_rule(
        strokeWidth=3, strokeCap="round", color="var(--ink)", opacity=0.75, clip=True
    )
    median = base.mark_point(
        shape="circle", filled=True, size=70, color="var(--surface)", stroke="var(--ink)",
        strokeWidth=2, opacity=1, clip=True,
    )  # fmt: skip
    layers = alt.layer(
        *(part.encode(x=x, y=y) for part in parts),
        box.encode(x=alt.X("low:Q"), x2="high:Q", tooltip=tooltip),
        median.encode(x=alt.X("middle:Q"), tooltip=tooltip),
    )
    layers = layers.add_params(alt.param(name="names", value=names)).properties(
        height=max(110, 46 * count + 10)
    )
    many = len(digest.agents) > count
    notes = [
        "A dot is a dialogue; open it with a click where it is among those below."
        if dots
        else f"Heights are counts in {_BINS} bins, scaled by agent; a dot is a single dialogue of "
        f"an agent with fewer than {_FEW}.",
        "The ring marks the median, the dark line the middle half.",
    ]
    outside = frame.filter((pl.col("x") < domain[0]) | (pl.col("x") > domain[1])).height
    if outside:
        notes.append(f"{counted(outside, 'dialogue lies', 'dialogues lie')} beyond the edges.")
    if many:
        notes.append(
            f"Shown are the {count // 2} highest and the {count // 2} lowest "
            f"of {counted(len(digest.agents), 'agent')}."
        )
    card = digest.cards[name]
    return Chart(
        specification(layers),
        {"boxes": boxes, **data},
        f"{card.label} of single dialogues, one row an agent. {card.meaning}. "
        "The numbers stand in the table below the chart.",
        ("Agent", "Dialogues", "Lower quartile", "Median", "Upper quartile"),
        [
            (
                names[row["row"]],
                shown[row["row"]],
                *(scale.text(row[part]) for part in ("low", "middle", "high")),
            )
            for row in boxes
        ],
        " ".join(notes),
    )


def _rows(digest: Digest, name: str) -> list[int]:
    """All agents, or the highest and lowest where there are too many for a chart."""
    numbers = [unit.number for unit in digest.agents]
    if len(numbers) <= _MOST_ROWS:
        return numbers
    known = [unit for unit in digest.agents if unit.estimates[name].value is not None]
    ordered = [u.number for u in sorted(known, key=lambda u: -(u.estimates[name].value or 0.0))]
    half = _MOST_ROWS // 2
    return ordered if len(ordered) <= _MOST_ROWS else ordered[:half] + ordered[-half:]


def _body(
    digest: Digest, frame: pl.DataFrame, lone: Sequence[int], domain: Sequence[float], seed: int
) -> tuple[list[alt.Chart], dict[str, list[dict[str, Any]]]]:
    """Dots for the rows of agents whose dialogues stand alone, shapes for those with many."""
    few = frame.filter(pl.col("row").is_in(list(lone)))
    many = frame.filter(~pl.col("row").is_in(list(lone)))
    parts, data = [], {}
    if many.height:
        parts.append(_shapes())
        data["shapes"] = _shape_rows(many, domain)
    if few.height:
        parts.append(_dots())
        data["dots"] = _dot_rows(few, digest, seed)
    return parts, data


def _domain(values: pl.Series) -> list[float]:
    """From end to end, without the last half percent where a tail is long."""
    low, high = (float(values.quantile(q) or 0.0) for q in (0.0, 1.0))
    inner_low, inner_high = (float(values.quantile(q) or 0.0) for q in (_TAIL, 1 - _TAIL))
    inner = inner_high - inner_low
    if inner > 0 and high - inner_high > 0.3 * inner:
        high = inner_high
    if inner > 0 and inner_low - low > 0.3 * inner:
        low = inner_low
    margin = (high - low) * 0.02 or 0.5
    return [low - margin, high + margin]


def _dot_rows(frame: pl.DataFrame, digest: Digest, seed: int) -> list[dict[str, Any]]:
    """Dialogues strewn above the line of their agent, by name."""
    here = pl.col("place").is_in(frame["place"].implode())
    named_here = digest.dialogs.select("dialog").with_row_index("place").filter(here)
    frame = frame.join(
        named_here.collect(engine="streaming"), on="place", how="left", maintain_order="left"
    )
    rng = np.random.default_rng([seed, 2])
    lift = 0.16 + 0.5 * rng.random(frame.height)
    return frame.select(
        "dialog", x=pl.col("x").round(5), row=(pl.col("row") - pl.Series(lift)).round(3)
    ).to_dicts()


def _dots() -> alt.Chart:
    tooltip = [
        alt.Tooltip("dialog:N", title="dialogue"),
        alt.Tooltip("x:Q", format=".3~f", title="value"),
    ]
    chart: alt.Chart = (
        alt.Chart(named("dots"))
        .mark_circle(size=34, color="var(--accent)", opacity=0.45, cursor="pointer", clip=True)
        .encode(tooltip=tooltip)
    )
    return chart


def _shape_rows(frame: pl.DataFrame, domain: Sequence[float]) -> list[dict[str, Any]]:
    """The outline of a histogram above the line of each agent.

    Rows are scaled by the square root of the tallest: one agent that always gives the same value
    would otherwise flatten all others.
    """
    low, high = domain
    width = (high - low) / _BINS
    binned = (
        frame.filter(pl.col("x").is_between(low, high))
        .with_columns(bin=((pl.col("x") - low) / width).floor().cast(pl.Int64).clip(0, _BINS - 1))
        .group_by("row", "bin")
        .agg(count=pl.len())
    )
    totals = frame.group_by("row").agg(n=pl.len())
    cells = totals.select("row").join(pl.DataFrame({"bin": range(-1, _BINS + 1)}), how="cross")
    heights = (
        cells.join(binned, on=["row", "bin"], how="left")
        .join(totals, on="row")
        .with_columns(share=pl.col("count").fill_null(0) / pl.col("n"))
        .with_columns(peak=pl.col("share").max().over("row"))
        .with_columns(scale=(pl.col("peak") * pl.col("peak").max()).sqrt())
        .sort("row", "bin")
    )
    return heights.select(
        x=(low + (pl.col("bin") + 0.5) * width).clip(low, high).round(5),
        base="row",
        row=(pl.col("row") - 0.8 * pl.col("share") / pl.col("scale")).round(3),
    ).to_dicts()


def _shapes() -> alt.Chart:
    chart: alt.Chart = (
        alt.Chart(named("shapes"))
        .mark_area(
            interpolate="monotone",
            color="var(--accent)",
            fillOpacity=0.28,
            line={"color": "var(--accent)", "strokeWidth": 1.2},
            clip=True,
        )
        .encode(y2="base:Q", detail="base:O")
    )
    return chart
