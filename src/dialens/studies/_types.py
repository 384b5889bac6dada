"""What a study is made of once it runs: cells, screens, fields, answers."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dialens.base import DialensError
from dialens.studies.texts import Texts

JSON = Any
"""What JSON can hold: null, booleans, numbers, strings, lists, objects."""

Answer = dict[str, JSON]
"""What a participant gave on one screen: the field's name and its value."""

NO_CONSENT = "no_consent"
SCREENED_OUT = "screened_out"
FAILED_COMPREHENSION = "failed_comprehension"
WITHDRAWN = "withdrawn"
"""How a participation can end before its last screen, other than by a time limit."""

SCREEN_KINDS = (
    "consent",
    "screening",
    "questions",
    "instructions",
    "comprehension",
    "practice",
    "chat",
    "rating",
    "check",
    "end",
)
BLOCK_KINDS = (
    "text",
    "warning",
    "definition",
    "example",
    "dialogue",
    "anchor",
    "response",
    "line",
    "media",
    "talk",
    "code",
)


class AnswerError(DialensError):
    """An answer that its instrument refuses; the participant reads the message and tries again.

    Examples:
        >>> AnswerError("coherence", "Please give a number above zero.").field
        'coherence'
        >>> error = AnswerError.of("age", "error_at_least", low=0.5)
        >>> error.message, error.said(Texts.of("de"))
        ('Please give a number of at least 0.5.', 'Bitte geben Sie eine Zahl ab 0,5 ein.')
    """

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field
        self.message = message
        self._text: tuple[str, dict[str, object]] | None = None

    @classmethod
    def of(cls, field: str, key: str, **values: object) -> "AnswerError":
        """An error that is said in the participant's language: a key of the texts, and values."""
        error = cls(field, Texts.of("en").say(key, **values))
        error._text = (key, values)
        return error

    def said(self, texts: Texts) -> str:
        """What the participant reads."""
        return self.message if self._text is None else texts.say(self._text[0], **self._text[1])


@dataclass(frozen=True)
class Cell:
    """One condition between participants, by the level of every between-participant factor.

    A study without such factors has one cell, called `all`.

    Attributes:
        name: `anchor=numerical,layout=together`.
        levels: `{"anchor": "numerical", "layout": "together"}`.

    Examples:
        >>> Cell.of({"anchor": "numerical", "layout": "together"}).name
        'anchor=numerical,layout=together'
    """

    name: str
    levels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, levels: Mapping[str, str]) -> "Cell":
        """The cell with these levels, named after them."""
        return cls(",".join(f"{name}={level}" for name, level in levels.items()) or "all", levels)


LOWER = "lower_is_better"
"""Key of a field's targets, and of the scale of its ratings: less of the quality is better."""


@dataclass(frozen=True)
class Field:
    """One question of a screen: whom it asks about, and how it may be answered.

    Attributes:
        name: Unique within the screen.
        instrument: The instrument that renders, validates and simulates it.
        quality: What is judged; none for questionnaires.
        item: The item that is judged.
        response: The candidate that is judged; none where several are judged at once.
        options: What the form shows, as JSON: prompt, modulus, points, choices. Nothing in it
            tells who wrote a response: candidates go by their slot on the screen (`1`, `2`, …).
        required: Whether an empty answer is refused.
        targets: Never shown: for each slot, what a rating of it is about, in the columns of the
            ratings table (response, level, system, agent, dialog, turn, position).
        expected: Never shown: what an attentive participant answers, for checks and gold items.
    """

    name: str
    instrument: str
    quality: str | None = None
    item: str | None = None
    response: str | None = None
    options: Mapping[str, JSON] = field(default_factory=dict)
    required: bool = True
    targets: Mapping[str, Mapping[str, JSON]] = field(default_factory=dict)
    expected: Mapping[str, JSON] | None = None


@dataclass(frozen=True)
class Screen:
    """What a participant sees at once.

    Attributes:
        id: Stable within a participation: `rate-017-coherence`.
        kind: One of `SCREEN_KINDS`.
        title: The heading.
        body: Structured content: blocks, each an object with a `kind` of `BLOCK_KINDS`.
        fields: The questions, in order.
        deadline_s: Seconds after which the screen is submitted as it stands; none for no limit.
        state: Everything presented that the analysis may need: `condition`, one `factor.NAME` a
            factor, `order` (place in the session), `anchor` (`textual` where the standard was
            shown; its number is an option of the fields), `item`. It goes onto every rating row
            (`dialens.studies._judgements.rating_rows`).
    """

    id: str
    kind: str
    title: str
    body: tuple[Mapping[str, JSON], ...] = ()
    fields: tuple[Field, ...] = ()
    deadline_s: float | None = None
    state: Mapping[str, str | int | float | None] = field(default_factory=dict)

    def as_json(self) -> dict[str, JSON]:
        """The screen as JSON; `from_json` reads it."""
        return {
            "id": self.id,
            "kind": self.kind,
            "title": self.title,
            "body": [dict(block) for block in self.body],
            "fields": [
                {name: getattr(one, name) for name in Field.__dataclass_fields__}
                for one in self.fields
            ],
            "deadline_s": self.deadline_s,
            "state": dict(self.state),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, JSON]) -> "Screen":
        """The screen that `as_json` wrote.

        Examples:
            >>> screen = Screen("rate-1", "rating", "Tea", fields=(Field("sweet", "likert"),))
            >>> Screen.from_json(screen.as_json()) == screen
            True
        """
        fields = tuple(Field(**one) for one in value["fields"])
        return cls(**{**value, "body": tuple(value["body"]), "fields": fields})
