"""What else choices tell: whether what stands first is preferred, and how far raters agree."""

import polars as pl
from scipy import special

from dialens.analysis.people._choices import Choices
from dialens.base import DialensError, Estimate
from dialens.corpus import RATINGS
from dialens.statistics import LABEL
from dialens.statistics.choices import clustered_share

POSITION = pl.Schema(
    {
        "quality": pl.String,
        "scale": pl.String,
        "n": pl.Int64,
        "n_raters": pl.Int64,
        "share": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "p": pl.Float64,
        "method": pl.String,
        "reason": pl.String,
    }
)
"""One row a quality: in what share of choices between two equal candidates the one shown first is
preferred, ties aside; one half if the place does not matter. `reason` says why it is null."""

_TIE = "tie"


def position_effect(choices: Choices, *, confidence: float = 0.95) -> pl.DataFrame:
    """Whether the candidate that stands first is preferred for that, as one row of `POSITION`.

    The effect is estimated together with the abilities of agents, so that an agent that stood
    first more often than others does not look like an effect of the place.

    Examples:
        >>> from dialens.analysis.people._choices import choices_of
        >>> rows = []
        >>> for place in range(72):
        ...     rater, item = f"r{place % 9}", f"d{place // 9}"
        ...     better, first = "aab"[place % 3], "ab"[place // 9 % 2]
        ...     rows += [(rater, item, x, "q", float(x == better), int(x != first)) for x in "ab"]
        >>> names = ["rater", "dialog", "agent", "quality", "value", "position"]
        >>> found = choices_of(pl.DataFrame(rows, schema=names, orient="row"))["q"]
        >>> row = position_effect(found).row(0, named=True)
        >>> row["n"], round(row["share"], 2), row["low"] < 0.5 < row["high"]
        (72, 0.5, True)
    """
    found: dict[str, object] = {
        "quality": choices.quality,
        "scale": choices.kind,
        "n": choices.n,
    }
    if choices.shown["shown_first"].null_count() == choices.shown.height:
        return _row(found | {"reason": "it is not known which candidate was shown first"})
    try:
        fit = choices.fit(position=True, confidence=confidence)
    except DialensError as error:
        return _row(found | {"reason": str(error)})
    effect = fit.position or Estimate()
    shares = {
        name: None if value is None else float(special.expit(value))
        for name, value in (("share", effect.value), ("low", effect.low), ("high", effect.high))
    }
    more = {"n_raters": fit.n_raters, "p": effect.p, "method": fit.method, "reason": effect.reason}
    return _row(found | shares | more)


def choice_labels(choices: Choices) -> pl.DataFrame:
    """Each choice as one label, for `measure_agreement`: who won, was the best or stood first.

    An item is what raters could agree about: the item together with the candidates shown.

    Returns:
        The columns of `RATINGS` and `label`.

    Examples:
        >>> from dialens.analysis.people._choices import choices_of
        >>> rows = [
        ...     (f"r{i}", f"d{j}", agent, "better", float((agent == "a") == (j != 2)))
        ...     for i in range(3)
        ...     for j in range(4)
        ...     for agent in "ab"
        ... ]
        >>> names = ["rater", "dialog", "agent", "quality", "value"]
        >>> found = choices_of(pl.DataFrame(rows, schema=names, orient="row"))["better"]
        >>> choice_labels(found).select("rater", "dialog", "label").row(2)
        ('r0', 'd2: a, b', 'b')
    """
    shown = choices.shown.sort("choice", "candidate")
    first = pl.col("candidate").filter(pl.col("rank") == 1)
    label = pl.when(first.len() == 1).then(first.first()).otherwise(pl.lit(_TIE))
    chosen = shown.group_by("choice", maintain_order=True).agg(
        pl.first("rater", "item"),
        pl.col("candidate").str.join(", ").alias("candidates"),
        label.alias(LABEL),
    )
    table = chosen.select(
        "rater",
        LABEL,
        quality=pl.lit(choices.quality),
        dialog=pl.concat_str("item", "candidates", separator=": ", ignore_nulls=True),
    )
    missing = [pl.lit(None, dtype).alias(name) for name, dtype in RATINGS.items()]
    kept = [name for name in missing if name.meta.output_name() not in table.columns]
    return table.with_columns(kept).select(*RATINGS.names(), LABEL)


def same_choice(choices: Choices, *, confidence: float = 0.95) -> Estimate:
    """The share of pairs of raters who chose the same about the same item and candidates.

    Every item counts alike, and the interval is over items. By chance alone two raters often
    choose the same: `measure_agreement` of `choice_labels` says how far they agree beyond it.

    Examples:
        >>> from dialens.analysis.people._choices import choices_of
        >>> rows = [
        ...     (f"r{i}", f"d{j}", agent, "better", float((agent == "a") == (i + j != 2)))
        ...     for i in range(3)
        ...     for j in range(4)
        ...     for agent in "ab"
        ... ]
        >>> names = ["rater", "dialog", "agent", "quality", "value"]
        >>> found = choices_of(pl.DataFrame(rows, schema=names, orient="row"))["better"]
        >>> round(same_choice(found).value, 3)  # in three of four items one rater is apart
        0.5
    """
    given = choice_labels(choices).group_by("dialog", LABEL).agg(n=pl.len().cast(pl.Float64))
    same = (pl.col("n") * (pl.col("n") - 1)).sum()
    all_pairs = pl.col("n").sum() * (pl.col("n").sum() - 1)
    items = given.group_by("dialog").agg(share=same / all_pairs, raters=pl.col("n").sum())
    shared = items.filter(pl.col("raters") > 1)
    if not shared.height:
        return Estimate(reason="no two raters chose about the same item and candidates")
    rows = shared.select("share", rater=pl.lit(None, pl.String), item="dialog")
    return clustered_share(rows, confidence=confidence)


def _row(found: dict[str, object]) -> pl.DataFrame:
    return pl.DataFrame([found], schema=POSITION)
