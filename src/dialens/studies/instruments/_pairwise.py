"""Pairwise preference: which of two, or neither."""

from typing import Annotated, Literal

import numpy as np

from dialens.studies._types import JSON, AnswerError, Field
from dialens.studies._words import WORDS
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
    ordered,
    prompt_of,
)
from dialens.studies.texts import Texts

TIE = "tie"
_NEAR = 2.0  # opinions closer than this are a tie to a simulated participant who may say so


class PairwiseSettings(Settings):
    """Inputs of a pairwise comparison."""

    kind: Literal["pairwise"] = "pairwise"
    ties: bool = False
    """Whether participants may say that neither is better."""
    tie_label: Annotated[str | None, WORDS] = None
    """Words of that answer; “Neither is better” in the study's language if not given."""


def _form(field: Field, texts: Texts) -> Form:
    choices = choices_of(field)
    if field.options["ties"]:
        choices = (*choices, Choice(TIE, field.options["tie_label"] or texts.say("tie")))
    return Form("choices", prompt_of(field), choices=choices, attributes={"inline": True})


def _parse(field: Field, value: JSON) -> str:
    if value == TIE:
        if not field.options["ties"]:
            raise AnswerError.of(field.name, "error_no_tie")
        return TIE
    return one_of(field, value)


def _draw(generator: np.random.Generator, field: Field, latent: Latent, noise: float) -> str:
    first, second = ordered(generator, list(field.targets), latent, noise)
    if field.options["ties"] and abs(latent[first] - latent[second]) < _NEAR:
        return TIE
    return first


def _rows(field: Field, value: JSON) -> Rows:
    shares = {slot: 0.5 if value == TIE else float(slot == value) for slot in field.targets}
    return tuple(shares.items())


def _scale(field: Field) -> dict[str, JSON]:
    return {"kind": "pairwise", "low": 0, "high": 1, "ties": field.options["ties"]}


PAIRWISE = Instrument(
    name="pairwise",
    title="Pairwise preference",
    meaning="The better of two candidates.",
    citation="Thurstone (1927); Bradley & Terry (1952)",
    settings=PairwiseSettings,
    output=Output("string", "The slot of the better one, or `tie`", "1 chosen, 0 not, 0.5 tie"),
    judges="several",
    seconds=6.0,
    form=_form,
    parse=_parse,
    draw=_draw,
    rows=_rows,
    scale=_scale,
    sample={"ties": True},
)
