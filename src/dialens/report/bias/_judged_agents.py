"""Agents compared by people on a part and by a judge on more, in sentences, a chart and a table."""

from collections.abc import Iterator, Mapping
from typing import Any

import polars as pl

from dialens.analysis.bias import StudyAnalysis
from dialens.base import interval, listed, number, p_value
from dialens.report._charts import Chart
from dialens.report._interval_chart import Mark, interval_chart
from dialens.report._page import Block, Finding, Findings, Plot, Section, Text, folded
from dialens.report._table import Table
from dialens.report.bias._wording import ALPHA, is_clear, with_family

_KEY = "judged_agents"
_FEW_PAIRS = 3
_MOST_CLEAR = 4
_MOST_MARKS = 15
_WITH, _ALONE = "with the judge", "people alone"
_OTHER_METHOD = (
    "“People alone” here is for the comparison with and without the judge only: it comes from "
    "another method (over dialogues and raters) than the answer above, so the two differ a little."
)


_HELPED = pl.col("needed") > pl.col("n_people")


def judged_agent_findings(analysis: StudyAnalysis) -> Iterator[Finding]:
    """What people and judge say of agents together, and how many human ratings that is worth.

    With few agents a sentence a pair; with many one a quality, then the clearest pairs.
    """
    rows = analysis.judged_agents
    if not rows.height:
        return
    known = rows.drop_nulls(["estimate", "low"])
    if not known.height:
        yield from _nothing(rows)
        return
    pairs = known.filter(pl.col("other").is_not_null())
    many: list[str] = []
    for (quality,), part in pairs.group_by(["quality"], maintain_order=True):
        if part.height > _FEW_PAIRS:
            many.append(str(quality))
            yield _gain(str(quality), part)
            continue
        yield from (_pair(row) for row in part.filter(_HELPED).iter_rows(named=True))
    clear = pairs.filter(pl.col("quality").is_in(many), pl.col("p_adjusted") < ALPHA, _HELPED)
    for row in clear.sort("p", maintain_order=True).head(_MOST_CLEAR).iter_rows(named=True):
        yield _pair(row)
    yield from _not_helped(pairs.filter(~pl.col("quality").is_in(many)))
    if rows["other"].null_count() == rows.height:
        yield from (_mean(row) for row in known.iter_rows(named=True))
    yield from _why_not(rows)


def _nothing(rows: pl.DataFrame) -> Iterator[Finding]:
    whys = rows["reason"].drop_nulls().unique(maintain_order=True).to_list()
    claim = "Judges cannot sharpen the comparison of agents"
    yield Finding(claim, "; ".join(whys[:_FEW_PAIRS]), clear=False, topic=_KEY)


def _not_helped(rows: pl.DataFrame) -> Iterator[Finding]:
    """Where a judge adds nothing to what people said, all in one sentence."""
    pairs, rows = rows.height, rows.filter(~_HELPED)
    if not rows.height:
        return
    on = listed(rows["quality"].unique(maintain_order=True).to_list())
    who = f"With {_judge(rows.row(0, named=True))} beside people"
    claim = f"{who}, agents are no easier to tell apart on {on}: leave it out"
    if rows.height < pairs:
        claim = f"{who}, {rows.height} of {pairs} pairs are no easier to tell apart ({on})"
    least, most = rows.select(least=pl.col("r").min(), most=pl.col("r").max()).row(0)
    told = number(least, 2) if least == most else interval(least, most, 2)
    yield Finding(claim, f"r over differences between agents {told}", clear=False, topic=_KEY)


def _why_not(rows: pl.DataFrame) -> Iterator[Finding]:
    """Why human ratings of some agents cannot be joined with the judge's, each reason once."""
    silent = rows.filter(pl.col("other").is_null(), pl.col("estimate").is_null())
    for (reason,), part in silent.group_by(["reason"], maintain_order=True):
        who = listed(part["agent"].unique(maintain_order=True).to_list())
        on = listed(part["quality"].unique(maintain_order=True).to_list())
        claim = f"No estimate of {who} with the judge on {on}"
        yield Finding(claim, str(reason), clear=False, topic=_KEY)


