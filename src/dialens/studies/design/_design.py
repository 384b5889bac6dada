"""What a study file may say: the whole of it, as pydantic models."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, model_validator
from pydantic import Field as Setting

from dialens.base import did_you_mean
from dialens.studies._kinds import OneOf
from dialens.studies.design._conversations import AGENT, Conversations
from dialens.studies.design._factors import Factors, InstrumentSettings, factor_problem
from dialens.studies.design._items import (
    NO_ITEMS,
    GoldEntry,
    ItemEntry,
    Items,
    Section,
    UtteranceEntry,
    Utterances,
    as_word,
    misplaced,
)
from dialens.studies.design._questions import AttentionCheck, Name, Questionnaires
from dialens.studies.design._recruiter import LinkRecruiter, RecruiterSettings
from dialens.studies.instruments import ChoiceSettings, instrument
from dialens.studies.recruiters import recruiters

__all__ = [
    "Checks",
    "Completion",
    "Consent",
    "Design",
    "Example",
    "Instructions",
    "ItemEntry",
    "Limits",
    "Practice",
    "Presentation",
    "Quality",
    "UtteranceEntry",
]

EACH = "each"
"""Key of `targets` for every cell that is not named."""

_Order = Annotated[Literal["random", "latin_square", "fixed"], BeforeValidator(as_word)]


class Quality(Section):
    """Something that is judged."""

    label: str = ""
    """What participants read; the name if not given."""
    definition: str = ""
    """What it means; shown in the instructions and beside the question."""
    question: str = ""
    """What is asked; the label if not given."""
    instrument: InstrumentSettings
    """How it is judged."""
    required: bool = True
    """Whether it has to be answered."""
    lower_is_better: bool = False
    """Whether less of it is better, as of insulting: the agent with the lowest ratings is best."""
    level: Literal["turn", "dialogue"] | None = None
    """Of conversations: whether each reply is judged, or the whole conversation at its end."""


class Presentation(Section):
    """How ratings are presented, where it is not a factor."""

    anchor: Annotated[Literal["none", "numerical", "textual", "both"], BeforeValidator(as_word)] = (
        "none"
    )
    """What is shown of the standard: nothing, its number, its text, or both."""
    anchor_value: float | None = None
    """The number that is shown; the modulus of magnitude estimation if not given."""
    standard_label: str = "Standard response"
    """What the standard is called."""
    layout: Annotated[Literal["together", "separate", "single"], BeforeValidator(as_word)] = (
        "together"
    )
    """All questions on one screen, one quality a screen, or one rating a screen."""
    order: _Order = "random"
    """Of the items."""
    responses: _Order = "latin_square"
    """Of the responses on the screen."""
    qualities: _Order = "fixed"
    """Of the qualities."""
    deadline: float | None = Setting(default=None, gt=0)
    """Seconds for a rating screen."""
    response_label: str = "Response"
    """What responses are called: `Response 1`, `Response 2`."""


class Consent(Section):
    """What participants agree to."""

    title: str = "Before you begin"
    """The heading."""
    text: str = Setting(min_length=1)
    """Who asks, what for, what is stored, whom to write to."""
    warning: str = ""
    """What some may not want to read."""
    agree: str = "I have read this and want to take part."
    """What they agree to."""


class Example(Section):
    """A worked example in the instructions."""

    context: Utterances = Setting(default_factory=list)
    """The conversation so far."""
    response: str
    """A response to it."""
    verdict: str
    """How it was judged."""
    why: str = ""
    """Why."""


class Instructions(Section):
    """What participants read before they rate; the definitions follow by themselves."""

    title: str = "What to do"
    """The heading."""
    text: str = Setting(min_length=1)
    """What to do."""
    warning: str = ""
    """What some may not want to read."""
    when: dict[str, str] = Setting(default_factory=dict)
    """Further text for some participants only, by level: `anchor=both: …`."""
    examples: list[Example] = Setting(default_factory=list)
    """Worked examples."""


class Practice(Section):
    """Rounds that do not count."""

    text: str = "These rounds are for practice and do not count."
    """What stands above them."""
    lines: list[Annotated[float, Setting(gt=0, le=1000)]] = Setting(default_factory=list)
    """Lengths of lines to be judged by magnitude estimation; the first is the standard."""
    items: list[ItemEntry] = Setting(default_factory=list)
    """Items to be judged like the others."""

    @model_validator(mode="after")
    def _lines_can_be_compared(self) -> Self:
        if len(self.lines) == 1:
            raise ValueError("lines: one line is the standard, give at least one to judge")
        return self


class Checks(Section):
    """Ways to see who pays attention."""

    attention: dict[Name, AttentionCheck] = Setting(default_factory=dict)
    """Questions with a right answer, by name."""
    gold: list[GoldEntry] = Setting(default_factory=list)
    """Items with a known answer, mixed among the others."""


class Limits(Section):
    """How long things may take."""

    session_minutes: float = Setting(default=180.0, gt=0)
    """From the first screen to the last."""
    idle_minutes: float = Setting(default=30.0, gt=0)
    """Without a sign of life; then the place is given to somebody else."""


class Completion(Section):
    """What happens at the end."""

    title: str = "Thank you"
    """The heading."""
    message: str = "Your answers have been saved."
    """What participants read."""
    code: str | None = Setting(default=None, pattern=r"^[A-Za-z0-9-]{4,64}$")
    """The completion code; one is made for each participant if not given."""


def _targets(value: Any) -> Any:
    return {EACH: value} if isinstance(value, int) and not isinstance(value, bool) else value


_Count = Annotated[int, Setting(ge=1)]
_Targets = Annotated[
    dict[str, _Count],
    BeforeValidator(_targets, json_schema_input_type=_Count | dict[str, _Count]),
]


_Recruiter = Annotated[
    RecruiterSettings, OneOf(lambda: [kind.settings for kind in recruiters().values()])
]


class Design(Section):
    """A rating study: what is judged, how it is asked, what is varied, and by whom."""

    study: str = Setting(pattern=r"^[a-z0-9][a-z0-9_-]*$", max_length=60)
    """The study's name: small letters, digits, hyphens."""
    version: int = Setting(default=1, ge=1)
    """Raised when what participants see changes after people took part."""
    title: str
    """What participants read at the top."""
    description: str = ""
    """For colleagues."""
    language: str = Setting(default="en", pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]+)*$")
    """Of the pages, as in HTML."""
    items: Items = NO_ITEMS
    """What is judged, where it is there already."""
    conversations: Conversations | None = None
    """Conversations that participants have and then judge, instead of items."""
    qualities: dict[Name, Quality] = Setting(min_length=1)
    """What it is judged on, by name."""
    factors: Factors = Setting(default_factory=dict)
    """What is varied, by name."""
    presentation: Presentation = Presentation()
    """How ratings are presented, where it is not a factor."""
    targets: _Targets = Setting(default_factory=lambda: {EACH: 20})
    """Participants wanted in each cell: a number, or numbers by cell."""
    consent: Consent
    """What participants agree to."""
    instructions: Instructions
    """What they read before they rate."""
    practice: Practice = Setting(default_factory=Practice)
    """Rounds that do not count."""
    checks: Checks = Setting(default_factory=Checks)
    """Ways to see who pays attention."""
    questionnaires: Questionnaires = Setting(default_factory=Questionnaires)
    """What is asked before and after."""
    limits: Limits = Limits()
    """How long things may take."""
    resume: Literal["resume", "restart", "block"] = "resume"
    """Somebody who comes back goes on, begins anew, or is not let in."""
    admit_earlier: bool = False
    """Whether people who took part in an earlier version may take part in this one."""
    completion: Completion = Completion()
    """What happens at the end."""
    recruiter: _Recruiter = LinkRecruiter()
    """Where participants come from and what they get."""
    hypotheses: list[str] = Setting(default_factory=list)
    """For the preregistration: what is expected."""
    analysis_plan: str = ""
    """For the preregistration: how it will be tested, and what is left out."""

    @model_validator(mode="after")
    def _something_is_judged(self) -> Self:
        if self.conversations is None:
            if "items" not in self.model_fields_set:
                raise ValueError("give items (what is judged), or conversations to be had first")
            for name, quality in self.qualities.items():
                if quality.level is not None:
                    raise misplaced(f"qualities.{name}.level", "is for studies with conversations")
            return self
        problem = _talk_problem(self)
        if problem:
            raise misplaced(*problem)
        return self

    @model_validator(mode="after")
    def _factors_are_known(self) -> Self:
        for name, factor in self.factors.items():
            problem = factor_problem(name, factor)
            if problem:
                place, said = problem
                raise misplaced(f"factors.{name}.{place}".rstrip("."), said)
        return self

    @model_validator(mode="after")
    def _one_way_to_count(self) -> Self:
        if self.items.lists is not None and "targets" in self.model_fields_set:
            raise misplaced("targets", "items.lists.annotators says how many are wanted already")
        return self

    @model_validator(mode="after")
    def _instruments_fit(self) -> Self:
        for name, quality in self.qualities.items():
            asked = quality.instrument
            if isinstance(asked, ChoiceSettings) and not asked.values:
                raise misplaced(
                    f"qualities.{name}.instrument",
                    "needs `values`: the choices and the number each stands for, "
                    "e.g. {engaging: 1, not engaging: 0}",
                )
        several = [name for name in self.qualities if self._judges(name) == "several"]
        if several and self.items.unit != "response":
            raise misplaced(
                f"qualities.{several[0]}.instrument",
                "compares several responses to one context; "
                f"items.unit is {self.items.unit}, where there is one thing to judge at a time",
            )
        return self

    @model_validator(mode="after")
    def _expectations_are_of_qualities(self) -> Self:
        for place, gold in enumerate(self.checks.gold):
            for at, rule in enumerate(gold.expect):
                where = f"checks.gold.{place}.expect.{at}"
                if rule.quality not in self.qualities:
                    hint = did_you_mean(rule.quality, self.qualities)
                    raise misplaced(f"{where}.quality", f"{rule.quality!r} is no quality. {hint}")
                for response in (rule.response, rule.above):
                    if response is not None and response not in gold.responses:
                        hint = did_you_mean(response, gold.responses)
                        raise misplaced(where, f"{response!r} is no response of this item. {hint}")
        return self

    @model_validator(mode="after")
    def _instructions_are_for_levels(self) -> Self:
        known = [
            f"{name}={level.name}"
            for name, factor in self.factors.items()
            for level in factor.levels
        ]
        for key in self.instructions.when:
            if key not in known:
                hint = did_you_mean(key, known)
                seen = ", ".join(known) or "there are no factors"
                raise misplaced(
                    "instructions.when", f"{key!r} is no level of a factor. {hint}Levels: {seen}."
                )
        return self

    def _judges(self, quality: str) -> str:
        return instrument(self.qualities[quality].instrument.kind).judges


def _talk_problem(design: Design) -> tuple[str, str] | None:
    """What does not go together with conversations: where, and why; None if nothing."""
    if "items" in design.model_fields_set:
        return "items", "a study has items or conversations, not both"
    for name, quality in design.qualities.items():
        if quality.level is None:
            return f"qualities.{name}", "needs `level`: turn (each reply) or dialogue (the whole)"
        if instrument(quality.instrument.kind).judges == "several":
            return f"qualities.{name}.instrument", "compares responses; here there is one at a time"
    for name, factor in design.factors.items():
        if name == AGENT:
            return f"factors.{name}", "the name `agent` is taken by conversations.agents"
        if name in ("anchor", "order") or factor.assign == "within":
            return f"factors.{name}", "cannot vary where participants talk with agents"
    if design.presentation.anchor != "none":
        return "presentation.anchor", "needs a standard response, which a conversation has not"
    if design.practice.items:
        return "practice.items", "a study with conversations has no items"
    if design.checks.gold:
        return "checks.gold", "a study with conversations has no items"
    return None
