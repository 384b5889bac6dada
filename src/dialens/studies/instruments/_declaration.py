"""What an instrument declares, once, and everything else is made from."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from pydantic import BaseModel, ConfigDict

from dialens.studies._kinds import named_by_kind
from dialens.studies._types import JSON, AnswerError, Field
from dialens.studies.texts import Texts

Latent = Mapping[str, float]
"""A rater's opinion of each slot: 0 is worst, 100 as good as the standard, more is better."""

Rows = tuple[tuple[str, float], ...]
"""The numbers an answer stands for: slot and value."""


class Settings(BaseModel):
    """What a study file may say of an instrument: its inputs, with their defaults."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)

    kind: str


@dataclass(frozen=True)
class Choice:
    """One of the things that can be chosen: what is sent, and what is read."""

    value: str
    label: str


@dataclass(frozen=True)
class Form:
    """What a page has to show for a field, as data; a template makes markup of it.

    Attributes:
        control: One of `CONTROLS`.
        prompt: The question.
        help: A line below it.
        choices: What can be chosen or ordered.
        attributes: Further data of the control: bounds, labels of the ends, rows of a text box.
    """

    control: str
    prompt: str
    help: str = ""
    choices: tuple[Choice, ...] = ()
    attributes: Mapping[str, JSON] = field(default_factory=dict)

    def as_json(self) -> dict[str, JSON]:
        """The same as plain objects.

        Examples:
            >>> Form("text", "Why?").as_json()["control"]
            'text'
        """
        return asdict(self) | {"attributes": dict(self.attributes)}


CONTROLS = (
    "number",
    "choices",
    "tick",
    "slider",
    "best_worst",
    "order",
    "text",
    "check_boxes",
    "matrix",
)


@dataclass(frozen=True)
class Output:
    """A variable that an instrument produces.

    Attributes:
        type: Of the answer as stored, in the words of JSON Schema.
        meaning: One line for the codebook.
        unit: Of the numbers in the ratings table; none where an answer is no rating.
    """

    type: str
    meaning: str
    unit: str | None = None


def as_set(settings: Settings) -> dict[str, JSON]:
    """Settings as a form shows them where nothing has to be made of them."""
    return settings.model_dump(exclude={"kind"})


def no_ratings(field: Field, value: JSON) -> Rows:
    """The ratings of an answer that is none."""
    return ()


def no_answer(field: Field) -> JSON:
    """What it stands for that nothing was entered: no answer."""
    return None


@dataclass(frozen=True)
class Instrument:
    """A way to ask: inputs, outputs, validation, form, simulation and codebook in one place.

    Attributes:
        name: What `instrument:` takes in a study file.
        title: For people.
        meaning: One line.
        citation: Where the method comes from.
        settings: The inputs, a pydantic model; its fields' descriptions go into the codebook.
        output: What comes out.
        judges: How many candidates one field judges: `one`, `several`, or `none` for questions.
        seconds: What an answer takes a person, roughly; for estimates of a study's length.
        form: A field as what a page has to show, with texts of the participant's language.
        parse: A submitted value that is there, in its stored form; raises `AnswerError`.
        draw: A plausible answer of somebody with this opinion, perhaps with noise added to it.
        scale: The column `scale` of the ratings table.
        options: Settings as what the form shows; all of them as they are by default.
        rows: The ratings an answer stands for; none by default.
        nothing: The answer that it is to enter nothing; None, which is no answer, by default.
        sample: Settings with which the instrument can be tried, for its conformance test.
        asks: Whether it may stand in a questionnaire, where nothing is judged.
        fewest: Of one that judges several candidates: how many it needs.
    """

    name: str
    title: str
    meaning: str
    citation: str
    settings: type[Settings]
    output: Output
    judges: str
    seconds: float
    form: Callable[[Field, Texts], Form]
    parse: Callable[[Field, JSON], JSON]
    draw: Callable[[np.random.Generator, Field, Latent, float], JSON]
    scale: Callable[[Field], dict[str, JSON]]
    options: Callable[[Any], dict[str, JSON]] = as_set
    rows: Callable[[Field, JSON], Rows] = no_ratings
    nothing: Callable[[Field], JSON] = no_answer
    sample: Mapping[str, JSON] = field(default_factory=dict)
    asks: bool = False
    fewest: int = 2

    def __post_init__(self) -> None:
        """Refuse settings that a study file could not name."""
        named_by_kind(self.settings, self.name)

    @property
    def numeric(self) -> bool:
        """Whether participants answer with a number, so that a number may be shown to them."""
        return self.judges == "one" and self.output.type in ("number", "integer")

    def validate(self, field: Field, value: JSON, *, overdue: bool = False) -> JSON:
        """The value as it is stored; None where nothing was answered and nothing had to be.

        Args:
            field: What was asked.
            value: What came from the page: JSON, or the strings of a form.
            overdue: Whether the screen's deadline passed, so that nothing has to be answered.
        """
        if value is None or value in ("", [], {}):
            given = None if overdue else self.nothing(field)
            if given is None and field.required and not overdue:
                raise AnswerError.of(field.name, "error_required")
            return given
        try:
            return self.parse(field, value)
        except AnswerError:
            if overdue:
                return None  # what was half typed when time ran out is no answer
            raise

    def simulate(
        self,
        generator: np.random.Generator,
        field: Field,
        latent: Latent | None = None,
        *,
        noise: float = 0.0,
    ) -> JSON:
        """An answer of a simulated participant, one that `validate` accepts.

        Args:
            generator: Of everything that is drawn.
            field: What is asked.
            latent: The opinion of each slot; drawn at random where there is none.
            noise: Standard deviation added to the opinion, in its units.
        """
        opinion = dict(latent or {})
        for slot in field.targets:
            if slot not in opinion:
                opinion[slot] = float(generator.normal(60, 20))
        return self.draw(generator, field, opinion, noise)

    def codebook(self, options: Mapping[str, JSON]) -> dict[str, JSON]:
        """What a reader of the data has to know of the variable.

        Args:
            options: As in a field.
        """
        inputs = {
            name: {"meaning": info.description or "", "value": options.get(name)}
            for name, info in self.settings.model_fields.items()
            if name != "kind" and name in options
        }
        return {
            "instrument": self.name,
            "title": self.title,
            "meaning": self.meaning,
            "citation": self.citation,
            "type": self.output.type,
            "answer": self.output.meaning,
            "unit": self.output.unit,
            "inputs": inputs,
        }


def one_of(field: Field, value: JSON) -> str:
    """The value of one of the field's choices.

    Examples:
        >>> asked = Field("q", "choice", options={"choices": [{"value": "1", "label": "one"}]})
        >>> one_of(asked, 1)
        '1'
    """
    known = [choice.value for choice in choices_of(field)]
    text = str(value).strip() if isinstance(value, str | int) else ""
    if isinstance(value, bool) or text not in known:
        raise AnswerError.of(field.name, "error_choose")
    return text


def choices_of(field: Field) -> tuple[Choice, ...]:
    """What can be chosen: the field's choices, or the responses on the screen."""
    return tuple(
        Choice(str(choice["value"]), str(choice["label"]))
        for choice in field.options.get("choices", ())
    )


def prompt_of(field: Field) -> str:
    """The question as it stands above the control."""
    return str(field.options.get("prompt", ""))


def only_slot(field: Field) -> str | None:
    """The slot that a field judges, where it judges one."""
    return next(iter(field.targets), None)


def one_rating(field: Field, value: JSON) -> Rows:
    """The number that was answered, as the one rating of a field that judges one candidate."""
    slot = only_slot(field)
    return () if slot is None else ((slot, float(value)),)


def opinion_of(generator: np.random.Generator, field: Field, latent: Latent, noise: float) -> float:
    """The opinion of the one candidate, with noise; a middling one where nothing is judged."""
    slot = only_slot(field)
    known = float(generator.normal(60, 20)) if slot is None else latent[slot]
    return known + (float(generator.normal(0, noise)) if noise else 0.0)


def ordered(
    generator: np.random.Generator, slots: list[str], latent: Latent, noise: float
) -> list[str]:
    """Slots from best to worst, as somebody with these opinions and noise sees them."""
    felt = {
        slot: latent.get(slot, 0.0) + (float(generator.normal(0, noise)) if noise else 0.0)
        for slot in slots
    }
    return sorted(slots, key=lambda slot: -felt[slot])
