"""Charts of a rating study: estimates with their intervals, one row each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl

from dialens.analysis.bias import StudyAnalysis
from dialens.report._charts import Chart, named, specification
from dialens.report.bias._wording import interval, number, p_value, told

_ANCHORS = {"none": "no anchor", "both": "numerical and textual anchor", "shown": "anchor"}
_LABEL = 24
_LINE = 16


@dataclass(frozen=True)
class Mark:
    """One estimate in a chart.

    Attributes:
        row: Label of its row.
        series: What its colour stands for; empty if all are alike.
        x: The estimate.
        low: Lower end.
        high: Upper end.
        note: For the tooltip and the table behind the chart.
        solid: Filled or hollow.
    """

    row: str
    series: str
    x: float
    low: float | None
    high: float | None
    note: str = ""
    solid: bool = True


def interval_chart(
    marks: Sequence[Mark],
    *,
    title: str,
    alt_text: str,
    note: str = "",
    percent: bool = False,
    lines: Mapping[str, float] | None = None,
    zero: bool = False,
) -> Chart:
    """Estimates with intervals, rows from top to bottom, series side by side within a row.

    Args:
        marks: What is drawn.
        title: Of the horizontal axis.
        alt_text: One sentence for those who cannot see it.
        note: Below the chart.
        percent: Whether values are shares.
        lines: Vertical dashed lines by name.
        zero: Draw a line at zero.
    """
    rows = list(dict.fromkeys(mark.row for mark in marks))
    series = list(dict.fromkeys(mark.series for mark in marks))
    tall = _LABEL + _LINE * len(series)
    shown = [_drawn(mark, rows, series, percent) for mark in marks]
    labels = [{"y": at * tall, "label": row} for at, row in enumerate(rows)]
    rules = [{"x": 0.0, "name": ""}] if zero else []
    rules += [{"x": at, "name": name} for name, at in (lines or {}).items()]
    x = alt.X(
        "x:Q",
        axis=alt.Axis(title=title, format="%" if percent else ",~r", tickCount=6),
        scale=alt.Scale(zero=False, nice=True),
    )
    space = alt.Scale(domain=[0, len(rows) * tall], range=[0, len(rows) * tall], nice=False)
    y = alt.Y("y:Q", axis=None, scale=space)
    colour: Any = alt.value("var(--accent)")
    if len(series) > 1:
        colour = alt.Color("series:N", scale=alt.Scale(domain=series))
    tooltip = [
        alt.Tooltip("label:N", title="what"),
        alt.Tooltip("text:N", title="estimate"),
        alt.Tooltip("reach:N", title="95 % interval"),
        alt.Tooltip("note:N", title="note"),
    ]
    base = alt.Chart(named("marks")).encode(y=y, tooltip=tooltip)
    bar = base.mark_rule(strokeWidth=3, strokeCap="round", opacity=0.65)
    layers: list[alt.Chart] = [
        alt.Chart(named("labels"))
        .mark_text(align="left", baseline="top", dy=7, fontSize=12, color="var(--ink)", limit=900)
        .encode(x=alt.value(0), y=y, text="label:N"),
        bar.encode(x=alt.X("low:Q"), x2="high:Q", color=colour),
        base.mark_circle(size=90, opacity=1).encode(x=x, color=colour),
    ]
    if not all(mark.solid for mark in marks):
        hollow = base.transform_filter("!datum.solid").mark_circle(
            size=26, opacity=1, color="var(--surface)"
        )
        layers.append(hollow.encode(x=x))
    if rules:
        ruled = alt.Chart(named("rules"))
        soft = "var(--ink-soft)"
        name = ruled.mark_text(
            align="right", baseline="bottom", dx=-5, dy=-3, fontSize=11, color=soft
        )
        layers = [
            ruled.mark_rule(color=soft, strokeDash=[3, 3]).encode(x=x),
            name.encode(x=x, y=alt.value(len(rows) * tall), text="name:N"),
            *layers,
        ]
    return Chart(
        specification(alt.layer(*layers).properties(height=len(rows) * tall)),
        {"marks": shown, "labels": labels, "rules": rules},
        f"{alt_text} The numbers stand in the table below the chart.",
        ("Row", "Series", "Estimate", "95 % interval", "Note"),
        [
            (mark.row, mark.series or "–", *_texts(mark, percent), mark.note or "–")
            for mark in marks
        ],
        note,
    )


def _drawn(
    mark: Mark,
    rows: Sequence[str],
    series: Sequence[str],
    percent: bool,  # noqa: FBT001
) -> dict[str, Any]:
    text, reach = _texts(mark, percent)
    top = rows.index(mark.row) * (_LABEL + _LINE * len(series))
    return {
        "y": top + _LABEL + _LINE * (series.index(mark.series) + 0.4),
        "series": mark.series,
        "label": f"{mark.row}, {mark.series}" if mark.series else mark.row,
        "x": mark.x,
        "low": mark.low,
        "high": mark.high,
        "text": text,
        "reach": reach,
        "note": mark.note or "–",
        "solid": mark.solid,
    }


def _texts(mark: Mark, percent: bool) -> tuple[str, str]:  # noqa: FBT001
    return number(mark.x, percent=percent), interval(mark.low, mark.high, percent=percent)


def means_chart(
    table: pl.DataFrame, *, title: str, what: str, anchor_value: float | None = None
) -> Chart:
    """Means per condition, anchors as colours; quality or group of raters as part of the row."""
    several = table["quality"].n_unique() > 1
    marks = []
    for row in table.drop_nulls("mean").iter_rows(named=True):
        parts = [row["quality"]] if several else []
        parts += [row["layout"]] if row["layout"] else []
        parts += [row["group"]] if row["group"] else []
        anchor = row["anchor"]
        marks.append(
            Mark(
                ", ".join(parts) or "everybody",
                _ANCHORS.get(anchor, f"{anchor} anchor") if anchor else "all",
                row["mean"],
                row["low"],
                row["high"],
                f"{row['n_raters']} raters" + (f"; {row['reason']}" if row["reason"] else ""),
            )
        )
    lines = {} if anchor_value is None else {"the anchor’s value": anchor_value}
    return interval_chart(
        marks,
        title=title,
        alt_text=f"{what}, with 95 % intervals over participants.",
        note="Dots are means of participants’ means, lines 95 % intervals over participants.",
        lines=lines,
    )


def agreement_chart(table: pl.DataFrame, form: str = "ICC(2,k)") -> Chart:
    """Agreement per condition and quality."""
    marks = []
    for row in table.filter(pl.col("form") == form).drop_nulls("value").iter_rows(named=True):
        parts = [row["quality"], *(row[k] for k in ("layout", "group") if row[k])]
        anchor = row["anchor"]
        marks.append(
            Mark(
                ", ".join(parts),
                _ANCHORS.get(anchor, f"{anchor} anchor") if anchor else "all",
                row["value"],
                row["low"],
                row["high"],
                f"{row['n_raters']} raters, {row['n_missing']} cells missing",
            )
        )
    return interval_chart(
        marks,
        title=f"{form} of normalised ratings",
        alt_text=f"Agreement, {form}, per condition and quality.",
        note="1 is perfect agreement of the mean ratings, 0 none. Lines are bootstrap intervals "
        "over participants.",
    )


def effects_chart(analysis: StudyAnalysis, quality: str) -> Chart:
    """The design's effects in points, from participants' means and from the mixed model."""
    rows = analysis.effects.filter(pl.col("unit") == "points").drop_nulls("value")
    across = (pl.col("effect") == "anchor × quality") & (quality == "all")
    marks = []
    for row in rows.filter((pl.col("quality") == quality) | across).iter_rows(named=True):
        label = row["effect"]
        if row["quality"] != quality:
            label = f"{label}: {row['quality']}"
        note = f"corrected p {p_value(row['p_adjusted'], equals=True)}, {row['family']} tests"
        ends = (row["low"], row["high"])
        marks.append(Mark(label, "participants’ means", row["value"], *ends, note, told(row)))
        if row["model_value"] is not None:
            beside = f"uncorrected p {p_value(row['model_p'], equals=True)}"
            ends = (row["model_low"], row["model_high"])
            marks.append(Mark(label, "mixed model", row["model_value"], *ends, beside, told(row)))
    return interval_chart(
        marks,
        title="Difference in points",
        alt_text=f"Effects of the design on ratings of {quality}.",
        note="Filled: corrected p below 0.05 (participants’ means). Hollow: not.",
        zero=True,
    )


def differences_chart(analysis: StudyAnalysis, form: str) -> Chart:
    """Differences of agreement between conditions."""
    rows = analysis.consistency_differences.filter(pl.col("form") == form).drop_nulls("value")
    marks = [
        Mark(
            row["comparison"]
            if row["comparison"] == row["quality"]
            else f"{row['quality']}: {row['comparison']}",
            "",
            row["value"],
            row["low"],
            row["high"],
            f"corrected p {p_value(row['p_adjusted'], equals=True)}, {row['family']} tests",
            told(row),
        )
        for row in rows.iter_rows(named=True)
    ]
    return interval_chart(
        marks,
        title=f"Difference of {form}",
        alt_text=f"Differences of {form} between conditions.",
        note="Filled: corrected p below 0.05. Hollow: not.",
        zero=True,
    )


def robustness_chart(analysis: StudyAnalysis) -> Chart | None:
    """The main effects with raters left out."""
    rows = analysis.robustness
    if "effect" not in rows.columns or rows["left_out"].n_unique() < 2:
        return None
    scopes = rows["quality"].drop_nulls().unique(maintain_order=True).to_list()
    scope = "all" if "all" in scopes else scopes[0]
    part = rows.filter(
        pl.col("effect").is_in(["anchor", "layout", "deadline"]), pl.col("quality") == scope
    ).drop_nulls("value")
    marks = []
    for row in part.iter_rows(named=True):
        who = "everybody" if row["left_out"] == "nobody" else f"without {_words(row['left_out'])}"
        label = f"{who} ({row['n_raters']} raters)"
        marks.append(Mark(label, row["effect"], row["value"], row["low"], row["high"]))
    return interval_chart(
        marks,
        title="Effect in points",
        alt_text="Main effects with groups of raters left out.",
        zero=True,
    )


def ranking_chart(table: pl.DataFrame) -> Chart:
    """Qualities by mean rank."""
    marks = [
        Mark(row["quality"], "", row["mean_rank"], row["low"], row["high"],
             f"first for {number(row['share_first'], percent=True)}, "
             f"among the first two for {number(row['share_top_two'], percent=True)}")
        for row in table.iter_rows(named=True)
    ]  # fmt: skip
    return interval_chart(
        marks,
        title="Mean rank (1 is most important)",
        alt_text="Mean rank of each quality in the eyes of participants.",
    )


def variance_chart(table: pl.DataFrame) -> Chart:
    """Shares of the variance by level."""
    marks = [
        Mark(row["level"], row["quality"], row["share"], row["low"], row["high"])
        for row in table.drop_nulls("share").iter_rows(named=True)
    ]
    return interval_chart(
        marks,
        title="Share of the variance",
        alt_text="How the variance of ratings is shared between levels.",
        percent=True,
        note="Conditions are taken out. Items should weigh much, raters and the rest little.",
    )


def _words(flag: str) -> str:
    return flag.replace("_", " ")
