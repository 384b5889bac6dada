"""Judges in a study's report: language models beside people, in sentences and tables."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from dialens.analysis.bias import StudyAnalysis
from dialens.base import counted, interval, listed, number, p_value
from dialens.report._page import Block, Finding, Findings, Remark, Section, Text, folded
from dialens.report._table import Cell, Table, explained
from dialens.report.bias._judge_designs import cheapest_findings
from dialens.report.bias._judge_effects import alone_table, judge_effect_findings
from dialens.report.bias._remarks import all_models

_TOPIC = "judges"
_ALL = "all"
_MOST_JUDGES = 6
_EQUAL = 1 - 1e-9


def only_judges(analysis: StudyAnalysis) -> list[str]:
    """The names of the judges where language models rated and nobody else; else none."""
    if not all_models(analysis.data):
        return []
    return analysis.judges["judge"].unique(maintain_order=True).to_list()


def judge_remarks(analysis: StudyAnalysis) -> list[Remark]:
    """Says that language models rated too, and where they are."""
    if not analysis.judges.height or all_models(analysis.data):
        return []
    names = analysis.judges["judge"].unique(maintain_order=True).to_list()
    text = (
        f"{counted(len(names), 'language model')} took the study too. All numbers are people’s, "
        "but those under “Judges”."
    )
    return [Remark("Judges", text)]


def judge_findings(analysis: StudyAnalysis) -> Iterator[Finding]:
    """Which judge goes best with people, which are enough, what each is worth and how it errs."""
    rows = analysis.judges
    yield from _best(rows)
    yield from cheapest_findings(analysis)
    if not rows.height:
        return
    ranked = rows.group_by("judge", maintain_order=True).agg(pl.col("r").mean())
    ranked = ranked.sort("r", descending=True, nulls_last=True, maintain_order=True)
    for name in ranked["judge"].head(_MOST_JUDGES):
        yield from _worth(name, rows.filter(pl.col("judge") == name))
    yield from judge_effect_findings(analysis)


def _best(rows: pl.DataFrame) -> Iterator[Finding]:
    """Of several judges, the one that goes best with people on each quality, or that none does."""
    known = rows.drop_nulls("r")
    for (quality,), part in known.group_by(["quality"], maintain_order=True):
        if part.height < 2:
            continue
        ranked = part.sort("r", descending=True, maintain_order=True)
        best, last = ranked.row(0, named=True), ranked.row(-1, named=True)
        judges = f"{part.height} judges"
        if best["r_low"] is not None and best["r_low"] > 0:
            saves = number(best["saving_most"], percent=True)
            yield Finding(
                f"{best['judge']} goes best with people on {quality}: r = {number(best['r'], 2)} "
                f"over items, saves at most {saves} of human ratings",
                f"{judges}, the least r {number(last['r'], 2)} ({last['judge']}); chosen on these "
                "ratings, so that elsewhere it goes less far",
                topic=_TOPIC,
            )
            continue
        against = bool((part["r_high"] < 0).fill_null(value=False).all())
        yield Finding(
            f"No judge {'goes' if against else 'clearly goes'} with people on {quality}",
            f"r over items {interval(last['r'], best['r'], 2)}, {judges}",
            clear=against,
            topic=_TOPIC,
        )


def _worth(judge: str, rows: pl.DataFrame) -> Iterator[Finding]:
    flat = rows.filter(pl.col("distinct") == 1)["quality"].to_list()
    if flat:
        claim = f"{judge} gave everything the same rating on {listed(flat)}"
        yield Finding(claim, "there is no variance, and no test", clear=False, topic=_TOPIC)
    known = rows.drop_nulls("r")
    for row in known.iter_rows(named=True):
        low, high = row["r_low"], row["r_high"]
        goes = "does not clearly go with"
        if low is not None and high is not None:
            goes = "goes with" if low > 0 else "goes against" if high < 0 else goes
        claim = f"{judge} {goes} people on {row['quality']}: r = {number(row['r'], 2)} over items"
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
        yield Finding(claim, "; ".join(told), clear=low is not None and low > 0, topic=_TOPIC)
    yield from _again(judge, rows.drop_nulls("test_retest"))
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


def _again(judge: str, rows: pl.DataFrame) -> Iterator[Finding]:
    """Whether a judge says the same when it is asked again."""
    same = rows.filter(pl.col("test_retest") > _EQUAL)["quality"].to_list()
    if same:
        claim = f"Asked again, {judge} gave the same answers on {listed(same)}"
        told = "repeats that are equal count once"
        yield Finding(claim, told, clear=True, topic=_TOPIC)
    steady = (pl.col("test_retest_low") > 0).fill_null(value=False)
    rest = rows.filter(pl.col("test_retest") <= _EQUAL)
    for part, verb in (
        (rest.filter(steady), "agrees"),
        (rest.filter(~steady), "does not clearly agree"),
    ):
        if not part.height:
            continue
        parts = [
            f"{row['quality']} {number(row['test_retest'], 2)} "
            f"({interval(row['test_retest_low'], row['test_retest_high'], 2)})"
            for row in part.iter_rows(named=True)
        ]
        claim = f"Asked again, {judge} {verb} with itself"
        told = f"ICC(2,1), 95 % interval: {listed(parts)}"
        yield Finding(claim, told, clear=verb == "agrees", topic=_TOPIC)


def judge_tables(analysis: StudyAnalysis) -> dict[str, Table]:
    """The tables of judges, where there are any."""
    made = []
    if analysis.judges.height:
        made.append(_judges(analysis.judges))
    if analysis.beside.height:
        made.append(_beside(analysis.beside))
    elif analysis.judge_effects.height:
        made.append(alone_table(analysis.judge_effects))
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
    title = "Judges beside people" if (data["n"] > 0).any() else "Judges"
    return Table("judges", title, heads, rows, note, data)


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
            row["judge"],
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
    heads = (
        "Judge", "Effect", "Quality", "People", "Judge’s", "Judge − people", "Corrected p",
        "Why not",
    )  # fmt: skip
    note = (
        "95 % intervals, of people over participants and items, of a judge over items with its "
        "repeats averaged: one model is no sample of models. Shares for the anchor’s pull and for "
        "choices, points otherwise."
    )
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
    keys = [key for key in ("judges", "people_and_judges", "judge_effects") if key in tables]
    blocks: list[Block] = [lead, *([Findings(found)] if found else [])]
    blocks += [folded(tables[key], open=key == "judges") for key in keys]
    yield Section("judges", "Judges", blocks)
