"""A matrix: several statements, each judged on the same scale."""

from typing import Annotated, Literal

import numpy as np

from dialens.studies._types import JSON, AnswerError, Field
from dialens.studies._words import WORDS
from dialens.studies.instruments._choices import Statements
from dialens.studies.instruments._declaration import (
    Choice,
    Form,
    Instrument,
    Latent,
    Output,
    prompt_of,
)
from dialens.studies.instruments._likert import PointsSettings, bounds, point_in
from dialens.studies.texts import Texts


class MatrixSettings(PointsSettings):
    """Inputs of a matrix."""

    kind: Literal["matrix"] = "matrix"
    statements: Annotated[Statements, WORDS]
    """What is judged, a line each: a list, or `stored: shown`."""


def _options(settings: MatrixSettings) -> dict[str, JSON]:
    return {"statements": settings.statements, **settings.scale_options}


def _form(field: Field, texts: Texts) -> Form:
    low, high = bounds(field)
    labels = field.options["labels"]
    points = tuple(
        Choice(str(point), str(labels.get(str(point), ""))) for point in range(low, high + 1)
    )
    data = {"statements": field.options["statements"]}
    return Form("matrix", prompt_of(field), choices=points, attributes=data)


def _parse(field: Field, value: JSON) -> dict[str, int]:
    statements = field.options["statements"]
    if not isinstance(value, dict) or not set(value) <= set(statements):
        raise AnswerError.of(field.name, "error_matrix")
    given: dict[str, int] = {}
    for name in statements:
        if value.get(name) in (None, ""):
            continue
        point = point_in(field, value[name])
        if point is None:
            raise AnswerError.of(field.name, "error_matrix")
        given[name] = point
    left = len(statements) - len(given)
    if left and field.required:
        raise AnswerError.of(field.name, "error_matrix_left", count=left)
    return given


def _draw(
    generator: np.random.Generator, field: Field, latent: Latent, noise: float
) -> dict[str, int]:
    low, high = bounds(field)
    lean = float(generator.normal(0.6, 0.15))
    drawn = generator.normal(lean, 0.15, len(field.options["statements"]))
    points = np.clip(np.round(low + drawn * (high - low)), low, high)
    return {name: int(p) for name, p in zip(field.options["statements"], points, strict=True)}


def _scale(field: Field) -> dict[str, JSON]:
    low, high = bounds(field)
    return {"kind": "matrix", "low": low, "high": high}


MATRIX = Instrument(
    name="matrix",
    title="Matrix",
    meaning="Several statements on one scale.",
    citation="Likert (1932)",
    settings=MatrixSettings,
    output=Output("object", "The number of the point, by statement"),
    judges="none",
    seconds=15.0,
    options=_options,
    form=_form,
    parse=_parse,
    draw=_draw,
    scale=_scale,
    sample={"statements": ["I talk a lot.", "I am quiet."], "points": 5, "labels": {1: "no"}},
    asks=True,
)
