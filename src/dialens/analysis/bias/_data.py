"""A rating study as one tidy table: who rated what, under which condition, and how fast."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import polars as pl

from dialens.analysis.bias._retest import without_repeated
from dialens.analysis.bias._scales import (
    LEFT_OUT,
    Note,
    how_normalised,
    is_choice,
    normalised,
    scale_notes,
    share_a_scale,
)
from dialens.analysis.judges import MODELS, distinct_answers, one_rater_a_judge
from dialens.analysis.people import name_choices
from dialens.base import DialensError, counted
from dialens.statistics import LABEL, rated_items

NONE = "none"
SHOWN = "shown"
"""The level of an anchor that is not told apart any further."""

FACTORS = ("anchor", "layout", "deadline", "own_answer_first")
"""Factors of the design that have effects of their own; others are kept as columns."""

_NOTHING_SHOWN = ("none", "no", "no anchor", "no_anchor", "without", "false", "off", "0", "absent")
_ANCHOR_SHOWN = (
    "anchor",
    "anchored",
    "an anchor",
    "with",
    "with anchor",
    "with_anchor",
    "yes",
    "true",
    "on",
)
_FIRST = ("none", "numerical", "textual", "both", "together", "both questions")


@dataclass(frozen=True)
class StudyData:
    """A study ready for analysis.

    Attributes:
        ratings: One row a rating: rater, item, quality, value, normalised, the factors (`anchor`
            is the level, `anchor_value` the number shown), position, order, seconds.
        raters: One row a rater: the factors' levels, n_ratings, minutes, n_failed_checks.
        answers: One row an answer: rater, question, answer; empty if nothing was asked.
        factors: Factors of the design with at least two levels.
        normalise: What `normalised` holds of each quality, `log` or `none`; choices have no entry.
        notes: What was left out, and why.
        again: Ratings of later waves of things that the rater had judged before.
    """

    ratings: pl.DataFrame
    raters: pl.DataFrame
    answers: pl.DataFrame
    factors: tuple[str, ...]
    normalise: Mapping[str, str]
    notes: tuple[Note, ...]
    again: pl.DataFrame = field(default_factory=pl.DataFrame)

    @property
    def qualities(self) -> list[str]:
        """In the order in which they first occur."""
        return self.ratings["quality"].unique(maintain_order=True).to_list()

    @property
    def choices(self) -> list[str]:
        """Qualities that were judged by choosing between items."""
        chosen = self.ratings.filter(is_choice(self.ratings))
        return chosen["quality"].unique(maintain_order=True).to_list()

    @property
    def share_a_scale(self) -> bool:
        """Whether all qualities were rated on one scale, so that their mean means anything."""
        return share_a_scale(self.ratings)

    def points(self) -> "StudyData":
        """The same study without choices: ratings that each stand for themselves."""
        return replace(self, ratings=self.ratings.filter(~is_choice(self.ratings)))

    def with_ratings(self, ratings: pl.DataFrame) -> "StudyData":
        """The same study with other ratings, and the raters who gave them."""
        there = pl.col("rater").is_in(ratings["rater"].unique().to_list())
        return replace(self, ratings=ratings, raters=self.raters.filter(there))

    def judges_as_raters(self) -> "StudyData":
        """The same study of language models, each of them one rater (`one_rater_a_judge`)."""
        table = distinct_answers(self.ratings, self.factors)
        table = one_rater_a_judge(table, is_choice(table))
        return replace(self, ratings=table, raters=_raters(table, self.answers))

    def levels(self, factor: str) -> list[str]:
        """The levels of a factor, the one that others are compared with first."""
        if factor not in self.ratings.columns:
            return []
        found = self.ratings[factor].drop_nulls().unique().to_list()
        return sorted(found, key=lambda name: (_rank(name), name))

    def without(self, raters: Sequence[str]) -> "StudyData":
        """The same study with some raters left out."""
        kept = self.ratings.filter(~pl.col("rater").is_in(list(raters)))
        left = self.raters.filter(~pl.col("rater").is_in(list(raters)))
        answers = self.answers.filter(~pl.col("rater").is_in(list(raters)))
        again = self.again
        if again.height:
            again = again.filter(~pl.col("rater").is_in(list(raters)))
        return replace(self, ratings=kept, raters=left, answers=answers, again=again)


def study_data(
    ratings: pl.DataFrame,
    answers: pl.DataFrame | None = None,
    *,
    factors: Sequence[str] = (),
    normalise: str = "auto",
) -> StudyData:
    """A study from ratings in the columns of `RATINGS` plus factors, and answers to questions.

    Args:
        ratings: One row a rating.
        answers: One row an answer: rater, question, answer.
        factors: Columns that are factors, besides anchor, layout and deadline.
        normalise: `log` for magnitudes, `none` for bounded scales, `auto` for what the scale of
            each quality says.

    Examples:
        >>> from dialens.analysis.bias._simulation import SimulatedStudy
        >>> data = study_data(*SimulatedStudy(raters=3, items=4).run())
        >>> data.factors, data.levels("anchor"), data.normalise
        (('anchor', 'layout'), ['none', 'both'], {'readability': 'log', 'coherence': 'log'})
    """
    if normalise not in ("auto", "log", "none"):
        raise DialensError(f"normalise is `auto`, `log` or `none`, not {normalise!r}.")
    if "rater" not in ratings.columns or ratings["rater"].null_count() == ratings.height:
        raise DialensError(
            "These ratings do not say who gave them (no column `rater`), and biases are biases of "
            "raters. Export the ratings with their raters."
        )
    notes: list[Note] = []
    table = _factors(ratings).with_columns(rated_items(ratings).alias("item"))
    table = name_choices(_usable(table, notes))
    table, again = without_repeated(table, notes)
    how = how_normalised(table.filter(~is_choice(table)), normalise, notes)
    table = _timed(normalised(table, how, notes))
    scale_notes(table, notes)
    varied = []
    for name in dict.fromkeys((*FACTORS, *factors)):
        levels = table[name].drop_nulls().n_unique() if name in table.columns else 0
        if levels >= 2:
            varied.append(name)
        elif levels == 1:
            only = table[name].drop_nulls()[0]
            notes.append(Note(f"effects of {name}", f"the factor has one level only ({only})"))
        elif name != "own_answer_first":  # few studies ask for it, and none misses it
            notes.append(Note(f"effects of {name}", f"the ratings have no factor `{name}`"))
    _lopsided(table, notes)
    asked = _asked(answers, notes)
    people = _raters(table, asked)
    return StudyData(table, people, asked, tuple(varied), how, tuple(notes), again)


def _factors(ratings: pl.DataFrame) -> pl.DataFrame:
    """`anchor` as the level and `anchor_value` as the number shown, whichever came how."""
    shown = ratings["anchor"] if "anchor" in ratings.columns else None
    levels_shown = _from_json(ratings, "anchor")
    numbers = None if shown is None else shown.cast(pl.String).cast(pl.Float64, strict=False)
    if levels_shown is None and shown is not None and shown.null_count() < len(shown):
        words = shown.is_not_null() & numbers.is_null() if numbers is not None else shown.is_null()
        if words.any():  # a plain table: the column is the level
            levels_shown, numbers = shown.cast(pl.String), None
        else:
            levels_shown = pl.Series([NONE if v is None else SHOWN for v in shown], dtype=pl.String)
    if numbers is None:
        extra = next((n for n in ("anchor_value", "modulus") if n in ratings.columns), None)
        if extra is not None:
            numbers = ratings[extra].cast(pl.Float64, strict=False)
    empty = pl.Series([None], dtype=pl.Float64).new_from_index(0, ratings.height)
    table = ratings.drop("anchor", strict=False).with_columns(
        anchor_value=empty if numbers is None else numbers
    )
    if levels_shown is not None:
        plain = levels_shown.str.strip_chars().str.to_lowercase()
        level = plain.is_in(_NOTHING_SHOWN)
        shown_level = plain.is_in(_ANCHOR_SHOWN)
        table = table.with_columns(anchor=plain.set(level, NONE).set(shown_level, SHOWN))
    for name in FACTORS[1:]:
        column = table[name].cast(pl.String) if name in table.columns else _from_json(table, name)
        if column is not None:
            table = table.with_columns(column.alias(name))
    return table


def by_number(data: StudyData) -> tuple[StudyData, list[str]]:
    """The study with a column for the number shown as a level, and that column's name, if any.

    One rater may see the same item with several numbers, and each is another condition. Where
    qualities have numbers of their own, the level that the study file names tells them apart.
    """
    table = data.ratings
    levels = _from_json(table, "anchor_value")
    if levels is None:
        shown = table.group_by("quality").agg(pl.col("anchor_value").drop_nulls().unique().sort())
        if shown["anchor_value"].n_unique() > 1:
            return data, []
        levels = table["anchor_value"].cast(pl.String)
    return replace(data, ratings=table.with_columns(levels.fill_null(NONE).alias(LEVEL))), [LEVEL]


LEVEL = "number_level"


def _from_json(ratings: pl.DataFrame, key: str) -> pl.Series | None:
    if "factors" not in ratings.columns:
        return None
    by_text: dict[str, str | None] = {}
    for text in ratings["factors"].drop_nulls().unique():
        try:
            value = json.loads(text)
        except ValueError:
            continue
        if isinstance(value, dict) and value.get(key) is not None:
            by_text[text] = str(value[key])
    if not by_text:
        return None
    return pl.Series([by_text.get(text) for text in ratings["factors"]], dtype=pl.String)


def _usable(table: pl.DataFrame, notes: list[Note]) -> pl.DataFrame:
    total = counted(table.height, "rating")
    words = table[LABEL].is_not_null().sum() if LABEL in table.columns else 0
    if words:
        notes.append(Note(LEFT_OUT, f"{words:,} of {total} in words, not numbers"))
    missing = table["value"].null_count() - words
    if missing:
        notes.append(Note(LEFT_OUT, f"{missing:,} of {total} without a value (empty or NA)"))
    nobody = table.filter(pl.col("value").is_not_null() & pl.col("rater").is_null()).height
    if nobody:
        notes.append(Note(LEFT_OUT, f"{nobody:,} of {total} that do not say who rated"))
    kept = _with_value(table)
    if kept.height == 0:
        raise DialensError(
            "No rating has a rater and a number, so nothing can be analysed. Check the column "
            "`value`: words and empty cells do not count."
        )
    if kept["rater"].n_unique() < 2 and not only_models(kept):
        raise DialensError(
            f"All ratings come from one rater ({kept['rater'][0]}): biases show between raters. "
            "Collect ratings from at least two, better twenty in each condition."
        )
    return kept


def _with_value(table: pl.DataFrame) -> pl.DataFrame:
    return table.filter(pl.col("value").is_not_null() & pl.col("rater").is_not_null())


def timed_ratings(
    ratings: pl.DataFrame, answers: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The ratings and raters of `study_data` as far as they say nothing of others.

    Those of some raters are the same whoever else is in the table, and one rater is enough.

    Args:
        ratings: In the columns of an export.
        answers: Its questionnaires.
    """
    table = name_choices(_with_value(ratings.with_columns(rated_items(ratings).alias("item"))))
    table = _timed(without_repeated(table, [])[0])
    return table, _raters(table, _asked(answers, []))


