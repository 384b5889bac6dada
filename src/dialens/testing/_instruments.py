"""What every instrument promises."""

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
from pydantic import ValidationError

from dialens.studies import AnswerError, Field
from dialens.studies.instruments import CONTROLS, Instrument
from dialens.studies.texts import Texts
from dialens.testing._promise import is_json, promise

_TYPES: dict[str, type | tuple[type, ...]] = {
    "number": (int, float),
    "integer": int,
    "string": str,
    "array": list,
    "object": dict,
}
_SEEDS = range(100)
_NONSENSE = (float("nan"), float("inf"), [1, [2]], {"x": "y"}, b"1")
_PROMPT, _SECRET = "How good?", "the-secret-agent"


def check_instrument(instrument: Instrument) -> None:
    """Check that an instrument keeps its promises.

    It says what it is and what its inputs mean. Options, form, scale and codebook are JSON, and
    nothing that is shown tells who wrote what. Nonsense is refused, and nothing is an answer only
    where none is required. Simulated answers are valid, stay as they are when validated again, and
    become finite numbers for the slots that are judged.

    Args:
        instrument: To check; its `sample` gives settings where the defaults will not do.

    Raises:
        AssertionError: Says which promise is broken.

    Examples:
        >>> from dialens.studies.instruments import instruments
        >>> check_instrument(instruments()["likert"])
    """
    _check_declaration(instrument)
    field = instrument_field(instrument)
    _check_form(instrument, field)
    _check_refusals(instrument, field)
    _check_simulation(instrument, field)
    if instrument.asks:
        _check_simulation(instrument, replace(field, targets={}, quality=None))


def instrument_field(instrument: Instrument) -> Field:
    """A field as a study makes it, about as many responses as the instrument judges.

    Examples:
        >>> from dialens.studies.instruments import instruments
        >>> list(instrument_field(instruments()["pairwise"]).targets)
        ['1', '2']
    """
    slots = {"none": [], "one": ["1"]}.get(instrument.judges, ["1", "2", "3"])
    if instrument.name == "pairwise":
        slots = slots[:2]
    given = instrument.settings(kind=instrument.name, **instrument.sample)
    options = {"prompt": _PROMPT, **instrument.options(given)}
    if instrument.judges == "several":
        options["choices"] = [{"value": slot, "label": f"Response {slot}"} for slot in slots]
    target = {"level": "turn", "system": _SECRET, "agent": _SECRET, "dialog": _SECRET, "turn": 1}
    return Field(
        name="quality",
        instrument=instrument.name,
        quality="quality",
        item="i",
        options=options,
        targets={slot: target | {"position": int(slot) - 1, "response": slot} for slot in slots},
    )


def _check_declaration(instrument: Instrument) -> None:
    who = f"The instrument {instrument.name}"
    promise(instrument.title, f"{who} has no title.")
    promise(instrument.meaning.endswith("."), f"{who} has no meaning that is a sentence.")
    promise(
        instrument.output.type in _TYPES,
        f"{who} gives {instrument.output.type!r}; JSON has {', '.join(_TYPES)}.",
    )
    promise(
        instrument.judges in ("one", "several")
        or (instrument.judges == "none" and instrument.asks),
        f"{who} judges {instrument.judges!r}: `one`, `several`, or `none` if it only asks.",
    )
    promise(instrument.seconds > 0, f"{who} takes no time.")
    for name, info in instrument.settings.model_fields.items():
        promise(
            name == "kind" or info.description, f"{who}: the input {name} does not say what it is."
        )
    try:
        instrument.settings(**{**instrument.sample, "kind": instrument.name, "no_such_input": 1})
    except ValidationError:
        return
    raise AssertionError(f"{who} takes inputs that it does not declare.")


