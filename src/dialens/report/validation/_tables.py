"""The tables of a validation, for the page."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from dialens.analysis.validation import beside
from dialens.base import counted, interval, number, p_value
from dialens.report._table import Cell, Column, Table, explained
from dialens.report.validation._words import corrected_p

LEVELS = {"turn": "turns", "dialog": "dialogues", "agent": "agents", "system": "systems"}


def stars(p: float | None) -> str:
    """As in the paper: three below .001, two below .01, one below .05.

    Examples:
        >>> stars(0.0004), stars(0.03), stars(None)
        ('***', '*', '')
    """
    if p is None:
        return ""
    return "***" if p < 0.001 else "**" if p < 0.01 else "*" if p < 0.05 else ""


def best_table(best: pl.DataFrame, labels: Mapping[str, str]) -> Table:
    """The strongest metric of every quality, with its coefficient in every scope."""
    heads = (
        "Judgement",
        "Over",
        "Best metric",
        Column("Within agents", hint="Each agent’s means taken out: does it tell replies apart?"),
        Column("Pooled", hint="All units of all agents together."),
        Column("Between agents", hint="Means of agents: does it tell agents apart?"),
        Column("Corrected p", hint="Of the coefficient within agents, or pooled if there is none."),
        Column(
            "On the other half",
            hint="The strongest of many looks stronger than it is: this is what the strongest on "
            "one half of the data reaches on the other.",
        ),
        Column("A perfect metric", hint="Root of the reliability of the mean rating."),
        "Ratings",
    )
    rows = [_best(row, labels) for row in best.iter_rows(named=True)]
    return Table("best", "The best metric of every judgement", heads, rows)


def _best(row: Mapping[str, Any], labels: Mapping[str, str]) -> list[Cell | str]:
    if row["metric"] is None:
        why = explained("–", None, row["reason"])
        return [row["quality"], LEVELS[row["level"]], why, *["–"] * 7]
    ends = "" if row["low"] is None else interval(row["low"], row["high"], 2)
    leads = row["scope"]
    return [
        row["quality"],
        LEVELS[row["level"]],
        labels[row["metric"]],
        Cell(number(row["within"], 2), row["within"], ends if leads == "within" else ""),
        Cell(number(row["pooled"], 2), row["pooled"], ends if leads == "pooled" else ""),
        number(row["between"], 2),
        Cell(corrected_p(row).removeprefix("= "), row["p_adjusted"]),
        number(row["r_elsewhere"], 2),
        number(row["highest_r"], 2),
        f"{row['n_ratings']:,}",
    ]


def correlation_table(correlations: pl.DataFrame, labels: Mapping[str, str]) -> Table:
    """Every metric with every judgement, the strongest of each judgement first."""
    heads = (
        Column("Metric", "text"),
        Column("Group", "text"),
        Column("Judgement", "text"),
        Column("Over", "text"),
        *(
            Column(title, "number")
            for title in (
                "n",
                "Pearson",
                "Pooled",
                "Between",
                "Spearman",
                "Kendall",
                "Corrected p",
                "Free of rater noise",
                "Ceiling",
            )
        ),
    )
    ordered = (
        beside(correlations)
        .with_row_index("place")
        .with_columns(first=pl.col("place").min().over("level", "quality"))
        .sort("first", -pl.col("pearson").abs().fill_null(-1.0), maintain_order=True)
    )
    rows = [_correlation(row, labels) for row in ordered.iter_rows(named=True)]
    return Table("correlations", "Correlations with human judgement", heads, rows)


def _correlation(row: Mapping[str, Any], labels: Mapping[str, str]) -> list[Cell]:
    metric = labels[row["metric"]]
    texts = (metric, row["group"] or "other", row["quality"], LEVELS[row["level"]])
    why = row["missing"] or "no value" if row["n_missing"] else None
    tested = {"p_adjusted": row["pearson_p_adjusted"], "p_at_most": row["p_at_most"]}
    parts = "pooled and within agents part" if row["parted"] else None
    return [
        *(Cell(text, text) for text in texts),
        explained(f"{row['n']:,}", row["n"], why, f"{row['n_missing']:,} missing"),
        _estimate(row, "pearson"),
        explained(number(row["pooled"], 2), row["pooled"], parts, "parts"),
        Cell(number(row["between"], 2), row["between"]),
        *(_estimate(row, name) for name in ("spearman", "kendall")),
        explained(corrected_p(tested).removeprefix("= "), row["pearson_p_adjusted"], row["reason"]),
        _estimate(row, "pearson_corrected"),
        _estimate(row, "ceiling"),
    ]


def accuracy_table(accuracies: pl.DataFrame, labels: Mapping[str, str]) -> Table:
    """How often each metric orders pairs as people do, the most accurate of each quality first."""
    heads = (
        Column("Metric", "text"),
        Column("Judgement", "text"),
        Column("Over", "text"),
        Column("Pairs of agents", "number", "Kocmi et al. 2021: share in the same order."),
        Column("Pairs of units", "number", "Deutsch et al. 2023: acc*eq, with ties."),
        Column("Tied by people", "number", "The accuracy of a metric that ties everything."),
        Column("ε", hint="Scores no farther apart count as a tie."),
        Column("Pairs", "number"),
    )
    ordered = (
        accuracies.with_row_index("place")
        .with_columns(first=pl.col("place").min().over("level", "quality"))
        .sort("first", -pl.col("segment_accuracy").fill_null(-1.0), maintain_order=True)
    )
    rows = [_accuracy(row, labels) for row in ordered.iter_rows(named=True)]
    return Table("accuracies", "Pairs in the order that people give them", heads, rows)


def _accuracy(row: Mapping[str, Any], labels: Mapping[str, str]) -> list[Cell | str]:
    lower = " (lower is better)" if row["reversed"] else ""
    texts = (f"{labels[row['metric']]}{lower}", row["quality"], LEVELS[row["level"]])
    return [
        *(Cell(text, text) for text in texts),
        _share(row, "system"),
        _share(row, "segment"),
        Cell(number(row["ties"], percent=True), row["ties"]),
        number(row["epsilon"]),
        Cell(f"{row['segment_pairs']:,}", row["segment_pairs"]),
    ]


def _share(row: Mapping[str, Any], name: str) -> Cell:
    value, low, high = (row[f"{name}_{part}"] for part in ("accuracy", "low", "high"))
    text = number(value, percent=True)
    if low is None:
        return explained(text, value, row[f"{name}_reason"])
    return Cell(text, value, interval(low, high, percent=True))


def _estimate(row: Mapping[str, Any], name: str) -> Cell:
    low, high = row[f"{name}_low"], row[f"{name}_high"]
    return Cell(number(row[name], 2), row[name], "" if low is None else interval(low, high, 2))


def increment_table(key: str, title: str, rows: pl.DataFrame, labels: Mapping[str, str]) -> Table:
    """A alone, then P, P+A and P+A on clusters not seen, for every psychological metric."""
    names = rows["psychological"].unique(maintain_order=True).to_list()
    heads = [
        Column("Automatic metric"),
        Column("A", group="Alone (A)"),
        Column("unseen", group="Alone (A)"),
        *(Column(part, group=labels[name]) for name in names for part in ("P", "P+A", "unseen")),
    ]
    lines: list[list[Cell | str]] = []
    for automatic, alone, pairs in by_automatic(rows, names):
        line: list[Cell | str] = [labels[automatic]]
        line += [number(alone[part], 3) for part in ("r2_a", "cv_r2_a")]
        for row in pairs:
            both = f"{number(row['r2_pa'], 3)}{better(row)}"
            line += [number(row["r2_p"], 3), Cell(both, hint=_test(row))]
            line.append(number(row["cv_r2_pa"], 3))
        lines.append(line)
    return Table(key, title, heads, lines)


def by_automatic(
    rows: pl.DataFrame, names: Sequence[str]
) -> list[tuple[str, dict[str, Any], list[dict[str, Any]]]]:
    """Of every automatic metric a row that has its R² alone, and its rows with each of `names`."""
    parts = []
    for automatic in rows["automatic"].unique(maintain_order=True):
        of_a = {
            row["psychological"]: row
            for row in rows.filter(pl.col("automatic") == automatic).iter_rows(named=True)
        }
        pairs = [of_a[name] for name in names]
        alone = next((row for row in pairs if row["r2_a"] is not None), pairs[0])
        parts.append((automatic, alone, pairs))
    return parts


def better(row: Mapping[str, Any]) -> str:
    """Stars where P+A leaves smaller residuals than A."""
    return stars(row["p_adjusted"]) if row["t"] is not None and row["t"] > 0 else ""


def _test(row: Mapping[str, Any]) -> str:
    if row["reason"] and row["r2_pa"] is None:
        return f"{row['reason']}."
    return (
        f"n = {row['n']:,}; corrected p {p_value(row['p_adjusted'], equals=True)} (family of "
        f"{counted(row['family'] or 0, 'test')}); on clusters not seen corrected p "
        f"{p_value(row['cv_p_adjusted'], equals=True)}."
    )


def difference_table(differences: pl.DataFrame, labels: Mapping[str, str]) -> Table:
    """Which of two metrics goes with a judgement more strongly, the clearest first."""
    heads = (
        Column("A", "text"),
        Column("B", "text"),
        Column("Judgement", "text"),
        Column("Over", "text"),
        Column("n", "number"),
        "r of A",
        "r of B",
        "A with B",
        Column("|A| − |B|", "number"),
        Column("Corrected p", "number"),
        "Williams (p)",
        "Steiger (p)",
    )
    ordered = differences.sort("p", -pl.col("difference").abs(), nulls_last=True)
    rows = [_difference(row, labels) for row in ordered.iter_rows(named=True)]
    return Table("differences", "Metric against metric", heads, rows)


def _difference(row: Mapping[str, Any], labels: Mapping[str, str]) -> list[Cell | str]:
    texts = (labels[row["a"]], labels[row["b"]], row["quality"], LEVELS[row["level"]])
    ends = "" if row["low"] is None else interval(row["low"], row["high"], 2)
    return [
        *(Cell(text, text) for text in texts),
        Cell(f"{row['n']:,}", row["n"]),
        *(number(row[name], 2) for name in ("r_a", "r_b", "r_ab")),
        Cell(number(row["difference"], 2), row["difference"], ends),
        explained(p_value(row["p_adjusted"]), row["p_adjusted"], row["reason"]),
        _statistic(row["williams_t"], row["williams_p"]),
        _statistic(row["steiger_z"], row["steiger_p"]),
    ]


def _statistic(value: float | None, p: float | None) -> str:
    return "–" if value is None else f"{number(value, 2)} ({p_value(p)})"
