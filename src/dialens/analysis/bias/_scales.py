"""What ratings of a quality are: points, magnitudes, or choices between items.

Every quality has a scale of its own. Magnitudes are compared as logarithms, points as they are.
The rows of a choice (this one won, that one lost) are one observation, and nothing that takes a
row for an opinion of its own may see them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import polars as pl

from dialens.analysis.people import choice_kinds
from dialens.base import listed
from dialens.statistics import parsed_scale
from dialens.statistics.agreement import log_normalised, not_positive

LOG: Final = "log"
AS_GIVEN: Final = "none"
TAKEN_AS_POINTS: Final = "scale of the ratings"
"""The part of the note that says that ratings were taken as points without being told so."""

LEFT_OUT: Final = "ratings left out"
"""The part of the notes that say how many ratings were left out, and why."""

UNFINISHED: Final = "people who did not finish"
"""The part of the note that says how many did not complete the study and count all the same."""

LOST: Final = "conversations that did not come to their end"
"""The part of the note that says which agent lost how many conversations."""

LATE: Final = "answers after their deadline"
"""The part of the note that says how many answers came too late and count all the same."""

OVER_PACE: Final = "agents slower than the pace"
"""The part of the note that says which agent could be told by its speed."""

_NUMBER_SHOWN = ("numerical", "both", "shown")
_WIDE = 20
_ALIKE = 3.0


@dataclass(frozen=True)
class Note:
    """Something that could not be done or was left out, and why."""

    part: str
    reason: str


def scale_kind(scale: str | None) -> str:
    """The instrument that a scale names; empty where there is none.

    Examples:
        >>> scale_kind('{"kind": "likert", "low": 1}'), scale_kind("magnitude"), scale_kind(None)
        ('likert', 'magnitude', '')
    """
    return str(parsed_scale(scale).get("kind", ""))


def is_choice(table: pl.DataFrame) -> pl.Series:
    """For each rating of a study, whether it is one side of a choice.

    Choices that only their values show are named by `study_data`, once for the whole study: what
    is left of one when raters are taken out is still no rating.

    Examples:
        >>> is_choice(pl.DataFrame({"scale": ['{"kind": "pairwise"}', None]})).to_list()
        [True, False]
    """
    return choice_kinds(table).is_not_null()


def share_a_scale(table: pl.DataFrame) -> bool:
    """Whether a mean over qualities means anything: all have one instrument and its ends.

    Where no scale is named, qualities share one if none has three times the range of another.

    Examples:
        >>> rows = {"quality": ["a", "a", "b", "b"], "value": [1.0, 5.0, 1.0, 100.0]}
        >>> share_a_scale(pl.DataFrame(rows))
        False
    """
    named: set[tuple[object, ...]] = set()
    if "scale" in table.columns:
        for scale in map(parsed_scale, table["scale"].unique()):
            named.add(tuple(scale.get(part) for part in ("kind", "low", "high")))
    if len(named) > 1:
        return False
    if any(part is not None for scale in named for part in scale):
        return True
    span = (pl.col("value").max() - pl.col("value").min()).alias("span")
    spans = table.group_by("quality").agg(span)["span"].to_list()
    return not spans or max(spans) < _ALIKE * min(spans) or max(spans) == 0


def how_normalised(ratings: pl.DataFrame, asked: str, notes: list[Note]) -> dict[str, str]:
    """For each quality, whether its ratings are taken as logarithms (`log`) or as given (`none`).

    Args:
        ratings: Ratings that are no choices.
        asked: `log`, `none`, or `auto` for what the quality's own scale says; a quality without a
            scale is taken as given.
        notes: Gets a note where that is a guess.

    Examples:
        >>> rows = {"quality": ["a", "b"], "value": [50.0, 3.0], "scale": ["magnitude", "likert"]}
        >>> how_normalised(pl.DataFrame(rows), "auto", [])
        {'a': 'log', 'b': 'none'}
    """
    found: dict[str, str] = {}
    guessed: list[str] = []
    for (name,), part in ratings.group_by(["quality"], maintain_order=True):
        quality = str(name)
        scales = part["scale"].drop_nulls().unique() if "scale" in part.columns else pl.Series([])
        magnitudes = any("magnitude" in str(scale).lower() for scale in scales)
        found[quality] = asked if asked != "auto" else LOG if magnitudes else AS_GIVEN
        low, high = (float(end) for end in (part["value"].min(), part["value"].max()))  # type: ignore[arg-type]
        if asked == "auto" and not len(scales) and low > 0 and high > _WIDE:
            guessed.append(f"{quality} ({low:g} to {high:g})")
    if guessed:
        told = f"no scale is named for {listed(guessed)}: taken as points"
        reason = f"{told}; --normalise log for magnitudes"
        notes.insert(0, Note(TAKEN_AS_POINTS, reason))
    return found


def normalised(table: pl.DataFrame, how: Mapping[str, str], notes: list[Note]) -> pl.DataFrame:
    """Ratings on a common scale, quality by quality; null for choices.

    A modulus counts only where it was on the screen.
    """
    logged = [quality for quality, way in how.items() if way == LOG]
    choice = is_choice(table)
    as_given = pl.when(~choice).then(pl.col("value"))
    if not logged:
        return table.with_columns(normalised=as_given)
    mine = ~choice & table["quality"].is_in(logged)
    reason = not_positive(table.filter(mine))
    if reason:
        notes.append(Note("agreement", f"{reason}; left out there"))
    if "anchor" in table.columns:  # else what the scale says is all there is
        shown = (pl.col("anchor_value") > 0) & pl.col("anchor").is_in(_NUMBER_SHOWN)
        modulus = pl.when(shown).then(pl.col("anchor_value"))
        logs = log_normalised(table.with_columns(modulus=modulus))["normalised"]
    else:
        logs = log_normalised(table)["normalised"]
    return table.with_columns(normalised=pl.when(mine).then(logs).otherwise(as_given))


def scale_notes(table: pl.DataFrame, notes: list[Note]) -> None:
    """Qualities rated on several scales, and qualities that are choices."""
    choices = table.filter(is_choice(table))["quality"].unique(maintain_order=True).to_list()
    if choices:
        notes.append(
            Note(
                f"agreement and biases of {listed(choices)}",
                "won and lost rows of one choice are one observation: analysed as choices in "
                "the comparison of agents",
            )
        )
    if "scale" not in table.columns:
        return
    for (quality,), part in table.group_by(["quality"], maintain_order=True):
        scales = part["scale"].drop_nulls().unique(maintain_order=True).to_list()
        if len(scales) > 1:
            some = "; ".join(str(scale)[:60] for scale in scales[:3])
            notes.append(
                Note(
                    f"quality {quality}",
                    f"rated on {len(scales)} scales ({some}): points of different scales are not "
                    "comparable, keep one of them",
                )
            )
