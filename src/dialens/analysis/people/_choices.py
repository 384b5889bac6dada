"""Choices between agents: pairs, battles, best–worst answers and rankings, each one observation.

A study's export and a corpus hold a row for every candidate of a choice: 1 and 0 for who won and
lost, 0.5 for ties; 1, 0 and −1 for the best, those between and the worst; ranks. Such rows belong
together: `choices_of` puts them together, and everything here counts a choice once.
"""

from dataclasses import dataclass
from itertools import combinations

import polars as pl
from scipy import special

from dialens.analysis.people._choice_rows import (
    ARENA,
    choice_kinds,
    item_columns,
    name_choices,
    present,
    rows_key,
)
from dialens.analysis.people._ratings import agent_names
from dialens.analysis.people._scales import BEST_WORST, CHOSEN, PAIRWISE, RANKING
from dialens.analysis.people._tables import AGENT_DIFFERENCES, AGENTS, WINS
from dialens.base import DialensError, counted, listed
from dialens.statistics.choices import (
    ChoiceFit,
    best_worst_scores,
    fit_plackett_luce,
    groups_of,
    win_matrix,
    win_shares,
)

_SHOWN = ("choice", "candidate", "rank", "rater", "item", "shown_first")


@dataclass(frozen=True)
class Choices:
    """The choices about one quality.

    Attributes:
        quality: What was asked.
        kind: `pairwise`, `best_worst` or `ranking`.
        shown: One row a candidate shown in a choice: choice, candidate (the agent), rank (1 is the
            best, equal ranks are ties), rater, item, shown_first.
        notes: What was left out, in sentences.
    """

    quality: str
    kind: str
    shown: pl.DataFrame
    notes: tuple[str, ...] = ()

    @property
    def n(self) -> int:
        """How many choices."""
        return self.shown["choice"].n_unique()

    def fit(self, *, position: bool = False, confidence: float = 0.95) -> ChoiceFit:
        """The model of these choices: Bradley–Terry, Plackett–Luce, or best–worst."""
        return fit_plackett_luce(
            self.shown,
            kind="best_worst" if self.kind == BEST_WORST else "ranking",
            position=position,
            confidence=confidence,
        )


def choices_of(ratings: pl.DataFrame) -> dict[str, Choices]:
    """The choices among ratings, by quality; qualities that are no choices are not there.

    What a choice is says the kind in the JSON of `scale`, or the battle of an Arena corpus, or the
    values themselves, as `name_choices` reads them.

    Args:
        ratings: What `load_ratings` gives, or any table with agent, quality, value and perhaps
            rater, dialog (the item), scale, screen, order, position. A column `choice` says which
            rows belong together where rater and item do not.

    Examples:
        >>> rows = [
        ...     ("r1", f"d{i}", agent, "better", float((agent == "a") == (i != 2)))
        ...     for i in range(6)
        ...     for agent in "ab"
        ... ]
        >>> names = ["rater", "dialog", "agent", "quality", "value"]
        >>> found = choices_of(pl.DataFrame(rows, schema=names, orient="row"))["better"]
        >>> found.kind, found.n, found.shown.row(0, named=True)["rank"]
        ('pairwise', 6, 1)
    """
    found: dict[str, Choices] = {}
    if not {"agent", "quality", "value"} <= set(ratings.columns):
        return found
    rated = name_choices(ratings.with_columns(agent_names(ratings)))
    rated = rated.with_columns(_kind=choice_kinds(rated)).drop_nulls(["value", "quality", "_kind"])
    for (quality,), part in rated.group_by("quality", maintain_order=True):
        for kind in CHOSEN:
            choices = _choices(str(quality), kind, part.filter(pl.col("_kind") == kind))
            if choices is not None:
                name = str(quality) if str(quality) not in found else f"{quality} ({kind})"
                found[name] = choices
    return found


