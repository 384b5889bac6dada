"""Tables of the page that only some ratings have: categories, pairs of raters, facets."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from dialens.base import interval, number, p_value
from dialens.report._page import Block, Section, Text
from dialens.report._table import Cell, Column, Table, explained
from dialens.report.agreement._words import place
from dialens.statistics.agreement import GeneralizabilityStudy

_MOST_PAIRS = 400
_ABOUT_CATEGORIES = (
    "Is it this category, or any other? Fleiss’ kappa of each one against the rest says which "
    "categories raters tell apart and which they mistake for each other."
)
_ABOUT_DIFFERENCES = (
    "Whether raters agree further in one group than in another. Items and raters of the same name "
    "are the same: where both groups have them, the comparison is paired. Intervals leave out "
    "items and raters in turn."
)
_ABOUT_PAIRS = (
    "Cohen’s kappa of every two raters over the items both judged; the pair that agrees least "
    "first. Intervals are over items. Their mean is Light’s kappa."
)
_ABOUT_VARIANCES = (
    "Where the variance of the ratings lies. A large share of items is what one hopes for; that of "
    "a facet says that its levels rate higher or lower; that of items with a facet, that its "
    "levels order items differently. Estimates may come out below zero and then count as none."
)
_ABOUT_DECISIONS = (
    "What the mean of an item would be worth with other numbers of each facet. Eρ² asks whether "
    "differences between items would repeat, Φ whether the means themselves would."
)


def category_section(categories: pl.DataFrame) -> list[Section]:
    """Agreement on each category by itself; nothing where there are none."""
    if not categories.height:
        return []
    heads = (
        Column("Ratings of", "text"),
        Column("Category", "text"),
        Column("Said in", "number"),
        Column("Kappa", "number"),
        "95 % interval",
    )
    rows = [
        [
            _where(row),
            Cell(row["category"], row["category"]),
            Cell(number(row["share"], percent=True), row["share"], f"{row['n_ratings']:,} ratings"),
            explained(number(row["kappa"], 2), row["kappa"], row["reason"]),
            Cell(interval(row["low"], row["high"], 2), small=row["interval"] or ""),
        ]
        for row in categories.iter_rows(named=True)
    ]
    table = Table("categories", "Each category by itself", heads, rows)
    return [
        Section(
            "categories", "Each category by itself", [Text(_ABOUT_CATEGORIES), table], "Categories"
        )
    ]


def pair_section(pairs: pl.DataFrame) -> list[Section]:
    """Every two raters; nothing where no two share items."""
    if not pairs.height:
        return []
    heads = (
        Column("Ratings of", "text"),
        Column("Raters", "text"),
        Column("Items shared", "number"),
        Column("The same", "number"),
        Column("Cohen’s kappa", "number"),
        "95 % interval",
    )
    ordered = pairs.sort("kappa", "first", "second", nulls_last=True).head(_MOST_PAIRS)
    rows: list[list[Cell | str]] = [
        [
            _where(row),
            Cell(f"{row['first']} and {row['second']}", row["first"]),
            Cell(f"{row['n_items']:,}", row["n_items"]),
            Cell(number(row["agreement"], percent=True), row["agreement"]),
            explained(number(row["kappa"], 2), row["kappa"], row["reason"]),
            interval(row["low"], row["high"], 2),
        ]
        for row in ordered.iter_rows(named=True)
    ]
    rest = pairs.height - ordered.height
    note = f"{rest:,} further pairs are in pairs.json." if rest else ""
    table = Table("pairs", "Pairs of raters", heads, rows, note)
    return [Section("pairs", "Pairs of raters", [Text(_ABOUT_PAIRS), table], "Pairs")]


def difference_section(differences: pl.DataFrame) -> list[Section]:
    """Every two groups; nothing where ratings are not divided."""
    if not differences.height:
        return []
    heads = (
        Column("Ratings of", "text"),
        Column("Groups", "text"),
        Column("Statistic", "text"),
        Column("First", "number"),
        Column("Second", "number"),
        Column("Difference", "number"),
        "95 % interval",
        Column("Corrected p", "number"),
    )
    rows: list[list[Cell | str]] = [
        [
            row["quality"],
            Cell(f"{row['group']} and {row['than']}", row["group"]),
            row["statistic"],
            Cell(number(row["value"], 2), row["value"]),
            Cell(number(row["other"], 2), row["other"]),
            explained(number(row["difference"], 2), row["difference"], row["reason"]),
            interval(row["low"], row["high"], 2),
            "–" if row["p_adjusted"] is None else p_value(row["p_adjusted"]),
        ]
        for row in differences.iter_rows(named=True)
    ]
    table = Table("differences", "Groups compared", heads, rows, "")
    return [Section("differences", "Groups compared", [Text(_ABOUT_DIFFERENCES), table], "Groups")]


def facet_section(study: GeneralizabilityStudy | None) -> list[Section]:
    """Variances and decisions of a study with facets; nothing where none were asked for."""
    if study is None:
        return []
    variances = Table(
        "variances",
        "Variances",
        (
            Column("Ratings of", "text"),
            Column("Effect", "text"),
            Column("Variance", "number"),
            "95 % interval",
            Column("Share", "number"),
            Column("Levels", "number"),
        ),
        [
            [
                _where(row),
                Cell(row["effect"], row["effect"]),
                explained(number(row["variance"], 3), row["variance"], row["reason"]),
                interval(row["low"], row["high"], 3),
                Cell(number(row["share"], percent=True), row["share"]),
                Cell("–" if row["n_levels"] is None else f"{row['n_levels']:,}", row["n_levels"]),
            ]
            for row in study.components.iter_rows(named=True)
        ],
    )
    decisions = Table(
        "decisions",
        "Other designs",
        (
            Column("Ratings of", "text"),
            Column("Design", "text"),
            Column("Ratings an item", "number"),
            Column("Eρ²", "number"),
            "95 % interval",
            Column("Φ", "number"),
            "95 % interval ",
        ),
        [_decision(row) for row in study.decisions.iter_rows(named=True)],
    )
    blocks: list[Block] = [Text(_ABOUT_VARIANCES), variances, Text(_ABOUT_DECISIONS), decisions]
    return [Section("facets", "Items, raters and other facets", blocks, "Facets")]


def _decision(row: Mapping[str, Any]) -> list[Cell | str]:
    return [
        _where(row),
        Cell(row["design"] or "–", row["ratings"], "as it is now" if row["now"] else ""),
        Cell("–" if row["ratings"] is None else f"{row['ratings']:,}", row["ratings"]),
        explained(number(row["relative"], 2), row["relative"], row["reason"]),
        interval(row["relative_low"], row["relative_high"], 2),
        Cell(number(row["absolute"], 2), row["absolute"]),
        interval(row["absolute_low"], row["absolute_high"], 2),
    ]


def _where(row: Mapping[str, Any]) -> Cell:
    where = place(row["quality"], row["group"])
    return Cell(where, where)