def _judge(row: Mapping[str, Any]) -> str:
    """The judge's name; where several were chosen, that they were."""
    return "judges" if " of " in row["judge"] else str(row["judge"])


def _size(row: Mapping[str, Any], value: float) -> str:
    if row["unit"] == "share":
        return number(value, percent=True)
    return number(value, 2) if row["unit"] == "points" else number(value)


def _pair(row: Mapping[str, Any]) -> Finding:
    ratio = row["unit"] == "ratio"
    up = row["estimate"] >= (1.0 if ratio else 0.0)
    first, second = (row["agent"], row["other"]) if up else (row["other"], row["agent"])
    size = row["estimate"] if up else 1 / row["estimate"] if ratio else -row["estimate"]
    words = {"points": "points above", "share": "above", "ratio": "times as high as"}[row["unit"]]
    beside = f"With {_judge(row)} beside people"
    claim = f"{beside}, {first} is rated {_size(row, size)} {words} {second} on {row['quality']}"
    ends = dict(row)
    if not up:
        turned = [row["high"], row["low"]]
        ends["low"], ends["high"] = [1 / x for x in turned] if ratio else [-x for x in turned]
    numbers = f"{_bounds(ends)}; {_worth(row)}; {with_family(row)}"
    return Finding(claim, numbers, clear=is_clear(row), topic=_KEY)


def _mean(row: Mapping[str, Any]) -> Finding:
    claim = (
        f"With {_judge(row)} beside people, {row['agent']} is rated "
        f"{_size(row, row['estimate'])} on {row['quality']}"
    )
    return Finding(claim, f"{_bounds(row)}; {_worth(row)}", topic=_KEY)


def _worth(row: Mapping[str, Any]) -> str:
    """How many human ratings it is worth."""
    if row["needed"] is None or row["needed"] <= row["n_people"]:
        return f"no more precise than the {row['n_people']:,} human ratings alone"
    return f"as precise as {row['needed']:,} human ratings instead of {row['n_people']:,}"


def _gain(quality: str, known: pl.DataFrame) -> Finding:
    middle = known.select(pl.col("n_people", "effective", "r").median()).row(0, named=True)
    people, worth = round(middle["n_people"]), round(middle["effective"])
    who = _judge(known.row(0, named=True))
    if worth <= people:
        claim = f"With {who} beside people, agents are no easier to tell apart on {quality}"
        told = f"r = {number(middle['r'], 2)} over differences between agents: leave it out"
        return Finding(claim, told, clear=False, topic=_KEY)
    claim = (
        f"With {who} beside people, differences between agents on {quality} are as precise as "
        f"from {worth:,} human ratings instead of {people:,}"
    )
    clear = known.filter(pl.col("p_adjusted") < ALPHA).height
    told = (
        f"median of {known.height:,} pairs, r = {number(middle['r'], 2)} over differences between "
        f"agents; "
        f"{clear:,} of the pairs differ clearly"
    )
    return Finding(claim, told, topic=_KEY)


def judged_agent_tables(analysis: StudyAnalysis) -> dict[str, Table]:
    """Every agent and pair, where judges rated beside people."""
    data = analysis.judged_agents
    if not data.height:
        return {}
    rows = [
        (
            row["quality"],
            row["agent"] if row["other"] is None else f"{row['agent']} − {row['other']}",
            _estimate(row, "estimate", "low", "high"),
            _estimate(row, "people", "people_low", "people_high"),
            "" if row["p_adjusted"] is None else p_value(row["p_adjusted"]),
            row["judge"],
            number(row["r"], 2),
            f"{row['n_people']:,}",
            f"{row['n_judged']:,}",
            "" if row["needed"] is None else f"{row['needed']:,}",
            row["reason"] or row["note"] or "",
        )
        for row in data.iter_rows(named=True)
    ]
    heads = (
        "Quality", "Agent or pair", "With the judge", "People alone", "Corrected p", "Judge", "r",
        "Human ratings", "Judged only", "Worth", "Note",
    )  # fmt: skip
    note = (
        "95 % intervals over dialogues and raters. Judged only: replies that no person rated. "
        "Worth: human ratings, by the same people on more dialogues, that would be as precise "
        "without the judge."
    )
    return {_KEY: Table(_KEY, "Every agent and pair", heads, rows, note, data)}