def _choices(quality: str, kind: str, rows: pl.DataFrame) -> Choices | None:
    rows = rows.filter(pl.col("agent").is_not_null())
    if not rows.height:
        return None
    key = rows_key(rows)
    rows = rows.with_columns(
        choice=pl.struct(key).rank("dense").cast(pl.Int64), **_context(rows, key)
    )
    groups = rows.group_by("choice").agg(_whole(kind).alias("whole"))
    good = groups.filter(pl.col("whole"))
    if not good.height:
        return None
    shown = rows.join(good.select("choice"), on="choice").with_columns(
        pl.col("choice").rank("dense").cast(pl.Int64) - 1,
        candidate=pl.col("agent").cast(pl.String),
        rank=_rank(kind).cast(pl.Int64),
    )
    left = groups.height - good.height
    notes = (
        f"{counted(left, 'answer')} about {quality} "
        f"{'is' if left == 1 else 'are'} left out: not all candidates are there, or the same agent "
        "stands twice.",
    )
    return Choices(
        quality, kind, shown.select(_SHOWN).sort("choice", "rank", "candidate"), notes[: left > 0]
    )


def _whole(kind: str) -> pl.Expr:
    """Whether the rows of a choice are what such a choice must have."""
    value = pl.col("value")
    distinct = pl.col("agent").n_unique() == pl.len()
    if kind == PAIRWISE:
        return (pl.len() == 2) & distinct & (value.sum() == 1) & value.is_in([0.0, 0.5, 1.0]).all()
    if kind == BEST_WORST:
        one_each = ((value == 1).sum() == 1) & ((value == -1).sum() == 1)
        return (pl.len() >= 2) & distinct & one_each & value.is_in([-1.0, 0.0, 1.0]).all()
    return (pl.len() >= 2) & distinct


def _rank(kind: str) -> pl.Expr:
    """Ranks within a choice, 1 the best, from what the kind of answer stored."""
    descending = kind != RANKING
    return pl.col("value").rank("dense", descending=descending).over("choice")


def _context(rows: pl.DataFrame, key: list[str]) -> dict[str, pl.Expr]:
    """Rater, item and what was shown first, as far as the rows say it."""
    there = present(rows)
    missing = pl.lit(None, pl.String)
    rater = pl.col("rater").cast(pl.String) if "rater" in there else missing
    battles = set(ARENA) <= set(there)
    named = item_columns(rows)
    if battles:
        item = pl.col("condition").cast(pl.String)
    elif named:
        # Candidates may come from dialogues of their own: the item is then all of them.
        text = pl.concat_str(named, separator=" / ", ignore_nulls=True)
        item = text.unique().sort().str.join(" + ").over(key)
    else:
        item = missing
    first = pl.lit(None, pl.Boolean)
    if battles:
        first = pl.col("side") == "a"
    elif "position" in there:
        first = pl.col("position") == pl.col("position").min().over(key)
    return {"rater": rater, "item": item, "shown_first": first}


