"""Instruments of questionnaires: yes or no, one of several, a number."""

import math
from typing import Annotated, Literal, Self

import numpy as np
from pydantic import Field as Setting
from pydantic import model_validator

from dialens.studies._types import JSON, AnswerError, Field
from dialens.studies._words import ALWAYS, WORDS
from dialens.studies.instruments._choices import (
    OTHER,
    as_stored,
    own_words,
    refuse_other,
    written,
)
from dialens.studies.instruments._declaration import (
    Choice,
    Form,
    Instrument,
    Latent,
    Output,
    Rows,
    Settings,
    choices_of,
    one_of,
    one_rating,
    prompt_of,
)
from dialens.studies.instruments._numbers import number_in
from dialens.studies.texts import Texts

_YES, _NO = "yes", "no"
_WRITES = 0.1  # share of simulated participants who write an answer of their own


class YesNoSettings(Settings):
    """Inputs of a yes/no question."""

    kind: Literal["yes_no"] = "yes_no"
    yes_label: Annotated[str | None, WORDS] = None
    """Words for yes; “Yes” in the study's language if not given."""
    no_label: Annotated[str | None, WORDS] = None
    """Words for no; “No” in the study's language if not given."""


class ChoiceSettings(Settings):
    """Inputs of a question with one answer out of several."""

    kind: Literal["choice"] = "choice"
    values: dict[str, float] | None = None
    """Numbers that the choices stand for, where the answer is a rating; by choice."""
    labels: Annotated[dict[str, str], ALWAYS] = Setting(default_factory=dict)
    """What is read of the choices, by choice; the choice itself if not given."""
    other: Annotated[str | None, WORDS] = Setting(default=None, min_length=1)
    """Words of a last answer, which participants write themselves; none if not given."""

    @model_validator(mode="after")
    def _labels_are_choices(self) -> Self:
        for choice in self.labels:
            if choice not in (self.values or {}):
                raise ValueError(f"labels: {choice!r} is none of the choices in `values`")
        return self

    @model_validator(mode="after")
    def _other_is_free(self) -> Self:
        refuse_other(self.values, self.other)
        return self


class NumberSettings(Settings):
    """Inputs of a question for a number."""

    kind: Literal["number"] = "number"
    low: float | None = None
    """The smallest number that is taken."""
    high: float | None = None
    """The largest number that is taken."""
    whole: bool = False
    """Whether it has to be a whole number."""
    unit: Annotated[str, WORDS] = ""
    """What is counted: years, hours."""

    @model_validator(mode="after")
    def _is_a_range(self) -> Self:
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low ({self.low:g}) is above high ({self.high:g})")
        return self


def _yes_no_options(settings: YesNoSettings) -> dict[str, JSON]:
    choices = [(_YES, settings.yes_label), (_NO, settings.no_label)]
    return {"choices": [{"value": value, "label": label} for value, label in choices]}


def _yes_no_form(field: Field, texts: Texts) -> Form:
    known = [
        Choice(str(choice["value"]), choice["label"] or texts.say(str(choice["value"])))
        for choice in field.options["choices"]
    ]
    if field.options.get("tick"):
        return Form("tick", prompt_of(field), choices=tuple(known))
    return Form("choices", prompt_of(field), choices=tuple(known), attributes={"inline": True})


def _choices_form(field: Field, texts: Texts) -> Form:
    return Form(
        "choices",
        prompt_of(field),
        choices=choices_of(field),
        attributes={
            "inline": len(choices_of(field)) <= 2 and not field.options.get("other"),
            "other": field.options.get("other"),
        },
    )


def _yes_no_parse(field: Field, value: JSON) -> str:
    if isinstance(value, bool):
        return _YES if value else _NO
    return one_of(field, value.lower() if isinstance(value, str) else value)


def _yes_no_draw(generator: np.random.Generator, field: Field, latent: Latent, noise: float) -> str:
    if field.targets:
        return _YES if max(latent.values()) + generator.normal(0, noise) >= 50 else _NO
    return _YES if generator.random() < 0.4 else _NO


def _yes_no_rows(field: Field, value: JSON) -> Rows:
    return one_rating(field, value == _YES)


def _choice_options(settings: ChoiceSettings) -> dict[str, JSON]:
    own = {} if settings.other is None else {"other": settings.other}
    if settings.values is None:
        return own
    choices = [
        {"value": name, "label": settings.labels.get(name, name)} for name in settings.values
    ]
    return {"values": settings.values, "choices": choices} | own


