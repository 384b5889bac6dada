"""Free text: what somebody wants to say in their own words."""

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
    prompt_of,
)
from dialens.studies.texts import Texts

_SAID = ("", "Nothing to add.", "The replies were easy to tell apart.", "It took a while.")


class FreeTextSettings(Settings):
    """Inputs of a text box."""

    kind: Literal["free_text"] = "free_text"
    rows: int = Setting(default=4, ge=1, le=40)
    """Height of the box."""
    longest: int = Setting(default=5_000, ge=1, le=50_000)
    """Characters at most."""
    shortest: int = Setting(default=0, ge=0)
    """Characters at least."""


def _form(field: Field, texts: Texts) -> Form:
    data = {name: field.options[name] for name in ("rows", "longest", "shortest")}
    return Form("text", prompt_of(field), attributes=data)


def _parse(field: Field, value: JSON) -> str | None:
    if not isinstance(value, str):
        raise AnswerError.of(field.name, "error_words")
    # PostgreSQL cannot store NUL, and a browser's line ends are no part of what was said
    text = value.replace("\x00", "").replace("\r\n", "\n").strip()
    if not text and field.required:
        raise AnswerError.of(field.name, "error_required")
    longest, shortest = int(field.options["longest"]), int(field.options["shortest"])
    if len(text) > longest:
        raise AnswerError.of(field.name, "error_text_long", most=longest, count=len(text))
    if text and len(text) < shortest:
        raise AnswerError.of(field.name, "error_text_short", least=shortest)
    return text or None


def _draw(generator: np.random.Generator, field: Field, latent: Latent, noise: float) -> str | None:
    least = max(int(field.options["shortest"]), int(field.required))
    said = str(generator.choice(_SAID))
    text = said if len(said) >= least else (_SAID[2] + " ") * (1 + least // len(_SAID[2]))
    return text.strip()[: int(field.options["longest"])] or None


def _scale(field: Field) -> dict[str, JSON]:
    return {"kind": "free_text"}


FREE_TEXT = Instrument(
    name="free_text",
    title="Free text",
    meaning="An answer in the participant's own words.",
    citation="",
    settings=FreeTextSettings,
    output=Output("string", "What was written"),
    judges="one",
    seconds=30.0,
    form=_form,
    parse=_parse,
    draw=_draw,
    scale=_scale,
    sample={"longest": 500},
    asks=True,
)
