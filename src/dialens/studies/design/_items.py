"""The part of a study file that says what is judged."""

from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator
from pydantic import Field as Setting
from pydantic_core import PydanticCustomError

from dialens.studies._words import MATERIAL


class Section(BaseModel):
    """A part of the study file: unknown keys are refused, nothing changes once it is read."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, use_attribute_docstrings=True, defer_build=True
    )


class ChosenAgent(Section):
    """An agent as the command line names it, with its settings."""

    agent: str = Setting(min_length=1, max_length=2_000)
    """As on the command line: `openai:gpt-4o-mini`, `hred`, `script:FILE`, `llama:FILE` …"""
    set: dict[str, bool | int | float | str] = Setting(default_factory=dict)
    """Its settings: persona, temperature, endpoint …; `dialens agents kinds KIND` lists them."""

    @property
    def kind(self) -> str:
        """What stands before the colon."""
        return self.agent.partition(":")[0].strip()

    @property
    def target(self) -> str:
        """What stands after it."""
        return self.agent.partition(":")[2].strip()


def as_word(value: Any) -> Any:
    """One spelling for words with a space: `Latin square` is `latin_square`.

    Examples:
        >>> as_word("Latin square"), as_word(None), as_word(5)
        ('latin_square', 'none', 5)
    """
    if value is None:
        return "none"
    return (
        value.strip().lower().replace(" ", "_").replace("-", "_")
        if isinstance(value, str)
        else value
    )


def misplaced(at: str, said: str) -> PydanticCustomError:
    """A problem that a section sees in a part of itself, with the way to that part.

    Examples:
        >>> misplaced("factors.anchor", "is odd").context["at"]
        'factors.anchor'
    """
    return PydanticCustomError("misplaced", "{said}", {"said": said, "at": at})


def _utterance(value: Any) -> Any:
    """`{user: hello}` as speaker and text; a bare string has no speaker yet."""
    if isinstance(value, str):
        return {"text": value}
    if isinstance(value, dict) and len(value) == 1 and "text" not in value:
        speaker, text = next(iter(value.items()))
        return {"speaker": speaker, "text": text}
    return value


class UtteranceEntry(Section):
    """One utterance of a conversation."""

    text: str = Setting(min_length=1)
    """What was said."""
    speaker: str = ""
    """Who said it; without names two speakers alternate."""


_Spoken = str | dict[str, str]
Utterances = list[
    Annotated[UtteranceEntry, BeforeValidator(_utterance, json_schema_input_type=_Spoken)]
]


def _utterances(value: Any) -> Any:
    return [value] if isinstance(value, str) else value


class Expectation(Section):
    """What an attentive participant says of a gold item."""

    quality: str
    """The quality it is about."""
    response: str
    """The response it is about."""
    at_least: float | None = None
    """The rating is this or more."""
    at_most: float | None = None
    """The rating is this or less."""
    above: str | None = None
    """The rating is better than that of this other response."""

    @model_validator(mode="after")
    def _says_something(self) -> Self:
        if self.at_least is None and self.at_most is None and self.above is None:
            raise ValueError("give at_least, at_most or above: what the rating has to be")
        return self


class MediaEntry(Section):
    """A picture, a sound or a film."""

    file: Annotated[str, MATERIAL] = Setting(min_length=1)
    """Where it lies, relative to the study file, beside it or in a folder there; a translation may
    have a file of its own."""
    alt: Annotated[str, MATERIAL] = Setting(min_length=1, max_length=2_000)
    """What it shows or says, in words, for those who cannot see or hear it."""
    of: str | None = None
    """The response that it belongs to; the context if not given."""


class Origin(Section):
    """Where a response, or a whole conversation, comes from, in the words of a corpus."""

    dialog: str = Setting(min_length=1)
    """The conversation."""
    turn: int | None = Setting(default=None, ge=0)
    """Number of the turn that the response is; where the context ends if not given."""
    agent: str = ""
    """Who gave it; the name of the response if not given."""
    system: str = ""
    """What the agent belongs to; the study's name if not given."""


