"""What a validation says, in sentences, each with the numbers it rests on."""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from dialens.analysis.validation import (
    ALL_AUTOMATIC,
    ALL_PSYCHOLOGICAL,
    APART,
    Validation,
    beside,
)
from dialens.base import capitalised, counted, in_brackets, listed, number, p_value
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
    """What comes closest to the qualities, where pooled and within part, and what adds to what."""
    return [
        *_strongest(result),
        *_parting(result),
        *_additions(_by_quality(result.increments), result),
    ]


def judged(result: Validation) -> pl.DataFrame:
    """The best metric of each quality at the levels that were judged; agents and systems are few.

    Where nothing but agents or systems was judged, those.
    """
    below = result.best.filter(pl.col("level").is_in(["turn", "dialog"]))
    return below if below.height else result.best


def answer(result: Validation) -> str:
    """The strongest correlation of all with its interval, or that there is none."""
    table = judged(result)
    clear = table.filter("clear").sort(-pl.col("r").abs())
    ratings = int(table["n_ratings"].fill_null(0).sum())
    if not clear.height:
        return (
            f"No metric can be said to go with any of the human judgements "
            f"({counted(ratings, 'rating')})"
        )
    row = clear.row(0, named=True)
    metric, quality = in_sentence(result.labels[row["metric"]]), quality_text(row["quality"])
    ends = in_brackets(row["low"], row["high"])
    return (
        f"{capitalised(quality)} goes most closely with {metric}{_opposite(row)}: "
        f"{in_scope(row)} r = {number(row['r'], 2)}{ends}, {units_text(row['n'], row['level'])}, "
        f"{counted(row['n_ratings'], 'rating')}; {_others(table, row)}"
    )


def _opposite(row: Mapping[str, Any]) -> str:
    return ", in the opposite direction" if row["r"] < 0 else ""


def _others(table: pl.DataFrame, first: Mapping[str, Any]) -> str:
    """Of how many other qualities a metric goes with, in words."""
    rest = table.height - 1
    sure = int(table["clear"].fill_null(value=False).sum()) - 1
    if not rest:
        return f"it was the strongest of {counted(first['n_metrics'], 'metric')}"
    return f"of the {counted(rest, 'other quality', 'other qualities')}, a metric goes with {sure}"


def in_scope(row: Mapping[str, Any]) -> str:
    """How a coefficient was computed, before it is named.

    Examples:
        >>> in_scope({"scope": "within"}), in_scope({"scope": "pooled"})
        ('within agents', 'over all units')
    """
    return "within agents" if row["scope"] == "within" else "over all units"


def ceiling_text(result: Validation) -> str:
    """How far a perfect metric could come, in one sentence without a full stop."""
    known = judged(result).filter(pl.col("highest_r").is_not_null()).sort("highest_r")
    if not known.height:
        return "How far a perfect metric could come is not known: too few ratings a unit"
    low, high = known.row(0, named=True), known.row(-1, named=True)
    if known.height == 1:
        return (
            f"Raters agree so far that a perfect metric would reach {number(low['highest_r'], 2)}"
        )
    return (
        f"Raters agree so far that a perfect metric would reach {number(low['highest_r'], 2)} "
        f"({quality_text(low['quality'])}) to {number(high['highest_r'], 2)} "
        f"({quality_text(high['quality'])})"
    )


def parting_text(result: Validation) -> str:
    """Where pooled coefficients and those within agents part, without a full stop."""
    table = beside(result.correlations).filter(pl.col("level").is_in(["turn", "dialog"]))
    if not table.filter(pl.col("within").is_not_null()).height:
        return "There are not several agents to look within: coefficients are over all units"
    apart = table.filter("parted").sort(-(pl.col("pooled") - pl.col("within")).abs())
    if not apart.height:
        return "Pooled over agents, coefficients are about what they are within agents"
    row = apart.row(0, named=True)
    metric, quality = in_sentence(result.labels[row["metric"]]), quality_text(row["quality"])
    more = apart.height - 1
    others = f"; {counted(more, 'other pair parts', 'other pairs part')}, too" if more else ""
    return (
        f"{capitalised(metric)} with {quality}: r = {number(row['pooled'], 2)} pooled, "
        f"{number(row['within'], 2)} within agents: {_reading(row)}{others}"
    )


