"""Judges in a study's report: language models beside people, in sentences and tables."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from dialens.analysis.bias import StudyAnalysis
from dialens.base import counted, interval, number, p_value
from dialens.report._page import Block, Finding, Findings, Remark, Section, Text, folded
from dialens.report._table import Table

_TOPIC = "judges"
_ALL = "all"
_MOST_JUDGES = 6


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
    for row in rows.drop_nulls("test_retest").iter_rows(named=True):
        low = row["test_retest_low"]
        yield Finding(
            f"Asked again, {judge} agrees with itself on {row['quality']} by "
            f"{number(row['test_retest'], 2)}",
            f"ICC(2,1){_reach(row, 'test_retest')}; 1 is the same answer every time, 0 chance",
            clear=low is not None and low > 0,
            topic=_TOPIC,
        )
    for row in rows.drop_nulls("flip_rate").iter_rows(named=True):
        yield Finding(
            f"{judge} changes its choice on {row['quality']} in "
            f"{number(row['flip_rate'], percent=True)} of the pairs when they change places",
            _reach(row, "flip_rate", percent=True).removeprefix(", "),
            clear=row["flip_rate_low"] is not None,
            topic=_TOPIC,
        )


def _reach(row: Mapping[str, Any], name: str, *, percent: bool = False) -> str:
    """The interval of a number, or that there is none."""
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    if low is None or high is None:
        return ", too few items for an interval"
    if percent:
        return f", 95 % interval {interval(100 * low, 100 * high, 0)} %"
    return f", 95 % interval {interval(low, high, 2)}"


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
            number(row["r"], 2),
            interval(row["r_low"], row["r_high"], 2),
            number(row["r_corrected"], 2),
            number(row["saving_most"], percent=True),
            number(row["winning_rate"], percent=True),
            number(row["test_retest"], 2),
            number(row["flip_rate"], percent=True),
            row["reason"] or "",
        )
        for row in data.iter_rows(named=True)
    ]
    heads = (
        "Judge", "Quality", "Items", "r", "95 % interval", "r corrected", "Saves at most",
        "Winning rate", "Test–retest", "Flips", "Why not",
    )  # fmt: skip
    note = (
        "r: with the mean of people; corrected for the unreliability of both. Saves: human ratings "
        "of a prediction-powered mean. Winning rate: alternative annotator test (Calderon et al. "
        "2025). Test–retest: ICC(2,1) over repeats. Flips: pairs judged otherwise when swapped."
    )
    return Table("judges", "Judges beside people", heads, rows, note, data)


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
