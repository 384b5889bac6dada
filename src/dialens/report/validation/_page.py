"""Metrics against people, on one page: sentences, tables, charts, methods."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from dialens.analysis.validation import ALL_PSYCHOLOGICAL, Validation
from dialens.report._charts import CONFIG, Chart
from dialens.report._shell import write_page
from dialens.report.validation._charts import correlation_chart, increment_chart
from dialens.report.validation._heatmap import heat_map
from dialens.report.validation._latex import stars
from dialens.report.validation._words import (
    ALPHA,
    CODEBOOK,
    family_size,
    headline,
    interval,
    methods,
    number,
    p_text,
    sentences,
)

_LEVELS = {"turn": "turns", "dialog": "dialogues", "agent": "agents", "system": "systems"}


@dataclass(frozen=True)
class ValidationSummary:
    """What a validation shows, for a few lines on a terminal.

    Attributes:
        path: Where the page is.
        headline: What was held against what.
        sentences: The claims with their numbers.
        size: Bytes.
    """

    path: Path
    headline: str
    sentences: tuple[str, ...]
    size: int

    def lines(self) -> list[str]:
        """The summary as lines of text."""
        return [self.headline, *(f"  {sentence}" for sentence in self.sentences)]


def write_validation(
    result: Validation, path: Path, *, title: str, resamples: int, folds: int
) -> ValidationSummary:
    """Write a validation into one HTML file that needs nothing else.

    Args:
        result: What `dialens.analysis.validate` gives.
        path: The file; it appears whole or not at all.
        title: Heading of the page.
        resamples: That were drawn.
        folds: Of the cross-validation.
    """
    told = sentences(result)
    labels = result.labels
    correlations, names = _by_quality(result.correlations)
    figures: dict[str, dict[str, Any]] = {}
    figures["correlations"] = _drawn(
        {
            name: correlation_chart(rows, str(rows["quality"][0]), labels)
            for name, rows in correlations.items()
        }
    )
    increments, _ = _by_quality(result.increments)
    figures["increments"] = _drawn(
        {
            f"{name}|{p}": increment_chart(rows, p, labels)
            for name, rows in increments.items()
            for p in _last_first(rows["psychological"].unique(maintain_order=True).to_list())
        }
    )
    figures["matrix"] = _drawn(
        {
            f"{one.level}|{one.scope}": heat_map(
                one, set(one.metrics) - set(result.groups.automatic), labels
            )
            for one in result.matrices
        }
    )
    head = headline(result)
    size = write_page(
        "validation.html.j2",
        path,
        {"config": CONFIG, "figures": figures},
        title=title,
        headline=head,
        sentences=told,
        notes=result.notes,
        rows=[_correlation_row(row, labels) for row in _ordered(result.correlations)],
        family=family_size(result.correlations),
        increments=[
            _increment_table(name, rows, names, labels)
            for name, rows in increments.items()
            if rows["r2_pa"].is_not_null().any()
        ],
        increment_family=family_size(result.increments),
        differences=[_difference_row(row, labels) for row in _clear_first(result.differences)],
        difference_family=family_size(result.differences),
        picks={
            "correlations": [(key, names[key]) for key in figures["correlations"]],
            "increments": [
                (key, f"{names[key.split('|')[0]]}: {labels[key.split('|')[1]].lower()}")
                for key in figures["increments"]
            ],
            "matrix": [(key, _matrix_name(*key.split("|"))) for key in figures["matrix"]],
        },
        methods=methods(result, resamples=resamples, folds=folds),
        codebook=CODEBOOK,
        groups=[
            ("Psychological (P)", [labels[name] for name in result.groups.psychological]),
            ("Automatic (A)", [labels[name] for name in result.groups.automatic]),
        ],
        alpha=f"{ALPHA:g}",
    )
    lines = tuple(f"{claim}. {numbers}" for claim, numbers in told)
    return ValidationSummary(path, f"{head}.", lines, size)


def _drawn(charts: Mapping[str, Chart | None]) -> dict[str, Any]:
    return {key: chart.to_dict() for key, chart in charts.items() if chart is not None}


def _matrix_name(level: str, scope: str) -> str:
    return f"{'All metrics' if scope == 'all' else 'The two groups'}, over {_LEVELS[level]}"


def _by_quality(table: pl.DataFrame) -> tuple[dict[str, pl.DataFrame], dict[str, str]]:
    """Rows by level and quality, under plain keys, and what to call them."""
    parts: dict[str, pl.DataFrame] = {}
    names: dict[str, str] = {}
    several = table["level"].n_unique() > 1
    for number_, (key, rows) in enumerate(table.group_by("level", "quality", maintain_order=True)):
        parts[str(number_)] = rows
        over = f" ({_LEVELS[str(key[0])]})" if several else ""
        names[str(number_)] = f"{key[1]}{over}"
    return parts, names


def _last_first(names: list[str]) -> list[str]:
    """All psychological metrics together before each alone."""
    together = [name for name in names if name == ALL_PSYCHOLOGICAL]
    return [*together, *(name for name in names if name != ALL_PSYCHOLOGICAL)]


def _ordered(table: pl.DataFrame) -> list[dict[str, Any]]:
    """Level by level and quality by quality, the strongest first."""
    return (
        table.with_row_index("place")
        .with_columns(first=pl.col("place").min().over("level", "quality"))
        .sort("first", -pl.col("pearson").abs().fill_null(-1.0), maintain_order=True)
        .to_dicts()
    )


def _correlation_row(row: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    cells = []
    for name in ("pearson", "spearman", "kendall"):
        ends = interval(row[f"{name}_low"], row[f"{name}_high"])
        cells.append((number(row[name]), ends, row[name]))
    return {
        "metric": labels[row["metric"]],
        "group": row["group"] or "other",
        "quality": row["quality"],
        "level": _LEVELS[row["level"]],
        "n": row["n"],
        "missing": f"{row['n_missing']:,} missing" if row["n_missing"] else "",
        "why": f"{row['missing']}." if row["missing"] else "",
        "cells": cells,
        "p": p_text(row["pearson_p_adjusted"]),
        "p_sort": row["pearson_p_adjusted"],
        "corrected": number(row["pearson_corrected"]),
        "corrected_ends": interval(row["pearson_corrected_low"], row["pearson_corrected_high"]),
        "corrected_sort": row["pearson_corrected"],
        "ceiling": number(row["ceiling"]),
        "ceiling_ends": interval(row["ceiling_low"], row["ceiling_high"]),
        "ceiling_sort": row["ceiling"],
        "reason": f"{row['reason']}." if row["reason"] else "",
    }


def _increment_table(
    name: str, rows: pl.DataFrame, names: Mapping[str, str], labels: Mapping[str, str]
) -> dict[str, Any]:
    """A alone, then P, P+A and P+A on clusters not seen, for every psychological metric."""
    psychological = rows["psychological"].unique(maintain_order=True).to_list()
    lines = []
    for automatic in rows["automatic"].unique(maintain_order=True):
        of_a = {
            row["psychological"]: row
            for row in rows.filter(pl.col("automatic") == automatic).iter_rows(named=True)
        }
        known = next((row for row in of_a.values() if row["r2_a"] is not None), None)
        cells = []
        for p in psychological:
            row = of_a[p]
            better = row["t"] is not None and row["t"] > 0
            cells.append(
                {
                    "p": number(row["r2_p"], 3),
                    "both": number(row["r2_pa"], 3),
                    "stars": stars(row["p_adjusted"]) if better else "",
                    "unseen": number(row["cv_r2_pa"], 3),
                    "why": _test_words(row),
                }
            )
        lines.append(
            {
                "name": labels[automatic],
                "a": number(known["r2_a"] if known else None, 3),
                "unseen": number(known["cv_r2_a"] if known else None, 3),
                "cells": cells,
            }
        )
    return {
        "name": names[name],
        "id": f"increments-{name}",
        "n": max(rows["n"].to_list(), default=0),
        "heads": [labels[p] for p in psychological],
        "lines": lines,
    }


def _test_words(row: Mapping[str, Any]) -> str:
    if row["reason"] and row["r2_pa"] is None:
        return f"{row['reason']}."
    return (
        f"n = {row['n']:,}; corrected p {p_text(row['p_adjusted'], '= ')} (family of "
        f"{row['family'] or 0:,} tests); on clusters not seen corrected p "
        f"{p_text(row['cv_p_adjusted'], '= ')}."
    )


def _clear_first(table: pl.DataFrame) -> list[dict[str, Any]]:
    return table.sort("p", -pl.col("difference").abs(), nulls_last=True).to_dicts()


def _difference_row(row: Mapping[str, Any], labels: Mapping[str, str]) -> dict[str, Any]:
    return {
        "quality": row["quality"],
        "level": _LEVELS[row["level"]],
        "a": labels[row["a"]],
        "b": labels[row["b"]],
        "n": row["n"],
        "r_a": number(row["r_a"]),
        "r_b": number(row["r_b"]),
        "r_ab": number(row["r_ab"]),
        "difference": number(row["difference"]),
        "sort": row["difference"],
        "ends": interval(row["low"], row["high"]),
        "p": p_text(row["p_adjusted"]),
        "p_sort": row["p_adjusted"],
        "williams": "–"
        if row["williams_t"] is None
        else f"{number(row['williams_t'])} ({p_text(row['williams_p'])})",
        "steiger": "–"
        if row["steiger_z"] is None
        else f"{number(row['steiger_z'])} ({p_text(row['steiger_p'])})",
        "reason": f"{row['reason']}." if row["reason"] else "",
    }
