"""Bradley–Terry for pairs, Plackett–Luce for rankings, choices of one and best–worst answers."""

from collections.abc import Sequence
from typing import Literal

import polars as pl

from dialens.base import DialensError, listed
from dialens.statistics.choices._fit import ChoiceFit, fit_choices

Kind = Literal["ranking", "best_worst"]

_OPTIONAL = {"rater": pl.String, "item": pl.String, "shown_first": pl.Boolean}


def fit_bradley_terry(
    comparisons: pl.DataFrame,
    *,
    position: bool = False,
    bias_reduced: bool = True,
    confidence: float = 0.95,
) -> ChoiceFit:
    """Abilities of candidates that were compared in pairs (Bradley & Terry 1952).

    The odds that a candidate is preferred to another are the ratio of their worths; ties weigh the
    geometric mean of both times a parameter (Davidson 1970), which is there if ties occur.
    Intervals and tests allow for people and items at once where the table names them.

    Args:
        comparisons: One row a comparison: `first`, `second`, `outcome` (1 if `first` was preferred,
            0 if `second`, 0.5 for a tie), perhaps `rater`, `item`, and `shown_first` (whether
            `first` was shown first).
        position: Whether to estimate what it is worth to be shown first.
        bias_reduced: Firth's estimate, which is finite even for who won or lost everything; False
            gives plain maximum likelihood.
        confidence: Of the intervals.

    Raises:
        DialensError: If candidates fall into groups that were never compared with each other.

    Examples:
        >>> table = pl.DataFrame(
        ...     {
        ...         "first": ["a", "a", "a", "b"],
        ...         "second": ["b", "b", "b", "a"],
        ...         "outcome": [1.0, 1.0, 0.0, 0.0],
        ...     }
        ... )
        >>> fit = fit_bradley_terry(table, bias_reduced=False)
        >>> round(fit.difference("a", "b").value, 3)  # log(3 / 1)
        1.099
    """
    _need(comparisons, ("first", "second", "outcome"), "comparisons")
    if position:
        _need(comparisons, ("shown_first",), "comparisons")
    outcome = comparisons["outcome"].cast(pl.Float64)
    bad = outcome.filter(~outcome.is_in([0.0, 0.5, 1.0]).fill_null(value=False))
    if len(bad):
        raise DialensError(
            f"`outcome` is 1, 0 or 0.5, not {bad[0]}. Leave out comparisons without an answer."
        )
    shown = pairs_shown(comparisons)
    return fit_choices(
        shown,
        _ranking_model(shown),
        position=position,
        bias_reduced=bias_reduced,
        confidence=confidence,
    )


def pairs_shown(comparisons: pl.DataFrame) -> pl.DataFrame:
    """Comparisons as choices in the long form, two rows each."""
    table = _with_optional(comparisons).with_row_index("choice")
    common = ("choice", "rater", "item")
    outcome = pl.col("outcome").cast(pl.Float64)
    sides = [
        table.select(
            *common,
            candidate=pl.col(name).cast(pl.String),
            rank=pl.when(won >= 0.5).then(1).otherwise(2),
            shown_first=first,
        )
        for name, won, first in (
            ("first", outcome, pl.col("shown_first")),
            ("second", 1 - outcome, pl.col("shown_first").not_()),
        )
    ]
    return pl.concat(sides)


