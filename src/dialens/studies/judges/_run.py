"""Asking judges: several at a time, under a budget, each answer on disk before it counts."""

import json
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeVar

from dialens.base import Advance, OverBudget, RunningBudget, Spent, work_through
from dialens.studies._types import JSON
from dialens.studies.instruments import validate
from dialens.studies.judges._answers import is_refusal, read_answer
from dialens.studies.judges._ledger import (
    ANSWERED,
    FAILED,
    FINAL,
    MALFORMED,
    OVER_BUDGET,
    REFUSED,
    REPAIRING,
    UNREADABLE,
    Ask,
    Ledger,
)
from dialens.studies.judges._model import Model, ModelError, ModelReply, distribution
from dialens.studies.judges._plan import JudgePlan, Question, Sitting, conversation, hash_of
from dialens.studies.judges._prompts import Said, repair
from dialens.studies.judges._settings import JudgeRater

_Number = TypeVar("_Number", int, float)
_MOST_FAILURES = 3
_EARLIER = "an earlier screen of the session has no answer yet"
_NOTHING_LIKELY = "none of the allowed answers is among what the model would say"


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Judged:
    """What a run came to.

    Attributes:
        states: Places by how they ended: `answered`, or why they are missing.
        spent: What this run used.
        known: Places that an earlier run had filled, by how they ended.
        saved: Places that were filled by an answer to the same text, without asking.
        saved_cost: What they would have cost.
        repaired: Answers that were right at the second try.
        reasons: Of failures, by judge and reason.
        stopped: Why asking stopped before the end; empty if it did not.
    """

    states: Counter[str] = field(default_factory=Counter)
    spent: Spent = field(default_factory=Spent)
    known: Counter[str] = field(default_factory=Counter)
    saved: int = 0
    saved_cost: float = 0.0
    repaired: int = 0
    reasons: Counter[tuple[str, str]] = field(default_factory=Counter)
    stopped: str = ""


def judge_study(
    plan: JudgePlan,
    ledger: Ledger,
    *,
    at_once: int = 4,
    now: Callable[[], datetime] = _now,
    advance: Advance | None = None,
) -> Judged:
    """Let all judges take a study, as far as they have not done so.

    Each answer is committed to the ledger before it counts: a run that was killed resumes, and
    asks only what is missing. What failed, or was over the budget, is tried again; refusals and
    answers that stayed malformed are not.

    Args:
        plan: What is asked.
        ledger: Where answers go, opened for asking.
        at_once: Requests under way at the same time.
        now: Gives the time.
        advance: Called with the number of places just asked for; those that were known or read the
            same as another do not count.
    """
    runner = _Runner(plan, ledger, RunningBudget(plan.judges.budget, ledger.spent()), now)
    runner.advance = advance or (lambda count: None)
    chains: list[tuple[Sitting, tuple[Question, ...]]] = []
    for sitting in plan.all_sittings():
        questions = plan.questions(sitting)
        if sitting.rater.memory == "session":
            chains.append((sitting, questions))
        else:
            chains += [(sitting, (question,)) for question in questions]
    runner.run(chains, at_once)
    return runner.done


