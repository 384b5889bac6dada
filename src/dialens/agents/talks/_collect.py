"""Conversations between agents, held in parallel and kept as a corpus."""

import queue
import random
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec

from dialens.agents._agent import ENDED, AgentError, Message
from dialens.agents.talks._journal import (
    JOURNAL,
    Failure,
    Held,
    Journal,
    Spoken,
    take_up,
    work_folder,
    write_journal,
)
from dialens.agents.talks._plan import Cast, Plan, Seat, Talk, opened
from dialens.base import Advance, DialensError, atomic_folder
from dialens.corpus import Dialogue, Turn, batches, is_corpus_folder, write_corpus

FAILURES = "failures.jsonl"
"""The file of a collected corpus that names conversations that failed, with what was said."""

_ENDING_S = 5.0

Clock = Callable[[], datetime]


@dataclass(frozen=True)
class Spent:
    """What conversations took.

    Attributes:
        replies: How many were given.
        attempts: Requests that were made for them.
        tokens_in: Read, where that is known.
        tokens_out: Written, where that is known.
        cost: In the currency of the prices; None if no price is known.
    """

    replies: int = 0
    attempts: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None


@dataclass(frozen=True)
class Collected:
    """What a collection made.

    Attributes:
        folder: The corpus.
        dialogues: How many conversations are in it.
        turns: How many turns.
        before: Conversations that an earlier run had held.
        failures: Those that failed, by id.
        spent: What all of them took, by the label of who spoke.
    """

    folder: Path
    dialogues: int
    turns: int
    before: int
    failures: dict[str, Failure] = field(default_factory=dict)
    spent: dict[str, Spent] = field(default_factory=dict)


def now() -> datetime:
    """The time."""
    return datetime.now(UTC)


def collect(
    plan: Plan,
    target: Path,
    *,
    workers: int = 4,
    fresh: bool = False,
    force: bool = False,
    clock: Clock = now,
    advance: Advance | None = None,
) -> Collected:
    r"""Let agents talk as a plan says, and keep what they say as a corpus.

    A conversation is kept as soon as it ends. Run again after an interruption, and only the rest
    is held; conversations that failed are tried again. Beside the corpus's own tables the folder
    holds `collected.jsonl` (what each reply took) and `failures.jsonl`, where there are any.

    Args:
        plan: Who talks with whom.
        target: The corpus folder; it appears whole, when all conversations have been held.
        workers: How many conversations are held at a time.
        fresh: Throw away what an earlier run left, instead of going on with it.
        force: Replace a folder that was not collected.
        clock: Tells the time.
        advance: Told how many more conversations are done.

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
        >>> done = collect(Plan(specs, turns=4, dialogues=2), folder / "talks")
        >>> done.dialogues, done.turns
        (4, 16)
    """
    _refuse_foreign(target, force=force or fresh)
    cast = opened(plan)
    try:
        with Journal(take_up(target, fresh=fresh)) as journal:
            before = _checked(journal, cast, target)
            if advance:
                advance(len(before))
            waiting = [talk for talk in cast.talks if talk.dialog not in before]
            if plan.with_people:
                # Who sits at the terminal must not see from the order with whom they talk.
                random.Random(plan.seed).shuffle(waiting)
                workers = 1
            held = _Holding(plan, journal, clock, advance or (lambda count: None))
            held.all(waiting, workers)
            done = _written(plan, cast, journal, target, len(before), force=force or fresh)
    finally:
        cast.close()
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


def _checked(journal: Journal, cast: Cast, target: Path) -> set[str]:
    """The conversations that need not be held again; another plan's are refused."""
    known = {talk.dialog: talk.fingerprint for talk in cast.talks}
    for dialog, held in journal.held.items():
        if known.get(dialog) != held.fingerprint:
            what = "is not in the plan" if dialog not in known else "was held with other settings"
            raise DialensError(
                f"{target} was begun with another plan, agent or seed: the conversation "
                f"{dialog!r} {what}. Name another place, or begin anew with --fresh."
            )
    return {dialog for dialog, held in journal.held.items() if held.failure is None}