class ItemEntry(Section):
    """One item: a context and the responses to it, or a whole conversation."""

    id: str = Setting(min_length=1, max_length=200)
    """Unique in the study."""
    context: Annotated[
        Utterances,
        BeforeValidator(_utterances, json_schema_input_type=str | list[_Spoken]),
        MATERIAL,
    ] = Setting(default_factory=list)
    """The conversation so far: texts, or `speaker: text`."""
    responses: Annotated[dict[str, str], MATERIAL] = Setting(default_factory=dict)
    """Candidate responses, by the agent that gave them."""
    variants: Annotated[dict[str, dict[str, str]], MATERIAL] = Setting(default_factory=dict)
    """Other forms of responses, by agent and by level of the factor `variant`: `{agent_a: {padded:
    …}}`. The level `plain` is the response itself."""
    origins: dict[str, Origin] = Setting(default_factory=dict)
    """Where responses come from, so that their ratings find the way back: `{agent_a: {dialog: d7,
    turn: 3}}`; of a whole conversation by the speaker that is judged."""
    standard: Annotated[str | None, MATERIAL] = None
    """The response that others are compared with."""
    media: list[MediaEntry] = Setting(default_factory=list)
    """Pictures, sounds and films, of the context or of a response."""
    agent: Annotated[str | None, MATERIAL] = None
    """For whole conversations: the speaker that is judged; the second one if not given."""


class GoldEntry(ItemEntry):
    """An item whose right answer is known, mixed among the others."""

    expect: list[Expectation] = Setting(min_length=1)
    """What has to hold of the answers for the check to be passed."""


class Sample(Section):
    """Which of the items are used."""

    count: int = Setting(ge=1)
    """How many."""
    by: Literal["study", "participant"] = "participant"
    """`study`: everybody judges the same ones; `participant`: each judges ones of their own."""


class Lists(Section):
    """Items dealt into lists, each list judged by a fixed number of participants."""

    length: int = Setting(ge=1)
    """Items in a list; one participant judges one list."""
    annotators: int = Setting(default=3, ge=1)
    """Participants for each list (in each cell)."""


class Items(Section):
    """What is judged: items written here, in a file beside, or the conversations of a corpus."""

    inline: list[ItemEntry] | None = None
    """Items written here."""
    file: Annotated[str | None, MATERIAL] = None
    """A YAML or JSONL file with such items, relative to the study file."""
    corpus: Annotated[str | None, MATERIAL] = None
    """A corpus in any format that `dialens formats` lists, relative to the study file."""
    format: str | None = None
    """The corpus's format; sniffed if not given."""
    agents: list[str] | None = None
    """Only these agents of the corpus."""
    standard: str | None = None
    """Of a corpus: `reference`, or the agent whose response is the standard."""
    variants: str | None = None
    """Of a corpus: the field beside an agent's reply that says which variant of it this is
    (`plain` where it is empty); dialogues of one agent and context are then one response."""
    unit: Literal["response", "dialogue", "turn"] = "response"
    """What is judged: responses to one context, whole dialogues, or an agent's turns in turn."""
    sample: Sample | None = None
    """Fewer items than there are."""
    lists: Lists | None = None
    """Items dealt into lists with a fixed number of annotators."""

    @model_validator(mode="after")
    def _one_source(self) -> Self:
        given = [name for name in ("inline", "file", "corpus") if getattr(self, name) is not None]
        if len(given) != 1:
            seen = " and ".join(given) or "none of them"
            raise ValueError(f"items come from one of inline, file and corpus; seen: {seen}")
        for name in ("format", "agents", "standard", "variants"):
            if self.corpus is None and getattr(self, name) is not None:
                raise ValueError(f"{name} is for items from a corpus")
        if self.sample is not None and self.lists is not None:
            raise ValueError("give sample or lists, not both: lists hold all items")
        return self


NO_ITEMS = Items(inline=[])
"""Of a study whose participants have conversations instead."""