def _choice_parse(field: Field, value: JSON) -> str:
    """One of the answers, or what somebody wrote; a form sends `choice` and `other` apart."""
    if field.options.get("other") is None:
        return one_of(field, value)
    own = own_words(value)
    if own is not None:
        value = {"choice": OTHER, OTHER: own}
    if not isinstance(value, dict):
        return one_of(field, value)
    if not set(value) <= {"choice", OTHER}:
        raise AnswerError.of(field.name, "error_choose")
    text = written(field, value.get(OTHER, ""))
    chosen = value.get("choice") or (OTHER if text else "")
    if chosen != OTHER:
        return one_of(field, chosen)
    if not text:
        raise AnswerError.of(field.name, "error_other_empty")
    return as_stored(text)


def _choice_draw(generator: np.random.Generator, field: Field, latent: Latent, noise: float) -> str:
    known = choices_of(field)
    values = field.options.get("values")
    if field.targets and values:
        names = sorted(values, key=lambda name: float(values[name]))
        share = (max(latent.values()) + generator.normal(0, noise)) / 100
        return str(names[int(np.clip(share * len(names), 0, len(names) - 1))])
    if field.options.get("other") is not None and generator.random() < _WRITES:
        return as_stored("something else")
    return known[int(generator.integers(len(known)))].value


def _choice_rows(field: Field, value: JSON) -> Rows:
    values = field.options.get("values")
    return one_rating(field, values[value]) if values and value in values else ()


def _choice_scale(field: Field) -> dict[str, JSON]:
    return {"kind": "choice", "values": field.options.get("values")}


def _number_form(field: Field, texts: Texts) -> Form:
    data = {name: field.options.get(name) for name in ("low", "high", "whole", "unit")}
    mode = "numeric" if data["whole"] else "decimal"
    return Form("number", prompt_of(field), attributes=data | {"mode": mode})


def _number_parse(field: Field, value: JSON) -> float | int:
    low, high = field.options.get("low"), field.options.get("high")
    ends = [math.inf if end is None else abs(float(end)) for end in (low, high)]
    number = number_in(field, value, largest=max(ends))
    if field.options.get("whole") and number != int(number):
        raise AnswerError.of(field.name, "error_whole")
    if low is not None and number < low:
        raise AnswerError.of(field.name, "error_at_least", low=low)
    if high is not None and number > high:
        raise AnswerError.of(field.name, "error_at_most", high=high)
    return int(number) if field.options.get("whole") else number


def _number_draw(
    generator: np.random.Generator, field: Field, latent: Latent, noise: float
) -> float | int:
    low, high = field.options.get("low"), field.options.get("high")
    start = float(low) if low is not None else min(0.0, float(high or 0.0))
    end = float(high) if high is not None else start + 100.0
    drawn = float(generator.uniform(start, end))
    if field.options.get("whole"):
        return int(np.clip(round(drawn), np.ceil(start), np.floor(end)))
    return min(max(round(drawn, 1), start), end)


YES_NO = Instrument(
    name="yes_no",
    title="Yes or no",
    meaning="A question that is answered yes or no.",
    citation="",
    settings=YesNoSettings,
    output=Output("string", "`yes` or `no`", "1 yes, 0 no"),
    judges="one",
    seconds=4.0,
    options=_yes_no_options,
    form=_yes_no_form,
    parse=_yes_no_parse,
    draw=_yes_no_draw,
    rows=_yes_no_rows,
    scale=lambda field: {"kind": "yes_no", "low": 0, "high": 1},
    asks=True,
)

CHOICE = Instrument(
    name="choice",
    title="Choice",
    meaning="One answer out of several.",
    citation="",
    settings=ChoiceSettings,
    output=Output("string", "The answer chosen", "the number given to the answer"),
    judges="one",
    seconds=5.0,
    options=_choice_options,
    form=_choices_form,
    parse=_choice_parse,
    draw=_choice_draw,
    rows=_choice_rows,
    scale=_choice_scale,
    sample={"values": {"engaging": 1.0, "not engaging": 0.0}},
    asks=True,
)

NUMBER = Instrument(
    name="number",
    title="Number",
    meaning="A number within bounds.",
    citation="",
    settings=NumberSettings,
    output=Output("number", "The number given", "as asked"),
    judges="one",
    seconds=5.0,
    form=_number_form,
    parse=_number_parse,
    draw=_number_draw,
    rows=one_rating,
    scale=lambda field: {
        "kind": "number",
        "low": field.options.get("low"),
        "high": field.options.get("high"),
    },
    sample={"low": 18, "high": 120, "whole": True},
    asks=True,
)

QUESTIONS = (YES_NO, CHOICE, NUMBER)
