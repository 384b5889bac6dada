"""Judges in a study's report: language models beside people, in sentences and tables."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from dialens.analysis.bias import StudyAnalysis
from dialens.base import counted, interval, listed, number, p_value
from dialens.report._page import Block, Finding, Findings, Remark, Section, Text, folded
from dialens.report._table import Cell, Table, explained
from dialens.report.bias._remarks import kinds_of

_TOPIC = "judges"
_ALL = "all"
_MOST_JUDGES = 6


def only_judges(analysis: StudyAnalysis) -> list[str]:
    """The names of the judges where language models rated and nobody else; else none."""
    if set(kinds_of(analysis.data)) != {"llm"}:
        return []
    return analysis.judges["judge"].unique(maintain_order=True).to_list()


def judge_remarks(analysis: StudyAnalysis) -> list[Remark]:
    """Says that language models rated too, and where they are."""
    if not analysis.judges.height or not analysis.beside.height:
        return []
    names = analysis.judges["judge"].unique(maintain_order=True).to_list()
    text = (
        f"{counted(len(names), 'language model')} took the study too. All numbers are people’s, "
        "but those under “Judges”."
    )
    return [Remark("Judges", text)]


def judge_findings(analysis: StudyAnalysis) -> Iterator[Finding]:
    """What each judge's ratings are worth, then what the design did to judges and to people."""
    rows = analysis.judges
    if not rows.height:
        return
    names = rows["judge"].unique(maintain_order=True).to_list()
    for name in names[:_MOST_JUDGES]:
        yield from _worth(name, rows.filter(pl.col("judge") == name))
    tested = analysis.beside.drop_nulls("difference")
    together = _ALL in tested["quality"]
    for row in tested.iter_rows(named=True):
        main = row["effect"] in ("anchor", "anchor pull", "layout", "deadline", "anchoring index")
        if main and (row["quality"] == _ALL or not together):
            yield _effect(row)


def _worth(judge: str, rows: pl.DataFrame) -> Iterator[Finding]:
    known = rows.drop_nulls("r")
    for row in known.iter_rows(named=True):
        claim = f"{judge} goes with people on {row['quality']} by r = {number(row['r'], 2)}"
        told = [f"95 % interval {interval(row['r_low'], row['r_high'], 2)}, {row['n']:,} items"]
        if row["ceiling"] is not None:
            told.append(f"people’s own errors allow {number(row['ceiling'], 2)}")
        told.append(f"saves at most {number(row['saving_most'], percent=True)} of human ratings")
        if row["winning_rate"] is not None:
            verdict = "may stand in for a person" if row["winning_rate"] >= 0.5 else (
                "may not stand in for a person"
            )  # fmt: skip
            told.append(
                f"{verdict}: as near to the others as {number(row['winning_rate'], percent=True)} "
                "of the people (alternative annotator test)"
            )
        low = row["r_low"]
        yield Finding(claim, "; ".join(told), clear=low is not None and low > 0, topic=_TOPIC)
    again = rows.drop_nulls("test_retest")
    if again.height:
        parts = [
            f"{row['quality']} {number(row['test_retest'], 2)} "
            f"({interval(row['test_retest_low'], row['test_retest_high'], 2)})"
            for row in again.iter_rows(named=True)
        ]
        yield Finding(
            f"Asked again, {judge} agrees with itself",
            f"ICC(2,1), 95 % interval: {listed(parts)}",
            clear=True,
            topic=_TOPIC,
        )
    for row in rows.drop_nulls("flip_rate").iter_rows(named=True):
        yield Finding(
            f"{judge} changes its verdict on {row['quality']} in "
            f"{number(row['flip_rate'], percent=True)} of the pairs when they change places",
            _flip_bounds(row),
            clear=row["flip_rate_low"] is not None,
            topic=_TOPIC,
        )


def _flip_bounds(row: Mapping[str, Any]) -> str:
    low, high = row["flip_rate_low"], row["flip_rate_high"]
    if low is None or high is None:
        return "too few for an interval"
    return f"95 % interval {interval(100 * low, 100 * high, 0)} %"


