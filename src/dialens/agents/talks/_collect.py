"""Collects conversations between agents, several at a time, into a corpus."""

import random
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from dialens.agents._agent import ENDED, AgentError, Message, Reply, Role
from dialens.agents._cleaning import clean_reply
from dialens.agents.talks._collected import Collected, collected_corpus, write_collected
from dialens.agents.talks._costs import Estimates, refuse_unpriced
from dialens.agents.talks._journal import (
    INTERRUPTED,
    JOURNAL,
    OVER_BUDGET,
    Conversation,
    Failure,
    Journal,
    RecordedTurn,
    read_journal,
    resume_folder,
    work_folder,
)
from dialens.agents.talks._plan import (
    CollectionPlan,
    OpenPlan,
    PlannedConversation,
    Side,
    open_plan,
)
from dialens.agents.users import MOST_TURNS, ending_of
from dialens.base import (
    Advance,
    Budget,
    DialensError,
    OverBudget,
    RunningBudget,
    Spent,
    work_through,
)
from dialens.corpus import Corpus, is_corpus_folder

Clock = Callable[[], datetime]


def now() -> datetime:
    """The time."""
    return datetime.now(UTC)


def collect(
    plan: CollectionPlan,
    target: Path,
    *,
    workers: int = 4,
    fresh: bool = False,
    force: bool = False,
    keep_partial: bool = False,
    clock: Clock = now,
    advance: Advance | None = None,
    begin: Callable[[OpenPlan], None] | None = None,
) -> Collected:
    r"""Let agents talk as a plan says, and write what they say as a corpus.

    A conversation is written to a journal as soon as it ends. A run that was interrupted resumes:
    only the rest takes place, and conversations that failed are tried again. Beside the corpus's
    own tables the folder holds `collected.jsonl` (what each reply took) and `failures.jsonl`, where
    there are any. Where the plan has a budget, asking stops before a request that could pass it:
    the corpus holds what has come to its end, and a run with a larger one goes on from there.

    Args:
        plan: Who talks with whom.
        target: The corpus folder; it appears whole, when all conversations have ended.
        workers: How many conversations take place at a time.
        fresh: Delete what an earlier run left, instead of resuming it.
        force: Replace a folder that was not collected.
        keep_partial: Put what was said in conversations that failed into the corpus too, marked.
        clock: Returns the time.
        advance: Called with the number of conversations just done.
        begin: Called with the agents before the first of them is asked.

    Raises:
        DialensError: If nothing could be collected, or what is there is of another plan.

    Examples:
        >>> import tempfile
        >>> from dialens.agents._agent import AgentSpec
        >>> folder = Path(tempfile.mkdtemp())
        >>> for name in ("ann", "bob"):
        ...     _ = (folder / f"{name}.txt").write_text(f"I am {name}.\nWell.\n")
        >>> specs = tuple(
        ...     AgentSpec("script", str(folder / f"{name}.txt")) for name in ("ann", "bob")
        ... )
        >>> done = collect(CollectionPlan(specs, turns=4, dialogues=2), folder / "talks")
        >>> done.dialogues, done.turns
        (4, 16)
    """
    _refuse_foreign(target, force=force or fresh)
    opened = open_plan(plan)
    try:
        refuse_unpriced(plan, opened)
        if begin:
            begin(opened)
        with Journal(resume_folder(target, fresh=fresh)) as journal:
            before = _finished(journal.conversations, opened, target)
            if advance:
                advance(len(before))
            waiting = [one for one in opened.conversations if one.dialog not in before]
            if plan.with_people:
                # Who sits at the terminal must not see from the order with whom they talk.
                random.Random(plan.seed).shuffle(waiting)
            collector = _Collector(plan, journal, clock, advance or (lambda count: None))
            collector.begin(opened)
            collector.run(waiting, workers)
            done = write_collected(
                plan,
                opened,
                journal,
                target,
                len(before),
                stopped=collector.stopped,
                keep_partial=keep_partial,
                force=force or fresh,
            )
    finally:
        opened.close()
    shutil.rmtree(work_folder(target), ignore_errors=True)
    return done


def _refuse_foreign(target: Path, *, force: bool) -> None:
    if not target.exists() or force or (target / JOURNAL).is_file():
        return
    if not target.is_dir() or any(target.iterdir()):
        what = "a corpus that was not collected" if is_corpus_folder(target) else "something else"
        raise DialensError(
            f"{target} holds {what}. Name another place, or add --force to replace it."
        )


def so_far(opened: OpenPlan, target: Path) -> tuple[list[Conversation], Corpus | None]:
    """What earlier runs of a plan left: all tries, and the conversations that came to their end.

    Raises:
        DialensError: If what is there is of another plan.
    """
    place = next((p for p in (work_folder(target), target) if (p / JOURNAL).is_file()), None)
    if place is None:
        return [], None
    tries = read_journal(place / JOURNAL)
    last = {one.dialog: one for one in tries}
    return tries, collected_corpus(opened, last, _finished(last, opened, target))


def _finished(
    conversations: Mapping[str, Conversation], opened: OpenPlan, target: Path
) -> set[str]:
    """Return the conversations that need no other try; another plan's are refused."""
    known = {planned.dialog: planned.fingerprint for planned in opened.conversations}
    for dialog, conversation in conversations.items():
        if known.get(dialog) != conversation.fingerprint:
            what = "is not in the plan" if dialog not in known else "took place with other settings"
            raise DialensError(
                f"{target} was begun with another plan, agent or seed: the conversation "
                f"{dialog!r} {what}. Name another place, or begin anew with --fresh."
            )
    return {name for name, one in conversations.items() if one.failure is None}