@dataclass
class _Runner:
    plan: JudgePlan
    ledger: Ledger
    budget: RunningBudget
    now: Callable[[], datetime]
    done: Judged = field(default_factory=Judged)
    advance: Advance = field(default=lambda count: None)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _under_way: dict[str, threading.Lock] = field(
        default_factory=lambda: defaultdict(threading.Lock)
    )
    _stop: threading.Event = field(default_factory=threading.Event)
    _in_a_row: Counter[str] = field(default_factory=Counter)
    _hopeless: dict[str, str] = field(default_factory=dict)

    def run(self, chains: Sequence[tuple[Sitting, tuple[Question, ...]]], at_once: int) -> None:
        work_through(chains, lambda chain: self._chain(*chain), at_once=at_once, stop=self._stop)

    def _chain(self, sitting: Sitting, questions: Sequence[Question]) -> None:
        """Ask one thing after the other in one conversation."""
        history: list[Said] = []
        broken = ""
        for question in questions:
            if self._stop.is_set():
                return
            place = self.plan.place(sitting, question)
            if question.unreadable is not None:
                self.ledger.leave_empty(place, UNREADABLE, question.unreadable)
                self._count(UNREADABLE, asked=False)
                continue
            if broken:
                self.ledger.leave_empty(place, broken, _EARLIER)
                self._count(broken)
                continue
            text = self.plan.message(sitting, question, first=not history)
            said = Said("study", text)
            try:
                ask, known = self._ask(sitting, question, history, said)
            except OverBudget:
                told = f"the budget is used up ({self.budget.said()})"
                self.ledger.leave_empty(place, OVER_BUDGET, told)
                self._count(OVER_BUDGET)
                self.done.stopped = told
                broken = OVER_BUDGET
                continue
            if ask.state not in FINAL:
                self._count(FAILED, (sitting.rater.judge, ask.reason))
                broken = FAILED
                continue
            self._count(ask.state, asked=not known)
            history += conversation(ask, said)

    def _ask(
        self, sitting: Sitting, question: Question, history: Sequence[Said], said: Said
    ) -> tuple[Ask, bool]:
        """The answer to a question, and whether it is from the ledger; else from the model."""
        rater, conversation_ = sitting.rater, [*history, said]
        key = self.plan.key(rater, conversation_, question)
        place = self.plan.place(sitting, question)
        with self._lock:
            alone = self._under_way[key]
        with alone:  # who reads the same waits for the answer
            before = self.ledger.ask(key)
            if before is not None and before.state in FINAL:
                holds = self.ledger.holds(place, key)
                if holds is None:
                    self.ledger.reuse(place, key)
                with self._lock:
                    self.done.known[before.state] += holds is True
                    self.done.saved += holds is not True
                    self.done.saved_cost += 0.0 if holds else before.cost or 0.0
                return before, True
            model = self.plan.models[rater.judge]
            start = before or Ask(
                key, model.identity, said.text, hash_of(question), FAILED, answers=None
            )
            start = replace(start, asked_at=self.now().isoformat(timespec="milliseconds"))
            if rater.judge in self._hopeless:
                why = f"not asked any more, because: {self._hopeless[rater.judge]}"
                ask = replace(start, reason=why)
            elif question.answers:
                ask = self._weighed(model, rater, question, conversation_, start)
            else:
                ask = self._answered(model, rater, question, conversation_, start)
            if ask.state in FINAL:
                self.ledger.record(ask, place)
            else:  # whoever reads the same may still be the one who pays
                self.ledger.record(ask)
                self.ledger.leave_empty(place, FAILED, ask.reason)
            return ask, False

    def _answered(
        self,
        model: Model,
        rater: JudgeRater,
        question: Question,
        said: Sequence[Said],
        start: Ask,
    ) -> Ask:
        """Ask for an answer in words, and once more if it does not count."""
        texts = self.plan.said_in(rater).texts
        ask = start
        if ask.state != REPAIRING:
            schema = self.plan.schema(rater, question)
            try:
                reply = self._sent(model, rater, question, said, ask.key, schema)
            except ModelError as error:
                return _failed(ask, error)
            ask = _with(ask, reply)
            if reply.refused:
                return replace(ask, state=REFUSED, reason=_short(reply.text) or "refused")
            read = read_answer(reply.text, question.asked, texts, rater.answer)
            if not read.complaints:
                return replace(ask, state=ANSWERED, reason="", answers=_json(read.answers))
            complaint = repair(read.complaints, self.plan.answer_form(rater, question))
            ask = replace(ask, state=REPAIRING, first_reply=reply.text, complaint=complaint)
            self.ledger.record(ask)
        mended = [*said, Said("judge", ask.first_reply or ""), Said("study", ask.complaint or "")]
        # Some servers answer nothing at all under a schema where the text is long.
        schema = self.plan.schema(rater, question) if ask.first_reply else None
        try:
            reply = self._sent(model, rater, question, mended, ask.key, schema)
        except ModelError as error:
            return replace(_failed(ask, error), state=REPAIRING)
        ask = _with(ask, reply)
        read = read_answer(reply.text, question.asked, texts, rater.answer)
        if not read.complaints:
            with self._lock:
                self.done.repaired += 1
            return replace(
                ask, state=ANSWERED, reason="", repaired=True, answers=_json(read.answers)
            )
        if reply.refused or (not read.complaints[0][0] and is_refusal(reply.text)):
            return replace(ask, state=REFUSED, reason=_short(reply.text) or "refused")
        told = "; ".join(f"[{name}] {text}" if name else text for name, text in read.complaints)
        return replace(ask, state=MALFORMED, reason=told)

    def _weighed(
        self,
        model: Model,
        rater: JudgeRater,
        question: Question,
        said: Sequence[Said],
        start: Ask,
    ) -> Ask:
        """Ask how likely each answer is."""
        foreseen = self._foreseen(model, said, 1)
        self.budget.take(foreseen)
        asked, names = question.asked.fields[0], [str(answer) for answer in question.answers]
        try:
            weighed = model.weigh(said, names, seed=_seed(start.key), temperature=rater.temperature)
        except ModelError as error:
            self._settle(foreseen, Spent(error.requests), rater.judge, error)
            return _failed(start, error)
        self._settle(foreseen, _used(weighed.reply), rater.judge)
        found = distribution(weighed, question.answers)
        ask = _with(start, weighed.reply)
        if found is None:
            return replace(ask, state=MALFORMED, reason=_NOTHING_LIKELY)
        value = validate(asked, found.mode)
        return replace(
            ask,
            state=ANSWERED,
            reason="",
            reply=str(found.mode),
            answers=_json({asked.name: value}),
            probabilities=_json({asked.name: found.as_json()}),
        )

    def _sent(
        self,
        model: Model,
        rater: JudgeRater,
        question: Question,
        said: Sequence[Said],
        key: str,
        schema: Mapping[str, JSON] | None,
    ) -> ModelReply:
        foreseen = self._foreseen(model, said, self.plan.predicted_tokens(rater, question))
        self.budget.take(foreseen)
        try:
            reply = model.ask(
                said,
                seed=_seed(key),
                temperature=rater.temperature,
                schema=schema,
            )
        except ModelError as error:
            self._settle(foreseen, Spent(error.requests), rater.judge, error)
            raise
        self._settle(foreseen, _used(reply), rater.judge)
        return reply

    def _foreseen(self, model: Model, said: Sequence[Said], written: int) -> Spent:
        read = sum(model.tokens(one.text) for one in said)
        per_read, per_written = model.prices or (0.0, 0.0)
        return Spent(1, read + written, (read * per_read + written * per_written) / 1e6)

    def _settle(
        self, foreseen: Spent, used: Spent, judge: str, error: ModelError | None = None
    ) -> None:
        self.budget.settle(foreseen, used)
        with self._lock:
            self.done.spent.add(used)
            self._in_a_row[judge] = 0 if error is None else self._in_a_row[judge] + 1
            if error is not None and (error.lasting or self._in_a_row[judge] >= _MOST_FAILURES):
                self._hopeless.setdefault(judge, str(error))

    def _count(
        self, state: str, reason: tuple[str, str] | None = None, *, asked: bool = True
    ) -> None:
        with self._lock:
            self.done.states[state] += 1
            if reason is not None:
                self.done.reasons[reason] += 1
        if asked:
            self.advance(1)


