"""The part of a study file that asks participants about themselves and the task."""

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Literal, Self

from pydantic import Field as Setting
from pydantic import create_model, model_validator

from dialens.studies._kinds import OneOf
from dialens.studies._types import JSON, AnswerError, Field
from dialens.studies._words import WORDS
from dialens.studies.design._items import Section, misplaced
from dialens.studies.instruments import (
    Choices,
    RankingSettings,
    Settings,
    instrument,
    instruments,
    refuse_other,
)


class AnyQuestion(Section):
    """What every question says; the inputs of its instrument come on top."""

    kind: str
    prompt: Annotated[str, WORDS] = Setting(min_length=1)
    """The question."""
    required: bool = True
    """Whether it has to be answered."""


class ChoiceQuestion(AnyQuestion):
    """One answer out of several."""

    kind: Literal["choice"] = "choice"
    choices: Annotated[Choices, WORDS]
    """The answers: a list, or `stored: shown`."""
    other: Annotated[str | None, WORDS] = Setting(default=None, min_length=1)
    """Words of a last answer, which participants write themselves; none if not given."""

    @model_validator(mode="after")
    def _other_is_free(self) -> Self:
        refuse_other(self.choices, self.other)
        return self


class RankingQuestion(RankingSettings, AnyQuestion):
    """Things to be put in order."""

    kind: Literal["ranking"] = "ranking"
    choices: Annotated[Choices, WORDS]
    """What is put in order."""


_WITH_CHOICES: dict[str, type[AnyQuestion]] = {
    "choice": ChoiceQuestion,
    "ranking": RankingQuestion,
}


@cache
def _question(kind: str, settings: type[Settings], meaning: str) -> type[AnyQuestion]:
    """The model of a question: the instrument's inputs and what every question says."""
    if kind in _WITH_CHOICES:
        return _WITH_CHOICES[kind]
    name = f"{settings.__name__.removesuffix('Settings')}Question"
    bases: tuple[Any, ...] = (settings, AnyQuestion)
    made: type[AnyQuestion] = create_model(name, __base__=bases, __doc__=meaning)
    return made


def _questions() -> list[type[AnyQuestion]]:
    return [
        _question(known.name, known.settings, known.meaning)
        for known in instruments().values()
        if known.asks
    ]


Question = Annotated[AnyQuestion, OneOf(_questions)]
Name = Annotated[str, Setting(pattern=r"^[a-z][a-z0-9_]*$", max_length=60)]


class Questionnaire(Section):
    """Questions on one screen."""

    title: Annotated[str | None, WORDS] = None
    """The heading; “A few questions” in the study's language if not given."""
    text: Annotated[str, WORDS] = ""
    """What stands above the questions."""
    questions: dict[Name, Question] = Setting(min_length=1)
    """By the name under which answers are exported."""


class Questionnaires(Section):
    """What is asked before and after the ratings."""

    before: list[Questionnaire] = Setting(default_factory=list)
    """Screens between consent and instructions."""
    after: list[Questionnaire] = Setting(default_factory=list)
    """Screens after the last rating."""

    @model_validator(mode="after")
    def _names_are_unique(self) -> Self:
        seen: set[str] = set()
        for questionnaire in (*self.before, *self.after):
            for name in questionnaire.questions:
                if name in seen:
                    raise ValueError(f"two questions are called {name}")
                seen.add(name)
        return self


class CheckedQuestion(Section):
    """A question with a right answer."""

    question: Question
    """What is asked."""
    correct: str | float | list[str | float]
    """The right answer, or several of them."""

    @model_validator(mode="after")
    def _can_be_answered(self) -> Self:
        try:
            _ = self.answers
        except AnswerError as error:
            said = f"{self.correct!r} could not be answered: {error.message}"
            raise misplaced("correct", said) from error
        return self

    @property
    def answers(self) -> list[JSON]:
        """The right answers, as they are stored."""
        field = question_field("check", self.question)
        given = self.correct if isinstance(self.correct, list) else [self.correct]
        return [instrument(field.instrument).validate(field, answer) for answer in given]


class AttentionCheck(CheckedQuestion):
    """A question that shows whether somebody reads."""

    after: list[Annotated[int, Setting(ge=0)]] = Setting(min_length=1)
    """After how many items it comes, 0 before the first; several numbers for several times."""


def question_field(
    name: str, question: AnyQuestion, expected: Mapping[str, JSON] | None = None
) -> Field:
    """A question as a field of a screen.

    Examples:
        >>> asked = ChoiceQuestion(prompt="Tea or coffee?", choices=["tea", "coffee"])
        >>> question_field("drink", asked).options["prompt"]
        'Tea or coffee?'
    """
    made = instrument(question.kind)
    given = question.model_dump(include=set(made.settings.model_fields), exclude_unset=True)
    options: dict[str, JSON] = {"prompt": question.prompt, **made.options(made.settings(**given))}
    if hasattr(question, "choices"):
        options["choices"] = [
            {"value": value, "label": label} for value, label in question.choices.items()
        ]
    return Field(
        name=name,
        instrument=made.name,
        options=options,
        required=question.required,
        expected=expected,
    )
