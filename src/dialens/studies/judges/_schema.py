"""The JSON Schema of an answer, from what an instrument's form allows.

The schema says what a server's grammar can enforce; whether an answer counts is still decided by
the instrument's own validation, as for people.
"""

from dialens.studies._types import JSON, Field, Screen
from dialens.studies.instruments import OTHER, Form, instrument
from dialens.studies.texts import Texts


def screen_schema(screen: Screen, texts: Texts, *, thought: bool = False) -> dict[str, JSON]:
    """The schema of the answer to all questions of a screen, one property a question.

    Args:
        screen: The screen.
        texts: The words of its language.
        thought: Whether the answer begins with what the judge thought (`why`).

    Examples:
        >>> asked = Field("sweet", "likert", options={"points": 3, "first": 1, "labels": {}})
        >>> screen_schema(Screen("r", "rating", "Tea", fields=(asked,)), Texts.of("en"))[
        ...     "properties"
        ... ]
        {'sweet': {'enum': [1, 2, 3]}}
    """
    properties: dict[str, JSON] = {THOUGHT: {"type": "string"}} if thought else {}
    properties |= {field.name: field_schema(field, texts) for field in screen.fields}
    wanted = [field.name for field in screen.fields if field.required]
    return {
        "type": "object",
        "properties": properties,
        "required": ([THOUGHT] if thought else []) + wanted,
        "additionalProperties": False,
    }


THOUGHT = "thought"
"""The property that comes before the answers where a judge is to think first."""


def field_schema(field: Field, texts: Texts) -> dict[str, JSON]:
    """The schema of the answer to one question."""
    used = instrument(field.instrument)
    form = used.form(field, texts)
    return _SCHEMAS[form.control](form, whole=used.output.type == "integer")


def allowed_answers(field: Field, texts: Texts) -> list[JSON] | None:
    """All answers there are to a question, where they can be listed; else none.

    Examples:
        >>> asked = Field("sweet", "likert", options={"points": 3, "first": 1, "labels": {}})
        >>> allowed_answers(asked, Texts.of("en"))
        [1, 2, 3]
    """
    listed: list[JSON] | None = field_schema(field, texts).get("enum")
    return listed


def _number(form: Form, *, whole: bool) -> dict[str, JSON]:
    schema: dict[str, JSON] = {"type": "integer" if whole else "number"}
    if (low := form.attributes.get("low")) is not None:
        schema["minimum"] = low
    if (high := form.attributes.get("high")) is not None:
        schema["maximum"] = high
    if (above := form.attributes.get("above")) is not None:
        schema["exclusiveMinimum"] = above
    return schema


def _values(form: Form, *, whole: bool) -> list[JSON]:
    return [int(choice.value) if whole else choice.value for choice in form.choices]


def _choices(form: Form, *, whole: bool) -> dict[str, JSON]:
    given: dict[str, JSON] = {"enum": _values(form, whole=whole)}
    if form.attributes.get("other"):
        return {"anyOf": [given, {"type": "string", "pattern": f"^{OTHER}: "}]}
    return given


def _best_worst(form: Form, *, whole: bool) -> dict[str, JSON]:
    one = {"enum": _values(form, whole=whole)}
    return _object({"best": one, "worst": one})


def _order(form: Form, *, whole: bool) -> dict[str, JSON]:
    count = len(form.choices)
    items = {"enum": _values(form, whole=whole)}
    return {"type": "array", "items": items, "minItems": count, "maxItems": count}


def _matrix(form: Form, *, whole: bool) -> dict[str, JSON]:
    points = {"enum": _values(form, whole=True)}
    return _object(dict.fromkeys(form.attributes["statements"], points))


def _object(properties: dict[str, JSON]) -> dict[str, JSON]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _text(form: Form, *, whole: bool) -> dict[str, JSON]:
    return {"type": "string", "maxLength": form.attributes["longest"]}


def _tick(form: Form, *, whole: bool) -> dict[str, JSON]:
    return {"enum": ["yes"]}


def _check_boxes(form: Form, *, whole: bool) -> dict[str, JSON]:
    return {"type": "array", "items": _choices(form, whole=False), "uniqueItems": True}


_SCHEMAS = {
    "number": _number,
    "slider": _number,
    "choices": _choices,
    "tick": _tick,
    "best_worst": _best_worst,
    "order": _order,
    "text": _text,
    "check_boxes": _check_boxes,
    "matrix": _matrix,
}
