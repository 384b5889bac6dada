"""Every instrument by name: ours, and those that other packages bring."""

from collections.abc import Mapping

import numpy as np

from dialens.base import Registry
from dialens.studies._types import JSON, Field
from dialens.studies.instruments._best_worst import BEST_WORST
from dialens.studies.instruments._check_boxes import CHECK_BOXES
from dialens.studies.instruments._declaration import Instrument, Latent
from dialens.studies.instruments._free_text import FREE_TEXT
from dialens.studies.instruments._likert import LIKERT
from dialens.studies.instruments._magnitude import MAGNITUDE
from dialens.studies.instruments._matrix import MATRIX
from dialens.studies.instruments._pairwise import PAIRWISE
from dialens.studies.instruments._questions import QUESTIONS
from dialens.studies.instruments._ranking import RANKING
from dialens.studies.instruments._slider import SLIDER

_OURS = (
    MAGNITUDE,
    LIKERT,
    SLIDER,
    PAIRWISE,
    BEST_WORST,
    RANKING,
    FREE_TEXT,
    *QUESTIONS,
    CHECK_BOXES,
    MATRIX,
)

INSTRUMENTS: Registry[Instrument] = Registry(
    "instrument", "dialens.instruments", Instrument, lambda: _OURS
)
"""All instruments by name; an entry point gives an `Instrument`, or a list of them."""


def instruments() -> Mapping[str, Instrument]:
    """All instruments by name, ours first; two of one name are refused.

    Examples:
        >>> list(instruments())[:3]
        ['magnitude', 'likert', 'slider']
    """
    return INSTRUMENTS


def instrument(name: str) -> Instrument:
    """The instrument of that name.

    Examples:
        >>> instrument("magnitud")
        Traceback (most recent call last):
        ...
        dialens.DialensError: There is no instrument 'magnitud'. Did you mean magnitude? ...
    """
    return INSTRUMENTS[name]


def validate(field: Field, value: JSON, *, overdue: bool = False) -> JSON:
    """An answer in its stored form; an `AnswerError` says what is wrong with it.

    Args:
        field: What was asked.
        value: What came from the page: JSON, or the strings of a form.
        overdue: Whether the screen's deadline passed, so that nothing has to be answered.

    Examples:
        >>> validate(Field("q", "magnitude"), "120")
        120.0
        >>> validate(Field("q", "magnitude"), "-1")
        Traceback (most recent call last):
        ...
        dialens.studies._types.AnswerError: Please give a number above zero; ...
    """
    return instrument(field.instrument).validate(field, value, overdue=overdue)


def simulate(
    generator: np.random.Generator,
    field: Field,
    latent: Latent | None = None,
    *,
    noise: float = 0.0,
) -> JSON:
    """An answer of a simulated participant with these opinions of the slots.

    Examples:
        >>> asked = Field("q", "magnitude", targets={"1": {}}, options={"modulus": 100})
        >>> simulate(np.random.default_rng(0), asked, {"1": 65.0})
        65.0
    """
    return instrument(field.instrument).simulate(generator, field, latent, noise=noise)
