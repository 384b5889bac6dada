"""A continuous slider that shows no handle until it is touched: a handle would be an anchor."""

from typing import Literal, Self

import numpy as np
from pydantic import Field as Setting
from pydantic import model_validator

from dialens.studies._types import JSON, AnswerError, Field
from dialens.studies.instruments._declaration import (
    Form,
    Instrument,
    Latent,
    Output,
    Rows,
    Settings,
    number_in,
    only,
    opinion_of,
    prompt_of,
)


class SliderSettings(Settings):
    """Inputs of a slider."""

    kind: Literal["slider"] = "slider"
    low: float = 0.0
    """The number at the left end."""
    high: float = 100.0
    """The number at the right end."""
    low_label: str = "not at all"
    """Words at the left end."""
    high_label: str = "completely"
    """Words at the right end."""
    step: float = Setting(default=1.0, gt=0)
    """The smallest difference that can be given."""

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if not self.low < self.high:
            raise ValueError(f"low ({self.low:g}) has to be below high ({self.high:g})")
        if self.step > self.high - self.low:
            raise ValueError(f"step ({self.step:g}) is larger than the slider")
        return self


def _options(settings: SliderSettings) -> dict[str, JSON]:
    return settings.model_dump(exclude={"kind"})


def _form(field: Field) -> Form:
    names = ("low", "high", "low_label", "high_label", "step")
    # `start` is none on purpose: nothing is marked until the participant touches the line.
    data = {name: field.options[name] for name in names} | {"start": None}
    return Form("slider", prompt_of(field), "Click or tap on the line.", attributes=data)


def _parse(field: Field, value: JSON) -> float:
    number = number_in(field, value)
    low, high = float(field.options["low"]), float(field.options["high"])
    if not low <= number <= high:
        raise AnswerError(field.name, f"Please choose a place between {low:g} and {high:g}.")
    return number


def _draw(generator: np.random.Generator, field: Field, latent: Latent, noise: float) -> float:
    low, high, step = (float(field.options[name]) for name in ("low", "high", "step"))
    share = opinion_of(generator, field, latent, noise) / 100
    steps = round(float(np.clip(share, 0, 1)) * (high - low) / step)
    return min(low + steps * step, high)


def _rows(field: Field, value: JSON) -> Rows:
    return only(field, float(value))


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
    options=_options,
    form=_form,
    parse=_parse,
    draw=_draw,
    rows=_rows,
    scale=_scale,
    sample={"low": -1.0, "high": 1.0, "step": 0.01},
    asks=True,
)
