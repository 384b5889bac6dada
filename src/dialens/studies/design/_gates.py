"""The parts of a study file that decide who goes on: consent, screening, comprehension, codes."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, model_validator
from pydantic import Field as Setting

from dialens.base import did_you_mean
from dialens.studies._types import JSON, AnswerError
from dialens.studies._words import WORDS
from dialens.studies.design._items import Section, misplaced
from dialens.studies.design._questions import (
    AnyQuestion,
    CheckedQuestion,
    Name,
    Question,
    question_field,
)
from dialens.studies.instruments import instrument


class Statement(Section):
    """A box to tick in the consent."""

    text: Annotated[str, WORDS] = Setting(min_length=1)
    """What is agreed to."""
    required: bool = True
    """Whether nobody takes part without it."""


def _statement(value: Any) -> Any:
    return {"text": value} if isinstance(value, str) else value


Statements = dict[
    Name, Annotated[Statement, BeforeValidator(_statement, json_schema_input_type=str | Statement)]
]


class Consent(Section):
    """What participants agree to."""

    title: Annotated[str | None, WORDS] = None
    """The heading; “Before you begin” in the study's language if not given."""
    text: Annotated[str, WORDS] = Setting(min_length=1)
    """Who asks, what for, what is stored."""
    warning: Annotated[str, WORDS] = ""
    """What some may not want to read."""
    statements: Statements = Setting(default_factory=dict)
    """Boxes to tick, by the name under which they are recorded: a text, or text and `required`."""
    agree: Annotated[str | None, WORDS] = None
    """What they agree to; a sentence in the study's language if not given."""


class Comprehension(Section):
    """Questions that show whether the instructions were understood."""

    title: Annotated[str | None, WORDS] = None
    """The heading; a plain one in the study's language if not given."""
    text: Annotated[str, WORDS] = ""
    """What stands above the questions."""
    questions: dict[Name, CheckedQuestion] = Setting(min_length=1)
    """By the name under which answers are exported."""
    tries: int = Setting(default=2, ge=1, le=10)
    """How often they may be answered; in between, the instructions are shown again."""
    wrong: Annotated[str | None, WORDS] = None
    """What is read above the instructions after a wrong answer; a plain sentence if not given."""
    failing: Literal["screen_out", "flag"] = "screen_out"
    """After the last try: the session ends, or goes on and counts as a failed check."""

    @model_validator(mode="after")
    def _have_to_be_answered(self) -> Self:
        for name, asked in self.questions.items():
            if not asked.question.required:
                raise misplaced(f"questions.{name}.question.required", _NEEDED)
        return self


_NEEDED = "has to be true: what is left out could be neither right nor wrong"


class Rule(Section):
    """Something that has to hold for somebody to take part."""

    question: str
    """The question it is about."""
    one_of: list[str | float] | None = Setting(default=None, min_length=1)
    """The answer is one of these."""
    none_of: list[str | float] | None = Setting(default=None, min_length=1)
    """The answer is none of these."""
    at_least: float | None = None
    """The number given is this or more."""
    at_most: float | None = None
    """The number given is this or less."""
    reason: str = Setting(default="", max_length=100)
    """By which the researcher sees how many were screened out; the question's name if not given."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if not self.lists and not self.bounds:
            raise ValueError("give one_of, none_of, at_least or at_most: who may take part")
        return self

    @property
    def lists(self) -> dict[str, list[str | float]]:
        """Answers that are named, by setting."""
        named = {"one_of": self.one_of, "none_of": self.none_of}
        return {name: answers for name, answers in named.items() if answers is not None}

    @property
    def bounds(self) -> dict[str, float]:
        """Bounds of numbers, by setting."""
        named = {"at_least": self.at_least, "at_most": self.at_most}
        return {name: bound for name, bound in named.items() if bound is not None}

    def holds(self, question: AnyQuestion, answer: JSON) -> bool:
        """Whether somebody with this answer may take part."""
        if answer is None:
            return False
        field = question_field(self.question, question)
        parse = instrument(field.instrument).validate
        known = {name: [parse(field, one) for one in given] for name, given in self.lists.items()}
        if answer not in known.get("one_of", [answer]) or answer in known.get("none_of", []):
            return False
        if self.at_least is not None and answer < self.at_least:
            return False
        return self.at_most is None or bool(answer <= self.at_most)


class EndPage(Section):
    """What somebody reads for whom the study ends early."""

    title: Annotated[str | None, WORDS] = None
    """The heading; a plain one in the study's language if not given."""
    text: Annotated[str | None, WORDS] = None
    """What stands below; a plain sentence in the study's language if not given."""


_NUMBERS = ("number", "likert", "slider", "magnitude")


class Screening(Section):
    """Questions that decide who may take part."""

    when: Literal["before_consent", "after_consent"] = "after_consent"
    """Answers are data: asked before consent, those of people who do not go on are not kept."""
    title: Annotated[str | None, WORDS] = None
    """The heading; a plain one in the study's language if not given."""
    text: Annotated[str, WORDS] = ""
    """What stands above the questions."""
    questions: dict[Name, Question] = Setting(min_length=1)
    """By the name under which answers are exported."""
    rules: list[Rule] = Setting(min_length=1)
    """What has to hold, all of it."""
    end: EndPage = EndPage()
    """What those read who may not take part."""

    @model_validator(mode="after")
    def _rules_fit(self) -> Self:
        for place, rule in enumerate(self.rules):
            asked = self.questions.get(rule.question)
            at = f"rules.{place}"
            if asked is None:
                hint = did_you_mean(rule.question, self.questions)
                raise misplaced(f"{at}.question", f"{rule.question!r} is no question. {hint}")
            if not asked.required:
                raise misplaced(f"questions.{rule.question}.required", _NEEDED)
            if rule.bounds and asked.kind not in _NUMBERS:
                name = next(iter(rule.bounds))
                raise misplaced(f"{at}.{name}", f"the answer to {rule.question} is no number")
            field = question_field(rule.question, asked)
            for name, answers in rule.lists.items():
                for answer in answers:
                    try:
                        instrument(field.instrument).validate(field, answer)
                    except AnswerError as error:
                        said = f"{answer!r} could not be answered: {error.message}"
                        raise misplaced(f"{at}.{name}", said) from error
        return self


_Code = Annotated[str, Setting(pattern=r"^[A-Za-z0-9-]{4,64}$")]


class Codes(Section):
    """Completion codes, by how a participation ends."""

    completed: _Code | None = None
    """Of those who reached the end; one is made for each participant if not given."""
    no_consent: _Code | None = None
    """Of those who do not want to take part."""
    screened_out: _Code | None = None
    """Of those who may not take part (`screening`)."""
    failed_comprehension: _Code | None = None
    """Of those whom the comprehension questions ended the session for."""
    withdrawn: _Code | None = None
    """Of those who left on the way by saying so."""

    @model_validator(mode="after")
    def _differ(self) -> Self:
        seen: dict[str, str] = {}
        for name, code in self.model_dump(exclude_none=True).items():
            if code in seen:
                raise misplaced(name, f"is the code of {seen[code]} already")
            seen[code] = name
        return self