@dataclass
class _Collector:
    """Lets conversations take place, several at a time."""

    plan: CollectionPlan
    journal: Journal
    clock: Clock
    advance: Advance
    stop: threading.Event = field(default_factory=threading.Event)
    hopeless: dict[str, AgentError] = field(default_factory=dict)
    stopped: str = ""
    budget: RunningBudget = field(default_factory=lambda: RunningBudget(Budget(), Spent()))
    estimates: Estimates = field(default_factory=Estimates)

    def begin(self, opened: OpenPlan) -> None:
        """Count what earlier runs used, where that is limited."""
        if self.plan.budget == Budget():
            return
        planned = {one.dialog: one for one in opened.conversations}
        tries = [*self.journal.earlier, *self.journal.conversations.values()]
        used = self.estimates.used_before(tries, planned)
        self.budget = RunningBudget(self.plan.budget, used)

    def run(self, planned: Sequence[PlannedConversation], workers: int) -> None:
        if self.plan.with_people:  # who sits at the terminal is asked where their keys are heard
            for conversation in planned:
                self._record(conversation)
                self.advance(1)
            return
        work_through(
            planned,
            self._record,
            at_once=workers,
            stop=self.stop,
            ended=lambda: self.advance(1),
        )

    def _record(self, planned: PlannedConversation) -> None:
        if self.stopped:
            return  # there is nothing left to ask with
        conversation = self._converse(planned)
        if not conversation.paused or any(turn.attempts for turn in conversation.turns):
            self.journal.add(conversation)

    def _converse(self, planned: PlannedConversation) -> Conversation:
        said = [RecordedTurn(one.role, one.text, self._time()) for one in planned.given]
        before = self.journal.conversations.get(planned.dialog)
        if before is not None and before.paused:
            said = list(before.turns)
        sides = planned.sides
        failure, unsaid, ended_by = None, None, MOST_TURNS
        while len(said) < planned.turns:
            role = _next_role(said, self.plan.first)
            side = sides[role]
            if self.stop.is_set():
                failure = Failure(side.label, len(said), INTERRUPTED, "interrupted", 0)
                break
            try:
                said.append(self._within_budget(planned, side, role, said))
            except OverBudget:
                self.stopped = self.budget.said()
                why = f"the budget is used up ({self.stopped})"
                failure = Failure(side.label, len(said), OVER_BUDGET, why, 0)
                break
            except AgentError as error:
                if error.kind == ENDED and any(turn.role == "agent" for turn in said):
                    ended_by = ending_of(str(error))
                    unsaid = None if error.spent is None else _failure(side, len(said), error)
                    break
                failure = _failure(side, len(said), error)
                break
            if said[-1].ends:
                ended_by = said[-1].ends
                break
        for role, side in sides.items():
            ended = getattr(side.agent, "ended", None)
            if callable(ended):
                ended(_seen_by(role, said))
        return Conversation(
            planned.dialog, planned.fingerprint, tuple(said), failure, ended_by, unsaid
        )

    def _within_budget(
        self, planned: PlannedConversation, side: Side, role: str, said: Sequence[RecordedTurn]
    ) -> RecordedTurn:
        """The next turn, if what it takes is left; what it took is counted."""
        if self.plan.budget == Budget():
            return self._turn(side, role, said)
        if self.stopped:
            raise OverBudget
        who = planned.agent if role == "agent" else planned.partner
        foreseen = self.estimates.foreseen(who, said)
        self.budget.take(foreseen)
        used = Spent()
        try:
            turn = self._turn(side, role, said)
            used = self.estimates.used(who, said, turn)
            self.estimates.learn(who, turn)
        except AgentError as error:
            used = self.estimates.in_vain(_failure(side, len(said), error), [who])
            raise
        finally:
            self.budget.settle(foreseen, used)
        return turn

    def _turn(self, side: Side, role: str, said: Sequence[RecordedTurn]) -> RecordedTurn:
        if side.label in self.hopeless:
            before = self.hopeless[side.label]
            raise AgentError(f"Not asked any more, because: {before}", before.kind, attempts=0)
        try:
            reply = clean_reply(side.agent.reply(_seen_by(role, said), seed=side.seed))
        except AgentError as error:
            if error.lasting:
                self.hopeless[side.label] = error
            raise
        except Exception as error:  # one agent's mistake must not end everybody's conversations
            why = str(error) if isinstance(error, DialensError) else repr(error)
            raise AgentError(f"{side.label} failed: {why}", "failed") from error
        return RecordedTurn(
            role,
            reply.text,
            self._time(),
            round(reply.seconds, 3),
            reply.attempts,
            reply.tokens_in,
            reply.tokens_out,
            reply.cost,
            reply.finish,
            reply.model,
            reply.fingerprint,
            reply.thought,
            reply.note,
            tuple(dict(message) for message in reply.before),
            reply.ends,
        )

    def _time(self) -> str:
        return self.clock().isoformat(timespec="milliseconds")


def _failure(side: Side, turn: int, error: AgentError) -> Failure:
    spent = error.spent or Reply("")
    return Failure(
        side.label,
        turn,
        error.kind,
        str(error),
        error.attempts,
        spent.tokens_in,
        spent.tokens_out,
        spent.cost,
    )


def _next_role(said: Sequence[RecordedTurn], first: Role) -> Role:
    """Whose turn it is."""
    if not said:
        return first
    return "agent" if said[-1].role == "partner" else "partner"


def _seen_by(role: str, said: Sequence[RecordedTurn]) -> list[Message]:
    """A conversation as the one in a role sees it: whoever speaks is the agent to themselves."""
    return [
        Message("agent", turn.text, turn.before)
        if turn.role == role
        else Message("partner", turn.text)
        for turn in said
    ]