def _estimate(row: Mapping[str, Any], value: str, low: str, high: str) -> str:
    if row[value] is None:
        return ""
    ends = "" if row[low] is None else f" ({_ends(row, row[low], row[high])})"
    return f"{_size(row, row[value])}{ends}"


def _ends(row: Mapping[str, Any], low: float, high: float) -> str:
    return interval(low, high, percent=True) if row["unit"] == "share" else interval(low, high, 2)


def _bounds(row: Mapping[str, Any]) -> str:
    return f"95 % interval {_ends(row, row['low'], row['high'])}"


def judged_agent_section(analysis: StudyAnalysis, tables: Mapping[str, Table]) -> Iterator[Section]:
    """The section of agents by people and judge; none where nobody but people rated."""
    if _KEY not in tables:
        return
    lead = Text(_lead(analysis.judged_agents))
    found = list(judged_agent_findings(analysis))
    blocks: list[Block] = [lead, Findings(found)]
    charts = _charts(analysis.judged_agents)
    if charts:
        single = len(charts) == 1
        shown = {"": next(iter(charts.values()))} if single else charts
        choose = "" if single else "Quality"
        blocks.append(Plot(_KEY, shown, choose, title="With the judge and without"))
    yield Section(_KEY, "Agents, by people and a judge", [*blocks, folded(tables[_KEY])])


def _lead(rows: pl.DataFrame) -> str:
    """What the section holds, and why its people alone are not those of the first answer."""
    if not (rows["n_judged"] > 0).any():
        return (
            "People rated every reply that the judge rated. A judge can sharpen the comparison of "
            f"agents only with replies that no person rated. {_OTHER_METHOD}"
        )
    return (
        "People rated a part of the replies, a judge also others. What people said is corrected by "
        "how the judge rates the rest; it stays the mean of people’s ratings, whatever the judge "
        "is like (prediction-powered inference). It holds if people’s part is a random one. "
        f"{_OTHER_METHOD}"
    )


def _charts(rows: pl.DataFrame) -> dict[str, Chart]:
    """Differences of each quality, people alone below those with the judge."""
    charts = {}
    for (quality,), part in rows.group_by(["quality"], maintain_order=True):
        known = part.filter(pl.col("other").is_not_null()).drop_nulls(["estimate", "low"])
        if known.height:
            charts[str(quality)] = _chart(str(quality), known)
    return charts


def _chart(quality: str, rows: pl.DataFrame) -> Chart:
    marks, pairs = [], rows.height
    rows = rows.sort("p", maintain_order=True).head(_MOST_MARKS)
    shown = f" The {rows.height} clearest of {pairs:,} pairs." if rows.height < pairs else ""
    for row in rows.iter_rows(named=True):
        name = f"{row['agent']} − {row['other']}"
        for series, columns in (
            (_WITH, ("estimate", "low", "high")),
            (_ALONE, ("people", "people_low", "people_high")),
        ):
            value, low, high = (row[column] for column in columns)
            worth = row["needed"] if series == _WITH else row["n_people"]
            clear = is_clear(row) or series == _ALONE
            details = {"Human ratings": f"{worth:,}" if worth else "–"}
            marks.append(Mark(name, value, low, high, series, clear=clear, details=details))
    unit = rows["unit"][0]
    axis = {"ratio": "Ratio", "share": "Difference of shares"}.get(unit, "Difference in points")
    return interval_chart(
        marks,
        axis=axis,
        row="Agents",
        alt_text=f"Differences between agents on {quality}, with the judge and by people alone.",
        note=f"Lines are 95 % intervals. Hollow: corrected p not below 0.05.{shown}",
        lines={"": [1.0 if unit == "ratio" else 0.0]},
    )
