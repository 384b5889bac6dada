"""Who rated a conversation and its turns, and how: means with their n, and each rater's own."""

from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from dialens.corpus import kind_of_rater
from dialens.workbench._notebook import WHOLE

_KINDS = {"human": "people", "llm": "judge", "simulated": "simulated"}


@dataclass(frozen=True)
class Rating:
    """What one rater said.

    Attributes:
        rater: A pseudonym, or a judge's name.
        value: On the scale of the quality.
    """

    rater: str
    value: float


@dataclass(frozen=True)
class RatedQuality:
    """What a kind of raters said of one quality of one unit.

    Attributes:
        turn: Number of the turn; `WHOLE` for the conversation.
        kind: `people`, `judge` or `simulated`.
        who: The judge's name; empty for people.
        quality: What was rated.
        study: Where, if that is known.
        mean: Over all ratings.
        ratings: Each of them.
    """

    turn: int
    kind: str
    who: str
    quality: str
    study: str
    mean: float
    ratings: tuple[Rating, ...]

    @property
    def n(self) -> int:
        """How many ratings there are."""
        return len(self.ratings)


def ratings_of(
    tables: Iterable[pl.DataFrame], *, source: str, agent: str, dialog: str
) -> list[RatedQuality]:
    """All ratings of a conversation and its turns.

    Args:
        tables: With the columns of `RATINGS`, and `source` where the collection is known; a null in
            `source` or `agent` fits any.
        source: Name of the collection.
        agent: Who talks there.
        dialog: Name of the conversation.
    """
    found = [_own(table, source, agent, dialog) for table in tables if table.height]
    if not any(table.height for table in found):
        return []
    every = pl.concat(found).sort("turn", "kind", "who", "quality", "study", "rater")
    made = []
    keys = ("turn", "kind", "who", "quality", "study")
    for key, group in every.group_by(keys, maintain_order=True):
        turn, kind, who, quality, study = key
        said = tuple(Rating(rater, value) for rater, value in group.select("rater", "value").rows())
        mean = sum(one.value for one in said) / len(said)
        made.append(
            RatedQuality(int(turn), str(kind), str(who), str(quality), str(study), mean, said)
        )
    return made


def _own(table: pl.DataFrame, source: str, agent: str, dialog: str) -> pl.DataFrame:
    """The ratings of one conversation, in the form that all tables share."""
    chosen = (
        (pl.col("dialog") == dialog)
        & pl.col("level").is_in(["turn", "dialog"])
        & pl.col("value").is_not_null()
        & pl.col("quality").is_not_null()
        & (pl.col("agent").is_null() | (pl.col("agent") == agent))
    )
    if "source" in table.columns:
        chosen &= pl.col("source").is_null() | (pl.col("source") == source)
    kind = kind_of_rater().replace_strict(_KINDS, default="people")
    rater = pl.col("rater").cast(pl.String).fill_null("")
    whole = (pl.col("level") == "dialog") | pl.col("turn").is_null()
    return table.filter(chosen).select(
        turn=pl.when(whole).then(WHOLE).otherwise(pl.col("turn")).cast(pl.Int64),
        kind=kind,
        who=pl.when(kind == "judge").then(rater).otherwise(pl.lit("")),
        quality=pl.col("quality").cast(pl.String),
        study=pl.col("study").cast(pl.String).fill_null(""),
        rater=rater,
        value=pl.col("value").cast(pl.Float64),
    )
