"""Which kind of answer a rating is: by what the table says of its scale, else by the numbers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import polars as pl

from dialens.base import DialensError, listed
from dialens.statistics import parsed_scale

LIKERT: Final = "likert"
SLIDER: Final = "slider"
MAGNITUDE: Final = "magnitude"
YES_NO: Final = "yes_no"
RATED: Final = (LIKERT, SLIDER, MAGNITUDE, YES_NO)
"""Kinds of answers that rate one response at a time."""
PAIRWISE: Final = "pairwise"
BEST_WORST: Final = "best_worst"
RANKING: Final = "ranking"
CHOSEN: Final = (PAIRWISE, BEST_WORST, RANKING)
"""Kinds of answers that compare responses with each other."""
UNKNOWN: Final = "unknown"

_MOST_POINTS = 11


@dataclass(frozen=True)
class AnswerScale:
    """What kind of answer a quality was given by.

    Attributes:
        kind: One of `RATED` or `CHOSEN`, or `choice` or `unknown`.
        low: The smallest answer possible, where known.
        high: The largest.
        why: Where that is known from, for the method's sentence.
        span: How far apart the smallest and the largest answer given are.
    """

    kind: str
    low: float | None
    high: float | None
    why: str
    span: float | None = None

    @property
    def width(self) -> float | None:
        """From the smallest to the largest answer: possible ones where known, else given ones."""
        return self.span if self.low is None or self.high is None else self.high - self.low

    @property
    def name(self) -> str:
        """Tells two scales of one quality apart."""
        if self.kind == MAGNITUDE or self.low is None or self.high is None:
            return self.kind
        return f"{self.kind} {self.low:g} to {self.high:g}"


def answer_scale(part: pl.DataFrame, given: str | None = None) -> AnswerScale:
    """The kind of answer of ratings that share one quality and one entry of `scale`.

    A table that says nothing is never taken for magnitudes: logarithms are for those who ask.

    Args:
        part: Ratings with `value`, and `scale` where the table has it.
        given: The kind that somebody named; it goes before everything else.

    Examples:
        >>> answer_scale(pl.DataFrame({"value": [1.0, 5.0], "scale": ["[1,5]", "[1,5]"]})).name
        'likert 1 to 5'
        >>> answer_scale(pl.DataFrame({"value": [12.5, 99.0]})).kind
        'slider'
        >>> answer_scale(pl.DataFrame({"value": [12.5, 99.0]}), "magnitude").why
        'as asked for'
    """
    said = _said(part)
    low, high = _number(said.get("low")), _number(said.get("high"))
    if given is not None:
        if given not in (*RATED, *CHOSEN):
            kinds = "|".join((*RATED, *CHOSEN))
            raise DialensError(f"--scale takes QUALITY={kinds}; seen: {given!r}.")
        return AnswerScale(given, low, high, "as asked for")
    kind = str(said.get("kind", ""))
    if kind in RATED or kind in CHOSEN or kind == "choice":
        return AnswerScale(kind, low, high, "by the column `scale`")
    return _by_numbers(part["value"], low, high)


def chosen_kinds(entries: Mapping[str, str] | None, qualities: list[str]) -> dict[str, str]:
    """Kinds of answers that somebody named, each for a quality that there is.

    Examples:
        >>> chosen_kinds({"tone": "slider"}, ["tone"])
        {'tone': 'slider'}
    """
    for quality in entries or {}:
        if quality not in qualities:
            raise DialensError(
                f"--scale names {quality!r}, and no rating has that quality. Qualities: "
                f"{listed(qualities)}."
            )
    return dict(entries or {})


def with_kinds(ratings: pl.DataFrame, kinds: Mapping[str, str]) -> pl.DataFrame:
    """Ratings whose `scale` names the kinds of answers that somebody asked for.

    Examples:
        >>> table = pl.DataFrame({"quality": ["a", "b"], "value": [1.0, 0.0]})
        >>> with_kinds(table, {"a": "yes_no"})["scale"].to_list()
        ['{"kind": "yes_no"}', None]
    """
    if not kinds:
        return ratings
    before = (
        ratings["scale"].cast(pl.String)
        if "scale" in ratings.columns
        else pl.Series([None], dtype=pl.String).new_from_index(0, ratings.height)
    )
    texts = []
    for quality, text in zip(ratings["quality"], before, strict=True):
        kind = kinds.get(quality)
        texts.append(text if kind is None else json.dumps({**parsed_scale(text), "kind": kind}))
    return ratings.with_columns(scale=pl.Series(texts, dtype=pl.String))


def lower_qualities(ratings: pl.DataFrame, asked: Sequence[str] = ()) -> frozenset[str]:
    """Qualities of which less is better: those asked for, and those whose `scale` says so.

    Examples:
        >>> table = pl.DataFrame(
        ...     {"quality": ["a", "b"], "scale": ['{"lower_is_better": true}', ""]}
        ... )
        >>> sorted(lower_qualities(table)), sorted(lower_qualities(table, ["b"]))
        (['a'], ['a', 'b'])
    """
    qualities = ratings["quality"].drop_nulls().unique(maintain_order=True).to_list()
    for name in asked:
        if name not in qualities:
            raise DialensError(
                f"--lower-is-better names {name!r}, and no rating has that quality. Qualities: "
                f"{listed(qualities)}."
            )
    if "scale" not in ratings.columns:
        return frozenset(asked)
    rows = ratings.select("quality", pl.col("scale").cast(pl.String)).drop_nulls().unique()
    declared = {q for q, text in rows.iter_rows() if parsed_scale(text).get("lower_is_better")}
    return frozenset({*asked, *declared})


def _said(part: pl.DataFrame) -> dict[str, Any]:
    """What the column `scale` says, whichever way it says it."""
    texts = (
        part["scale"].drop_nulls() if "scale" in part.columns else pl.Series([], dtype=pl.String)
    )
    if not len(texts):
        return {}
    scale = parsed_scale(texts[0])
    return {"kind": MAGNITUDE} if MAGNITUDE in str(scale.get("kind", "")).lower() else scale


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) else None


def _by_numbers(values: pl.Series, low: float | None, high: float | None) -> AnswerScale:
    known = values.drop_nulls()
    different = known.unique()
    whole = bool((different == different.round()).all())
    if whole and set(different) <= {0.0, 1.0}:
        return AnswerScale(YES_NO, 0.0, 1.0, "since all answers are 0 or 1")
    if whole and len(different) <= _MOST_POINTS:
        why = f"since answers are {len(different)} different whole numbers"
        ends = (float(different.min()), float(different.max()))  # type: ignore[arg-type]
        return AnswerScale(
            LIKERT, ends[0] if low is None else low, ends[1] if high is None else high, why
        )
    return AnswerScale(SLIDER, low, high, "as they are, since no scale is named")
