"""Charts of a rating study: estimates with their intervals, one row each."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from dialens.analysis.bias import StudyAnalysis
from dialens.base import number, p_value
from dialens.report._charts import Chart
from dialens.report._interval_chart import Mark, interval_chart
from dialens.report.bias._wording import is_clear

_ZERO = {"": [0.0]}
_ANCHORS = {"none": "no anchor", "both": "numerical and textual anchor", "shown": "anchor"}


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
        marks.append(
            Mark(
                ", ".join(parts) or "everybody",
                row["mean"],
                row["low"],
                row["high"],
                _anchor(row),
                details={"Raters": f"{row['n_raters']}", "Note": row["reason"] or "–"},
            )
        )
    lines = {} if anchor_value is None else {"the anchor’s value": [anchor_value]}
    return interval_chart(
        marks,
        axis=title,
        row="Condition",
        value="Mean",
        alt_text=f"{what}, with 95 % intervals over participants.",
        note="Dots are means of participants’ means, lines 95 % intervals over participants.",
        lines=lines,
    )


def agreement_chart(
    table: pl.DataFrame, form: str = "ICC(2,k)", *, normalised: bool = False
) -> Chart:
    """Agreement per condition and quality; `normalised` says that ratings are logarithms."""
    marks = []
    for row in table.filter(pl.col("form") == form).drop_nulls("value").iter_rows(named=True):
        parts = [row["quality"], *(row[k] for k in ("layout", "group") if row[k])]
        marks.append(
            Mark(
                ", ".join(parts),
                row["value"],
                row["low"],
                row["high"],
                _anchor(row),
                details={"Raters": f"{row['n_raters']}", "Cells empty": f"{row['n_missing']}"},
            )
        )
    return interval_chart(
        marks,
        axis=f"{form} of normalised ratings" if normalised else form,
        row="Condition",
        value=form,
        alt_text=f"Agreement, {form}, per condition and quality.",
        note="1 is perfect agreement of the mean ratings, 0 none. Lines are 95 % "
        "intervals, for other raters and items.",
    )


def effects_chart(analysis: StudyAnalysis, quality: str) -> Chart:
    """The design's effects in points."""
    rows = analysis.effects.filter(pl.col("unit") == "points").drop_nulls("value")
    across = (pl.col("effect") == "anchor × quality") & (quality == "all")
    marks = []
    for row in rows.filter((pl.col("quality") == quality) | across).iter_rows(named=True):
        label = row["effect"]
        if row["quality"] != quality:
            label = f"{label}: {row['quality']}"
        plain = {"Difference of participants’ means": number(row["raw_value"])}
        marks.append(
            Mark(
                label,
                row["value"],
                row["low"],
                row["high"],
                clear=is_clear(row),
                details=_tested(row) | plain,
            )
        )
    return interval_chart(
        marks,
        axis="Difference in points",
        row="Effect",
        alt_text=f"Effects of the design on ratings of {quality}.",
        note="Mixed model with raters and items random. Filled: corrected p below 0.05. "
        "Hollow: not.",
        lines=_ZERO,
    )


def differences_chart(analysis: StudyAnalysis, form: str) -> Chart:
    """Differences of agreement between conditions."""
    rows = analysis.consistency_differences.filter(pl.col("form") == form).drop_nulls("value")
    marks = [
        Mark(
            row["comparison"]
            if row["comparison"] == row["quality"]
            else f"{row['quality']}: {row['comparison']}",
            row["value"],
            row["low"],
            row["high"],
            clear=is_clear(row),
            details=_tested(row),
        )
        for row in rows.iter_rows(named=True)
    ]
    return interval_chart(
        marks,
        axis=f"Difference of {form}",
        row="Comparison",
        alt_text=f"Differences of {form} between conditions.",
        note="Filled: corrected p below 0.05. Hollow: not.",
        lines=_ZERO,
    )


def robustness_chart(analysis: StudyAnalysis) -> Chart | None:
    """The main effects with raters left out."""
    rows = analysis.robustness
    if "effect" not in rows.columns or rows["left_out"].n_unique() < 2:
        return None
    scopes = rows["quality"].drop_nulls().unique(maintain_order=True).to_list()
    if not scopes:
        return None
    scope = "all" if "all" in scopes else scopes[0]
    part = rows.filter(
        pl.col("effect").is_in(["anchor", "layout", "deadline"]), pl.col("quality") == scope
    ).drop_nulls("value")
    marks = []
    for row in part.iter_rows(named=True):
        who = "everybody" if row["left_out"] == "nobody" else f"without {_words(row['left_out'])}"
        label = f"{who} ({row['n_raters']} raters)"
        marks.append(Mark(label, row["value"], row["low"], row["high"], row["effect"]))
    return interval_chart(
        marks,
        axis="Effect in points",
        row="Raters",
        alt_text="Main effects with groups of raters left out.",
        lines=_ZERO,
    )


def ranking_chart(table: pl.DataFrame) -> Chart:
    """Qualities by mean rank."""
    marks = [
        Mark(
            row["quality"],
            row["mean_rank"],
            row["low"],
            row["high"],
            details={
                "Ranked first": number(row["share_first"], percent=True),
                "Among the first two": number(row["share_top_two"], percent=True),
            },
        )
        for row in table.iter_rows(named=True)
    ]
    return interval_chart(
        marks,
        axis="Mean rank (1 is most important)",
        row="Quality",
        value="Mean rank",
        alt_text="Mean rank of each quality in the eyes of participants.",
    )


def variance_chart(table: pl.DataFrame) -> Chart:
    """Shares of the variance by level."""
    marks = [
        Mark(row["level"], row["share"], row["low"], row["high"], row["quality"])
        for row in table.drop_nulls("share").iter_rows(named=True)
    ]
    return interval_chart(
        marks,
        axis="Share of the variance",
        row="Level",
        value="Share",
        alt_text="How the variance of ratings is shared between levels.",
        percent=True,
        note="Conditions are taken out. Items should weigh much, raters and the rest little.",
    )


def _anchor(row: Mapping[str, Any]) -> str:
    anchor = row["anchor"]
    return _ANCHORS.get(anchor, f"{anchor} anchor") if anchor else "all"


def _tested(row: Mapping[str, Any]) -> dict[str, str]:
    return {"Corrected p": p_value(row["p_adjusted"]), "Tests": f"{row['family'] or '–'}"}


def _words(flag: str) -> str:
    return flag.replace("_", " ")