def only_models(ratings: pl.DataFrame) -> bool:
    """Whether all ratings are of language models, of which one may stand alone."""
    if "rater_kind" not in ratings.columns:
        return False
    return bool(ratings["rater_kind"].is_in(MODELS).fill_null(value=False).all())


def _timed(table: pl.DataFrame) -> pl.DataFrame:
    active = pl.col("active_ms") / 1000
    between = (pl.col("answered_at") - pl.col("shown_at")).dt.total_milliseconds() / 1000
    return table.with_columns(seconds=pl.when(_reads(table)).then(pl.coalesce(active, between)))


def _reads(table: pl.DataFrame) -> pl.Expr:
    """Who takes time to read: how long a model computes says nothing."""
    if "rater_kind" not in table.columns:
        return pl.lit(value=True)
    return ~pl.col("rater_kind").is_in(MODELS).fill_null(value=False)


def _lopsided(table: pl.DataFrame, notes: list[Note]) -> None:
    counts = table.group_by("quality").len().sort("len", descending=True)
    most = int(counts["len"][0])
    for quality, count in counts.iter_rows():
        if count < 0.75 * most:
            notes.append(
                Note(
                    f"quality {quality}",
                    f"rated {count:,} times where others have {most:,}: it rests on fewer ratings",
                )
            )