def _effect(row: Mapping[str, Any]) -> Finding:
    share = row["unit"] == "share"
    on = "" if row["quality"] == _ALL else f" on {row['quality']}"
    models, people = (number(row[name], percent=share) for name in ("models", "people"))
    what = {"anchor pull": "The anchor’s pull"}.get(
        row["effect"], f"The effect of the {row['effect']}"
    )
    claim = f"{what}{on} is {models} for language models and {people} for people"
    if row["low"] is None:
        return Finding(claim, row["reason"] or "no interval", clear=False, topic=_TOPIC)
    unit = 100.0 if share else 1.0
    bounds = interval(unit * row["low"], unit * row["high"], 0 if share else 1)
    told = (
        f"difference {number(row['difference'], percent=share)}, 95 % interval {bounds}"
        f"{' %' if share else ''}; corrected p {p_value(row['p_adjusted'])}; over participants and "
        "items for people, over items and repeats for models: few models are no sample of models"
    )
    clear = row["p_adjusted"] is not None and row["p_adjusted"] < 0.05
    return Finding(claim, told, clear=clear, topic=_TOPIC)


def judge_tables(analysis: StudyAnalysis) -> dict[str, Table]:
    """The tables of judges, where there are any."""
    made = []
    if analysis.judges.height:
        made.append(_judges(analysis.judges))
    if analysis.beside.height:
        made.append(_beside(analysis.beside))
    return {table.key: table for table in made}


def _judges(data: pl.DataFrame) -> Table:
    rows = [
        (
            row["judge"],
            row["quality"],
            f"{row['n']:,}",
            _or_why(row, "r"),
            interval(row["r_low"], row["r_high"], 2),
            _or_why(row, "r_corrected"),
            _or_why(row, "saving_most", percent=True),
            _or_why(row, "winning_rate", percent=True),
            _or_why(row, "test_retest"),
            _or_why(row, "flip_rate", percent=True),
        )
        for row in data.iter_rows(named=True)
    ]
    heads = (
        "Judge", "Quality", "Items of both", "r", "95 % interval", "r corrected", "Saves at most",
        "Winning rate", "Test–retest", "Flips",
    )  # fmt: skip
    note = (
        "r: with the mean of people; corrected for the unreliability of both. Saves: human ratings "
        "of a prediction-powered mean. Winning rate: alternative annotator test (Calderon et al. "
        "2025). Test–retest: ICC(2,1) over repeats. Flips: pairs judged otherwise when swapped."
    )
    return Table("judges", "Judges beside people", heads, rows, note, data)


def _or_why(row: Mapping[str, Any], name: str, *, percent: bool = False) -> Cell:
    """A number, or why there is none: `reason` says it by column, `r, ceiling: no people; …`."""
    value, why = row[name], None
    if value is None and row["reason"]:
        parts = [part.split(": ", 1) for part in row["reason"].split("; ")]
        why = next((told[-1] for told in parts if name in told[0].split(", ")), row["reason"])
    return explained(number(value, percent=True) if percent else number(value, 2), value, why)


def _beside(data: pl.DataFrame) -> Table:
    rows = [
        (
            row["effect"],
            row["quality"],
            _value(row, "people"),
            _value(row, "models"),
            _value(row, "difference"),
            "" if row["p_adjusted"] is None else p_value(row["p_adjusted"]),
            row["reason"] or "",
        )
        for row in data.iter_rows(named=True)
    ]
    heads = ("Effect", "Quality", "People", "Models", "Models − people", "Corrected p", "Why not")
    note = "95 % intervals; shares for the anchor’s pull, points otherwise."
    return Table("people_and_judges", "Effects on people and on judges", heads, rows, note, data)


def _value(row: Mapping[str, Any], name: str) -> str:
    low, high = ("low", "high") if name == "difference" else (f"{name}_low", f"{name}_high")
    if row[name] is None:
        return ""
    return f"{number(row[name], 2)} ({interval(row[low], row[high], 2)})"


def judge_section(analysis: StudyAnalysis, tables: Mapping[str, Table]) -> Iterator[Section]:
    """The section of judges; none where nobody but people rated."""
    if not analysis.judges.height:
        return
    lead = Text(
        "Language models that took the same study. A judge that goes with people can save ratings "
        "of people, never replace all of them: what it is worth is measured against theirs."
    )
    found = list(judge_findings(analysis))
    keys = [key for key in ("judges", "people_and_judges") if key in tables]
    blocks: list[Block] = [lead, *([Findings(found)] if found else [])]
    blocks += [folded(tables[key], open=key == "judges") for key in keys]
    yield Section("judges", "Judges", blocks)
