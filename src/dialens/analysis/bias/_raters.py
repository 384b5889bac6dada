"""Raters whose ratings should be looked at twice, and what the study says without them.

Straight-lining, speeding, failed checks, extreme heaping. Nobody is removed: the main result is
computed with everybody, and again without each kind, so that a reader can see what hangs on whom.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from dialens.analysis.bias._cells import USUAL, Resampling
from dialens.analysis.bias._data import StudyData
from dialens.analysis.bias._effects import effects
from dialens.analysis.bias._scales import Note
from dialens.base import DialensError

FLAGS: Mapping[str, str] = {
    "straight_lining": "the same number in nine of ten ratings, or no variation at all",
    "speeding": "a median time per rating below a third of the median rater’s",
    "failed_checks": "at least one failed check",
    "round_numbers": "nothing but multiples of ten, where others use finer steps",
    "few_ratings": "fewer than half of the ratings most raters gave",
}
"""What each flag means."""

_SAME = 0.9
_FAST = 1 / 3
_FINE = 0.8
_FEWEST = 8


@dataclass(frozen=True)
class RaterFlags:
    """Raters with what marks them.

    Attributes:
        raters: One row a rater: n_ratings, minutes, median_seconds, same_share, longest_run,
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
    run = pl.col("value").rle().struct.field("len").max()
    per = ordered.group_by("rater", maintain_order=True).agg(
        median_seconds=pl.col("seconds").median(),
        same_share=pl.col("value").unique_counts().max() / pl.len(),
        longest_run=run.cast(pl.Int64),
        round_share=(pl.col("value") % 10 == 0).mean(),
        spread=pl.col("value").std(),
    )
    result = data.raters.join(per, on="rater", maintain_order="left")
    notes: list[Note] = []
    enough = pl.col("n_ratings") >= _FEWEST
    flat = ((pl.col("same_share") >= _SAME) | (pl.col("spread") == 0)) & enough
    wide = float(data.ratings["value"].max()) > 20  # type: ignore[arg-type]
    usual = float(result["round_share"].median() or 0.0)  # type: ignore[arg-type]
    coarse = (pl.col("round_share") == 1) & enough & (wide and usual < _FINE)
    fast: pl.Expr = pl.col("median_seconds") < _FAST * pl.col("median_seconds").median()
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
    return RaterFlags(result.drop("spread"), tuple(notes))


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
