"""What a study file may say: the whole of it, as pydantic models."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, model_validator
from pydantic import Field as Setting

from dialens.base import did_you_mean
from dialens.studies._kinds import OneOf
from dialens.studies._words import ALWAYS, MATERIAL, WORDS
from dialens.studies.design._allocation import Allocation, allocation_problem
from dialens.studies.design._anchors import anchor_problem
from dialens.studies.design._consistency import level_problem, response_problem, talk_problem
from dialens.studies.design._conversations import Conversations
from dialens.studies.design._entry import Entry, entry_problem
from dialens.studies.design._factors import Factors, InstrumentSettings, factor_problem
from dialens.studies.design._gates import Codes, Comprehension, Consent, Screening
from dialens.studies.design._items import (
    NO_ITEMS,
    GoldEntry,
    ItemEntry,
    Items,
    Section,
    UtteranceEntry,
    Utterances,
    misplaced,
)
from dialens.studies.design._presentation import Presentation
from dialens.studies.design._questions import AttentionCheck, Name, Questionnaires
from dialens.studies.design._recruiter import LinkRecruiter, RecruiterSettings
from dialens.studies.design._retention import Retention
from dialens.studies.design._waves import Wave, wave_problem
from dialens.studies.instruments import ChoiceSettings, instrument
from dialens.studies.recruiters import recruiters
from dialens.studies.texts import Texts, text_problem

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

_LINES_RATIO = 50
EACH = "each"
"""Key of `targets` for every cell that is not named."""

NAME = r"^[a-z0-9][a-z0-9_-]{0,59}$"
"""What a study may be called."""

Language = Annotated[str, Setting(pattern=r"^[a-z]{2,3}(-[A-Za-z0-9]+)*$", max_length=35)]
"""A language as in HTML: `en`, `pt-BR`."""


class Quality(Section):
    """Something that is judged."""

    label: Annotated[str, ALWAYS] = ""
    """What participants read; the name if not given."""
    definition: Annotated[str, WORDS] = ""
    """What it means; shown in the instructions and beside the question."""
    question: Annotated[str, WORDS] = ""
    """What is asked; the label if not given."""
    instrument: InstrumentSettings
    """How it is judged."""
    required: bool = True
    """Whether it has to be answered."""
    lower_is_better: bool = False
    """Whether less of it is better, as of insulting: the agent with the lowest ratings is best."""
    level: Literal["item", "turn", "dialogue"] | None = None
    """Of items: `item` asks once an item instead of once a response; the answer stays with the
    answers. Of conversations: whether each reply is judged (`turn`), or the whole conversation at
    its end (`dialogue`)."""


class Example(Section):
    """A worked example in the instructions."""

    context: Annotated[Utterances, WORDS] = Setting(default_factory=list)
    """The conversation so far."""
    response: Annotated[str, WORDS]
    """A response to it."""
    verdict: Annotated[str, WORDS]
    """How it was judged."""
    why: Annotated[str, WORDS] = ""
    """Why."""


class Instructions(Section):
    """What participants read before they rate; the definitions follow by themselves."""

    title: Annotated[str | None, WORDS] = None
    """The heading; “What to do” in the study's language if not given."""
    text: Annotated[str, WORDS] = Setting(min_length=1)
    """What to do."""
    warning: Annotated[str, WORDS] = ""
    """What some may not want to read."""
    when: Annotated[dict[str, str], WORDS] = Setting(default_factory=dict)
    """Further text for some participants only, by level: `anchor=both: …`."""
    examples: list[Example] = Setting(default_factory=list)
    """Worked examples."""
    comprehension: Comprehension | None = None
    """Questions about them, which have to be answered rightly to go on."""


class Practice(Section):
    """Rounds that do not count."""

    text: Annotated[str | None, WORDS] = None
    """What stands above them; that they do not count, in the study's language, if not given."""
    lines: list[Annotated[float, Setting(gt=0, le=1000)]] = Setting(default_factory=list)
    """Lengths of lines to be judged by magnitude estimation; the first is the standard. Only
    their ratios count: they are drawn to one scale."""
    items: list[ItemEntry] = Setting(default_factory=list)
    """Items to be judged like the others."""

    @model_validator(mode="after")
    def _lines_can_be_compared(self) -> Self:
        if len(self.lines) == 1:
            raise ValueError("lines: one line is the standard, give at least one to judge")
        if self.lines and max(self.lines) > _LINES_RATIO * min(self.lines):
            raise ValueError(
                f"lines: {max(self.lines):g} is more than {_LINES_RATIO} times "
                f"{min(self.lines):g}; drawn to one scale, the short one could not be seen"
            )
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
    """From consent to the last screen."""
    idle_minutes: float = Setting(default=30.0, gt=0)
    """Without a sign of life; then the place is free for somebody else."""


class Completion(Section):
    """What happens at the end."""

    title: Annotated[str | None, WORDS] = None
    """The heading; “Thank you” in the study's language if not given."""
    message: Annotated[str | None, WORDS] = None
    """What participants read; that all is saved, in the study's language, if not given."""
    codes: Codes = Codes()
    """Completion codes, by how a participation ends."""
    waves: dict[Name, Codes] = Setting(default_factory=dict)
    """The same for further waves, by name."""


