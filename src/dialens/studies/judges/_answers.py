"""From what a judge wrote to answers, under the rules that hold for people."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from dialens.studies._types import JSON, Answer, AnswerError, Field, Screen
from dialens.studies.instruments import validate
from dialens.studies.judges._schema import field_schema
from dialens.studies.texts import Texts

_REFUSAL = re.compile(
    r"(?i)\b(?:i(?:['’]m| am) sorry|i (?:can(?:no|['’])t|cannot|am (?:unable|not able) to|won['’]t)"
    r"|as an ai)\b"
)
_LINE = re.compile(
    r"^[\s>*\-`\"']*\[?(?P<name>[^:=\]\"'`*]+?)[\]\"'`*]*\s*[:=]\s*(?P<value>.+?)\s*$"
)
_MOST_OBJECTS = 50

NO_JSON = "The answer holds no JSON object with these keys."
NO_LINES = "The answer holds no line such as “name: value” for these questions."


@dataclass(frozen=True)
class ReadAnswer:
    """What became of a judge's reply.

    Attributes:
        answers: By question, as stored; empty if anything is wrong.
        complaints: What a participant would read, question and text; the question is empty where
            it is about the whole.
    """

    answers: Answer = field(default_factory=dict)
    complaints: tuple[tuple[str, str], ...] = ()


def read_answer(text: str, screen: Screen, texts: Texts, mode: str) -> ReadAnswer:
    r"""The answers in a reply, each validated by the instrument that asked.

    Words and code fences around the answer do not matter. One question that is not answered
    rightly makes the whole no answer: a person could not have sent the page either.

    Args:
        text: What the judge wrote.
        screen: What was asked.
        texts: The words of its language.
        mode: `json` or `text`.

    Examples:
        >>> asked = Field("sweet", "likert", options={"points": 3, "first": 1, "labels": {}})
        >>> screen = Screen("r", "rating", "Tea", fields=(asked,))
        >>> read_answer('Sure!\n```json\n{"sweet": 2}\n```', screen, Texts.of("en"), "json").answers
        {'sweet': 2}
        >>> read_answer("sweet: 7", screen, Texts.of("en"), "text").complaints
        (('sweet', 'Please choose a whole number from 1 to 3.'),)
    """
    names = {one.name for one in screen.fields}
    given = _in_json(text, names) if mode == "json" else _in_lines(text, screen, texts)
    if given is None:
        return ReadAnswer(complaints=(("", NO_JSON if mode == "json" else NO_LINES),))
    answers: Answer = {}
    complaints = []
    for asked in screen.fields:
        try:
            answers[asked.name] = validate(asked, given.get(asked.name))
        except AnswerError as error:
            complaints.append((asked.name, error.said(texts)))
    return ReadAnswer(complaints=tuple(complaints)) if complaints else ReadAnswer(answers)


def is_refusal(text: str) -> bool:
    """Whether a reply that holds no answer reads like a refusal; knows English alone.

    Examples:
        >>> is_refusal("I'm sorry, but I can't rate that."), is_refusal("It is a 4.")
        (True, False)
    """
    return _REFUSAL.search(text[:300]) is not None


def _in_json(text: str, names: set[str]) -> Mapping[str, JSON] | None:
    """The last object in a text that answers a question; models think first, then answer."""
    found = [one for one in _objects(text) if names & set(one)]
    return found[-1] if found else None


def _objects(text: str) -> Iterator[dict[str, JSON]]:
    decoder = json.JSONDecoder()
    at = -1
    for _ in range(_MOST_OBJECTS):
        at = text.find("{", at + 1)
        if at < 0:
            return
        try:
            value, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            continue
        if isinstance(value, dict):
            yield value
        at = end - 1


def _in_lines(text: str, screen: Screen, texts: Texts) -> Mapping[str, JSON] | None:
    """The last line of each question: `name: value`."""
    fields = {one.name.casefold(): one for one in screen.fields}
    given: dict[str, JSON] = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        asked = fields.get(match["name"].strip().casefold()) if match else None
        if match and asked:
            given[asked.name] = _value(match["value"].strip("`*\"' "), asked, texts)
    return given or None


def _value(text: str, asked: Field, texts: Texts) -> JSON:
    kind = field_schema(asked, texts).get("type")
    if kind == "array":
        return [part.strip() for part in text.strip("[]").split(",") if part.strip()]
    if kind == "object":
        parts = (part.partition("=") for part in text.strip("{}").split(","))
        return {name.strip(): value.strip() for name, equals, value in parts if equals}
    return text
