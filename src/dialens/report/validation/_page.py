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
from dialens.report.validation._judgement_map import judgement_map
from dialens.report.validation._methods import CODEBOOK, family_size, methods
from dialens.report.validation._tables import (
    LEVELS,
    accuracy_table,
    best_table,
    correlation_table,
    difference_table,
    increment_table,
)
from dialens.report.validation._words import (
    answer,
    by_quality,
    ceiling_text,
    findings,
    judged,
    parting_text,
    scope,
)

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
        _found(result, notes),
        _charts(result),
        _correlations(result),
        _accuracies(result),
        _additions(result),
        _differences(result),
        _about(result, resamples, folds),
    ]
    return write_page(Page(title, answer(result), scope(result), sections), path)


def _found(result: Validation, notes: Notes) -> Section:
    lead = f"{ceiling_text(result)}. {parting_text(result)}."
    table = best_table(judged(result), result.labels)
    blocks: list[Block] = [Text(lead, soft=False), table, Findings(findings(result)), notes]
    return Section("found", "What was found", blocks)


def _accuracies(result: Validation) -> Section:
    by = sorted(set(result.accuracies["grouped_by"]))
    lead = (
        "Of all pairs of agents, how many are in the order of their mean ratings (Kocmi et al. "
        "2021); and of all pairs of units of the same "
        f"{' or '.join(by) or 'context'}, how many metric and people order, or tie, alike: acc*eq "
        "of Deutsch et al. (2023), where scores that lie no farther apart than ε count as a tie, "
        "and ε is chosen so that accuracy is highest. A higher score is taken for better unless "
        "the metric says otherwise: far below half means that it goes the other way. 95 % "
        "intervals are over clusters, with these agents."
    )
    none = Text("Only agents or systems as such were rated.", soft=False)
    table = accuracy_table(result.accuracies, result.labels)
    blocks: list[Block] = [Text(lead), table] if result.accuracies.height else [none]
    return Section("accuracies", "Pairs in the order that people give them", blocks, "Accuracy")


def _correlations(result: Validation) -> Section:
    lead = (
        "Pearson’s coefficient is within agents where units come from several; the pooled one and "
        "that between agents’ means stand beside it. 95 % intervals over clusters stand below each "
        "coefficient. P-values are of Pearson’s coefficient, corrected over the family of "
        f"{family_size(result.correlations.filter('headline')):,} tests in this table. The "
        "ceiling is the reliability of the mean rating; “free of rater noise” is the correlation "
        "corrected for it."
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
    maps = _drawn(
        {
            f"{level}|{kind}": judgement_map(rows, labels)
            for (level, kind), rows in _by_scope(result.correlations).items()
        }
    )
    parts, names = _by_quality(result.correlations.filter("headline"))
    correlations = _drawn(
        {
            key: correlation_chart(rows, str(rows["quality"][0]), labels)
            for key, rows in parts.items()
        }
    )
    gains, gain_names = {}, {}
    increments, names_of = _by_quality(result.increments)
    for key, rows in increments.items():
        for p in _together_first(rows["psychological"].unique(maintain_order=True).to_list()):
            gains[f"{key}|{p}"] = increment_chart(rows, p, labels)
            gain_names[f"{key}|{p}"] = f"{names_of[key]}: {labels[p].lower()}"
    matrices = {
        _matrix_name(matrix.level, matrix.scope): heat_map(
            matrix, set(matrix.metrics) - set(result.groups.automatic), labels
        )
        for matrix in result.matrices
    }
    plots = [
        Plot(
            "judgements",
            maps,
            "Shown",
            {key: _scope_name(key, result) for key in maps},
            "Metrics and human judgements",
        ),
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


def _by_scope(table: pl.DataFrame) -> dict[tuple[str, str], pl.DataFrame]:
    """Rows by level and scope, what leads first."""
    place = {level: place for place, level in enumerate(LEVELS)}
    ordered = table.sort(
        pl.col("level").replace_strict(place), ~pl.col("headline"), maintain_order=True
    )
    return {
        (str(key[0]), str(key[1])): rows
        for key, rows in ordered.group_by("level", "scope", maintain_order=True)
    }


def _scope_name(key: str, result: Validation) -> str:
    level, kind = key.split("|")
    over = LEVELS[level]
    if result.correlations.filter(pl.col("level") == level)["scope"].n_unique() == 1:
        return f"Over {over}"
    return {
        "within": f"Within agents, over {over}",
        "pooled": f"Pooled over agents, over {over}",
        "between": f"Between agents, means of {over}",
    }[kind]


def _by_quality(table: pl.DataFrame) -> tuple[dict[str, pl.DataFrame], dict[str, str]]:
    """Rows by level and quality, under plain keys, and what to call them."""
    parts: dict[str, pl.DataFrame] = {}
    names: dict[str, str] = {}
    several = table["level"].n_unique() > 1
    for place, ((level, quality), rows) in enumerate(by_quality(table)):
        parts[str(place)] = rows
        names[str(place)] = f"{quality} ({LEVELS[level]})" if several else quality
    return parts, names


def _together_first(names: list[str]) -> list[str]:
    """All psychological metrics together before each alone."""
    together = [name for name in names if name == ALL_PSYCHOLOGICAL]
    return [*together, *(name for name in names if name != ALL_PSYCHOLOGICAL)]
