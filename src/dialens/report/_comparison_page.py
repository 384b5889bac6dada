"""Agents or systems side by side: what differs, differences with intervals, and every test."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from dialens.analysis.comparison import by_size, cards_as_compared, families_tested, note_on_tests
from dialens.base import counted, number, p_value
from dialens.metrics import MetricCard
from dialens.report._charts import Chart
from dialens.report._comparison_words import (
    ALPHA,
    answer_of,
    find_differences,
    headlines,
    is_clear,
    is_tested,
    not_paired,
    nothing_found,
    scale_of,
    scope_of,
    short_names,
)
from dialens.report._interval_chart import Mark, interval_chart
from dialens.report._page import (
    Block,
    Findings,
    Fold,
    Page,
    Plot,
    Section,
    Summary,
    Text,
    write_page,
)
from dialens.report._table import Cell, Column, Table, explained
from dialens.report._wording import Scale

_MOST_ROWS = 30
_OPEN = 3


def write_comparison(
    table: pl.DataFrame, path: Path, *, cards: Mapping[str, MetricCard], title: str
) -> Summary:
    """Write a comparison into one HTML file that needs nothing else.

    Args:
        table: What `dialens.compare` gives.
        path: The file; it appears whole or not at all.
        cards: Of the metrics (`Scores.cards`).
        title: Heading of the page.
    """
    table = short_names(table)
    cards = cards_as_compared(table, cards)
    metrics = table["metric"].unique(maintain_order=True).to_list()
    first = headlines(table, cards)
    ordered = [*first, *(name for name in metrics if name not in first)]
    scales = {
        name: scale_of(table.filter(pl.col("metric") == name), cards[name]) for name in ordered
    }
    differences = find_differences(table, [cards[name] for name in first], scales)
    nothing = nothing_found(table)
    sections = [
        Section(
            "differences",
            "What differs",
            [Findings(differences, f"{nothing}."), Text(_method(table))],
            "Differences",
        ),
        Section(
            "plots",
            "Differences, metric by metric",
            _plots(table, first, [cards[name] for name in ordered], scales),
            "Charts",
        ),
        Section("tests", "Every test", [_tests(table, cards, scales)]),
    ]
    answer = answer_of(differences[0]) if differences else nothing
    return write_page(Page(title, answer, scope_of(table, metrics), sections), path)


def _method(table: pl.DataFrame) -> str:
    how = (
        "Where both answered the same contexts, these are the units and the comparison is paired. "
        "Values are of all dialogues, also of those whose context is not shared."
        if table["paired"].any()
        else "Dialogues are the units: no two agents answered the same contexts."
    )
    how = " ".join(part for part in (how, not_paired(table), note_on_tests(table)) if part)
    if not is_tested(table):
        return how
    return (
        f"{how} P-values are corrected after Benjamini and Hochberg over "
        f"{families_tested(table)}, headline metrics and others each as a family of their own; "
        "a corrected p below 0.05 means that among all differences of a family so marked no more "
        "than about one in twenty is expected to be chance. Effect sizes are Hedges’ g: the "
        "difference by the pooled standard deviation of single dialogues, and none where dialogues "
        "hardly vary. A difference says nothing about which side is better."
    )


def _no_size(row: Mapping[str, Any]) -> str | None:
    """Why a row that was tested has no effect size; None where it has one."""
    if row["effect_size"] is not None or row["test"] is None:
        return None
    return "the dialogues of a side hardly vary, or the metric has no spread of single dialogues"


def _plots(
    table: pl.DataFrame,
    first: Sequence[str],
    ordered: Sequence[MetricCard],
    scales: Mapping[str, Scale],
) -> list[Fold]:
    """A chart for every headline metric, then one a family with its metrics to choose from."""
    groups = {card.long_label: [card] for card in ordered[: len(first)]}
    for card in ordered[len(first) :]:
        groups.setdefault(card.family_label, []).append(card)
    clear = table.filter(pl.col("p_adjusted") < ALPHA)
    folds = []
    for place, (group, members) in enumerate(groups.items()):
        charts = {card.name: _forest(table, card, scales[card.name]) for card in members}
        blocks: list[Block]
        if len(members) > 1:
            labels = {card.name: card.long_label for card in members}
            blocks = [Plot(f"differences-{members[0].family}", charts, "Metric", labels)]
        else:
            (chart,) = charts.values()
            plot = Plot(f"difference-{members[0].name}", {"": chart})
            blocks = [Text(f"{members[0].meaning}."), plot]
        below = clear.filter(pl.col("metric").is_in(list(charts))).height
        folds.append(
            Fold(group, blocks, f"{below} with a corrected p below {ALPHA:g}", place < _OPEN)
        )
    return folds


def _tests(
    table: pl.DataFrame, cards: Mapping[str, MetricCard], scales: Mapping[str, Scale]
) -> Table:
    heads = (
        Column("Metric", "text"),
        Column("A", "text"),
        Column("B", "text"),
        Column("A’s value", "number"),
        Column("B’s value", "number"),
        Column("A − B", "number"),
        "95 % interval",
        Column("Effect size", "number", "Hedges’ g: by the standard deviation of dialogues"),
        Column("p", "number"),
        Column("Corrected p", "number"),
        "Family",
        "Dialogues",
        "Paired",
        "Test",
    )
    rows = [
        _test(row, cards[row["metric"]].long_label, scales[row["metric"]])
        for row in by_size(table).iter_rows(named=True)
    ]
    return Table("tests", "Every test", heads, rows)


def _test(row: Mapping[str, Any], label: str, scale: Scale) -> list[Cell | str]:
    difference = "–" if row["difference"] is None else scale.number(row["difference"])
    return [
        Cell(label, label),
        Cell(row["a"], row["a"]),
        Cell(row["b"], row["b"]),
        Cell(scale.text(row["value_a"]), row["value_a"]),
        Cell(scale.text(row["value_b"]), row["value_b"]),
        Cell(difference, row["difference"]),
        explained(scale.interval(row["low"], row["high"]) or "–", None, row["reason"]),
        explained(number(row["effect_size"], 2), row["effect_size"], _no_size(row)),
        Cell(p_value(row["p"]), row["p"]),
        Cell(p_value(row["p_adjusted"]), row["p_adjusted"]),
        counted(row["family"], "test") if row["family"] else "not tested",
        f"{row['n_a']:,} and {row['n_b']:,}",
        f"{row['n_shared']:,} shared" if row["paired"] else "no",
        row["test"] or "none",
    ]


def _forest(table: pl.DataFrame, card: MetricCard, scale: Scale) -> Chart:
    """Differences with their intervals, the largest first, on an axis of the metric's own."""
    every = table.filter(pl.col("metric") == card.name)
    rows = (
        every.filter(pl.col("difference").is_not_null())
        .sort(pl.col("difference").abs(), descending=True, maintain_order=True)
        .head(_MOST_ROWS)
    )
    bare = rows["low"].null_count() == rows.height  # no interval at all: dots alone
    marks = [
        Mark(
            f"{row['a']} − {row['b']}",
            row["difference"],
            row["difference"] if bare else row["low"],
            row["difference"] if bare else row["high"],
            clear=is_clear(row),
            details={
                "Corrected p": p_value(row["p_adjusted"]),
                "Family": counted(row["family"], "test") if row["family"] else "not tested",
            },
        )
        for row in rows.iter_rows(named=True)
    ]
    note = f"Filled dots: corrected p below {ALPHA:g}. Hollow dots: not."
    rest = every.height - len(marks)
    if rest:
        note += f" The {counted(rest, 'pair')} not drawn stand in the table."
    what = f"Difference in {card.long_label.lower()}"
    return interval_chart(
        marks,
        axis=what,
        alt_text=f"{what} between {counted(len(marks), 'pair')}, with 95 % intervals, the largest "
        "first.",
        row="Pair",
        value="Difference",
        note=note,
        percent=scale.percent,
        lines={"": [0.0]},
        write=lambda value: "–" if value is None else scale.number(value),
        write_ends=lambda low, high: "–" if bare else scale.interval(low, high) or "–",
    )
