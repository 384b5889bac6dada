"""Simulated users beside real ones: whether they are like people, and in what they are not."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from dialens.analysis.comparison import (
    UserComparison,
    by_size,
    cards_as_compared,
    families_tested,
    note_on_tests,
)
from dialens.base import counted, interval, number, p_value
from dialens.metrics import MetricCard, in_sentence
from dialens.report._charts import Chart
from dialens.report._comparison_words import ALPHA, is_clear, is_tested, scale_of
from dialens.report._interval_chart import Mark, interval_chart
from dialens.report._page import Page, Plot, Section, Summary, Text, write_page
from dialens.report._table import Cell, Column, Table, explained
from dialens.report._wording import Scale

_DRAWN = 40
_LINES = 8


def write_user_comparison(compared: UserComparison, path: Path, *, title: str) -> Summary:
    """Write a comparison of users into one HTML file that needs nothing else.

    Args:
        compared: What `compare_users` gives.
        path: The file; it appears whole or not at all.
        title: Heading of the page.
    """
    table = by_size(compared.table)
    cards = cards_as_compared(table, compared.cards)
    scales = _scales(table, cards)
    sections = [
        Section(
            "sizes",
            "How far apart they are",
            [Plot("sizes", {"": _chart(table, cards)}), Text(_method(compared))],
            "Differences",
        ),
        Section("measures", "Every measure", [_rows(table, cards, scales)], "Measures"),
    ]
    return write_page(Page(title, answer(compared), _scope(compared), sections), path)


def user_lines(compared: UserComparison) -> list[str]:
    """The answer, and the largest differences, for a terminal."""
    table = by_size(compared.table)
    cards = cards_as_compared(table, compared.cards)
    scales = _scales(table, cards)
    lines = [f"{answer(compared)}.", f"{_scope(compared)}."]
    clear = table.filter(pl.col("p_adjusted") < ALPHA)
    for row in clear.head(_LINES).iter_rows(named=True):
        card, scale = cards[row["metric"]], scales[row["metric"]]
        size = row["effect_size"]
        held = "" if size is None else f", {number(size, 2)} standard deviations"
        lines.append(
            f"  {card.long_label}: {_values(row, scale)}{held}, "
            f"p {p_value(row['p_adjusted'], equals=True)}"
        )
    if clear.height > _LINES:
        lines.append(f"  and {clear.height - _LINES:,} more.")
    return lines


def answer(compared: UserComparison) -> str:
    """Whether simulated users are like people, in one sentence without a full stop."""
    table = by_size(compared.table)
    tested = table.filter(pl.col("p").is_not_null())
    if not is_tested(table):
        why = table["reason"].drop_nulls().mode(maintain_order=True)
        return f"It cannot be said whether simulated users are like people: {why[0]}"
    cards = cards_as_compared(table, compared.cards)
    scales = _scales(table, cards)
    clear = tested.filter(pl.col("p_adjusted") < ALPHA)
    measures = counted(tested.height, "measure")
    if not clear.height:
        return (
            f"No difference between simulated users and people was found in {measures}"
            f"{_could_have_been(tested, cards, scales)}"
        )
    first = clear.row(0, named=True)
    label = in_sentence(cards[first["metric"]].long_label)
    return (
        f"Simulated users are not like people: they differ in {clear.height:,} of {measures}, "
        f"most in {label}: {_values(first, scales[first['metric']])}"
    )


def _values(row: Mapping[str, Any], scale: Scale) -> str:
    """Both values, and the interval of their difference."""
    ends = scale.interval(row["low"], row["high"])
    held = f" (95 % interval {ends})" if ends else ""
    points = " points" if scale.percent else ""
    return (
        f"{scale.text(row['value_a'])} against {scale.text(row['value_b'])}, difference "
        f"{scale.number(row['difference'])}{points}{held}"
    )


def _could_have_been(
    tested: pl.DataFrame, cards: Mapping[str, MetricCard], scales: Mapping[str, Scale]
) -> str:
    """How large a difference would have had to be, in the middle of all measures and in one."""
    sizes = tested.filter(pl.col("effect_size") != 0).select(
        pl.col("detectable") * (pl.col("effect_size") / pl.col("difference")).abs()
    )
    middle = sizes.to_series().median()
    if not isinstance(middle, float):
        return ""
    said = (
        f"; one of {number(middle, 2)} standard deviations would have been, in four "
        "of five such comparisons"
    )
    length = tested.filter(metric="length")
    if length.height:
        smallest = scales["length"].number(length["detectable"][0])
        said += f" ({in_sentence(cards['length'].long_label)}: {smallest})"
    return said


def _scope(compared: UserComparison) -> str:
    row = compared.table.row(0, named=True)
    from_scenarios = f" of {counted(compared.scenarios, 'scenario')}" if compared.scenarios else ""
    first = " after the first" if compared.after_first else ""
    return (
        f"{counted(compared.turns['simulated'], 'turn')} of simulated users in "
        f"{counted(row['n_a'], 'dialogue')}{from_scenarios}, "
        f"{counted(compared.turns['real'], 'turn')} of people in "
        f"{counted(row['n_b'], 'dialogue')}; at most {counted(compared.most_turns, 'turn')} a "
        f"user{first}"
    )


def _method(compared: UserComparison) -> str:
    said = [
        "Only what users themselves said is looked at, on every measure that describes one "
        "speaker's own words."
    ]
    if compared.after_first:
        said.append(
            "The first turn of every user is left out: simulated users are given theirs by the "
            "scenario."
        )
    if compared.by_scenario:
        said.append(
            "Scenarios are the units of the simulated side, since dialogues of one scenario are "
            "one person's; dialogues those of the real one, or what begins with the same words."
        )
    elif compared.scenarios:
        said.append(
            f"Dialogues are the units. With {counted(compared.scenarios, 'scenario')} the "
            "comparison is about these people and says nothing of others."
        )
    else:
        said.append("Dialogues are the units.")
    said.append(note_on_tests(compared.table))
    if is_tested(compared.table):
        said.append(
            f"P-values are corrected after Benjamini and Hochberg over "
            f"{families_tested(compared.table)}. Sizes are Hedges’ g: the difference by the pooled "
            "standard deviation of the units. That no difference is found does not make two sides "
            "alike: the last column says how small one could have been seen."
        )
    said.append(
        "Users who talk about other things, or with other agents, differ for that reason too: "
        "compare with people who had the same task."
    )
    return " ".join(said)


def _scales(table: pl.DataFrame, cards: Mapping[str, MetricCard]) -> dict[str, Scale]:
    return {
        name: scale_of(table.filter(pl.col("metric") == name), cards[name])
        for name in table["metric"]
    }


def _chart(table: pl.DataFrame, cards: Mapping[str, MetricCard]) -> Chart:
    """All measures on one axis: differences by the standard deviation, the largest first."""
    sized = table.filter(
        pl.col("effect_size").is_not_null(), pl.col("difference") != 0, pl.col("low").is_not_null()
    )
    marks = []
    for row in sized.head(_DRAWN).iter_rows(named=True):
        factor = row["effect_size"] / row["difference"]
        low, high = sorted((row["low"] * factor, row["high"] * factor))
        marks.append(
            Mark(
                cards[row["metric"]].long_label,
                row["effect_size"],
                low,
                high,
                clear=is_clear(row),
                details={"Corrected p": p_value(row["p_adjusted"])},
            )
        )
    note = (
        "Right of the line: simulated users have more of it. Filled dots: corrected p below "
        f"{ALPHA:g}. Hollow dots: not."
    )
    if sized.height > len(marks):
        note += f" The other {counted(sized.height - len(marks), 'measure')} stand in the table."
    return interval_chart(
        marks,
        axis="Simulated − real, in standard deviations",
        alt_text=f"Standardised differences of {counted(len(marks), 'measure')} between simulated "
        "and real users with 95 % intervals, the largest first.",
        row="Measure",
        value="Difference in standard deviations",
        note=note,
        lines={"": [0.0]},
        write=lambda value: number(value, 2),
        write_ends=lambda low, high: interval(low, high, 2),
    )


def _rows(
    table: pl.DataFrame, cards: Mapping[str, MetricCard], scales: Mapping[str, Scale]
) -> Table:
    heads = (
        Column("Measure", "text"),
        Column("Simulated", "number"),
        Column("Real", "number"),
        Column("Difference", "number"),
        "95 % interval",
        Column("Size", "number", "Hedges’ g: by the standard deviation of the units"),
        Column("Corrected p", "number"),
        Column(
            "Could have been found from",
            "number",
            "The smallest difference that four of five such comparisons would find",
        ),
    )
    rows = [
        _row(row, cards[row["metric"]].long_label, scales[row["metric"]])
        for row in table.iter_rows(named=True)
    ]
    return Table("measures", "Every measure", heads, rows)


def _row(row: Mapping[str, Any], label: str, scale: Scale) -> list[Cell | str]:
    difference = "–" if row["difference"] is None else scale.number(row["difference"])
    smallest = "–" if row["detectable"] is None else scale.number(row["detectable"])
    return [
        Cell(label, label),
        Cell(scale.text(row["value_a"]), row["value_a"]),
        Cell(scale.text(row["value_b"]), row["value_b"]),
        Cell(difference, row["difference"]),
        explained(scale.interval(row["low"], row["high"]) or "–", None, row["reason"]),
        Cell(number(row["effect_size"], 2), row["effect_size"]),
        Cell(p_value(row["p_adjusted"]), row["p_adjusted"]),
        Cell(smallest, row["detectable"]),
    ]
