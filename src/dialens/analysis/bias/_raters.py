"""Raters whose ratings should be looked at twice, and what the study says without them.

Straight-lining, speeding, failed checks, extreme heaping. Nobody is removed: the main result is
computed with everybody, and again without each kind, so that a reader can see what hangs on whom.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass

import polars as pl

from dialens.analysis.bias._cells import USUAL, Resampling
from dialens.analysis.bias._data import StudyData, study_data, timed_ratings
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


@dataclass(frozen=True)
class RaterStatistics:
    """What flags rest on, rater by rater, before anybody is compared with others.

    Statistics of different raters are put together by adding their rows, so that nobody's ratings
    have to be looked at twice.

    Attributes:
        raters: One row a rater: n_ratings, n_failed_checks, median_seconds, too_fast_share.
        scales: One row a rater, quality and scale: n, same (times of the most frequent number),
            run, constant, highest, n_tens (multiples of ten).
    """

    raters: pl.DataFrame
    scales: pl.DataFrame

    def with_others(self, others: "RaterStatistics") -> "RaterStatistics":
        """Both together; `others` has other raters."""
        return RaterStatistics(
            pl.concat([self.raters, others.raters]), pl.concat([self.scales, others.scales])
        )

    def without(self, raters: Collection[str]) -> "RaterStatistics":
        """The statistics of the others."""
        left = ~pl.col("rater").is_in(list(raters))
        return RaterStatistics(self.raters.filter(left), self.scales.filter(left))


def rater_statistics(ratings: pl.DataFrame, questions: pl.DataFrame) -> RaterStatistics:
    """What flags rest on, of the raters of an export or of some of them.

    Args:
        ratings: In the columns of an export.
        questions: Its questionnaires.

    Examples:
        >>> from dialens.analysis.bias._simulation import SimulatedStudy
        >>> ratings, answers = SimulatedStudy(raters=10, items=12, speeders=0.2).run(seed=1)
        >>> one = pl.col("rater") == ratings["rater"][0]
        >>> some = rater_statistics(ratings.filter(one), answers.filter(one))
        >>> others = rater_statistics(ratings.filter(~one), answers.filter(~one))
        >>> together = flags_of(some.with_others(others)).raters.sort("rater")
        >>> together.equals(flags_of(rater_statistics(ratings, answers)).raters.sort("rater"))
        True
    """
    table, raters = timed_ratings(ratings, questions)
    own, scales = _statistics(table)
    known = raters.select("rater", pl.col("n_ratings", "n_failed_checks").cast(pl.Int64))
    return RaterStatistics(known.join(own, on="rater", maintain_order="left"), scales)


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
    own, scales = _statistics(data.ratings)
    return flags_of(
        RaterStatistics(data.raters.join(own, on="rater", maintain_order="left"), scales)
    )


def flags_of(statistics: RaterStatistics) -> RaterFlags:
    """Compare raters with each other, by what is known of each."""
    repeated = _repetition(statistics.scales)
    result = statistics.raters.join(repeated, on="rater", maintain_order="left")
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


def _statistics(ratings: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Of each rater, and of each rater, quality and scale: 5 on one is not 5 on another."""
    by = [name for name in ("answered_at", "order", "position") if name in ratings.columns]
    ordered = ratings.sort("rater", "quality", *by, maintain_order=True, nulls_last=True)
    own = (
        ordered.group_by("rater", maintain_order=True)
        .agg(median_seconds=pl.col("seconds").median())
        .join(_too_fast(ordered), on="rater", how="left", maintain_order="left")
    )
    scale = pl.col("scale") if "scale" in ordered.columns else pl.lit(None, dtype=pl.String)
    scales = (
        ordered.with_columns(scale=scale.cast(pl.String))
        .group_by("rater", "quality", "scale", maintain_order=True)
        .agg(
            n=pl.len(),
            same=pl.col("value").unique_counts().max(),
            run=pl.col("value").rle().struct.field("len").max(),
            constant=pl.col("value").n_unique() == 1,
            highest=pl.col("value").max(),
            n_tens=(pl.col("value") % 10 == 0).sum(),
        )
    )
    return own, scales


def _repetition(scales: pl.DataFrame) -> pl.DataFrame:
    """How far each rater repeats a number.

    `same_share` is over all ratings, those of each quality counted against its own most frequent
    number; round numbers count where a scale has room for others.
    """
    wide = pl.col("highest").max().over("quality", "scale") > _WIDE
    n_wide, n_round = (
        pl.when("wide").then(pl.col(name)).otherwise(0).sum() for name in ("n", "n_tens")
    )
    return (
        scales.with_columns(wide=wide)
        .group_by("rater", maintain_order=True)
        .agg(
            same_share=pl.col("same").sum() / pl.col("n").sum(),
            longest_run=pl.col("run").max().cast(pl.Int64),
            round_share=pl.when(n_wide > 0).then(n_round / n_wide),
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