def _seed(key: str) -> int:
    """The seed of an ask follows from its key, in which the repeat is."""
    return int(key[:8], 16) & 0x7FFFFFFF


def _used(reply: ModelReply) -> Spent:
    tokens = (reply.tokens_in or 0) + (reply.tokens_out or 0)
    return Spent(reply.requests, tokens, reply.cost or 0.0, reply.seconds)


def _sum(first: _Number | None, second: _Number | None) -> _Number | None:
    return second if first is None else first if second is None else first + second


def _with(ask: Ask, reply: ModelReply) -> Ask:
    """An ask with what another reply says and took."""
    return replace(
        ask,
        reply=reply.text,
        requests=ask.requests + reply.requests,
        tokens_in=_sum(ask.tokens_in, reply.tokens_in),
        tokens_out=_sum(ask.tokens_out, reply.tokens_out),
        tokens_cached=_sum(ask.tokens_cached, reply.tokens_cached),
        cost=_sum(ask.cost, reply.cost),
        seconds=round(ask.seconds + reply.seconds, 3),
        fingerprint=reply.fingerprint or ask.fingerprint,
        note=reply.note or ask.note,
    )


def _failed(ask: Ask, error: ModelError) -> Ask:
    return replace(ask, state=FAILED, reason=str(error), requests=ask.requests + error.requests)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _short(text: str) -> str:
    return " ".join(text.split())[:200]