def _asked(answers: pl.DataFrame | None, notes: list[Note]) -> pl.DataFrame:
    schema = {"rater": pl.String, "question": pl.String, "answer": pl.String}
    if answers is None:
        notes.append(Note("questionnaires", "there is no table of questionnaires"))
        return pl.DataFrame(schema=schema)
    for name in schema:
        if name not in answers.columns:
            notes.append(Note("questionnaires", f"the table has no column `{name}`"))
            return pl.DataFrame(schema=schema)
    return answers.select(pl.col(name).cast(pl.String) for name in schema).drop_nulls()


def _raters(table: pl.DataFrame, answers: pl.DataFrame) -> pl.DataFrame:
    present = [name for name in FACTORS if name in table.columns]
    whole = (pl.col("answered_at").max() - pl.col("shown_at").min()).dt.total_milliseconds()
    result = (
        table.group_by("rater", maintain_order=True)
        .agg(
            *(pl.col(name).first() for name in present),
            n_ratings=pl.len(),
            active=pl.when(pl.col("active_ms").is_not_null().all())
            .then(pl.col("active_ms").sum() / 60_000)
            .first(),
            whole=pl.when(_reads(table).first()).then(whole / 60_000),
        )
        .with_columns(minutes=pl.coalesce("active", "whole"))
        .drop("active", "whole")
    )
    checks = answers.filter(pl.col("question").str.to_lowercase().str.starts_with("check"))
    if checks.height:
        wrong = (
            pl.col("answer")
            .str.to_lowercase()
            .is_in(["failed", "fail", "false", "no", "wrong", "0"])
        )
        failed = checks.group_by("rater").agg(n_failed_checks=wrong.sum().cast(pl.Int64))
        return result.join(failed, on="rater", how="left", maintain_order="left")
    if "failed_checks" in table.columns:
        failed = table.group_by("rater").agg(
            n_failed_checks=pl.col("failed_checks").cast(pl.Int64, strict=False).max()
        )
        return result.join(failed, on="rater", how="left", maintain_order="left")
    return result.with_columns(n_failed_checks=pl.lit(None, dtype=pl.Int64))


