"""How far raters agree, with each other and with themselves, in plain sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from dialens.analysis.bias import StudyAnalysis
from dialens.base import counted, number
from dialens.report._page import Finding
from dialens.report.bias._wording import below_zero, bounds, icc_bounds, no_agreement

_HOURS = 48
_SAME = "same"


def agreement_findings(analysis: StudyAnalysis) -> Iterator[Finding]:
    """How far raters agree with each other: kappa of labels, and ICC(2,k) of every quality."""
    kappas = analysis.categories.filter(pl.col("statistic") == "fleiss_kappa")
    for row in kappas.drop_nulls("value").iter_rows(named=True):
        claim = f"Fleiss’ kappa of {row['quality']} is {number(row['value'], 2)}"
        size = f"{counted(row['n_items'], 'item')}, {counted(row['n_ratings'], 'rating')}"
        yield Finding(claim, f"{bounds(row)} over items; {size}", topic="agreement")
    table = analysis.table("table5")
    if table.height:
        main = table.filter(pl.col("form") == "ICC(2,k)", pl.col("value").is_not_null())
        for quality in main["quality"].unique(maintain_order=True):
            part = main.filter(pl.col("quality") == quality).sort("value")
            low, high = part.row(0, named=True), part.row(-1, named=True)
            least, most = (number(row["value"], 2) for row in (low, high))
            if below_zero(high):
                claim = f"No agreement on {quality} can be seen"
                claim += " in any condition" if part.height > 1 else ""
                yield Finding(claim, no_agreement(high), topic="agreement")
                continue
            if below_zero(low):
                few = sum(below_zero(row) for row in part.iter_rows(named=True))
                claim = (
                    f"No agreement on {quality} can be seen in {few} of {part.height} conditions"
                )
                lowest = f"with {_cell(low)} {no_agreement(low)}"
                highest = f"highest, {most}, with {_cell(high)} ({icc_bounds(high)})"
                yield Finding(claim, f"{lowest}; {highest}", topic="agreement")
                continue
            if part.height == 1:
                claim = f"Agreement on {quality} is {least}"
                reach = f"ICC(2,k), {icc_bounds(low)} for other raters and items"
                yield Finding(claim, reach, topic="agreement")
                continue
            if least == most:
                claim = f"Agreement on {quality} is {least} in every condition"
                reach = f"ICC(2,k), {icc_bounds(low)} where it is lowest"
                yield Finding(claim, reach, topic="agreement")
                continue
            claim = f"Agreement on {quality} lies between {least} and {most}"
            ends = f"lowest with {_cell(low)} ({icc_bounds(low)}), highest with {_cell(high)}"
            yield Finding(claim, f"ICC(2,k), {ends} ({icc_bounds(high)})", topic="agreement")


def retest_findings(analysis: StudyAnalysis) -> Iterator[Finding]:
    """How far raters agree with themselves, one sentence a quality and wave."""
    for row in analysis.retest.drop_nulls("value").iter_rows(named=True):
        after = "" if row["days"] is None else f" after {_days(row['days'])}"
        what = f"{number(row['value'], 2)} ({row['statistic']})"
        if row["statistic"] == _SAME:
            what = f"{number(row['value'], percent=True)} of the same answers"
        claim = f"Raters agree with themselves on {row['quality']}{after}: {what}"
        people = f"{row['n_raters']:,} of {counted(row['awaited'], 'rater')} came back"
        reach = bounds(row, percent=row["statistic"] == _SAME) if row["low"] is not None else ""
        reach = f"{reach} for other raters and items" if reach else str(row["reason"])
        numbers = f"{reach}; {people}, {counted(row['n_pairs'], 'rating')} given twice"
        yield Finding(claim, numbers, topic="agreement")


def _days(days: float) -> str:
    hours = days * 24
    return f"{number(hours, 1)} hours" if hours < _HOURS else f"{number(days, 1)} days"


def _cell(row: Mapping[str, Any]) -> str:
    anchor = {"none": "no anchor", "both": "the anchor", "shown": "the anchor"}.get(
        row["anchor"], f"{row['anchor']} anchor"
    )
    parts = [anchor] if row["anchor"] else []
    if row["layout"]:
        parts.append(f"layout “{row['layout']}”")
    return " and ".join(parts) or "everybody"
