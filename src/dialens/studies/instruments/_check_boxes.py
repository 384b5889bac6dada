"""Check boxes: any number of several answers."""

from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field as Setting
from pydantic import model_validator

from dialens.studies._types import JSON, AnswerError, Field
from dialens.studies._words import WORDS
from dialens.studies.instruments._choices import (
    OTHER,
    Choices,
    as_stored,
    own_words,
    refuse_other,
    written,
)
from dialens.studies.instruments._declaration import (
    Form,
    Instrument,
    Latent,
    Output,
    Settings,
    choices_of,
    one_of,
    prompt_of,
)
from dialens.studies.texts import Texts


class CheckBoxesSettings(Settings):
    """Inputs of a question with several answers."""

    kind: Literal["check_boxes"] = "check_boxes"
    choices: Annotated[Choices, WORDS]
    """The answers: a list, or `stored: shown`."""
    least: int = Setting(default=1, ge=0)
    """How many are chosen at least; with 0, to choose nothing is an answer: an empty list."""
    most: int | None = Setting(default=None, ge=1)
    """How many are chosen at most."""
    other: Annotated[str | None, WORDS] = Setting(default=None, min_length=1)
    """Words of a last answer, which participants write themselves; none if not given."""

    @model_validator(mode="after")
    def _can_be_chosen(self) -> Self:
        refuse_other(self.choices, self.other)
        there = len(self.choices) + (self.other is not None)
        if self.least > min(there, self.most or there):
            raise ValueError(f"least is {self.least}: so many cannot be chosen")
        return self


def _options(settings: CheckBoxesSettings) -> dict[str, JSON]:
    choices = [{"value": value, "label": label} for value, label in settings.choices.items()]
    return {"choices": choices} | settings.model_dump(include={"least", "most", "other"})


def _form(field: Field, texts: Texts) -> Form:
    most = field.options.get("most")
    told = texts.say("check_boxes_help")
    if most is not None:
        told = texts.say("check_boxes_most", most=most)
    if _nothing(field) is not None:
        told = f"{told} {texts.say('check_boxes_none')}"
    data = {"other": field.options.get("other")}
    return Form("check_boxes", prompt_of(field), told, choices_of(field), data)


def _nothing(field: Field) -> JSON:
    return [] if int(field.options["least"]) == 0 else None


def _parse(field: Field, value: JSON) -> list[str]:
    if isinstance(value, str):
        value = [value]
    if isinstance(value, dict):
        value = _ticked(field, value)
    if not isinstance(value, list):
        raise AnswerError.of(field.name, "error_choose")
    own = next((text for text in map(own_words, value) if text is not None), None)
    named = {one_of(field, one) for one in value if own_words(one) is None}
    chosen = [choice.value for choice in choices_of(field) if choice.value in named]
    if own is not None:
        if field.options.get("other") is None:
            raise AnswerError.of(field.name, "error_choose")
        chosen.append(as_stored(written(field, own)))
    least, most = int(field.options["least"]), field.options.get("most")
    if len(chosen) < least:
        raise AnswerError.of(field.name, "error_choose_least", least=least)
    if most is not None and len(chosen) > most:
        raise AnswerError.of(field.name, "error_choose_most", most=most)
    return chosen


def _ticked(field: Field, parts: dict[str, JSON]) -> list[JSON]:
    """What a form says: a part for each box that is ticked, and what was written."""
    text = ""
    if field.options.get("other") is not None:
        text = written(field, parts.get(OTHER, ""))
        parts = {name: mark for name, mark in parts.items() if name != OTHER}
    chosen: list[JSON] = [name for name, mark in parts.items() if mark]
    return [*chosen, as_stored(text)] if text else chosen


def _draw(generator: np.random.Generator, field: Field, latent: Latent, noise: float) -> list[str]:
    known = [choice.value for choice in choices_of(field)]
    if field.options.get("other") is not None:
        known.append(as_stored("something else"))
    least, most = int(field.options["least"]), field.options.get("most") or len(known)
    wanted = int(np.clip(generator.binomial(len(known), 0.4), least, min(most, len(known))))
    places = sorted(generator.permutation(len(known))[:wanted])
    return [known[place] for place in places]


def _scale(field: Field) -> dict[str, JSON]:
    return {"kind": "check_boxes"}


CHECK_BOXES = Instrument(
    name="check_boxes",
    title="Check boxes",
    meaning="Any number of several answers.",
    citation="",
    settings=CheckBoxesSettings,
    output=Output("array", "The answers chosen, in the order of the question"),
    judges="one",
    seconds=8.0,
    options=_options,
    form=_form,
    parse=_parse,
    draw=_draw,
    scale=_scale,
    nothing=_nothing,
    sample={"choices": ["rude", "wrong", "dull"], "other": "Something else, namely"},
    asks=True,
)
