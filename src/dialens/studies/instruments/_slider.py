"""A continuous slider that shows no handle until it is touched: a handle would be an anchor."""

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field as Setting
from pydantic import model_validator

from dialens.studies._types import JSON, AnswerError, Field
from dialens.studies._words import WORDS
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


class SliderSettings(Settings):
    """Inputs of a slider."""

    kind: Literal["slider"] = "slider"
    low: float = 0.0
    """The number at the low end: left, or right where people read from right to left."""
    high: float = 100.0
    """The number at the high end."""
    low_label: Annotated[str | None, WORDS] = None
    """Words at the low end; “not at all” in the study's language if not given."""
    high_label: Annotated[str | None, WORDS] = None
    """Words at the high end; “completely” in the study's language if not given."""
    step: float = Setting(default=1.0, gt=0)
    """The smallest difference that can be given."""

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f"low ({self.low:g}) has to be below high ({self.high:g})")
        if self.step > self.high - self.low:
            raise ValueError(f"step ({self.step:g}) is larger than the slider")
        return self


def _form(field: Field, texts: Texts) -> Form:
    low, high = field.options["low"], field.options["high"]
    data = {
        "low": low,
        "high": high,
        "low_label": field.options["low_label"] or texts.say("slider_low"),
        "high_label": field.options["high_label"] or texts.say("slider_high"),
        "step": field.options["step"],
        # None on purpose: nothing is marked until the participant touches the line.
        "start": None,
    }
    help_text = texts.say("slider_type", low=low, high=high)
    return Form("slider", prompt_of(field), help_text, attributes=data)


def _parse(field: Field, value: JSON) -> float:
    low, high = float(field.options["low"]), float(field.options["high"])
    number = number_in(field, value, largest=max(abs(low), abs(high)))
    if not low <= number <= high:
        raise AnswerError.of(field.name, "error_place", low=low, high=high)
    return number


def _draw(generator: np.random.Generator, field: Field, latent: Latent, noise: float) -> float:
    low, high, step = (float(field.options[name]) for name in ("low", "high", "step"))
    share = opinion_of(generator, field, latent, noise) / 100
    steps = round(float(np.clip(share, 0, 1)) * (high - low) / step)
    return min(low + steps * step, high)


def _scale(field: Field) -> dict[str, JSON]:
    return {"kind": "slider", "low": field.options["low"], "high": field.options["high"]}


SLIDER = Instrument(
    name="slider",
    title="Continuous slider",
    meaning="A place on a line that starts without a handle.",
    citation="Funke (2016); Graham, Baldwin, Moffat & Zobel (2013)",
    settings=SliderSettings,
    output=Output("number", "The place between the ends", "units of the line"),
    judges="one",
    seconds=4.0,
    form=_form,
    parse=_parse,
    draw=_draw,
    rows=one_rating,
    scale=_scale,
    sample={"low": -1.0, "high": 1.0, "step": 0.01},
    asks=True,
)