def _reading(row: Mapping[str, Any]) -> str:
    if abs(row["pooled"]) > abs(row["within"]):
        return "it tells agents apart rather than replies"
    return "differences between agents hide it"


def _parting(result: Validation) -> list[Finding]:
    """A warning where coefficients part; nothing where they do not."""
    if not beside(result.correlations)["parted"].any():
        return []
    rule = (
        f"A pair is named where the two differ by at least {APART:g} and the pooled coefficient "
        "lies outside the interval of the one within agents"
    )
    return [Finding(parting_text(result), rule)]


def by_quality(table: pl.DataFrame) -> list[tuple[tuple[str, str], pl.DataFrame]]:
    """By level and quality, in their order."""
    return [
        ((str(key[0]), str(key[1])), rows)
        for key, rows in table.group_by("level", "quality", maintain_order=True)
    ]


def _by_quality(table: pl.DataFrame) -> list[tuple[tuple[str, str], pl.DataFrame]]:
    """By quality and level; agents and systems, which are few, are left to the tables."""
    below = table.filter(pl.col("level").is_in(["turn", "dialog"]))
    return by_quality(below if below.height else table)


def _strongest(result: Validation) -> list[Finding]:
    """One sentence a quality with a metric, one for all qualities without."""
    table = judged(result)
    sure = [_goes_with(row, result) for row in table.filter("clear").iter_rows(named=True)]
    rest = table.filter(pl.col("clear").is_null() | ~pl.col("clear"))
    if not rest.height:
        return sure
    names = [quality_text(name) for name in rest["quality"]]
    some = "; ".join(
        f"{quality_text(row['quality'])}: "
        + (
            row["reason"] or "no value"
            if row["r"] is None
            else f"{in_sentence(result.labels[row['metric']])}, r = {number(row['r'], 2)}, "
            f"corrected p {corrected_p(row)}"
        )
        for row in rest.iter_rows(named=True)
    )
    claim = f"No metric can be said to go with {listed(names)}"
    return [*sure, Finding(claim, f"The nearest are {some}", clear=False)]


def corrected_p(row: Mapping[str, Any]) -> str:
    """A corrected p-value as it follows the letter p; "at most" where permutations end.

    Examples:
        >>> corrected_p({"p_adjusted": 0.02, "p_at_most": True})
        '≤ 0.020'
        >>> corrected_p({"p_adjusted": 0.0002, "p_at_most": True})
        '< 0.001'
    """
    text = p_value(row["p_adjusted"], equals=True)
    return text.replace("=", "≤") if row["p_at_most"] else text


def _goes_with(row: Mapping[str, Any], result: Validation) -> Finding:
    quality, metric = quality_text(row["quality"]), in_sentence(result.labels[row["metric"]])
    claim = f"{capitalised(quality)} goes most closely with {metric}{_opposite(row)}"
    beside_it = [
        f"{name} {number(row[scope], 2)}"
        for scope, name in (("pooled", "pooled"), ("between", f"between {row['agents']} agents"))
        if row["scope"] == "within" and row[scope] is not None
    ]
    parts = [
        f"{in_scope(row)} r = {number(row['r'], 2)}{in_brackets(row['low'], row['high'])}"
        f"{''.join(f', {part}' for part in beside_it)}; {units_text(row['n'], row['level'])}, "
        f"corrected p {corrected_p(row)}, family of {counted(row['family'] or 0, 'test')}"
    ]
    parts.append(_chosen(row))
    if row["n_clear"] > 1:
        others = counted(row["n_clear"] - 1, "other metric")
        parts.append(f"{others} with a corrected p below {ALPHA:g}")
    if row["highest_r"] is not None:
        parts.append(
            f"The mean rating has a reliability of {number(row['ceiling'], 2)}, so that even a "
            f"perfect metric would reach {number(row['highest_r'], 2)}"
        )
    return Finding(
        claim, ". ".join(capitalised(part) if n else part for n, part in enumerate(parts))
    )


def _chosen(row: Mapping[str, Any]) -> str:
    """What choosing the strongest of many adds to it."""
    many = f"The strongest of {counted(row['n_metrics'], 'metric')} looks stronger than it is"
    if row["r_elsewhere"] is None:
        return many
    return (
        f"{many}: chosen on one half of the data, the strongest reaches "
        f"{number(row['r_elsewhere'], 2)} in the same direction on the other"
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