def _targets(value: Any) -> Any:
    if isinstance(value, dict):
        return value
    if not isinstance(value, int) or isinstance(value, bool):
        raise ValueError(f"has to be a whole number, or numbers by cell; seen: {value!r}")
    return {EACH: value}


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

    study: str = Setting(pattern=NAME, max_length=60)
    """The study's name: small letters, digits, hyphens."""
    version: int = Setting(default=1, ge=1)
    """Raised when what participants see changes after people took part."""
    title: Annotated[str, WORDS]
    """What participants read at the top."""
    description: str = ""
    """For colleagues."""
    language: Language = "en"
    """Of the pages, as in HTML; buttons, helps and messages are said in it."""
    languages: list[Language] = Setting(default_factory=list)
    """Languages that participants choose from, `language` among them; the words of each other
    one stand beside the study file: `study.de.yaml`."""
    texts: str | dict[str, str] = Setting(default_factory=dict)
    """Words in place of the program's own, by key, or a YAML file of them beside the study file."""
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
    allocation: Allocation = Allocation()
    """Which cell the next participant goes to, and when it is enough."""
    contact: Annotated[str, MATERIAL] = ""
    """Whom participants can write to: a name and an address, at hand on every page."""
    consent: Consent
    """What participants agree to."""
    screening: Screening | None = None
    """Questions that decide who may take part."""
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
    retention: Retention = Retention()
    """How long what people gave is kept."""
    resume: Literal["resume", "restart", "block"] = "resume"
    """Somebody who comes back goes on, begins anew, or is not let in."""
    admit_earlier: bool = False
    """Whether people who took part in an earlier version may take part in this one."""
    completion: Completion = Completion()
    """What happens at the end."""
    waves: dict[Name, Wave] = Setting(default_factory=dict)
    """Further parts for which participants come back later, by name, in this order."""
    recruiter: _Recruiter = LinkRecruiter()
    """Where participants come from and what they get."""
    entry: Entry = Entry()
    """Who is let in, and who may go on in another browser."""
    hypotheses: list[str] = Setting(default_factory=list)
    """For the preregistration: what is expected."""
    analysis_plan: str = ""
    """For the preregistration: how it will be tested, and what is left out."""

    @model_validator(mode="after")
    def _languages_differ(self) -> Self:
        if self.languages and self.language not in self.languages:
            raise misplaced("languages", f"{self.language!r}, the study's language, is missing")
        for place, language in enumerate(self.languages):
            if self.languages.index(language) < place:
                raise misplaced(f"languages.{place}", f"{language!r} is there twice")
        return self

    @model_validator(mode="after")
    def _texts_are_known(self) -> Self:
        for key, text in self.texts.items() if isinstance(self.texts, dict) else ():
            problem = text_problem(key, text)
            if problem:
                raise misplaced(f"texts.{key}", problem)
        return self

    @model_validator(mode="after")
    def _something_is_judged(self) -> Self:
        if self.conversations is None:
            if "items" not in self.model_fields_set:
                raise ValueError("give items (what is judged), or conversations to be had first")
            for name, quality in self.qualities.items():
                misfit = level_problem(self, quality)
                if misfit:
                    raise misplaced(f"qualities.{name}.level", misfit)
            problem = response_problem(self)
            if problem:
                raise misplaced(*problem)
            return self
        problem = talk_problem(self)
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
    def _what_stays_in_view_is_there(self) -> Self:
        anchors = self.factors.get("anchor")
        shown = [level.name for level in anchors.levels] if anchors else [self.presentation.anchor]
        if self.presentation.sticky == "standard" and set(shown) == {"none"}:
            raise misplaced(
                "presentation.sticky",
                "no standard is shown: set presentation.anchor or vary factors.anchor, "
                "or let the context stay in view",
            )
        return self

    @model_validator(mode="after")
    def _people_can_come(self) -> Self:
        sample = self.items.sample
        problem = entry_problem(self.entry, self.recruiter.kind) or wave_problem(
            self.waves,
            dict(self.completion.waves),
            self.recruiter.kind,
            sampled=sample is not None and sample.by == "participant",
        )
        if problem:
            raise misplaced(*problem)
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
            if instrument(asked.kind).judges == "none":
                raise misplaced(
                    f"qualities.{name}.instrument",
                    f"{asked.kind} is for questionnaires. Give each statement a quality of its own",
                )
        several = [name for name in self.qualities if self._judges(name) == "several"]
        if several and self.items.unit != "response":
            raise misplaced(
                f"qualities.{several[0]}.instrument",
                "compares several responses to one context; "
                f"items.unit is {self.items.unit}, where there is one thing to judge at a time",
            )
        problem = anchor_problem(self) or allocation_problem(self)
        if problem:
            raise misplaced(*problem)
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
    def _questions_differ(self) -> Self:
        asked = self.questionnaires
        taken = {name for part in (*asked.before, *asked.after) for name in part.questions}
        for name in self.screening.questions if self.screening else ():
            if name in taken:
                raise misplaced(f"screening.questions.{name}", "a questionnaire asks it, too")
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


def texts_of(design: Design) -> Texts:
    """What participants of a study read beside its own words.

    Examples:
        >>> from dialens.studies._examples import TEA
        >>> texts_of(Design.model_validate({**TEA, "language": "fr"})).say("continue")
        'Continuer'
    """
    return Texts.of(design.language, design.texts if isinstance(design.texts, dict) else {})
