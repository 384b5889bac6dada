"""Everything about language models in a study: each by itself, and beside people."""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from dialens.analysis.bias._cells import FEWEST_RATERS, Resampling
from dialens.analysis.bias._data import StudyData
from dialens.analysis.bias._judge_effects import judge_effects, together
from dialens.analysis.bias._judge_leanings import FURTHER, PLACE, judge_leanings
from dialens.analysis.bias._leanings import leanings
from dialens.analysis.bias._scales import Note
from dialens.analysis.judges import (
    BESIDE,
    MODELS,
    distinct_answers,
    effects_beside,
    judges_against_people,
    verdicts,
    with_judge,
)
from dialens.statistics.judges import FEW_ITEMS

_OTHER_NUMBERS = "this judge answered under other anchors than people did"
_PLACES = "how far the place on the screen moves ratings"


@dataclass(frozen=True)
class JudgeTables:
    """What judges did, as the tables of an analysis; its `leanings` and `equal_length` are of all.

    Attributes:
        judges: Each judge held against people.
        effects: The design's effects on each judge.
        beside: The same beside people's.
        leanings: What tags, variants, length and place did.
        equal_length: Differences between agents at equal length.
    """

    judges: pl.DataFrame
    effects: pl.DataFrame
    beside: pl.DataFrame
    leanings: pl.DataFrame
    equal_length: pl.DataFrame


def judge_tables(
    whole: StudyData, models: StudyData, draws: Resampling, people: Mapping[str, pl.DataFrame]
) -> JudgeTables:
    """What judges did, each by itself and beside people.

    Args:
        whole: The study, people and models.
        models: Its models alone.
        draws: Whose confidence level the intervals have.
        people: `effects`, `leanings`, `equal_length` and `response_biases` of people; none where
            nobody but models took part.
    """
    moved = judge_effects(models, draws=draws)
    each = _leanings(models, draws.confidence)
    leaned = pl.concat([one for one, _ in each])
    equal = pl.concat([one for _, one in each])
    beside = BESIDE.to_frame()
    if people:
        ours = [people["effects"], _as_effects(people["leanings"]), _places(people, models)]
        same = _without_other_numbers(moved, whole)
        theirs = [same, _as_effects(leaned).with_columns(judge=leaned["raters"])]
        beside = effects_beside(
            pl.concat(ours, how="diagonal"),
            pl.concat(theirs, how="diagonal"),
            confidence=draws.confidence,
        )
        leaned = pl.concat([people["leanings"], leaned])
        equal = pl.concat([people["equal_length"], equal])
    return JudgeTables(judges_against_people(whole.ratings), moved, beside, leaned, equal)


def _without_other_numbers(moved: pl.DataFrame, whole: StudyData) -> pl.DataFrame:
    """Effects without those of anchors on judges that answered under other ones than people did.

    "The anchor" is 2 and 6 against none for people, and 6 against none for a judge that refused
    wherever 2 was shown: these are not one effect.
    """
    shown = [name for name in ("anchor", "anchor_value") if name in whole.ratings.columns]
    known = with_judge(whole.ratings.drop_nulls("value"))
    is_model = pl.col("rater_kind").is_in(MODELS).fill_null(value=False)
    people = set(known.filter(~is_model).select(shown).unique().iter_rows())
    others = [
        str(name)
        for (name,), part in known.filter(is_model).group_by("judge")
        if set(part.select(shown).unique().iter_rows()) != people
    ]
    unlike = pl.col("judge").is_in(others) & pl.col("effect").str.starts_with("anchor")
    blank = [pl.when(~unlike).then(pl.col(name)).alias(name) for name in ("value", "low", "high")]
    why = pl.when(unlike).then(pl.lit(_OTHER_NUMBERS)).otherwise("reason").alias("reason")
    return moved.with_columns(*blank, why) if shown and others else moved


def _leanings(models: StudyData, confidence: float) -> list[tuple[pl.DataFrame, pl.DataFrame]]:
    """Of each judge; from five on, of all of them as a sample too."""
    table = with_judge(models.ratings)
    names = table["judge"].unique().sort().to_list()
    each = [
        judge_leanings(models.with_ratings(table.filter(judge=name)), name, confidence=confidence)
        for name in names
    ]
    if len(names) >= FEWEST_RATERS:
        sample = models.judges_as_raters()
        shown = _verdicts(table)
        each.append(
            leanings(sample, raters=together(len(names)), shown=shown, confidence=confidence)
        )
    return each


def _verdicts(table: pl.DataFrame) -> pl.DataFrame:
    """Every answer of every judge, the judge as the rater, without judges that had only ties."""
    judges = table.select("rater", "judge").unique("rater")
    shown = verdicts(distinct_answers(table, ["judge"])).join(
        judges, on="rater", how="left", maintain_order="left"
    )
    decides = pl.col("place").is_in([1, 2]).any()
    kept = decides.over("quality", "judge") | ~decides.over("quality")
    return shown.with_columns(rater=pl.col("judge")).filter(kept).drop("judge")


def _as_effects(leaned: pl.DataFrame) -> pl.DataFrame:
    """Leanings in the columns that effects are compared by."""
    return leaned.select(
        pl.concat_str("bias", pl.lit(": "), "of").alias("effect"),
        pl.when(pl.col("bias") == PLACE)
        .then(pl.lit(_PLACES))
        .otherwise(pl.concat_str(pl.lit("what moves ratings and choices, in "), "measure"))
        .alias("question"),
        "quality",
        pl.when(pl.col("measure") == "points")
        .then("measure")
        .otherwise(pl.lit("share"))
        .alias("unit"),
        *("value", "low", "high", "p", "degrees", "reason"),
    )


def _places(people: Mapping[str, pl.DataFrame], models: StudyData) -> pl.DataFrame:
    """What the place on the screen does to people, as `_as_effects` has it of judges."""
    rows = people["response_biases"].filter(bias=PLACE)
    label = pl.col("of").str.strip_prefix("ratings").str.strip_prefix(" of ")
    rated = models.points().qualities
    whole = pl.lit("all" if len(rated) > 1 else next(iter(rated), ""))
    return rows.select(
        pl.lit(f"{PLACE}: {FURTHER}").alias("effect"),
        pl.lit(_PLACES).alias("question"),
        pl.when(label == "").then(whole).otherwise(label).alias("quality"),
        pl.lit("points").alias("unit"),
        *("value", "low", "high", "p", "reason"),
        degrees=(pl.col("n_raters") - 1).cast(pl.Float64),
    )


def few_items(moved: pl.DataFrame) -> list[Note]:
    """Says which judges' intervals rest on few items.

    Args:
        moved: What `judge_effects` gives.
    """
    # The degrees of freedom count screens where several items share one.
    few = moved.filter(pl.col("degrees") < FEW_ITEMS - 1.5, pl.col("low").is_not_null())
    few = few.filter(pl.col("random") == "item")
    return [
        Note(
            f"judge {name}",
            f"intervals rest on fewer than {FEW_ITEMS} items, or screens where several share one: "
            "other items may well say otherwise",
        )
        for name in few["judge"].unique(maintain_order=True)
    ]
