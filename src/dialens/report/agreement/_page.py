"""The report on agreement: how far raters agree, every number, every rater, how it was done."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from dialens.base import interval, number, p_value
from dialens.report._apa import concordance_square
from dialens.report._page import (
    Block,
    Findings,
    Fold,
    Notes,
    Page,
    Plot,
    Section,
    Summary,
    Text,
    write_page,
)
from dialens.report._table import Cell, Column, Table, explained
from dialens.report.agreement._charts import panel_chart, rater_chart, statistic_chart
from dialens.report.agreement._details import (
    category_section,
    difference_section,
    facet_section,
    pair_section,
)
from dialens.report.agreement._words import answer, findings, method, place, scope
from dialens.statistics.agreement import Agreement, GeneralizabilityStudy

_MOST_RATERS = 400
_FIRST = ("ICC(2,k)", "ICC(2,1)", "ICC(1,k)", "ICC(1,1)", "alpha_ordinal", "gwet_ac1")
_BASES = {
    "g_absolute": "Raters crossed with items, absolute agreement",
    "g_relative": "Raters crossed with items, consistency",
    "spearman_brown": "Other raters for every item (Spearman–Brown)",
}
_HEADS = (
    Column("Quality", "text"),
    Column("Statistic", "text"),
    Column("Value", "number"),
    "95 % interval",
    "Over items",
    "Over raters",
    "Over both",
    "Items differ",
    "Ratings",
)
_RATER_HEADS = (
    Column("Rater", "text"),
    Column("Ratings of", "text"),
    Column("Items shared", "number"),
    Column("Agreement with the rest", "number"),
    "95 % interval",
    Column("Rates higher by", "number"),
    "Alpha without",
    "Corrected p",
    "",
)
_ABOUT_RATERS = (
    "Agreement is the correlation of a rater’s ratings with the mean of all others on the items "
    "both judged. “Rates higher by” is the mean difference from the others. “Alpha without” is "
    "Krippendorff’s alpha (interval) of the others by themselves. At odds: less agreement than the "
    "spread of the other raters lets expect, corrected over the raters of the group."
)


def write_agreement(
    result: Agreement,
    path: Path,
    *,
    title: str,
    study: GeneralizabilityStudy | None = None,
    normalise: str | None = None,
    whom: str = "",
) -> Summary:
    """Write agreement into one HTML file that needs nothing else.

    Args:
        result: What `measure_agreement` gives.
        path: The file; it appears whole or not at all.
        title: Heading of the page.
        study: What `generalizability` gives, where facets were asked for.
        normalise: How ratings were normalised, for the methods paragraph.
        whom: Whose ratings these are, where not all are people's.
    """
    rows = result.rows
    found, more = findings(rows, result.panel, result.raters)
    sections = [
        Section(
            "found",
            "How far raters agree",
            [
                Findings(found),
                *([Text(more)] if more else []),
                Notes("What stands in the way", result.notes),
            ],
            "What was found",
        ),
        Section("pictures", "In charts", _plots(result), "Charts"),
        Section("numbers", "Every number", [_numbers(rows)]),
        *difference_section(result.differences),
        *facet_section(study),
        *category_section(result.categories),
        *pair_section(result.pairs),
        *_raters(result.raters),
        Section(
            "method",
            "How it was done",
            [
                Text(paragraph, soft=False)
                for paragraph in method(rows, normalise=normalise, facets=study is not None)
            ],
        ),
    ]
    much = f"{whom}. {scope(rows)}" if whom else scope(rows)
    return write_page(Page(title, answer(rows, found), much, sections), path)


def _numbers(rows: pl.DataFrame) -> Table:
    cells = [_row(row) for row in rows.iter_rows(named=True)]
    return Table("numbers", "Every number", _HEADS, cells)


def _row(row: Mapping[str, Any]) -> list[Cell | str]:
    test = "–"
    if row["f"] is not None:
        test = f"F({row['df1']:g}, {row['df2']:g}) = {row['f']:.2f}"
    elif row["p"] is not None:
        square = concordance_square(row)
        test = f"χ²({row['df1']:g}) = {number(square, 2)}"
    p = row["p_adjusted"]
    group = "" if row["group"] == "all" else row["group"]
    icc = row["statistic"].startswith("ICC")
    name, also = (row["statistic"], row["also"]) if icc else (row["also"], "")
    raters = "raters unknown" if row["n_raters"] is None else f"{row['n_raters']:,} raters"
    return [
        Cell(row["quality"], f"{row['quality']} {group}", group),
        Cell(name, name, also),
        explained(number(row["value"], 3), row["value"], row["reason"]),
        Cell(interval(row["low"], row["high"], 3), small=row["interval"] or ""),
        interval(row["items_low"], row["items_high"], 2),
        interval(row["raters_low"], row["raters_high"], 2),
        interval(row["both_low"], row["both_high"], 2),
        Cell(test, small="" if p is None else f"corrected p {p_value(p, equals=True)}"),
        Cell(
            f"{row['n_ratings']:,}",
            small=f"{row['n_items']:,} items, {raters}, {row['n_missing']:,} cells empty",
        ),
    ]


def _raters(raters: pl.DataFrame) -> list[Section]:
    if not raters.height:
        return []
    rows = [_rater(row) for row in raters.head(_MOST_RATERS).iter_rows(named=True)]
    note = (
        f"The first {_MOST_RATERS:,} of {raters.height:,} rows; all of them are in raters.json."
        if raters.height > _MOST_RATERS
        else ""
    )
    table = Table("raters", "Raters against the rest", _RATER_HEADS, rows, note)
    return [Section("raters", "Raters against the rest", [Text(_ABOUT_RATERS), table], "Raters")]


def _rater(row: Mapping[str, Any]) -> list[Cell | str]:
    where = place(row["quality"], row["group"])
    return [
        Cell(row["rater"], row["rater"]),
        Cell(where, where),
        Cell(f"{row['n_items']:,}", row["n_items"]),
        explained(number(row["agreement"], 2), row["agreement"], row["reason"]),
        interval(row["low"], row["high"], 2),
        Cell(number(row["offset"], 2), row["offset"]),
        number(row["alpha_without"], 2),
        p_value(row["p_adjusted"]),
        "at odds" if row["at_odds"] else "",
    ]


def _plots(result: Agreement) -> list[Block]:
    folds: list[Block] = []
    known = result.rows.filter(pl.col("value").is_not_null())
    names = dict(known.select("statistic", "also").unique(maintain_order=True).iter_rows())
    first = [name for name in _FIRST if name in names]
    order = [*first, *(name for name in names if name not in first)]
    if order:
        labels = {
            name: f"{name} · {also}" if name.startswith("ICC") else also
            for name, also in names.items()
        }
        charts = {name: statistic_chart(result.rows, name) for name in order}
        lead = "One row a quality and group. 0 is what chance gives, 1 perfect agreement."
        plot = Plot("statistics", charts, "Statistic", labels)
        folds.append(Fold("Agreement with intervals", [Text(lead), plot], open=True))
    bases = [
        basis
        for basis in _BASES
        if result.panel.filter((pl.col("basis") == basis) & (pl.col("single") > 0)).height
    ]
    if bases:
        charts = {basis: panel_chart(result.panel, basis) for basis in bases}
        lead = "The reliability of an item’s mean rating, by how many ratings it is the mean of."
        plot = Plot("panel", charts, "Model", _BASES)
        folds.append(Fold("How many raters are enough", [Text(lead), plot], open=True))
    charts = {}
    for (quality, group), part in result.raters.group_by("quality", "group", maintain_order=True):
        where = place(str(quality), str(group))
        if part["agreement"].is_not_null().any():
            charts[where] = rater_chart(part, where)
    if charts:
        lead = "How far each rater agrees with the mean of all others."
        plot = Plot("raters", charts, "Ratings of")
        folds.append(Fold("Raters against the rest", [Text(lead), plot], open=True))
    return folds
