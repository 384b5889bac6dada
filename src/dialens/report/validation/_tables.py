"""The tables of a validation: for the page, and for a paper as in Giorgi et al. (2023), Table 1."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from dialens.analysis.validation import ALL_PSYCHOLOGICAL, Validation
from dialens.base import counted, interval, number, p_value
from dialens.report._table import Cell, Column, Table, explained
from dialens.report.validation._words import family_size

LEVELS = {"turn": "turns", "dialog": "dialogues", "agent": "agents", "system": "systems"}
_STARS = "*** p < 0.001, ** p < 0.01, * p < 0.05"


def stars(p: float | None) -> str:
    """As in the paper: three below .001, two below .01, one below .05.

    Examples:
        >>> stars(0.0004), stars(0.03), stars(None)
        ('***', '*', '')
    """
    if p is None:
        return ""
    return "***" if p < 0.001 else "**" if p < 0.01 else "*" if p < 0.05 else ""


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
                "Spearman",
                "Kendall",
                "Corrected p",
                "Free of rater noise",
                "Ceiling",
            )
        ),
    )
    ordered = (
        correlations.with_row_index("place")
        .with_columns(first=pl.col("place").min().over("level", "quality"))
        .sort("first", -pl.col("pearson").abs().fill_null(-1.0), maintain_order=True)
    )
    rows = [_correlation(row, labels) for row in ordered.iter_rows(named=True)]
    return Table("correlations", "Correlations with human judgement", heads, rows)


def _correlation(row: Mapping[str, Any], labels: Mapping[str, str]) -> list[Cell]:
    metric = labels[row["metric"]]
    texts = (metric, row["group"] or "other", row["quality"], LEVELS[row["level"]])
    why = row["missing"] or "no value" if row["n_missing"] else None
    return [
        *(Cell(text, text) for text in texts),
        explained(f"{row['n']:,}", row["n"], why, f"{row['n_missing']:,} missing"),
        *(_estimate(row, name) for name in ("pearson", "spearman", "kendall")),
        explained(p_value(row["pearson_p_adjusted"]), row["pearson_p_adjusted"], row["reason"]),
        _estimate(row, "pearson_corrected"),
        _estimate(row, "ceiling"),
    ]


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
    for automatic, alone, pairs in _by_automatic(rows, names):
        line: list[Cell | str] = [labels[automatic]]
        line += [number(alone[part], 3) for part in ("r2_a", "cv_r2_a")]
        for row in pairs:
            both = f"{number(row['r2_pa'], 3)}{_better(row)}"
            line += [number(row["r2_p"], 3), Cell(both, hint=_test(row))]
            line.append(number(row["cv_r2_pa"], 3))
        lines.append(line)
    return Table(key, title, heads, lines)


def _by_automatic(
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


def _better(row: Mapping[str, Any]) -> str:
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


def correlations_latex(result: Validation) -> str:
    """One table a level: metrics of the two groups as rows, qualities as columns."""
    tables = []
    grouped = result.correlations.filter(pl.col("group").is_not_null())
    for (level,), rows in grouped.group_by("level", maintain_order=True):
        qualities = rows["quality"].unique(maintain_order=True).to_list()
        by_pair = {(row["metric"], row["quality"]): row for row in rows.iter_rows(named=True)}
        lines = [
            [result.labels[name], *(_printed(by_pair[name, quality]) for quality in qualities)]
            for name in rows["metric"].unique(maintain_order=True)
        ]
        title = (
            f"Pearson correlation of metrics with human judgements on {result.dataset} "
            f"({level} level, n = {_most(rows)}), with 95 % intervals over clusters"
        )
        heads = ("Metric", *qualities)
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
                    for cell in (short(row["r2_p"]), f"{short(row['r2_pa'])}{_better(row)}")
                ),
            ]
            for automatic, alone, pairs in _by_automatic(rows, names)
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


def _printed(row: Mapping[str, Any]) -> str:
    ends = ""
    if row["pearson_low"] is not None:
        ends = f" [{short(row['pearson_low'], 2)}, {short(row['pearson_high'], 2)}]"
    return f"{short(row['pearson'], 2)}{stars(row['pearson_p_adjusted'])}{ends}"


def _corrected(rows: pl.DataFrame) -> str:
    tests = counted(family_size(rows), "test")
    return f"Corrected after Benjamini and Hochberg over {tests}: {_STARS}."


def _most(rows: pl.DataFrame) -> int:
    """The largest n of a table."""
    return max(rows["n"].to_list(), default=0)