@dataclass
class _Holding:
    """Holds conversations, several at a time."""

    plan: Plan
    journal: Journal
    clock: Clock
    advance: Advance
    stop: threading.Event = field(default_factory=threading.Event)
    hopeless: dict[str, AgentError] = field(default_factory=dict)

    def all(self, talks: Sequence[Talk], workers: int) -> None:
        if workers <= 1:
            for talk in talks:
                self._one(talk)
                self.advance(1)
            return
        waiting: queue.SimpleQueue[Talk] = queue.SimpleQueue()
        for talk in talks:
            waiting.put(talk)
        ended: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()
        threads = [
            threading.Thread(target=self._work, args=(waiting, ended), daemon=True)
            for _ in range(min(workers, len(talks)))
        ]
        for thread in threads:
            thread.start()
        try:
            for _ in talks:
                failure = ended.get()
                if failure is not None:
                    raise failure
                self.advance(1)
        finally:
            self.stop.set()
            for thread in threads:
                thread.join(_ENDING_S)

    def _work(
        self,
        waiting: "queue.SimpleQueue[Talk]",
        ended: "queue.SimpleQueue[BaseException | None]",
    ) -> None:
        while not self.stop.is_set():
            try:
                talk = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                self._one(talk)
            except BaseException as error:  # raised again in the thread that waits
                ended.put(error)
                return
            ended.put(None)

    def _one(self, talk: Talk) -> None:
        held = self._held(talk)
        if not self.stop.is_set():
            self.journal.add(held)

    def _held(self, talk: Talk) -> Held:
        said: list[Spoken] = []
        order = [("partner", talk.partner), ("agent", talk.agent)]
        if self.plan.first == "agent":
            order.reverse()
        if talk.opening is not None:
            said.append(Spoken(order[0][0], talk.opening, self._time()))
        failure = None
        while len(said) < self.plan.turns and not self.stop.is_set():
            role, seat = order[len(said) % 2]
            try:
                said.append(self._turn(seat, role, said, talk.seed))
            except AgentError as error:
                if error.kind == ENDED and any(turn.role == "agent" for turn in said):
                    break
                failure = Failure(seat.label, len(said), error.kind, str(error), error.attempts)
                break
        for role, seat in order:
            ended = getattr(seat.agent, "ended", None)
            if callable(ended):
                ended(_seen_by(role, said))
        return Held(talk.dialog, talk.fingerprint, tuple(said), failure)

    def _turn(self, seat: Seat, role: str, said: Sequence[Spoken], seed: int) -> Spoken:
        if seat.label in self.hopeless:
            before = self.hopeless[seat.label]
            raise AgentError(f"Not asked any more, because: {before}", before.kind, attempts=0)
        history = [Message("agent" if turn.role == role else "partner", turn.text) for turn in said]
        try:
            reply = seat.agent.reply(history, seed=seed)
        except AgentError as error:
            if error.lasting:
                self.hopeless[seat.label] = error
            raise
        except Exception as error:  # one agent's mistake must not end everybody's conversations
            why = str(error) if isinstance(error, DialensError) else repr(error)
            raise AgentError(f"{seat.label} failed: {why}", "failed") from error
        return Spoken(
            role,
            reply.text,
            self._time(),
            round(reply.seconds, 3),
            reply.attempts,
            reply.tokens_in,
            reply.tokens_out,
            reply.cost,
        )

    def _time(self) -> str:
        return self.clock().isoformat(timespec="milliseconds")


def _seen_by(role: str, said: Sequence[Spoken]) -> list[Message]:
    """A conversation as the one in a role sees it: whoever speaks is the agent to themselves."""
    return [Message("agent" if turn.role == role else "partner", turn.text) for turn in said]


