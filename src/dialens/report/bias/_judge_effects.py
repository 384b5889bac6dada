"""What the design did to each judge, beside people where there are any, in sentences."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from dialens.analysis.bias import StudyAnalysis
from dialens.base import interval, listed, number, p_value
from dialens.report._page import Finding
from dialens.report._table import Table

_TOPIC = "judges"
_ALL = "all"
_MAIN = ("anchor", "anchor pull", "layout", "deadline", "own_answer_first", "anchoring index")
_WORDS = {
    "anchor pull": "The anchor’s pull",
    "anchoring index": "The pull of the number shown",
    "own_answer_first": "The effect of answering oneself first",
}
_ONE_MODEL = (
    "the judge’s interval is over items, repeats averaged: one model is no sample of models"
)


def judge_effect_findings(analysis: StudyAnalysis) -> Iterator[Finding]:
    """The main effects on each judge, with people's and the difference where people rated."""
    rows = analysis.judge_effects
    main = rows.filter(pl.col("effect").is_in(_MAIN))
    if _ALL in main["quality"]:
        main = main.filter(quality=_ALL)
    beside = {
        (row["judge"], row["effect"], row["quality"]): row
        for row in analysis.beside.iter_rows(named=True)
    }
    for (judge,), part in main.group_by("judge", maintain_order=True):
        known = part.drop_nulls("value")
        for row in known.iter_rows(named=True):
            both = beside.get((row["judge"], row["effect"], row["quality"]))
            if both is None or both["people"] is None:
                yield _alone(row)
            else:
                yield _beside(row, both)
        unknown = part.filter(pl.col("value").is_null(), pl.col("effect") != "anchor pull")
        if unknown.height:
            yield _untested(str(judge), unknown, whole=not known.height)


def _untested(judge: str, part: pl.DataFrame, *, whole: bool) -> Finding:
    reasons = part["reason"].drop_nulls().unique(maintain_order=True).to_list()
    which = listed(part["effect"].unique(maintain_order=True).to_list())
    claim = f"No effect of the design on {judge} can be told"
    if not whole:
        claim = f"The effect of the {which} on {judge} cannot be told"
    return Finding(claim, "; ".join(reasons) or "no reason is known", clear=False, topic=_TOPIC)


def _what(row: Mapping[str, Any]) -> str:
    on = "" if row["quality"] == _ALL else f" on {row['quality']}"
    return _WORDS.get(row["effect"], f"The effect of the {row['effect']}") + on


def _size(value: float, unit: str) -> str:
    return number(value, percent=True) if unit == "share" else f"{number(value)} points"


def _reach(row: Mapping[str, Any], low: str, high: str) -> str | None:
    if row[low] is None:
        return None
    return interval(row[low], row[high], percent=row["unit"] == "share")


def _alone(row: Mapping[str, Any]) -> Finding:
    claim = f"{_what(row)} is {_size(row['value'], row['unit'])} for {row['judge']}"
    reach = _reach(row, "low", "high")
    if reach is None:
        told = row["reason"] or "no interval"
        return Finding(claim, f"{told}; not tested", clear=False, topic=_TOPIC)
    clear = row["p_adjusted"] is not None and row["p_adjusted"] < 0.05
    told = (
        f"95 % interval {reach}, {row['n_items']:,} items; "
        f"corrected p {p_value(row['p_adjusted'], equals=True)}; {_ONE_MODEL}"
    )
    return Finding(claim, told, clear=clear, topic=_TOPIC)


def _beside(row: Mapping[str, Any], both: Mapping[str, Any]) -> Finding:
    unit = row["unit"]
    claim = (
        f"{_what(row)} is {_size(row['value'], unit)} for {row['judge']} and "
        f"{_size(both['people'], unit)} for people"
    )
    own = _reach(row, "low", "high")
    people = _reach(both, "people_low", "people_high")
    told = [
        f"95 % interval of {row['judge']} {own}, {row['n_items']:,} items"
        if own is not None
        else f"{row['judge']}: {row['reason'] or 'no interval'}"
    ]
    told.append(f"of people {people}" if people is not None else "people: no interval")
    gap = _reach(both, "low", "high")
    clear = both["p_adjusted"] is not None and both["p_adjusted"] < 0.05
    if gap is not None:
        told.append(
            f"difference {_size(both['difference'], unit)}, {gap}, "
            f"corrected p {p_value(both['p_adjusted'], equals=True)}"
        )
    else:
        told.append("their difference is not tested")
    if own is not None:
        told.append(_ONE_MODEL)
    return Finding(claim, "; ".join(told), clear=clear, topic=_TOPIC)


def alone_table(data: pl.DataFrame) -> Table:
    """Every effect on every judge, where nobody else rated."""
    rows = [
        (
            row["judge"],
            row["effect"],
            row["quality"],
            "" if row["value"] is None else _size(row["value"], row["unit"]),
            _reach(row, "low", "high") or "",
            "" if row["p_adjusted"] is None else p_value(row["p_adjusted"]),
            f"{row['n_items']:,}",
            row["reason"] or "",
        )
        for row in data.iter_rows(named=True)
    ]
    heads = (
        "Judge", "Effect", "Quality", "Estimate", "95 % interval", "Corrected p", "Items",
        "Why not",
    )  # fmt: skip
    note = (
        "Intervals are over items, with the repeats and prompts of a judge averaged: one model is "
        "no sample of models."
    )
    return Table("judge_effects", "What the design did to judges", heads, rows, note, data)
