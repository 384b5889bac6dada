"""What is said to a judge: the prompt around a screen, how to answer, and what was wrong."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dialens.studies._types import JSON, Field, Screen
from dialens.studies.judges._schema import THOUGHT, allowed_answers, field_schema
from dialens.studies.judges._settings import ANSWER, INSTRUCTIONS, SCREEN
from dialens.studies.texts import Texts

_THINK = {
    "short": "think about it in one or two sentences",
    "long": "think it through step by step, for every question",
}


@dataclass(frozen=True)
class Said:
    """A part of the conversation with a judge: the study's words, or the judge's."""

    who: Literal["study", "judge"]
    text: str


def around(prompt: str, *, instructions: str, screen: str, answer: str) -> str:
    r"""A prompt with the study's texts in their places; what they hold is not looked at.

    Examples:
        >>> around("{instructions} | {screen}", instructions="Taste.", screen="{x}", answer="Say.")
        'Taste. | {x}\n\nSay.'
    """
    if ANSWER not in prompt:
        prompt = f"{prompt.rstrip()}\n\n{ANSWER}"
    texts = {INSTRUCTIONS: instructions, SCREEN: screen, ANSWER: answer}
    made: list[str] = []
    rest = prompt
    while rest:
        found = [(rest.index(place), place) for place in texts if place in rest]
        if not found:
            return "".join([*made, rest]).strip()
        at, place = min(found)
        made += [rest[:at], texts[place]]
        rest = rest[at + len(place) :]
    return "".join(made).strip()


def how_to_answer(screen: Screen, texts: Texts, mode: str, think: str) -> str:
    """How the questions of a screen are to be answered, in words.

    Args:
        screen: The screen.
        texts: The words of its language.
        mode: `json` or `text`.
        think: `none`, `short` or `long`.

    Examples:
        >>> asked = Field("sweet", "likert", options={"points": 3, "first": 1, "labels": {}})
        >>> screen = Screen("r", "rating", "Tea", fields=(asked,))
        >>> print(how_to_answer(screen, Texts.of("en"), "json", "none"))
        Answer with one JSON object and nothing else, with these keys:
        "sweet": 1 | 2 | 3
    """
    optional = " (may be left out)"
    entries = [
        (field.name, _form(field_schema(field, texts)), "" if field.required else optional)
        for field in screen.fields
    ]
    if mode == "json":
        lines = [f'"{name}": {form}{note}' for name, form, note in entries]
        thought = []
        if think in _THINK:
            thought = [f'"{THOUGHT}": text; {_THINK[think]}, before you answer']
        head = "Answer with one JSON object and nothing else, with these keys:"
        return "\n".join([head, *thought, *lines])
    lines = [f"{name}: {_line(field_schema(field, texts))}{note}"
             for field, (name, _, note) in zip(screen.fields, entries, strict=True)]  # fmt: skip
    first = f"First {_THINK[think]}. Then answer" if think in _THINK else "Answer"
    only = "" if think in _THINK else " and nothing else"
    return "\n".join([f"{first} with one line for each question{only}:", *lines])


def how_to_choose(field: Field, texts: Texts) -> str:
    """How one question with listed answers is to be answered, in words.

    Examples:
        >>> asked = Field("sweet", "likert", options={"points": 3, "first": 1, "labels": {}})
        >>> how_to_choose(asked, Texts.of("en"))
        'Answer the question [sweet] with one of these and nothing else: 1, 2, 3'
    """
    listed = ", ".join(str(answer) for answer in allowed_answers(field, texts) or ())
    return f"Answer the question [{field.name}] with one of these and nothing else: {listed}"


def repair(complaints: Sequence[tuple[str, str]], answer: str) -> str:
    """What is said to a judge whose answer does not count: what a participant would read.

    Examples:
        >>> print(repair([("sweet", "Please choose one of the answers.")], "Answer so."))
        [sweet] Please choose one of the answers.
        <BLANKLINE>
        Answer so.
    """
    lines = [f"[{name}] {said}" if name else said for name, said in complaints]
    return "\n".join([*lines, "", answer])


def _form(schema: Mapping[str, JSON]) -> str:
    """A schema as a reader understands it."""
    if "anyOf" in schema:
        return " | ".join(_form(one) for one in schema["anyOf"])
    if "enum" in schema:
        return " | ".join(json.dumps(value, ensure_ascii=False) for value in schema["enum"])
    kind = schema.get("type")
    if kind in ("number", "integer"):
        return _number(schema)
    if kind == "array":
        return f"[{_form(schema['items'])}, …]{_length(schema)}"
    if kind == "object":
        parts = (f'"{name}": {_form(one)}' for name, one in schema["properties"].items())
        return "{" + ", ".join(parts) + "}"
    return '"other: …"' if schema.get("pattern") else "text"


def _line(schema: Mapping[str, JSON]) -> str:
    """The same where an answer is a line of text."""
    if "enum" in schema:
        return " | ".join(str(value) for value in schema["enum"])
    kind = schema.get("type")
    if kind == "array":
        return f"{_line(schema['items'])}, …{_length(schema)}"
    if kind == "object":
        return ", ".join(f"{name}={_line(one)}" for name, one in schema["properties"].items())
    if "anyOf" in schema:
        return " | ".join(_line(one) for one in schema["anyOf"])
    return "other: …" if schema.get("pattern") else _form(schema)


def _length(schema: Mapping[str, JSON]) -> str:
    return " (all of them, the first the best)" if "minItems" in schema else " (any number)"


def _number(schema: Mapping[str, JSON]) -> str:
    what = "a whole number" if schema["type"] == "integer" else "a number"
    low, high, above = (schema.get(name) for name in ("minimum", "maximum", "exclusiveMinimum"))
    if low is not None and high is not None:
        return f"{what} from {low:g} to {high:g}"
    if above is not None:
        return f"{what} above {above:g}"
    return f"{what} of at least {low:g}" if low is not None else what