def _rank(name: str) -> int:
    return _FIRST.index(name) if name in _FIRST else len(_FIRST)


def splits(data: StudyData) -> dict[str, pl.DataFrame]:
    """Two-way groupings of raters: time below or above the mean, and every yes/no question.

    Returns:
        For each grouping, a table of rater and group.

    Examples:
        >>> from dialens.analysis.bias._simulation import SimulatedStudy
        >>> data = study_data(*SimulatedStudy(raters=8, items=4).run())
        >>> list(splits(data))
        ['time', 'evaluated_conversations', 'talked_to_chatbot']
    """
    found: dict[str, pl.DataFrame] = {}
    timed = data.raters.drop_nulls("minutes")
    if timed.height > 1 and float(np.ptp(timed["minutes"].to_numpy())) > 0:
        above = pl.col("minutes") > pl.col("minutes").mean()
        label = pl.when(above).then(pl.lit("above average")).otherwise(pl.lit("below average"))
        found["time"] = timed.select("rater", group=label)
    for (question,), part in data.answers.group_by(["question"], maintain_order=True):
        plain = part["answer"].str.strip_chars().str.to_lowercase()
        if plain.is_in(["yes", "no"]).all() and plain.n_unique() == 2:
            found[str(question)] = part.select("rater", group=plain).unique("rater", keep="last")
    return found