def _check_form(instrument: Instrument, field: Field) -> None:
    who = f"The instrument {instrument.name}"
    promise(is_json(field.options), f"{who}: the options are no JSON: {field.options}.")
    form = instrument.form(field, Texts.of("en"))
    promise(
        form.control in CONTROLS,
        f"{who} shows a {form.control!r}; the pages know {', '.join(CONTROLS)}.",
    )
    promise(form.prompt == _PROMPT, f"{who} does not show the question it was given.")
    shown = form.as_json()
    try:
        text = json.dumps(shown, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise AssertionError(f"{who}: the form is no JSON ({error}).") from error
    promise(_SECRET not in text, f"{who}: the form tells who wrote what.")
    values = [choice.value for choice in form.choices]
    promise(len(values) == len(set(values)), f"{who}: two choices have one value.")
    codebook = instrument.codebook(field.options)
    promise(is_json(codebook), f"{who}: the codebook is no JSON.")
    promise(codebook["answer"], f"{who}: the codebook does not say what the answer is.")


def _check_refusals(instrument: Instrument, field: Field) -> None:
    who = f"The instrument {instrument.name}"
    free = replace(field, required=False)
    for nothing in (None, ""):
        promise(_refused(instrument, field, nothing), f"{who} takes no answer for one.")
        promise(
            instrument.validate(free, nothing) is None
            and instrument.validate(field, nothing, overdue=True) is None,
            f"{who} wants an answer where none is required.",
        )
    for value in _NONSENSE:
        promise(_refused(instrument, field, value), f"{who} takes {value!r} for an answer.")


def _refused(instrument: Instrument, field: Field, value: Any) -> bool:
    try:
        instrument.validate(field, value)
    except AnswerError as error:
        return error.field == field.name
    except Exception as error:
        raise AssertionError(
            f"The instrument {instrument.name} raises {type(error).__name__} ({error}) for "
            f"{value!r}; it must raise AnswerError."
        ) from error
    return False


def _check_simulation(instrument: Instrument, field: Field) -> None:
    who = f"The instrument {instrument.name}"
    for seed in _SEEDS:
        opinions = np.random.default_rng(seed).uniform(-50, 300, len(field.targets))
        latent = dict(zip(field.targets, map(float, opinions), strict=True))
        noise = 20.0 * (seed % 2)
        value, again = (
            instrument.simulate(np.random.default_rng(seed), field, latent, noise=noise)
            for _ in range(2)
        )
        promise(value == again, f"{who} simulates another answer with the same generator.")
        try:
            stored = instrument.validate(field, value)
        except AnswerError as error:
            raise AssertionError(f"{who} refuses its own answer {value!r}: {error}") from error
        promise(stored == value, f"{who} stores {stored!r} for its own answer {value!r}.")
        kind = _TYPES[instrument.output.type]
        promise(
            isinstance(stored, kind) and not isinstance(stored, bool),
            f"{who} declares an answer of type {instrument.output.type} and stores {stored!r}.",
        )
        promise(is_json(stored), f"{who} stores {stored!r}, which is no JSON.")
        promise(
            instrument.validate(field, stored) == stored,
            f"{who} changes a stored answer when it is validated again.",
        )
        _check_rows(instrument, field, stored)


def _check_rows(instrument: Instrument, field: Field, stored: Any) -> None:
    who = f"The instrument {instrument.name}"
    rows = instrument.rows(field, stored)
    slots = [slot for slot, _ in rows]
    promise(
        len(set(slots)) == len(slots) and set(slots) <= set(field.targets),
        f"{who} gives rows for {slots}; judged are {list(field.targets)}.",
    )
    promise(
        not field.targets or instrument.output.unit is None or len(slots) == len(field.targets),
        f"{who} gives {len(slots)} rows for {len(field.targets)} responses.",
    )
    scale = instrument.scale(field)
    promise(is_json(scale), f"{who}: the scale is no JSON: {scale}.")
    promise(scale.get("kind") == instrument.name, f"{who}: the scale does not name it as `kind`.")
    low, high = scale.get("low"), scale.get("high")
    for _, number in rows:
        promise(math.isfinite(number), f"{who} gives a row with {number}.")
        promise(
            (low is None or number >= low) and (high is None or number <= high),
            f"{who} gives {number}, outside of its scale from {low} to {high}.",
        )
