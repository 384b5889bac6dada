"""Results as they stand in a paper: `ICC(2,k) = .88, 95% CI [.75, .96], p < .001`.

APA style (7th edition): no zero before the point of what cannot pass 1, p to three digits.
"""

from collections.abc import Mapping
from typing import Any

_LEAST_P = 0.001
_CHOSEN = "win probability"


def apa_number(value: float | None, digits: int = 2, *, bounded: bool = False) -> str:
    """A number; without the zero before the point where it cannot be larger than 1.

    Examples:
        >>> apa_number(0.876, bounded=True), apa_number(-0.1, bounded=True), apa_number(12.345)
        ('.88', '−.10', '12.35')
        >>> apa_number(None), apa_number(1.0, bounded=True)
        ('–', '1.00')
    """
    if value is None:
        return "–"
    text = f"{abs(value):.{digits}f}"
    if bounded and text.startswith("0."):
        text = text[1:]
    sign = "−" if value < 0 and float(f"{value:.{digits}f}") != 0 else ""
    return sign + text


def apa_p(p: float | None, name: str = "p") -> str:
    """A p-value; empty if there is none.

    Examples:
        >>> apa_p(0.0123), apa_p(0.00001), apa_p(None)
        ('p = .012', 'p < .001', '')
    """
    if p is None:
        return ""
    if p < _LEAST_P:
        return f"{name} < .001"
    return f"{name} = {apa_number(min(p, 0.999), 3, bounded=True)}"


def apa_interval(low: float | None, high: float | None, *, bounded: bool = False) -> str:
    """A 95 % interval; empty if there is none.

    Examples:
        >>> apa_interval(0.75, 0.96, bounded=True)
        '95% CI [.75, .96]'
    """
    if low is None or high is None:
        return ""
    ends = (apa_number(end, bounded=bounded) for end in (low, high))
    return f"95% CI [{', '.join(ends)}]"


def agreement_apa(row: Mapping[str, Any]) -> str:
    """A statistic of agreement: a row of `AGREEMENT`.

    Examples:
        >>> row = {"statistic": "ICC(2,k)", "also": "", "value": 0.876, "low": 0.75, "high": 0.96}
        >>> agreement_apa({**row, "f": 9.914, "df1": 11, "df2": 253.0, "p": 1e-9})
        'ICC(2,k) = .88, 95% CI [.75, .96], F(11, 253) = 9.91, p < .001'
        >>> row |= {"statistic": "kendall_w", "also": "Kendall's W", "f": None, "n_raters": 3}
        >>> agreement_apa({**row, "df1": 11, "df2": None, "p": 0.004})
        "Kendall's W = .88, 95% CI [.75, .96], χ²(11) = 28.91, p = .004"
    """
    icc = row["statistic"].startswith("ICC")
    name = row["statistic"] if icc else row["also"] or row["statistic"]
    parts = [
        f"{name} = {apa_number(row['value'], bounded=True)}",
        apa_interval(row["low"], row["high"], bounded=True),
    ]
    if row.get("f") is not None:
        degrees = ", ".join(f"{row[part]:.6g}" for part in ("df1", "df2"))
        parts.append(f"F({degrees}) = {apa_number(row['f'])}")
    square = concordance_square(row)
    if square is not None:
        parts.append(f"χ²({row['df1']:g}) = {apa_number(square)}")
    parts.append(apa_p(row.get("p")))
    return ", ".join(part for part in parts if part)


def concordance_square(row: Mapping[str, Any]) -> float | None:
    """Friedman's χ² behind Kendall's W: raters × degrees of freedom × W; None for the others."""
    if row["statistic"] != "kendall_w" or None in (row["value"], row["df1"], row["n_raters"]):
        return None
    return float(row["n_raters"] * row["df1"] * row["value"])


def difference_apa(row: Mapping[str, Any]) -> str:
    """A difference between two agents: a row of `AGENT_DIFFERENCES`.

    Examples:
        >>> row = {"first": "x", "second": "y", "quality": "tone", "difference": 0.62, "low": 0.4}
        >>> row |= {"high": 0.8, "unit": "points", "p": 1e-5, "p_adjusted": 0.002, "family": 9}
        >>> difference_apa(
        ...     {**row, "effect": "d", "effect_size": 0.5, "effect_low": 0.3, "effect_high": 0.7}
        ... )
        'x − y (tone): ΔM = 0.62, 95% CI [0.40, 0.80], p < .001, p adjusted = .002, d = 0.50'
    """
    if row["difference"] is None:
        return ""
    chosen = row["effect"] == _CHOSEN
    if chosen:
        main = f"P({row['first']} chosen) = {apa_number(row['effect_size'], bounded=True)}"
        ends = apa_interval(row["effect_low"], row["effect_high"], bounded=True)
        head = f"{row['first']} against {row['second']} ({row['quality']}): "
    else:
        ratio = row["unit"] == "ratio"
        main = f"{'ratio' if ratio else 'ΔM'} = {apa_number(row['difference'])}"
        ends = apa_interval(row["low"], row["high"])
        sign = "/" if ratio else "−"
        head = f"{row['first']} {sign} {row['second']} ({row['quality']}): "
    parts = [main, ends, apa_p(row["p"]), apa_p(row["p_adjusted"], "p adjusted")]
    if not chosen and row["effect_size"] is not None:
        parts.append(f"{row['effect']} = {apa_number(row['effect_size'])}")
    return head + ", ".join(part for part in parts if part)


def correlation_apa(row: Mapping[str, Any], metric: str) -> str:
    """A metric against a quality: a row of `CORRELATIONS`.

    Examples:
        >>> row = {"quality": "engaging", "scope": "within", "pearson": 0.43, "pearson_low": 0.2}
        >>> row |= {"pearson_high": 0.6, "pearson_p": 0.002, "spearman": 0.4, "n": 80}
        >>> correlation_apa(row, "Words a turn")
        'Words a turn and engaging (within): r = .43, 95% CI [.20, .60], p = .002, ρ = .40, N = 80'
    """
    parts = [
        f"r = {apa_number(row['pearson'], bounded=True)}",
        apa_interval(row["pearson_low"], row["pearson_high"], bounded=True),
        apa_p(row["pearson_p"]),
        "" if row["spearman"] is None else f"ρ = {apa_number(row['spearman'], bounded=True)}",
        f"N = {row['n']:,}",
    ]
    return f"{metric} and {row['quality']} ({row['scope']}): " + ", ".join(p for p in parts if p)


def paper_text(title: str, parts: Mapping[str, list[str]], notes: list[str]) -> str:
    """Sentences for a paper as Markdown: a heading a part, a line a result.

    Examples:
        >>> print(paper_text("A", {"B": ["r = .1"]}, ["Note."]))
        # A
        <BLANKLINE>
        ## B
        <BLANKLINE>
        - r = .1
        <BLANKLINE>
        Note.
        <BLANKLINE>
    """
    blocks = [f"# {title}"]
    for head, lines in parts.items():
        if lines:
            blocks += [f"## {head}", "\n".join(f"- {line}" for line in lines)]
    return "\n\n".join([*blocks, *notes]) + "\n"
