"""Raters whose ratings should be looked at twice, and what the study says without them.

Straight-lining, speeding, failed checks, extreme heaping. Nobody is removed: the main result is
computed with everybody, and again without each kind, so that a reader can see what hangs on whom.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from dialens.analysis.bias._cells import USUAL, Resampling
from dialens.analysis.bias._data import StudyData, study_data
from dialens.analysis.bias._effects import effects
from dialens.analysis.bias._scales import Note
from dialens.base import DialensError

FLAGS: Mapping[str, str] = {
    "straight_lining": "on each quality the same number in nine of ten ratings, or no variation "
    "at all",
    "speeding": "a median time per rating below a third of the median rater’s, or half of the "
    "screens faster than 600 words a minute and 0.3 seconds a rating",
    "failed_checks": "at least one failed check",
    "round_numbers": "nothing but multiples of ten, where others use finer steps",
    "few_ratings": "fewer than half of the ratings most raters gave",
}
"""What each flag means."""

_SAME = 0.9
_FAST = 1 / 3
_FINE = 0.8
_WIDE = 20
_FEWEST = 8
_WORDS_PER_SECOND = 600 / 60
"""Faster than anybody reads who understands: silent reading is about 240 words a minute, skimming
twice that (Brysbaert, 2019, Journal of Memory and Language 109)."""
_SECONDS_PER_RATING = 0.3
"""About the time of a simple reaction without any choice."""
_MOST_TOO_FAST = 0.5


@dataclass(frozen=True)
class RaterFlags:
    """Raters with what marks them.

    Attributes:
        raters: One row a rater: n_ratings, minutes, median_seconds, too_fast_share (of screens),
            same_share (of the most frequent number of each quality and scale), longest_run,
            round_share, n_failed_checks, and one truth value a flag (null where it is not known).
        notes: Flags that could not be set, and why.
    """

    raters: pl.DataFrame
    notes: tuple[Note, ...]

    def flagged(self, flag: str) -> list[str]:
        """The raters with a flag."""
        return self.raters.filter(pl.col(flag).fill_null(value=False))["rater"].to_list()

    @property
    def any_flag(self) -> list[str]:
        """Raters with at least one flag."""
        marked = pl.any_horizontal(pl.col(flag).fill_null(value=False) for flag in FLAGS)
        return self.raters.filter(marked)["rater"].to_list()


def flag_raters(data: StudyData) -> RaterFlags:
    """Look at every rater's way of answering.

    Examples:
        >>> from dialens.analysis.bias._data import study_data
        >>> from dialens.analysis.bias._simulation import SimulatedStudy
        >>> study = SimulatedStudy(raters=10, items=12, speeders=0.2)
        >>> flags = flag_raters(study_data(*study.run(seed=1)))
        >>> 2 < len(flags.flagged("speeding")) < 16
        True
    """
    by = [name for name in ("answered_at", "order", "position") if name in data.ratings.columns]
    ordered = data.ratings.sort("rater", "quality", *by, maintain_order=True, nulls_last=True)
    per = (
        ordered.group_by("rater", maintain_order=True)
        .agg(median_seconds=pl.col("seconds").median())
        .join(_repetition(ordered), on="rater", maintain_order="left")
        .join(_too_fast(ordered), on="rater", how="left", maintain_order="left")
    )
    result = data.raters.join(per, on="rater", maintain_order="left")
    notes: list[Note] = []
    enough = pl.col("n_ratings") >= _FEWEST
    flat = ((pl.col("same_share") >= _SAME) | pl.col("constant")) & enough
    usual = float(result["round_share"].median() or 0.0)  # type: ignore[arg-type]
    coarse = ((pl.col("round_share") == 1) & enough & (usual < _FINE)).fill_null(value=False)
    fast: pl.Expr = pl.col("median_seconds") < _FAST * pl.col("median_seconds").median()
    fast |= (pl.col("too_fast_share") >= _MOST_TOO_FAST).fill_null(value=False)
    if result["median_seconds"].null_count() == result.height:
        notes.append(Note("speeding", "no times were recorded (active_ms, shown_at, answered_at)"))
        fast = pl.lit(None, dtype=pl.Boolean)
    if result["n_failed_checks"].null_count() == result.height:
        notes.append(Note("failed checks", "the export holds no checks"))
    few = pl.col("n_ratings") < pl.col("n_ratings").median() / 2
    result = result.with_columns(
        straight_lining=flat,
        speeding=fast,
        failed_checks=pl.col("n_failed_checks") > 0,
        round_numbers=coarse,
        few_ratings=few,
    )
    return RaterFlags(result.drop("constant"), tuple(notes))


def rater_flags(ratings: pl.DataFrame, questions: pl.DataFrame) -> dict[str, list[str]]:
    """The flags of each rater of an export; nothing where there are too few to compare.

    Args:
        ratings: In the columns of an export.
        questions: Its questionnaires.
    """
    try:
        table = flag_raters(study_data(ratings, questions)).raters
    except DialensError:
        return {}
    return {
        row["rater"]: [flag for flag in FLAGS if row[flag]] for row in table.iter_rows(named=True)
    }


def _repetition(ordered: pl.DataFrame) -> pl.DataFrame:
    """How far each rater repeats a number, within quality and scale: 5 on one is not 5 on another.

    `same_share` is over all ratings, those of each quality counted against its own most frequent
    number; round numbers count where a scale has room for others.
    """
    scale = ["scale"] if "scale" in ordered.columns else []
    groups = ["rater", "quality", *scale]
    wide = pl.col("value").max().over(groups[1:]) > _WIDE
    return (
        ordered.with_columns(wide=wide)
        .group_by(groups, maintain_order=True)
        .agg(
            n=pl.len(),
            same=pl.col("value").unique_counts().max(),
            run=pl.col("value").rle().struct.field("len").max(),
            constant=pl.col("value").n_unique() == 1,
            n_wide=pl.col("wide").sum(),
            n_round=(pl.col("wide") & (pl.col("value") % 10 == 0)).sum(),
        )
        .group_by("rater", maintain_order=True)
        .agg(
            same_share=pl.col("same").sum() / pl.col("n").sum(),
            longest_run=pl.col("run").max().cast(pl.Int64),
            round_share=pl.when(pl.col("n_wide").sum() > 0)
            .then(pl.col("n_round").sum() / pl.col("n_wide").sum())
            .first(),
            constant=pl.col("constant").all(),
        )
    )


def _too_fast(ordered: pl.DataFrame) -> pl.DataFrame:
    """Share of each rater's screens that nobody can have read and answered in that time."""
    columns = ordered.columns
    screen = ["attempt", "screen"] if {"attempt", "screen"} <= set(columns) else []
    words = pl.col("screen_words").first() if "screen_words" in columns else pl.lit(0)
    if not screen:  # a plain table: each rating for itself
        ordered = ordered.with_row_index("rating")
        screen = ["rating"]
    needed = words.fill_null(0) / _WORDS_PER_SECOND + pl.len() * _SECONDS_PER_RATING
    return (
        ordered.group_by(["rater", *screen], maintain_order=True)
        .agg(
            seconds=pl.col("seconds").sum(),
            known=pl.col("seconds").is_not_null().all(),
            needed=needed,
        )
        .filter("known")
        .group_by("rater", maintain_order=True)
        .agg(too_fast_share=(pl.col("seconds") < pl.col("needed")).mean())
    )


