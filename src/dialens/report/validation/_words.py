"""What a validation says, in sentences, each with the numbers it rests on."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from dialens.analysis.validation import ALL_AUTOMATIC, ALL_PSYCHOLOGICAL, Validation
from dialens.base import counted, in_brackets, listed, number, p_value
from dialens.metrics import in_sentence
from dialens.report._page import Finding

ALPHA = 0.05
_NOTHING = "bring nothing beyond {} that can be told from chance"
_UNITS = {"turn": "turn", "dialog": "dialogue", "agent": "agent", "system": "system"}


def units_text(count: int, level: str) -> str:
    """So many units of a level.

    Examples:
        >>> units_text(300, "turn"), units_text(1, "dialog")
        ('300 turns', '1 dialogue')
    """
    return counted(count, _UNITS[level])


def quality_text(name: str) -> str:
    """A quality inside a sentence; questionnaire items in quotation marks.

    Examples:
        >>> quality_text("engaging"), quality_text("Is full of energy.")
        ('engaging', '“Is full of energy”')
    """
    plain = name.rstrip(". ")
    return f"“{plain}”" if len(plain.split()) > 3 else plain


def scope(result: Validation) -> str:
    """What was compared with what."""
    parts = [
        f"{units_text(row['units'], row['level'])} from {row['clusters']:,} {row['clustered_by']}"
        if row["level"] in ("turn", "dialog")
        else units_text(row["units"], row["level"])
        for row in result.units
    ]
    metrics = result.correlations["metric"].n_unique()
    qualities = result.correlations["quality"].n_unique()
    return (
        f"{counted(metrics, 'metric')} against {counted(qualities, 'human judgement')} of "
        f"{listed(parts)}"
    )


def findings(result: Validation) -> list[Finding]:
    """The strongest correlation of every quality, and what the psychological metrics add."""
    strongest = [_strongest(key, rows, result) for key, rows in _by_quality(result.correlations)]
    return [*strongest, *_additions(_by_quality(result.increments), result)]


def answer(result: Validation) -> str:
    """The strongest correlation of all with its interval, or that there is none."""
    clear = [
        row
        for _, rows in _by_quality(result.correlations)
        for row in _fair(rows, result).filter(pl.col("pearson_p_adjusted") < ALPHA).to_dicts()
    ]
    if not clear:
        return "No metric can be said to go with any of the human judgements"
    row = max(clear, key=lambda row: abs(row["pearson"]))
    metric, quality = in_sentence(result.labels[row["metric"]]), quality_text(row["quality"])
    within = in_brackets(row["pearson_low"], row["pearson_high"])
    return (
        f"Of all metrics {metric} comes closest to human judgement: r = "
        f"{number(row['pearson'], 2)}{within} with {quality}"
    )


def _fair(rows: pl.DataFrame, result: Validation) -> pl.DataFrame:
    """Rows with a coefficient, without metrics that are there to be beaten."""
    baselines = [name for name, card in result.cards.items() if card.is_baseline]
    return rows.filter(~pl.col("metric").is_in(baselines), pl.col("pearson").is_not_null())


def _by_quality(table: pl.DataFrame) -> list[tuple[tuple[str, str], pl.DataFrame]]:
    """By quality and level; agents and systems, which are few, are left to the tables."""
    judged = table.filter(pl.col("level").is_in(["turn", "dialog"]))
    judged = judged if judged.height else table
    return [
        ((str(key[0]), str(key[1])), rows)
        for key, rows in judged.group_by("level", "quality", maintain_order=True)
    ]


def _strongest(key: tuple[str, str], rows: pl.DataFrame, result: Validation) -> Finding:
    level, quality = key[0], quality_text(key[1])
    fair = _fair(rows, result)
    if not fair.height:
        reasons = rows["reason"].drop_nulls().unique().sort().to_list()
        claim = f"No metric can be compared with {quality}"
        return Finding(claim, listed(reasons), clear=False)
    sure = fair.filter(pl.col("pearson_p_adjusted") < ALPHA)
    best = (sure if sure.height else fair).sort(pl.col("pearson").abs(), descending=True)
    row = best.row(0, named=True)
    opposite = ", in the opposite direction" if row["pearson"] < 0 else ""
    metric = in_sentence(result.labels[row["metric"]])
    claim = (
        f"{quality} goes most closely with {metric}{opposite}"
        if sure.height
        else f"No metric can be said to go with {quality}"
    )
    nearest = "" if sure.height else f"The nearest is {metric}: "
    parts = [
        f"{nearest}r = {number(row['pearson'], 2)}"
        f"{in_brackets(row['pearson_low'], row['pearson_high'])}, {units_text(row['n'], level)}, "
        f"corrected p {p_value(row['pearson_p_adjusted'], equals=True)}, family of "
        f"{counted(row['family'] or 0, 'test')}"
    ]
    others = sure.height - 1
    if others > 0:
        parts.append(f"{counted(others, 'other metric')} with a corrected p below {ALPHA:g}")
    if row["highest_r"] is not None:
        parts.append(_ceiling(row))
    return Finding(claim, ". ".join(parts), clear=bool(sure.height))


def _ceiling(row: Mapping[str, Any]) -> str:
    return (
        f"The mean rating has a reliability of {number(row['ceiling'], 2)}, so that even a perfect "
        f"metric would reach {number(row['highest_r'], 2)}; corrected for that, r = "
        f"{number(row['pearson_corrected'], 2)}"
    )


def _additions(
    parts: Sequence[tuple[tuple[str, str], pl.DataFrame]], result: Validation
) -> list[Finding]:
    """What all psychological metrics add to all automatic ones (or one to one, if single)."""
    verdicts: dict[str, list[tuple[str, dict[str, Any]]]] = {}
    for (_, quality), rows in parts:
        row = _widest(rows)
        if row is not None and row["r2_pa"] is not None:
            verdicts.setdefault(_verdict(row), []).append((quality, row))
    findings = []
    for verdict, rows_of in verdicts.items():
        row = rows_of[0][1]
        who, whom = (_side(row[side], result) for side in ("psychological", "automatic"))
        about = listed([quality_text(quality) for quality, _ in rows_of])
        claim = f"{who[0].upper()}{who[1:]} {verdict.format(whom)} for {about}"
        numbers = "; ".join(_gain(quality, row) for quality, row in rows_of)
        findings.append(
            Finding(
                claim,
                f"Adjusted R² without and with them: {numbers}. P-values corrected over a family "
                f"of {counted(row['family'] or 0, 'test')}",
                clear=verdict != _NOTHING,
            )
        )
    return findings


def _verdict(row: Mapping[str, Any]) -> str:
    helps = row["p_adjusted"] is not None and row["p_adjusted"] < ALPHA and (row["t"] or 0) > 0
    if not helps:
        return _NOTHING
    unseen = None if row["cv_r2_pa"] is None else row["cv_r2_pa"] - row["cv_r2_a"]
    if unseen is not None and unseen <= 0:
        return "fit better together with {}, but predict dialogues not seen no better,"
    return "explain more together with {} than those alone"


def _gain(quality: str, row: Mapping[str, Any]) -> str:
    text = f"{quality_text(quality)} {number(row['r2_a'], 3)} and {number(row['r2_pa'], 3)}"
    if row["cv_r2_pa"] is not None:
        text += f", on clusters not seen {number(row['cv_r2_a'], 3)} and "
        text += number(row["cv_r2_pa"], 3)
    return f"{text} (n = {row['n']:,}, corrected p {p_value(row['p_adjusted'], equals=True)})"


def _side(name: str, result: Validation) -> str:
    return {
        ALL_AUTOMATIC: "the automatic metrics",
        ALL_PSYCHOLOGICAL: "the psychological metrics",
    }.get(name) or in_sentence(result.labels[name])


def _widest(rows: pl.DataFrame) -> dict[str, Any] | None:
    for a, p in (
        (ALL_AUTOMATIC, ALL_PSYCHOLOGICAL),
        (None, ALL_PSYCHOLOGICAL),
        (ALL_AUTOMATIC, None),
        (None, None),
    ):
        chosen = rows.filter(
            pl.lit(True) if a is None else pl.col("automatic") == a,
            pl.lit(True) if p is None else pl.col("psychological") == p,
        )
        if chosen.height:
            return chosen.row(0, named=True)
    return None


def family_size(table: pl.DataFrame) -> int:
    """How many tests of a table were corrected together.

    Examples:
        >>> family_size(pl.DataFrame({"family": [None, 7]}))
        7
    """
    families = table["family"].drop_nulls()
    return int(families[0]) if len(families) else 0


def methods(result: Validation, *, resamples: int, folds: int) -> list[str]:
    """Paragraphs that may go into a paper."""
    families = {
        name: family_size(table)
        for name, table in (
            ("correlations", result.correlations),
            ("differences", result.differences),
            ("increments", result.increments),
        )
    }
    by = listed(sorted({str(one["clustered_by"]) for one in result.units}))
    p, a = (
        listed([in_sentence(result.labels[name]) for name in group]) or "none"
        for group in (result.groups.psychological, result.groups.automatic)
    )
    return [
        "Every metric was correlated with the mean human rating of each quality (Pearson, "
        "Spearman, Kendall’s tau-b) over the units that have both. Intervals are 95 % intervals "
        f"on Fisher’s scale with the standard error from {resamples:,} resamples of clusters "
        f"({by}); for Kendall’s tau from the clusters’ influence. P-values test that the "
        "coefficient is zero and belong to the same intervals; they were corrected after "
        f"Benjamini and Hochberg over the {families['correlations']:,} correlations of one "
        "kind on this page.",
        "The ceiling is the reliability of the mean rating: the share of its variance over units "
        "that is not disagreement between raters. A correlation divided by its root is corrected "
        "for attenuation. Two metrics are compared by the difference of their absolute "
        "correlations with the same judgement on the same units, with intervals and p-values "
        f"from the same resamples, corrected over {families['differences']:,} comparisons; "
        "Williams’ t and Steiger’s z, which take units for independent, stand beside them.",
        f"Psychological metrics (P): {p}. Automatic metrics (A): {a}. After Giorgi et al. (2023) "
        "linear models of the standardised mean rating were fitted with A, P and both; shown is "
        "adjusted R². The absolute residuals of A and P+A were compared by paired t-tests, "
        f"corrected after Benjamini and Hochberg over {families['increments']:,} tests. As "
        "these models are judged on the units they were fitted to, R² was also computed under "
        f"{folds}-fold cross-validation by cluster, ten times with clusters dealt anew; its "
        "test compares one mean difference of absolute residuals a cluster.",
    ]


CODEBOOK: Sequence[tuple[str, str]] = (
    ("n, n_missing", "rated units with a value of the metric, and without; `missing` says why"),
    ("n_clusters", "clusters of units that were drawn together"),
    ("pearson, spearman, kendall", "coefficients; _low and _high end their 95 % intervals"),
    ("…_p, …_p_adjusted, family", "two-sided p, corrected p, how many tests it was corrected over"),
    ("ceiling, highest_r", "reliability of the mean rating, and its square root"),
    ("pearson_corrected", "Pearson’s coefficient divided by highest_r"),
    ("difference", "|r_a| − |r_b| on the units that have both metrics"),
    ("r2_a, r2_p, r2_pa", "adjusted R² of the automatic, the psychological, and both"),
    ("t, p", "paired t-test of the absolute residuals of A and P+A; above 0: P+A is nearer"),
    ("cv_r2_a, cv_r2_p, cv_r2_pa", "R² on clusters not seen; negative: worse than the mean"),
    ("cv_p", "t-test over clusters of the absolute residuals not seen"),
)  # fmt: skip
"""What the columns of validation.json and the CSV files hold."""
