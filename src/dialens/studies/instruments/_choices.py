"""What questions with answers to choose from share: the answers, and one to write oneself."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic import Field as Setting

from dialens.studies._types import JSON, AnswerError, Field

OTHER = "other"
"""What is sent for the answer that somebody writes."""

_STORED = f"{OTHER}: "
_LONGEST = 500


def _named(value: Any) -> Any:
    """A list of answers, or what is stored and what is read: `{f: female}`."""
    return {str(name): str(name) for name in value} if isinstance(value, list) else value


def _numbered(value: Any) -> Any:
    """A list of statements, numbered from 1, or what is stored and what is read."""
    if isinstance(value, list):
        return {str(number): str(text) for number, text in enumerate(value, start=1)}
    return value


_Listed = list[str | float] | dict[str, str]

Choices = Annotated[
    dict[str, str],
    BeforeValidator(_named, json_schema_input_type=_Listed),
    Setting(min_length=2),
]
"""Answers: a list, or `stored: shown`."""

Statements = Annotated[
    dict[Annotated[str, Setting(pattern=r"^[A-Za-z0-9_]+$", max_length=60)], str],
    BeforeValidator(_numbered, json_schema_input_type=_Listed),
    Setting(min_length=1, max_length=60),
]
"""Statements: a list, which is numbered, or `stored: shown`."""


def refuse_other(choices: Mapping[str, Any] | None, other: str | None) -> None:
    """Refuse a choice that is stored as the answer that somebody writes is."""
    if other is not None and choices and OTHER in choices:
        raise ValueError(
            f"the choice `{OTHER}` cannot be told from what `other` asks for: leave the choice out"
        )


def written(field: Field, value: JSON) -> str:
    """What somebody wrote as an answer of their own; empty if nothing."""
    if not isinstance(value, str):
        raise AnswerError.of(field.name, "error_choose")
    text = " ".join(value.replace("\x00", "").split())
    if len(text) > _LONGEST:
        raise AnswerError.of(field.name, "error_other_long", most=_LONGEST)
    return text


def as_stored(text: str) -> str:
    """An answer of one's own as it is stored.

    Examples:
        >>> as_stored("Klingon"), own_words("other: Klingon"), own_words("German")
        ('other: Klingon', 'Klingon', None)
    """
    return _STORED + text


def own_words(value: JSON) -> str | None:
    """What was written, of a stored answer; none where a given one was chosen."""
    if isinstance(value, str) and value.startswith(_STORED):
        return value.removeprefix(_STORED)
    return None
