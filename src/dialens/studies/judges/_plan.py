"""What judges will be asked: every rater, cell, seed and screen, before anything is sent."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from dialens.base import DialensError
from dialens.studies import _factors as factors
from dialens.studies._raters import seen
from dialens.studies._study import Study
from dialens.studies._types import JSON, Field, Screen
from dialens.studies.judges._ledger import Ask, Place
from dialens.studies.judges._model import Model
from dialens.studies.judges._prompts import Said, around, how_to_answer, how_to_choose
from dialens.studies.judges._rendering import JUDGED, render, render_hash, unreadable
from dialens.studies.judges._schema import allowed_answers, screen_schema
from dialens.studies.judges._settings import FIRST_OCCASION, Judge, JudgeRater, Judges
from dialens.studies.plan import plan
from dialens.studies.texts import Texts

_TOKENS_A_FIELD = 12
_TOKENS_OF_THOUGHT = {"none": 0, "short": 60, "long": 400}


@dataclass(frozen=True)
class Question:
    """What is asked at once: a screen, or one question of it where answers are weighed.

    Attributes:
        screen: As it was planned, with what the analysis has to know.
        index: Its place among all screens of the participation.
        asked: The screen as it is seen, with the questions that are asked.
        text: What is read.
        unreadable: Why it cannot be read; none if it can.
        answers: What can be answered, where answers are weighed.
    """

    screen: Screen
    index: int
    asked: Screen
    text: str
    unreadable: str | None
    answers: tuple[JSON, ...] = ()

    @property
    def field(self) -> str:
        """The question's name, where it is asked by itself."""
        return self.asked.fields[0].name if self.answers else ""


@dataclass(frozen=True)
class Sitting:
    """A rater's way through the screens of a cell."""

    rater: JudgeRater
    cell: str
    seed: int

    @property
    def first(self) -> tuple[str, str, int]:
        """The rater's name on the first occasion, cell and seed: the same on all occasions."""
        return replace(self.rater, occasion=FIRST_OCCASION).name, self.cell, self.seed


@dataclass(frozen=True)
class JudgePlan:
    """A study, its judges and their models: everything that an ask follows from.

    Attributes:
        study: What is judged.
        judges: By whom, in which variations.
        models: By the judges' names.
        occasion: Whether it is judged for the first time, or the how-manieth.
        only: Sittings that are asked, as `Sitting.first` has them; none for all.
    """

    study: Study
    judges: Judges
    models: Mapping[str, Model] = field(repr=False)
    occasion: int = FIRST_OCCASION
    only: frozenset[tuple[str, str, int]] | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        """Refuse what cannot be asked, before anything is."""
        if self.study.design.conversations is not None:
            raise DialensError(
                "In this study participants talk with agents, and a judge cannot: it would judge "
                "another conversation than people did. Judge the exported conversations instead: "
                "`dialens study export`, then a study of the corpus `conversations`."
            )
        for judge in self.judges.judges:
            self._check(judge)

    def _check(self, judge: Judge) -> None:
        model = self.models[judge.name]
        for name in self.judges.cells_of(judge) or ():
            self.study.cell(name)
        language = self.judges.language_of(judge)
        if language is not None and language not in self.study.languages:
            known = ", ".join(self.study.languages)
            raise DialensError(
                f"{judge.name} is to read the study in {language!r}, and it has no such language. "
                f"Languages: {known}. `dialens study texts` helps to add one."
            )
        if self.judges.budget.cost is not None and model.prices is None:
            raise DialensError(
                f"budget.cost cannot be kept: the prices of {judge.name} are not known. Set "
                "price_in and price_out under its `set`, or limit tokens or requests instead."
            )
        if not any(rater.answer == "probabilities" for rater in self.judges.raters(judge)):
            return
        if not model.weighs:
            raise DialensError(
                f"{judge.name} ({judge.agent}) gives no probabilities of its answers. Use answer: "
                "json or text, or a model of kind openai, gguf, transformers or llama."
            )
        for sitting in self.sittings(judge):
            self.questions(sitting)

    @property
    def raters(self) -> list[JudgeRater]:
        """All raters that are asked, in the order of the file."""
        return list(dict.fromkeys(sitting.rater for sitting in self.all_sittings()))

    def _raters(self, judge: Judge) -> Iterator[JudgeRater]:
        """A judge's raters, as they read this study on this occasion."""
        language = self.judges.language_of(judge) or ""
        own = "" if language == self.study.design.language else language
        for rater in self.judges.raters(judge):
            yield replace(rater, language=own, occasion=self.occasion)

    def said_in(self, rater: JudgeRater) -> Study:
        """The study in the language in which a rater reads it."""
        return self.study.said_in(rater.language)

    def sittings(self, judge: Judge) -> Iterator[Sitting]:
        """Every way through the study of one judge."""
        cells = self.judges.cells_of(judge) or [cell.name for cell in self.study.cells]
        seeds = range(1, self.judges.participations_of(judge) + 1)
        for rater in self._raters(judge):
            for cell in cells:
                for seed in seeds:
                    sitting = Sitting(rater, cell, seed)
                    if self.only is None or sitting.first in self.only:
                        yield sitting

    def all_sittings(self) -> list[Sitting]:
        """Every way through the study of all judges."""
        return [sitting for judge in self.judges.judges for sitting in self.sittings(judge)]

    def questions(self, sitting: Sitting) -> tuple[Question, ...]:
        """What is asked on the way, in order."""
        return self._screens(sitting)[1]

    def place(self, sitting: Sitting, question: Question) -> Place:
        """Where an answer stands."""
        rater = sitting.rater
        return Place(
            self.study.hash,
            str(self.study.design.version),
            rater.name,
            rater.judge,
            rater.prompt,
            rater.temperature,
            rater.memory,
            rater.think,
            rater.answer,
            rater.repeat,
            sitting.cell,
            sitting.seed,
            question.screen.id,
            question.index,
            question.field,
            self.said_in(rater).design.language,
            rater.occasion,
            render_hash(self.judges.prompts[rater.prompt]),
        )

    def message(self, sitting: Sitting, question: Question, *, first: bool) -> str:
        """What is said to the judge: the whole prompt at first, then the next screen."""
        answer = self.answer_form(sitting.rater, question)
        if not first:
            return f"{question.text}\n\n{answer}"
        return around(
            self.judges.prompts[sitting.rater.prompt],
            instructions=self._screens(sitting)[0],
            screen=question.text,
            answer=answer,
        )

    def answer_form(self, rater: JudgeRater, question: Question) -> str:
        """How the judge is to answer, in words."""
        if question.answers:
            return how_to_choose(question.asked.fields[0], self.said_in(rater).texts)
        texts = self.said_in(rater).texts
        return how_to_answer(question.asked, texts, rater.answer, rater.think)

    def schema(self, rater: JudgeRater, question: Question) -> dict[str, JSON] | None:
        """The schema of the answer, where it is to be JSON."""
        if rater.answer != "json":
            return None
        texts = self.said_in(rater).texts
        return screen_schema(question.asked, texts, thought=rater.think != "none")

    def key(self, rater: JudgeRater, said: Sequence[Said], question: Question) -> str:
        """The hash of everything that an answer may depend on, the repeat included."""
        parts = {
            "model": self.models[rater.judge].identity,
            "temperature": rater.temperature,
            "said": [[one.who, one.text] for one in said],
            "schema": self.schema(rater, question),
            "answers": [str(answer) for answer in question.answers],
            "mode": rater.answer,
            "think": rater.think,
            "repeat": rater.repeat,
        }
        if rater.occasion != FIRST_OCCASION:
            parts["occasion"] = rater.occasion
        text = json.dumps(parts, ensure_ascii=False, sort_keys=True)
        return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()

    def predicted_tokens(self, rater: JudgeRater, question: Question) -> int:
        """About how many tokens an answer has."""
        if question.answers:
            return 1
        written = len(question.asked.fields) * _TOKENS_A_FIELD
        return written + _TOKENS_OF_THOUGHT[rater.think]

    @cached_property
    def _screens(self) -> "_Screens":
        return _Screens(self.study)

    @property
    def notes(self) -> list[str]:
        """What a careful colleague should know of the plan."""
        ways = len(factors.within(self.study.design))
        made = []
        if self.study.design.waves:
            made.append(
                "The study has further waves. Judges take the first one only, since they do not "
                "come back: `--again` asks them the same another time."
            )
        for judge in self.judges.judges:
            count = self.judges.participations_of(judge)
            if ways > 1 and count % ways:
                made.append(
                    f"{judge.name} sees each item under some levels of the factors within "
                    f"participants only: participations is {count}, a multiple of {ways} shows "
                    "all of them."
                )
        return made