def people_from_choices(
    quality: str,
    choices: Choices,
    *,
    smallest: float | None = None,
    confidence: float = 0.95,
) -> tuple[pl.DataFrame, pl.DataFrame, pl.DataFrame]:
    """What people said by choosing: agents, differences between them, and who won how often.

    Args:
        quality: The name that the tables carry.
        choices: From `choices_of`.
        smallest: The smallest interesting distance of a win probability from one half, e.g. 0.05;
            below one half. Without it no equivalence is tested.
        confidence: Of the intervals.

    Returns:
        Tables in the columns of `AGENTS`, `AGENT_DIFFERENCES` (without corrected p-values: the
        family is the caller's) and `WINS`. Where agents were never compared with each other,
        shares are there, ranks and differences are null with the reason.

    Examples:
        >>> rows = [
        ...     (f"r{i}", f"d{j}", agent, "better", float((agent == "a") == (i + j != 5)))
        ...     for i in range(8)
        ...     for j in range(8)
        ...     for agent in "ab"
        ... ]
        >>> names = ["rater", "dialog", "agent", "quality", "value"]
        >>> found = choices_of(pl.DataFrame(rows, schema=names, orient="row"))["better"]
        >>> agents, differences, wins = people_from_choices("better", found)
        >>> agents.select("agent", pl.col("mean").round(3), "rank").rows()
        [('a', 0.906, 1), ('b', 0.094, 2)]
        >>> wins.row(0)
        ('better', 'a', 'b', 64, 58, 0, 6)
    """
    scores = best_worst_scores if choices.kind == BEST_WORST else win_shares
    means = scores(choices.shown, confidence=confidence)
    unit = "score" if choices.kind == BEST_WORST else "share"
    named = {"quality": pl.lit(quality), "scale": pl.lit(choices.kind)}
    reason, fit = _fitted(choices, confidence)
    ranks = (
        pl.DataFrame(schema={"candidate": pl.String, "rank": pl.Int64})
        if fit is None
        else fit.abilities.select("candidate", "rank", "rank_low", "rank_high")
    )
    agents = means.rename({"value": "mean"}).join(ranks, on="candidate", how="left")
    agents = agents.with_columns(
        **named,
        agent=pl.col("candidate"),
        unit=pl.lit(unit),
        method=pl.lit(None if fit is None else fit.method),
        reason=pl.coalesce("reason", pl.lit(reason)),
    )
    wins = win_matrix(choices.shown).with_columns(quality=pl.lit(quality))
    differences = (
        _untested(means["candidate"].sort().to_list(), reason)
        if fit is None
        else _tested(fit, smallest)
    )
    return (
        _in_schema(agents, AGENTS).sort("rank", "mean", descending=[False, True]),
        _in_schema(differences.with_columns(**named), AGENT_DIFFERENCES),
        _in_schema(wins, WINS),
    )


def _fitted(choices: Choices, confidence: float) -> tuple[str | None, ChoiceFit | None]:
    """The model, or why there is none."""
    groups = groups_of(choices.shown)
    if len(groups) > 1:
        named = "; ".join(listed(group) for group in groups)
        return f"never compared with each other: {named}", None
    try:
        return None, choices.fit(confidence=confidence)
    except DialensError as error:
        return str(error), None


def _tested(fit: ChoiceFit, smallest: float | None) -> pl.DataFrame:
    return fit.differences.with_columns(
        unit=pl.lit("log odds"),
        effect_size=pl.col("win_probability"),
        effect_low=pl.col("win_low"),
        effect_high=pl.col("win_high"),
        effect=pl.lit("win probability"),
        p_equivalence=_equivalence(fit.differences, smallest),
        n_raters=pl.lit(fit.n_raters, pl.Int64),
        n_items=pl.lit(fit.n_items, pl.Int64),
        method=pl.lit(fit.method),
    )


def _equivalence(differences: pl.DataFrame, smallest: float | None) -> pl.Series:
    """P-values of two one-sided tests that a win probability is that close to one half."""
    if smallest is None or not 0 < smallest < 0.5:
        return pl.Series("p_equivalence", [None] * differences.height, dtype=pl.Float64)
    margin = float(special.logit(0.5 + smallest))
    distance = (margin - differences["difference"].abs()) / differences["error"]
    degrees = differences["degrees"].fill_null(float("inf")).to_numpy()
    found = special.stdtr(degrees, -distance.fill_null(float("nan")).to_numpy())
    return pl.Series("p_equivalence", found, nan_to_null=True)


def _untested(agents: list[str], reason: str | None) -> pl.DataFrame:
    pairs = list(combinations(agents, 2))
    return pl.DataFrame(pairs, schema=["first", "second"], orient="row").with_columns(
        reason=pl.lit(reason)
    )


def _in_schema(table: pl.DataFrame, schema: pl.Schema) -> pl.DataFrame:
    """All columns of a schema, null where the table has none."""
    return table.select(
        pl.col(name).cast(dtype) if name in table.columns else pl.lit(None, dtype).alias(name)
        for name, dtype in schema.items()
    )
