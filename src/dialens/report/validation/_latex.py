"""The tables of a validation for a paper; the increments as in Giorgi et al. (2023), Table 1."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from dialens.analysis.validation import ALL_PSYCHOLOGICAL, Validation, beside
from dialens.base import counted, number
from dialens.report._table import Column, Table
from dialens.report.validation._methods import family_size
from dialens.report.validation._tables import better, by_automatic, stars
from dialens.report.validation._words import corrected_p

_STARS = "*** p < 0.001, ** p < 0.01, * p < 0.05"


def correlations_latex(result: Validation) -> str:
    """One table a level: metrics of the two groups as rows, qualities as columns.

    Where there are several agents, the coefficient within agents with its interval, then the pooled
    one and that between agents.
    """
    tables = []
    grouped = beside(result.correlations).filter(pl.col("group").is_not_null())
    for (level,), rows in grouped.group_by("level", maintain_order=True):
        inside = rows["scope"][0] == "within"
        qualities = rows["quality"].unique(maintain_order=True).to_list()
        by_pair = {(row["metric"], row["quality"]): row for row in rows.iter_rows(named=True)}
        lines = [
            [
                result.labels[name],
                *(
                    cell
                    for quality in qualities
                    for cell in _printed(by_pair[name, quality], inside=inside)
                ),
            ]
            for name in rows["metric"].unique(maintain_order=True)
        ]
        title = (
            f"Pearson correlation of metrics with human judgements on {result.dataset} "
            f"({level} level, n = {_most(rows)}), with 95 % intervals over clusters"
        )
        scopes = ("within", "pooled", "between") if inside else ("",)
        heads: list[Column | str] = [
            "Metric",
            *(
                Column(scope, group=quality) if inside else quality
                for quality in qualities
                for scope in scopes
            ),
        ]
        tables.append(Table(f"correlations-{level}", title, heads, lines, _corrected(rows)))
    return "\n".join(table.latex() for table in tables)


def increments_latex(result: Validation) -> str:
    """One table a quality and level: A alone, then P and P+A for every psychological metric."""
    tables = []
    for place, ((level, quality), rows) in enumerate(
        result.increments.group_by("level", "quality", maintain_order=True)
    ):
        names = rows["psychological"].unique(maintain_order=True).to_list()
        titles = [
            "All Psych." if name == ALL_PSYCHOLOGICAL else result.labels[name] for name in names
        ]
        heads: list[Column | str] = [
            "",
            "A",
            *(Column(part, group=title) for title in titles for part in ("P", "P+A")),
        ]
        lines = [
            [
                result.labels[automatic],
                short(alone["r2_a"]),
                *(
                    cell
                    for row in pairs
                    for cell in (short(row["r2_p"]), f"{short(row['r2_pa'])}{better(row)}")
                ),
            ]
            for automatic, alone, pairs in by_automatic(rows, names)
        ]
        title = (
            f"Adjusted R² for {quality} on {result.dataset} ({level} level, n = {_most(rows)}) of "
            "automatic (A) and psychological (P) metrics and of both"
        )
        note = f"Paired t-test of absolute residuals of A and P+A. {_corrected(rows)}"
        tables.append(Table(f"increments-{place}", title, heads, lines, note))
    return "\n".join(table.latex() for table in tables)


def short(value: float | None, decimals: int = 3) -> str:
    """Without the zero before the point, as tables of coefficients are printed.

    Examples:
        >>> short(0.1234), short(-0.01), short(None)
        ('.123', '−.010', '–')
    """
    text = number(value, decimals)
    return text.replace("0.", ".", 1) if value is not None and abs(value) < 1 else text


def _printed(row: Mapping[str, Any], *, inside: bool) -> list[str]:
    ends = ""
    if row["pearson_low"] is not None:
        ends = f" [{short(row['pearson_low'], 2)}, {short(row['pearson_high'], 2)}]"
    first = f"{short(row['pearson'], 2)}{stars(row['pearson_p_adjusted'])}{ends}"
    return [first, short(row["pooled"], 2), short(row["between"], 2)] if inside else [first]


def best_latex(result: Validation) -> str:
    """The best metric of every quality with its coefficient in every scope."""
    lines = [
        [
            row["quality"],
            row["level"],
            result.labels[row["metric"]],
            short(row["within"], 2),
            short(row["pooled"], 2),
            short(row["between"], 2),
            "–" if row["low"] is None else f"[{short(row['low'], 2)}, {short(row['high'], 2)}]",
            corrected_p(row).removeprefix("= "),
            short(row["r_elsewhere"], 2),
        ]
        for row in result.best.filter(pl.col("metric").is_not_null()).iter_rows(named=True)
    ]
    heads = ("Quality", "Level", "Metric", "Within", "Pooled", "Between", "95 %", "p", "Elsewhere")
    title = f"The best metric of every human judgement on {result.dataset}"
    note = (
        "Interval and corrected p of the coefficient within agents, or pooled where there is none. "
        "Elsewhere: of the strongest metric on halves of the data that did not choose it."
    )
    return Table("best", title, heads, lines, note).latex()


def accuracies_latex(result: Validation) -> str:
    """One table a level: accuracy over agents and over units of every grouped metric."""
    grouped = [*result.groups.psychological, *result.groups.automatic]
    tables = []
    chosen = result.accuracies.filter(pl.col("metric").is_in(grouped))
    for (level,), rows in chosen.group_by("level", maintain_order=True):
        qualities = rows["quality"].unique(maintain_order=True).to_list()
        by_pair = {(row["metric"], row["quality"]): row for row in rows.iter_rows(named=True)}
        heads: list[Column | str] = [
            "Metric",
            *(Column(part, group=name) for name in qualities for part in ("agents", "units")),
        ]
        lines = [
            [
                result.labels[name],
                *(
                    short(by_pair[name, quality][f"{part}_accuracy"], 2)
                    for quality in qualities
                    for part in ("system", "segment")
                ),
            ]
            for name in rows["metric"].unique(maintain_order=True)
        ]
        title = f"Pairwise accuracy of metrics on {result.dataset} ({level} level)"
        note = (
            "Agents: share of pairs of agents in the order of their mean ratings (Kocmi et al. "
            "2021). Units: acc*eq with tie calibration (Deutsch et al. 2023)."
        )
        tables.append(Table(f"accuracies-{level}", title, heads, lines, note))
    return "\n".join(table.latex() for table in tables)


def _corrected(rows: pl.DataFrame) -> str:
    tests = counted(family_size(rows), "test")
    return f"Corrected after Benjamini and Hochberg over {tests}: {_STARS}."


def _most(rows: pl.DataFrame) -> int:
    """The largest n of a table."""
    return max(rows["n"].to_list(), default=0)