class _Screens:
    """The screens of a study in words, each cell, seed and language once."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._kept: dict[tuple[str, int, str, str], tuple[str, tuple[Question, ...]]] = {}

    def __call__(self, sitting: Sitting) -> tuple[str, tuple[Question, ...]]:
        rater = sitting.rater
        key = (sitting.cell, sitting.seed, rater.answer, rater.language)
        if key not in self._kept:
            self._kept[key] = self._made(*key)
        return self._kept[key]

    def _made(
        self, cell: str, seed: int, mode: str, language: str
    ) -> tuple[str, tuple[Question, ...]]:
        study = self.study.said_in(language)
        told: dict[str, None] = {}
        questions: list[Question] = []
        for index, screen in enumerate(plan(study, cell, seed)):
            if screen.kind == "instructions":
                told[render(seen(screen), study.texts)] = None
            elif screen.kind in JUDGED:
                questions += self._questions(screen, index, mode, study.texts)
        return "\n\n".join(told), tuple(questions)

    def _questions(self, screen: Screen, index: int, mode: str, texts: Texts) -> Iterator[Question]:
        shown, why = seen(screen), unreadable(screen)
        text = render(shown, texts)
        if mode != "probabilities":
            yield Question(screen, index, shown, text, why)
            return
        for asked in shown.fields:
            answers = self._listed(asked, texts)
            if answers:
                one = Screen(screen.id, screen.kind, screen.title, shown.body, (asked,))
                yield Question(screen, index, one, text, why, answers)

    def _listed(self, asked: Field, texts: Texts) -> tuple[JSON, ...]:
        answers = allowed_answers(asked, texts)
        if answers is None and asked.required:
            raise DialensError(
                f"answer: probabilities needs questions whose answers can be listed, and "
                f"{asked.name!r} ({asked.instrument}) takes others. Use answer: json or text, or "
                "ask with likert, choice, yes_no or pairwise."
            )
        return tuple(answers or ())


def conversation(ask: Ask, said: Said) -> list[Said]:
    """What was said in an ask, mending included; stays in the conversation of a session."""
    made = [said]
    if ask.first_reply is not None and ask.complaint is not None:
        made += [Said("judge", ask.first_reply), Said("study", ask.complaint)]
    return [*made, Said("judge", ask.reply)]


def hash_of(question: Question) -> str:
    """Of what stood on the screen."""
    return render_hash(question.text)