def robustness(data: StudyData, flags: RaterFlags, *, draws: Resampling = USUAL) -> pl.DataFrame:
    """The main effects with everybody, without each kind of flagged rater, and without all.

    Returns:
        Rows of {left_out, n_left_out, n_raters, effect, quality, value, low, high, reason}.
    """
    views: list[tuple[str, list[str]]] = [("nobody", [])]
    views += [(flag, flags.flagged(flag)) for flag in FLAGS]
    views.append(("all of them", flags.any_flag))
    tables: list[pl.DataFrame] = []
    for name, gone in views:
        if name not in ("nobody", "all of them") and not gone:
            continue
        if name == "all of them" and not gone:
            continue
        tables.append(_view(data, name, gone, draws))
    return pl.concat(tables, how="diagonal_relaxed")


def _view(data: StudyData, name: str, gone: list[str], draws: Resampling) -> pl.DataFrame:
    left = {
        "left_out": pl.lit(name),
        "n_left_out": pl.lit(len(gone)),
        "n_raters": pl.lit(data.raters.height - len(gone)),
    }
    try:
        rest = data.without(gone)
        if rest.raters.height < 2:
            raise DialensError("fewer than two raters are left")
        result = effects(rest, main_only=True, draws=draws)
    except DialensError as error:
        return pl.DataFrame({"reason": [str(error)]}).with_columns(**left)
    main = result.filter(
        pl.col("effect").is_in(["anchor", "layout", "anchor × layout", "deadline", "anchor pull"])
    )
    columns = ["effect", "quality", "value", "low", "high", "unit", "reason"]
    return main.select(columns).with_columns(**left)
