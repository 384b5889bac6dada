"""Tables for a paper: correlations, and P / A / P+A as in Table 1 of Giorgi et al. (2023)."""

from collections.abc import Iterable, Sequence

import polars as pl

from dialens.analysis.validation import ALL_PSYCHOLOGICAL, Validation
from dialens.report._wording import counted
from dialens.report.validation._words import family_size

_SPECIAL = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}


def escaped(text: str) -> str:
    r"""Text that LaTeX prints as it stands.

    Examples:
        >>> escaped("50 % of a_b")
        '50 \\% of a\\_b'
    """
    return "".join(_SPECIAL.get(character, character) for character in text)


def stars(p: float | None) -> str:
    """As in the paper: three below .001, two below .01, one below .05.

    Examples:
        >>> stars(0.0004), stars(0.03), stars(None)
        ('***', '*', '')
    """
    if p is None:
        return ""
    return "***" if p < 0.001 else "**" if p < 0.01 else "*" if p < 0.05 else ""


def short(value: float | None, decimals: int = 3) -> str:
    """Without the zero before the point, as tables of coefficients are printed.

    Examples:
        >>> short(0.1234), short(-0.01), short(None)
        ('.123', '-.010', '--')
    """
    if value is None:
        return "--"
    return (
        f"{value:.{decimals}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{decimals}f}"
    )


def correlation_table(result: Validation) -> str:
    """One row a metric of the two groups, one column a quality, with intervals."""
    blocks = []
    for (level,), rows in result.correlations.filter(pl.col("group").is_not_null()).group_by(
        "level", maintain_order=True
    ):
        qualities = rows["quality"].unique(maintain_order=True).to_list()
        lines = []
        for name in rows["metric"].unique(maintain_order=True):
            cells = [escaped(result.labels[name])]
            for quality in qualities:
                row = rows.filter(pl.col("metric") == name, pl.col("quality") == quality)
                one = row.row(0, named=True)
                ends = ""
                if one["pearson_low"] is not None:
                    ends = f" [{short(one['pearson_low'], 2)}, {short(one['pearson_high'], 2)}]"
                mark = _raised(stars(one["pearson_p_adjusted"]))
                cells.append(f"{short(one['pearson'], 2)}{mark}{ends}")
            lines.append(cells)
        n = most(rows)
        caption = (
            f"Pearson correlation of metrics with human judgements on {escaped(result.dataset)} "
            f"({level} level, n = {n}), with 95\\% intervals over clusters. Corrected after "
            f"Benjamini and Hochberg over {counted(family_size(rows), 'test')}: *** p < 0.001, "
            "** p < 0.01, * p < 0.05."
        )
        heads = ["Metric", *(escaped(quality) for quality in qualities)]
        blocks.append(_table([heads], lines, "l" + "r" * len(qualities), caption))
    return "\n".join(blocks)


def increment_table(result: Validation) -> str:
    """A alone, then P and P+A for every psychological metric, one block a quality and level."""
    blocks = []
    for (level, quality), rows in result.increments.group_by(
        "level", "quality", maintain_order=True
    ):
        names = rows["psychological"].unique(maintain_order=True).to_list()
        first = ["", "A"]
        second = ["", ""]
        for name in names:
            head = "All Psych." if name == ALL_PSYCHOLOGICAL else escaped(result.labels[name])
            first.append(rf"\multicolumn{{2}}{{c}}{{{head}}}")
            second += ["P", "P+A"]
        lines = []
        for automatic in rows["automatic"].unique(maintain_order=True):
            of_a = rows.filter(pl.col("automatic") == automatic)
            alone = of_a["r2_a"].drop_nulls()
            cells = [escaped(result.labels[automatic]), short(alone[0] if len(alone) else None)]
            for name in names:
                one = of_a.filter(pl.col("psychological") == name).row(0, named=True)
                better = one["t"] is not None and one["t"] > 0
                mark = _raised(stars(one["p_adjusted"])) if better else ""
                cells += [short(one["r2_p"]), f"{short(one['r2_pa'])}{mark}"]
            lines.append(cells)
        caption = (
            f"Adjusted $R^2$ for {escaped(str(quality))} on {escaped(result.dataset)} "
            f"({level} level, n = {most(rows)}) of automatic (A) and psychological (P) "
            "metrics and of both. Paired t-test of absolute residuals of A and P+A, corrected "
            f"after Benjamini and Hochberg over {counted(family_size(rows), 'test')}: "
            "*** p < 0.001, ** p < 0.01, * p < 0.05."
        )
        blocks.append(_table([first, second], lines, "lr" + "rr" * len(names), caption))
    return "\n".join(blocks)


def most(rows: pl.DataFrame) -> int:
    """The largest n of a table.

    Examples:
        >>> most(pl.DataFrame({"n": [3, 5]}))
        5
    """
    return max(rows["n"].to_list(), default=0)


def _raised(mark: str) -> str:
    return rf"\textsuperscript{{{mark}}}" if mark else ""


def _table(
    heads: Sequence[Sequence[str]], lines: Iterable[Sequence[str]], columns: str, caption: str
) -> str:
    body = [" & ".join(cells) + r" \\" for cells in lines]
    head = [" & ".join(cells) + r" \\" for cells in heads]
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering\small",
            rf"\begin{{tabular}}{{{columns}}}",
            r"\hline",
            *head,
            r"\hline",
            *body,
            r"\hline",
            r"\end{tabular}",
            rf"\caption{{{caption}}}",
            r"\end{table}",
            "",
        ]
    )
