"""Magnitude estimation: any positive number, in proportion to what is felt."""

from typing import Literal

import numpy as np
from pydantic import Field as Setting

from dialens.studies._types import JSON, AnswerError, Field
from dialens.studies.instruments._declaration import (
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

_LARGEST = 1e9


class MagnitudeSettings(Settings):
    """Inputs of magnitude estimation."""

    kind: Literal["magnitude"] = "magnitude"
    modulus: float | None = Setting(default=100.0, gt=0, le=_LARGEST)
    """The number that stands for the standard; null lets everybody choose a scale of their own.
    Participants read it only where the anchor is `numerical` or `both`."""


def _form(field: Field, texts: Texts) -> Form:
    # No steps and no upper bound: a browser's arrows would suggest a unit.
    data = {"above": 0, "mode": "decimal"}
    return Form("number", prompt_of(field), texts.say("magnitude_help"), attributes=data)


def _parse(field: Field, value: JSON) -> float:
    number = number_in(field, value)
    if number <= 0:
        raise AnswerError.of(field.name, "error_above_zero", example=0.5)
    if number > _LARGEST:
        raise AnswerError.of(field.name, "error_number_large")
    return number


def _draw(generator: np.random.Generator, field: Field, latent: Latent, noise: float) -> float:
    unit = (field.options.get("modulus") or 100.0) / 100.0
    return max(round(opinion_of(generator, field, latent, noise), 1), 1.0) * unit


def _scale(field: Field) -> dict[str, JSON]:
    return {"kind": "magnitude", "modulus": field.options.get("modulus")}


MAGNITUDE = Instrument(
    name="magnitude",
    title="Magnitude estimation",
    meaning="Free positive numbers whose ratios count: twice as good, twice the number.",
    citation="Bard, Robertson & Sorace (1996); Novikova, Dušek & Rieser (2018)",
    settings=MagnitudeSettings,
    output=Output("number", "A number above 0", "multiples of the modulus"),
    judges="one",
    seconds=6.0,
    form=_form,
    parse=_parse,
    draw=_draw,
    rows=one_rating,
    scale=_scale,
)
