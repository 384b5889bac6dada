"""Metrics against people, on one page: what was found, tables, charts, methods."""

from collections.abc import Mapping
from pathlib import Path

import polars as pl

from dialens.analysis.validation import ALL_PSYCHOLOGICAL, Validation
from dialens.report._charts import Chart
from dialens.report._page import (
    Block,
    Fact,
    Facts,
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
from dialens.report.validation._charts import correlation_chart, increment_chart
from dialens.report.validation._heatmap import heat_map
from dialens.report.validation._tables import (
    LEVELS,
    correlation_table,
    difference_table,
    increment_table,
)
from dialens.report.validation._words import CODEBOOK, answer, family_size, findings, methods, scope

_FEW = 2


def write_validation(
    result: Validation, path: Path, *, title: str, resamples: int, folds: int
) -> Summary:
    """Write a validation into one HTML file that needs nothing else.

    Args:
        result: What `dialens.analysis.validate` gives.
        path: The file; it appears whole or not at all.
        title: Heading of the page.
        resamples: That were drawn.
        folds: Of the cross-validation.
    """
    notes = Notes("What to know, and what was left out", result.notes)
    sections = [
        Section("found", "What was found", [Findings(findings(result)), notes]),
        _charts(result),
        _correlations(result),
        _additions(result),
        _differences(result),
        _about(result, resamples, folds),
    ]
    return write_page(Page(title, answer(result), scope(result), sections), path)


def _correlations(result: Validation) -> Section:
    lead = (
        "95 % intervals over clusters stand below each coefficient. P-values are of Pearson’s "
        "coefficient, corrected over the family of "
        f"{family_size(result.correlations):,} tests in this table. The ceiling is the reliability "
        "of the mean rating; “free of rater noise” is the correlation corrected for it."
    )
    blocks: list[Block] = [Text(lead), correlation_table(result.correlations, result.labels)]
    return Section("tables", "Correlations with human judgement", blocks, "Correlations")


def _additions(result: Validation) -> Section:
    lead = (
        "Adjusted R² of the automatic metric alone (A), of the psychological one alone (P), of "
        "both (P+A), and R² of both on clusters the model has not seen. Stars: P+A leaves smaller "
        "residuals than A on the same units, corrected after Benjamini and Hochberg over the "
        f"family of {family_size(result.increments):,} tests: *** p < 0.001, ** p < 0.01, * p < "
        "0.05."
    )
    parts, names = _by_quality(result.increments)
    parts = {key: rows for key, rows in parts.items() if rows["r2_pa"].is_not_null().any()}
    folds: list[Block] = [
        Fold(
            names[key],
            [increment_table(f"increments-{key}", names[key], rows, result.labels)],
            f"n up to {max(rows['n'].to_list(), default=0):,}",
            place == 0 or len(parts) <= _FEW,
        )
        for place, (key, rows) in enumerate(parts.items())
    ]
    none = Text("Too few units for such models, or one of the two groups is empty.", soft=False)
    return Section(
        "added",
        "What psychological metrics add to automatic ones",
        [Text(lead), *(folds or [none])],
        "What adds to what",
    )


def _differences(result: Validation) -> Section:
    lead = (
        "Which of two metrics goes with a judgement more strongly, whatever the sign, on the units "
        "that have both. The interval and the corrected p (family of "
        f"{family_size(result.differences):,} tests) respect clusters; Williams’ t and Steiger’s z "
        "with their uncorrected p take units for independent."
    )
    blocks: list[Block] = [Text(lead), difference_table(result.differences, result.labels)]
    return Section("compared", "Metric against metric", blocks)


def _charts(result: Validation) -> Section:
    labels = result.labels
    parts, names = _by_quality(result.correlations)
    correlations = _drawn(
        {
            key: correlation_chart(rows, str(rows["quality"][0]), labels)
            for key, rows in parts.items()
        }
    )
    gains, gain_names = {}, {}
    for key, rows in _by_quality(result.increments)[0].items():
        for p in _together_first(rows["psychological"].unique(maintain_order=True).to_list()):
            gains[f"{key}|{p}"] = increment_chart(rows, p, labels)
            gain_names[f"{key}|{p}"] = f"{names[key]}: {labels[p].lower()}"
    matrices = {
        _matrix_name(matrix.level, matrix.scope): heat_map(
            matrix, set(matrix.metrics) - set(result.groups.automatic), labels
        )
        for matrix in result.matrices
    }
    plots = [
        Plot(
            "correlations",
            correlations,
            "Judgement",
            names,
            "How closely metrics go with human judgement",
        ),
        Plot(
            "increments",
            _drawn(gains),
            "Judgement and addition",
            gain_names,
            "What psychological metrics add",
        ),
        Plot("matrix", matrices, "Shown", title="How metrics go with each other"),
    ]
    return Section("charts", "Charts", [plot for plot in plots if plot.charts])


def _about(result: Validation, resamples: int, folds: int) -> Section:
    groups = {
        "Psychological (P)": result.groups.psychological,
        "Automatic (A)": result.groups.automatic,
    }
    facts = [
        *(
            Fact(name, ", ".join(result.labels[metric] for metric in group) or "none")
            for name, group in groups.items()
        ),
        *(Fact(name, meaning) for name, meaning in CODEBOOK),
    ]
    texts: list[Block] = [
        Text(paragraph, soft=False)
        for paragraph in methods(result, resamples=resamples, folds=folds)
    ]
    return Section("about", "Methods and codebook", [*texts, Facts(facts)], "Methods")


def _drawn(charts: Mapping[str, Chart | None]) -> dict[str, Chart]:
    return {key: chart for key, chart in charts.items() if chart is not None}


def _matrix_name(level: str, scope: str) -> str:
    return f"{'All metrics' if scope == 'all' else 'The two groups'}, over {LEVELS[level]}"


def _by_quality(table: pl.DataFrame) -> tuple[dict[str, pl.DataFrame], dict[str, str]]:
    """Rows by level and quality, under plain keys, and what to call them."""
    parts: dict[str, pl.DataFrame] = {}
    names: dict[str, str] = {}
    several = table["level"].n_unique() > 1
    for place, (key, rows) in enumerate(table.group_by("level", "quality", maintain_order=True)):
        parts[str(place)] = rows
        over = f" ({LEVELS[str(key[0])]})" if several else ""
        names[str(place)] = f"{key[1]}{over}"
    return parts, names


def _together_first(names: list[str]) -> list[str]:
    """All psychological metrics together before each alone."""
    together = [name for name in names if name == ALL_PSYCHOLOGICAL]
    return [*together, *(name for name in names if name != ALL_PSYCHOLOGICAL)]
