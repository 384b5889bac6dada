"""A trait of all agents on one scale: dialogues as faint dots, agents as means with their lines."""

from collections.abc import Mapping, Sequence
from typing import Any

import altair as alt
import numpy as np
import polars as pl

from dialens.base import number
from dialens.metrics import MetricCard
from dialens.report._charts import FEW_AGENTS, Chart, named, specification, value_axis
from dialens.report._wording import Scale
from dialens.report.profile._words import stability_words

_MOST_ROWS = 10
_MOST_DOTS = 600
_ROW_HEIGHT = 38
_LOW_ROW_HEIGHT = 28
_WIDEST_NAME = 120
_MIDDLE = (0.1, 0.9)


def trait_chart(
    trait: MetricCard, agents: Sequence[Mapping[str, Any]], dialogs: pl.DataFrame, *, seed: int = 0
) -> Chart:
    """One row an agent, highest and lowest only where there are too many.

    Args:
        trait: The metric.
        agents: Rows of the profile at the level of agents, each with its `number` and `name`.
        dialogs: Columns `agent` (a number), `dialog` and `x`, without missing values.
        seed: Of the scatter of the dots.
    """
    known = [row for row in agents if row["mean"] is not None]
    shown = _most_telling(known)
    place = {row["number"]: at for at, row in enumerate(shown)}
    frame = dialogs.filter(pl.col("agent").is_in(list(place))).with_columns(
        row=pl.col("agent").replace_strict(place, return_dtype=pl.Int64)
    )
    scale = Scale.of(trait, [(row["mean"], row["low"], row["high"]) for row in known])
    means = [
        {
            "number": row["number"],
            "row": at,
            "x": _short(row["mean"]),
            "low": _short(row["low"]),
            "high": _short(row["high"]),
        }
        for at, row in enumerate(shown)
    ]
    outermost = frame.select(low=pl.col("x").min(), high=pl.col("x").max()).row(0)
    domain = _domain([*outermost, *(end for row in means for end in (row["low"], row["high"]))])
    x = value_axis("", percent=scale.percent, domain=domain)
    y = _rows(len(shown))
    behind, data = _behind(frame, seed)
    tooltip = [
        alt.Tooltip("agent:N", title="agent"),
        alt.Tooltip("x:Q", title="mean", format=".3~f"),
        alt.Tooltip("low:Q", title="from", format=".3~f"),
        alt.Tooltip("high:Q", title="to", format=".3~f"),
    ]
    height = _ROW_HEIGHT if len(shown) <= FEW_AGENTS else _LOW_ROW_HEIGHT
    base = alt.Chart(named("means")).encode(y=y, tooltip=tooltip)
    line = base.mark_rule(strokeWidth=3.5, strokeCap="round", color="var(--accent)", clip=True)
    dot = base.mark_circle(size=95, opacity=1, color="var(--accent)", clip=True)
    drawing = (
        alt.layer(
            behind.encode(x=x, y=y),
            line.encode(x=alt.X("low:Q"), x2="high:Q"),
            dot.encode(x=alt.X("x:Q")),
        )
        .add_params(alt.param(name="names", value=[row["name"] for row in shown]))
        .properties(height=height * len(shown) + 4)
    )
    left_out = len(known) - len(shown)
    note = (
        f"The {_MOST_ROWS // 2} highest and the {_MOST_ROWS // 2} lowest of {len(known):,} agents."
        if left_out
        else ""
    )
    return Chart(
        specification(drawing),
        {"means": means, **data},
        f"{trait.label} of every agent: the mean of its dialogues with a 95 % interval, and the "
        "dialogues behind it. The numbers stand in the table below the chart.",
        ("Agent", "Mean", "95 % interval", "Spread of its dialogues", "Stability",
         "Reliability of the mean", "Dialogues", "Without a value"),
        [_numbers(row, scale) for row in agents],
        note,
    )  # fmt: skip


def _most_telling(rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """All in the order of the corpus, or the ends of their order where there are too many."""
    if len(rows) <= _MOST_ROWS:
        return list(rows)
    ordered = sorted(rows, key=lambda row: -row["mean"])
    return [*ordered[: _MOST_ROWS // 2], *ordered[-_MOST_ROWS // 2 :]]


def _numbers(row: Mapping[str, Any], scale: Scale) -> tuple[str | int, ...]:
    return (
        row["name"],
        scale.text(row["mean"]),
        scale.interval(row["low"], row["high"]) or "–",
        number(row["sd_within"], 2),
        stability_words(row["stability"]) if row["stability"] is not None else f"– {row['reason']}",
        number(row["reliability"], 2),
        row["n_dialogs"],
        row["n_missing"],
    )


def _behind(
    frame: pl.DataFrame, seed: int
) -> tuple[alt.Chart, dict[str, Sequence[Mapping[str, Any]]]]:
    """The dialogues themselves, or the middle four fifths of them where they are too many."""
    if frame.height <= _MOST_DOTS:
        rng = np.random.default_rng([seed, 3])
        lift = 0.42 * (rng.random(frame.height) - 0.5)
        rows = frame.select(
            "dialog", x=pl.col("x").round(5), row=(pl.col("row") + pl.Series(lift)).round(3)
        ).to_dicts()
        tooltip = [
            alt.Tooltip("dialog:N", title="dialogue"),
            alt.Tooltip("x:Q", title="value", format=".3~f"),
        ]
        dots = (
            alt.Chart(named("dots"))
            .mark_circle(size=30, style="quiet", opacity=0.45, cursor="pointer", clip=True)
            .encode(tooltip=tooltip)
        )
        return dots, {"dots": rows}
    low, high = _MIDDLE
    bands = (
        frame.group_by("row")
        .agg(x=pl.col("x").quantile(low), to=pl.col("x").quantile(high))
        .sort("row")
        .to_dicts()
    )
    band = (
        alt.Chart(named("bands"))
        .mark_rule(strokeWidth=12, style="quiet", opacity=0.3, clip=True)
        .encode(x2="to:Q")
    )
    return band, {"bands": bands}


def _rows(count: int) -> alt.Y:
    axis = alt.Axis(
        values=list(range(count)),
        labelExpr="names[datum.value]",
        labelLimit=_WIDEST_NAME,
        labelFontSize=13,
        grid=True,
        title=None,
    )
    return alt.Y(
        "row:Q", axis=axis, scale=alt.Scale(domain=[count - 0.5, -0.5], nice=False, zero=False)
    )


def _domain(values: Sequence[float | None]) -> list[float]:
    there = [value for value in values if value is not None]
    margin = (max(there) - min(there)) * 0.03 or 0.5
    return [min(there) - margin, max(there) + margin]


def _short(value: float | None) -> float | None:
    return None if value is None else round(value, 5)