def _written(
    plan: Plan, cast: Cast, journal: Journal, target: Path, before: int, *, force: bool
) -> Collected:
    """The corpus, in the order of the plan, whatever the order in which its parts were held."""
    ordered = {
        talk.dialog: journal.held[talk.dialog]
        for talk in sorted(cast.talks, key=lambda talk: (talk.agent.label, talk.dialog))
    }
    failures = {name: held.failure for name, held in ordered.items() if held.failure is not None}
    by_name = {talk.dialog: talk for talk in cast.talks}
    whole = [
        _dialogue(by_name[name], held) for name, held in ordered.items() if held.failure is None
    ]
    if not whole:
        first = next(iter(failures.values()))
        raise DialensError(
            f"No conversation came to its end; all {len(failures):,} failed. The first, by "
            f"{first.who}: {first.reason}"
        )
    spent = _spent(ordered, by_name)
    source = _source(plan, cast, spent, failures)
    with atomic_folder(target, force=force) as scratch:
        corpus = write_corpus(batches(whole), scratch, source=source)
        write_journal(scratch / JOURNAL, ordered)
        if failures:
            _write_failures(scratch / FAILURES, ordered, by_name)
    turns: int = corpus.manifest["counts"]["turns"]
    return Collected(target, len(whole), turns, before, failures, spent)


def _dialogue(talk: Talk, held: Held) -> Dialogue:
    agent, partner = talk.agent, talk.partner
    names = {"agent": agent.label, "partner": partner.label}
    if agent.label == partner.label:
        names["partner"] += " (partner)"
    turns = [Turn(names[turn.role], turn.role, turn.text) for turn in held.turns]
    if talk.opening is not None:
        turns[0].meta = {"opening": True}
    return Dialogue(agent.agent.system, agent.agent.name, talk.dialog, turns)


def _spent(ordered: dict[str, Held], talks: dict[str, Talk]) -> dict[str, Spent]:
    found: dict[str, Spent] = {}
    for name, held in ordered.items():
        talk = talks[name]
        for turn in held.turns:
            if not turn.attempts:
                continue  # an opening
            label = (talk.agent if turn.role == "agent" else talk.partner).label
            sofar = found.get(label, Spent())
            cost = sofar.cost
            if turn.cost is not None:
                cost = (cost or 0.0) + turn.cost
            found[label] = Spent(
                sofar.replies + 1,
                sofar.attempts + turn.attempts,
                sofar.tokens_in + (turn.tokens_in or 0),
                sofar.tokens_out + (turn.tokens_out or 0),
                cost,
            )
    return dict(sorted(found.items()))


def _source(
    plan: Plan, cast: Cast, spent: dict[str, Spent], failures: dict[str, Failure]
) -> dict[str, Any]:
    """What the manifest says: everything that made the conversations, and no time or key."""

    def told(seat: Seat) -> dict[str, Any]:
        return {
            "system": seat.agent.system,
            "agent": seat.agent.name,
            "kind": seat.spec.kind,
            "target": seat.spec.target,
            "parameters": dict(seat.spec.parameters),
            "identity": seat.identity,
        }

    return {
        "name": plan.name,
        "format": "agents collect",
        "plan": {
            "turns": plan.turns,
            "dialogues": plan.dialogues,
            "seed": plan.seed,
            "first": plan.first,
        },
        "agents": [told(seat) for seat in cast.agents],
        "partners": [told(seat) for seat in cast.partners],
        "failed": dict(Counter(failure.kind for failure in failures.values())),
        "spent": {label: msgspec.to_builtins(one) for label, one in spent.items()},
    }


def _write_failures(path: Path, ordered: dict[str, Held], talks: dict[str, Talk]) -> None:
    with path.open("wb") as file:
        for record in _failed(ordered, talks):
            file.write(msgspec.json.encode(record) + b"\n")


def _failed(ordered: dict[str, Held], talks: dict[str, Talk]) -> Iterator[dict[str, Any]]:
    for name, held in ordered.items():
        if held.failure is None:
            continue
        talk = talks[name]
        yield {
            "dialog": name,
            "system": talk.agent.agent.system,
            "agent": talk.agent.agent.name,
            "partner": talk.partner.label,
            **msgspec.to_builtins(held.failure),
            "said": [{"role": turn.role, "text": turn.text} for turn in held.turns],
        }
