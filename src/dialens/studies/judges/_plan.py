"""What judges will be asked: every rater, cell, seed and screen, before anything is sent."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from dialens.base import DialensError
from dialens.studies import _factors as factors
from dialens.studies._raters import seen
from dialens.studies._study import Study
from dialens.studies._types import JSON, Field, Screen
from dialens.studies.judges._ledger import FINAL, Ask, Ledger, Place
from dialens.studies.judges._model import Model
from dialens.studies.judges._prompts import Said, around, how_to_answer, how_to_choose
from dialens.studies.judges._rendering import JUDGED, render, render_hash, unreadable
from dialens.studies.judges._schema import allowed_answers, screen_schema
from dialens.studies.judges._settings import Judge, JudgeRater, Judges
from dialens.studies.plan import plan

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


@dataclass(frozen=True)
class JudgePlan:
    """A study, its judges and their models: everything that an ask follows from."""

    study: Study
    judges: Judges
    models: Mapping[str, Model] = field(repr=False)

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
        """All raters, in the order of the file."""
        return [rater for judge in self.judges.judges for rater in self.judges.raters(judge)]

    def sittings(self, judge: Judge) -> Iterator[Sitting]:
        """Every way through the study of one judge."""
        cells = self.judges.cells_of(judge) or [cell.name for cell in self.study.cells]
        seeds = range(1, self.judges.participations_of(judge) + 1)
        for rater in self.judges.raters(judge):
            for cell in cells:
                for seed in seeds:
                    yield Sitting(rater, cell, seed)

    def all_sittings(self) -> list[Sitting]:
        """Every way through the study of all judges."""
        return [sitting for judge in self.judges.judges for sitting in self.sittings(judge)]

    def questions(self, sitting: Sitting) -> tuple[Question, ...]:
        """What is asked on the way, in order."""
        return self._screens(sitting.cell, sitting.seed, sitting.rater.answer)[1]

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
        )

    def message(self, sitting: Sitting, question: Question, *, first: bool) -> str:
        """What is said to the judge: the whole prompt at first, then the next screen."""
        answer = self.answer_form(sitting.rater, question)
        if not first:
            return f"{question.text}\n\n{answer}"
        return around(
            self.judges.prompts[sitting.rater.prompt],
            instructions=self._screens(sitting.cell, sitting.seed, sitting.rater.answer)[0],
            screen=question.text,
            answer=answer,
        )

    def answer_form(self, rater: JudgeRater, question: Question) -> str:
        """How the judge is to answer, in words."""
        if question.answers:
            return how_to_choose(question.asked.fields[0], self.study.texts)
        return how_to_answer(question.asked, self.study.texts, rater.answer, rater.think)

    def schema(self, rater: JudgeRater, question: Question) -> dict[str, JSON] | None:
        """The schema of the answer, where it is to be JSON."""
        if rater.answer != "json":
            return None
        return screen_schema(question.asked, self.study.texts, thought=rater.think != "none")

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
    """The screens of a study in words, each cell and seed once."""

    def __init__(self, study: Study) -> None:
        self.study = study
        self._kept: dict[tuple[str, int, str], tuple[str, tuple[Question, ...]]] = {}

    def __call__(self, cell: str, seed: int, mode: str) -> tuple[str, tuple[Question, ...]]:
        key = (cell, seed, mode)
        if key not in self._kept:
            self._kept[key] = self._made(cell, seed, mode)
        return self._kept[key]

    def _made(self, cell: str, seed: int, mode: str) -> tuple[str, tuple[Question, ...]]:
        texts = self.study.texts
        told: dict[str, None] = {}
        questions: list[Question] = []
        for index, screen in enumerate(plan(self.study, cell, seed)):
            if screen.kind == "instructions":
                told[render(seen(screen), texts)] = None
            elif screen.kind in JUDGED:
                questions += self._questions(screen, index, mode)
        return "\n\n".join(told), tuple(questions)

    def _questions(self, screen: Screen, index: int, mode: str) -> Iterator[Question]:
        shown, why = seen(screen), unreadable(screen)
        text = render(shown, self.study.texts)
        if mode != "probabilities":
            yield Question(screen, index, shown, text, why)
            return
        for asked in shown.fields:
            answers = self._listed(asked)
            if answers:
                one = Screen(screen.id, screen.kind, screen.title, shown.body, (asked,))
                yield Question(screen, index, one, text, why, answers)

    def _listed(self, asked: Field) -> tuple[JSON, ...]:
        answers = allowed_answers(asked, self.study.texts)
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


@dataclass
class PlannedCosts:
    """What is still to be asked of a judge.

    Attributes:
        judge: Its name.
        raters: Combinations of settings and repeats.
        cells: How many.
        screens: Places to be filled.
        unreadable: Places that cannot be, because of pictures or sounds.
        known: Places that an earlier run filled.
        saved: Places that read the same as another.
        requests: To be made.
        tokens_in: To be read, about.
        tokens_out: To be written, about.
        cost: None if no price is known.
        seconds: One after the other; none if nothing is known of the model.
    """

    judge: str
    raters: int = 0
    cells: int = 0
    screens: int = 0
    unreadable: int = 0
    known: int = 0
    saved: int = 0
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    seconds: float | None = None


def planned_costs(made: JudgePlan, ledger: Ledger | None = None) -> list[PlannedCosts]:
    """What a run would come to, judge by judge; nothing is asked.

    Args:
        made: The plan.
        ledger: What was asked before, if anything.
    """
    taken: set[str] = set()
    return [_costs(made, judge, ledger, taken) for judge in made.judges.judges]


def _costs(made: JudgePlan, judge: Judge, ledger: Ledger | None, taken: set[str]) -> PlannedCosts:
    sittings = list(made.sittings(judge))
    model = made.models[judge.name]
    costs = PlannedCosts(
        judge.name, len({s.rater for s in sittings}), len({s.cell for s in sittings})
    )
    for sitting in sittings:
        history: list[Said] | None = []
        read_before = 0
        for question in made.questions(sitting):
            if question.unreadable is not None:
                costs.unreadable += 1
                continue
            costs.screens += 1
            fresh = sitting.rater.memory == "fresh"
            text = made.message(sitting, question, first=fresh or not (history or read_before))
            said = Said("study", text)
            if history is not None:
                key = made.key(sitting.rater, [*history, said], question)
                ask = None if ledger is None else ledger.ask(key)
                if ask is not None and ask.state in FINAL:
                    holds = (
                        None if ledger is None else ledger.holds(made.place(sitting, question), key)
                    )
                    costs.known += holds is True
                    costs.saved += holds is not True
                    history = [] if fresh else [*history, *conversation(ask, said)]
                    read_before = 0 if fresh else read_before + model.tokens(text)
                    continue
                if fresh and key in taken:
                    costs.saved += 1
                    continue
                taken.add(key)
            reply = made.predicted_tokens(sitting.rater, question)
            costs.requests += 1
            costs.tokens_in += read_before + model.tokens(text)
            costs.tokens_out += reply
            if not fresh:
                read_before += model.tokens(text) + reply
                history = None  # what comes next depends on what will be answered
    if model.prices is not None:
        per_read, per_written = model.prices
        costs.cost = (costs.tokens_in * per_read + costs.tokens_out * per_written) / 1e6
    pace = None if ledger is None else ledger.seconds_a_request(model.identity)
    costs.seconds = None if pace is None else pace * costs.requests
    return costs


def hash_of(question: Question) -> str:
    """Of what stood on the screen."""
    return render_hash(question.text)
