"""Best–worst scaling: the best and the worst of a few."""

from typing import Annotated, Literal

import numpy as np

from dialens.studies._types import JSON, AnswerError, Field
from dialens.studies._words import WORDS
from dialens.studies.instruments._declaration import (
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

_ENDS = ("best", "worst")


class BestWorstSettings(Settings):
    """Inputs of best–worst scaling."""

    kind: Literal["best_worst"] = "best_worst"
    best_label: Annotated[str | None, WORDS] = None
    """Words above the column of the best; “Best” in the study's language if not given."""
    worst_label: Annotated[str | None, WORDS] = None
    """Words above the column of the worst; “Worst” in the study's language if not given."""


def _form(field: Field, texts: Texts) -> Form:
    data = {f"{end}_label": field.options[f"{end}_label"] or texts.say(end) for end in _ENDS}
    return Form("best_worst", prompt_of(field), choices=choices_of(field), attributes=data)


def _parse(field: Field, value: JSON) -> dict[str, str]:
    if not isinstance(value, dict) or set(value) != {"best", "worst"}:
        raise AnswerError.of(field.name, "error_best_worst")
    best, worst = one_of(field, value["best"]), one_of(field, value["worst"])
    if best == worst:
        raise AnswerError.of(field.name, "error_best_is_worst")
    return {"best": best, "worst": worst}


def _draw(
    generator: np.random.Generator, field: Field, latent: Latent, noise: float
) -> dict[str, str]:
    ranked = ordered(generator, list(field.targets), latent, noise)
    return {"best": ranked[0], "worst": ranked[-1]}


def _rows(field: Field, value: JSON) -> Rows:
    points = {value["best"]: 1.0, value["worst"]: -1.0}
    return tuple((slot, points.get(slot, 0.0)) for slot in field.targets)


def _scale(field: Field) -> dict[str, JSON]:
    return {"kind": "best_worst", "low": -1, "high": 1, "of": len(field.targets)}


BEST_WORST = Instrument(
    name="best_worst",
    title="Best–worst scaling",
    meaning="The best and the worst of three or more candidates.",
    citation="Louviere, Flynn & Marley (2015); Kiritchenko & Mohammad (2017)",
    settings=BestWorstSettings,
    output=Output("object", "The slots of `best` and `worst`", "1 best, −1 worst, 0 between"),
    judges="several",
    seconds=10.0,
    form=_form,
    parse=_parse,
    draw=_draw,
    rows=_rows,
    scale=_scale,
    fewest=3,
)