def fit_plackett_luce(
    rankings: pl.DataFrame,
    *,
    kind: Kind = "ranking",
    position: bool = False,
    bias_reduced: bool = True,
    confidence: float = 0.95,
) -> ChoiceFit:
    """Worths of candidates that were ranked, or chosen as the best, or as the best and the worst.

    A ranking is a sequence of choices, the best of those that are left (Plackett 1975); ties of any
    size are modelled after Turner, van Etten, Firth & Kosmidis (2020). A best–worst answer is the
    choice of the best, then of the worst of the rest. Intervals and tests allow for people and
    items at once where the table names them.

    Args:
        rankings: One row a candidate shown in a choice: `choice` (which answer it belongs to),
            `candidate`, `rank` (1 is the best, equal ranks are ties; null for what was shown but
            not ranked, below all that have a rank), perhaps `rater`, `item`, and `shown_first`
            (whether this candidate stood first).
        kind: `ranking`, or `best_worst` for three tiers: best, those between, worst.
        position: Whether to estimate what it is worth to be shown first.
        bias_reduced: Firth's estimate, which is finite even for who won or lost everything; False
            gives plain maximum likelihood.
        confidence: Of the intervals.

    Raises:
        DialensError: If candidates fall into groups that were never compared with each other.

    Examples:
        >>> table = pl.DataFrame(
        ...     {
        ...         "choice": [1, 1, 1, 2, 2, 2],
        ...         "candidate": ["a", "b", "c", "b", "a", "c"],
        ...         "rank": [1, 2, 3, 1, 2, 3],
        ...     }
        ... )
        >>> fit = fit_plackett_luce(table)
        >>> fit.abilities["candidate"].to_list()
        ['a', 'b', 'c']
        >>> fit.method
        'Plackett–Luce, bias-reduced (Firth), standard errors for independent choices'
    """
    _need(rankings, ("choice", "candidate", "rank"), "rankings")
    if position:
        _need(rankings, ("shown_first",), "rankings")
    table = _with_optional(rankings).with_columns(
        pl.col("choice").rank("dense").cast(pl.Int64) - 1, pl.col("candidate").cast(pl.String)
    )
    twice = table.group_by("choice", "candidate").len().filter(pl.col("len") > 1)
    if twice.height:
        raise DialensError(
            f"Candidate {twice['candidate'][0]!r} stands twice in one choice. Give each answer a "
            "`choice` of its own."
        )
    if kind == "best_worst":
        table = _best_worst(table)
    model = "sequential best–worst choices" if kind == "best_worst" else _ranking_model(table)
    return fit_choices(
        table,
        model,
        best_worst=kind == "best_worst",
        position=position,
        bias_reduced=bias_reduced,
        confidence=confidence,
    )


def _best_worst(table: pl.DataFrame) -> pl.DataFrame:
    """Ranks 1, 2 and 3, after checking that one is the best and one the worst."""
    tiers = table.with_columns(pl.col("rank").rank("dense").over("choice").cast(pl.Int64))
    counted = tiers.group_by("choice").agg(
        best=(pl.col("rank") == 1).sum(),
        worst=(pl.col("rank") == pl.col("rank").max()).sum(),
        tiers=pl.col("rank").max(),
    )
    wrong = counted.filter(
        (pl.col("best") != 1) | (pl.col("worst") != 1) | ~pl.col("tiers").is_in([2, 3])
    )
    if wrong.height:
        raise DialensError(
            f"{wrong.height:,} of {counted.height:,} best–worst answers do not have one best, one "
            "worst and the rest between. Leave them out, or fit them as rankings."
        )
    return tiers


def _ranking_model(table: pl.DataFrame) -> str:
    """What the model is called: of pairs, Plackett–Luce is Bradley–Terry."""
    pairs = bool((table.group_by("choice").len()["len"] == 2).all())
    tied = table.filter(pl.col("rank").is_not_null()).select("choice", "rank").is_duplicated().any()
    if pairs:
        return "Bradley–Terry with ties (Davidson)" if tied else "Bradley–Terry"
    return "Plackett–Luce with ties" if tied else "Plackett–Luce"


def _need(table: pl.DataFrame, names: Sequence[str], what: str) -> None:
    missing = [name for name in names if name not in table.columns]
    if missing:
        raise DialensError(
            f"The {what} have no column {listed(missing)}. Columns: {listed(table.columns)}."
        )


def _with_optional(table: pl.DataFrame) -> pl.DataFrame:
    return table.with_columns(
        pl.col(name).cast(dtype) if name in table.columns else pl.lit(None, dtype).alias(name)
        for name, dtype in _OPTIONAL.items()
    )
