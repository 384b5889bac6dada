"""Likert: a few points in a row, each with its label."""

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field as Setting
from pydantic import model_validator

from dialens.studies._types import JSON, AnswerError, Field
from dialens.studies._words import WORDS
from dialens.studies.instruments._declaration import (
    Choice,
    Form,
    Instrument,
    Latent,
    Output,
    Settings,
    one_rating,
    opinion_of,
    prompt_of,
)
from dialens.studies.instruments._numbers import number_in
from dialens.studies.texts import Texts


class PointsSettings(Settings):
    """Inputs of a scale with a few points."""

    points: int = Setting(default=5, ge=2, le=11)
    """How many points there are."""
    first: int = Setting(default=1, ge=-5, le=1)
    """The number of the first point."""
    labels: Annotated[dict[int, str], WORDS] = Setting(default_factory=dict)
    """Words for points, by number: `{1: poor, 5: excellent}`."""

    @model_validator(mode="after")
    def _labels_are_points(self) -> Self:
        for point in self.labels:
            if not self.first <= point < self.first + self.points:
                last = self.first + self.points - 1
                raise ValueError(f"labels: {point} is not a point between {self.first} and {last}")
        return self

    @property
    def scale_options(self) -> dict[str, JSON]:
        """What a form shows of the scale."""
        labels = {str(point): label for point, label in self.labels.items()}
        return {"points": self.points, "first": self.first, "labels": labels}


class LikertSettings(PointsSettings):
    """Inputs of a Likert item."""

    kind: Literal["likert"] = "likert"


def _options(settings: LikertSettings) -> dict[str, JSON]:
    return settings.scale_options


def bounds(field: Field) -> tuple[int, int]:
    """The first and the last point."""
    first = int(field.options["first"])
    return first, first + int(field.options["points"]) - 1


def _form(field: Field, texts: Texts) -> Form:
    low, high = bounds(field)
    labels = field.options.get("labels", {})
    points = (
        Choice(
            str(point), f"{point} – {labels[str(point)]}" if str(point) in labels else str(point)
        )
        for point in range(low, high + 1)
    )
    return Form("choices", prompt_of(field), choices=tuple(points), attributes={"inline": True})


def point_in(field: Field, value: JSON) -> int | None:
    """The point that somebody chose; none if it is none of the scale's, or no number at all."""
    low, high = bounds(field)
    try:
        number = number_in(field, value, largest=high)
    except AnswerError:
        return None
    return int(number) if number == int(number) and low <= number <= high else None


def _parse(field: Field, value: JSON) -> int:
    point = point_in(field, value)
    if point is None:
        low, high = bounds(field)
        raise AnswerError.of(field.name, "error_point", low=low, high=high)
    return point


def _draw(generator: np.random.Generator, field: Field, latent: Latent, noise: float) -> int:
    low, high = bounds(field)
    share = opinion_of(generator, field, latent, noise) / 100
    return int(np.clip(round(low + share * (high - low)), low, high))


def _scale(field: Field) -> dict[str, JSON]:
    low, high = bounds(field)
    return {"kind": "likert", "low": low, "high": high}


LIKERT = Instrument(
    name="likert",
    title="Likert item",
    meaning="One of a few ordered points.",
    citation="Likert (1932)",
    settings=LikertSettings,
    output=Output("integer", "The number of the point", "points"),
    judges="one",
    seconds=3.0,
    options=_options,
    form=_form,
    parse=_parse,
    draw=_draw,
    rows=one_rating,
    scale=_scale,
    sample={"points": 7, "labels": {1: "not at all", 7: "fully"}},
    asks=True,
)
