"""Writes what was said and what it took as a corpus."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import msgspec

from dialens.agents.talks._costs import most_tokens
from dialens.agents.talks._journal import (
    JOURNAL,
    Conversation,
    Failure,
    Journal,
    RecordedTurn,
    write_journal,
)
from dialens.agents.talks._plan import (
    USER,
    CollectionPlan,
    OpenAgent,
    OpenPlan,
    PlannedConversation,
)
from dialens.agents.users import ENDINGS
from dialens.base import DialensError, atomic_folder
from dialens.corpus import PARTIAL, Corpus, Dialogue, Turn, batches, write_corpus

WHOLE, CUT_OFF = "stop", "length"
"""How a reply ended: by itself, or at the most tokens."""

FAILURES = "failures.jsonl"
"""The file of a collected corpus that names conversations that failed, with what was said."""


@dataclass(frozen=True)
class Usage:
    """What the replies of an agent took.

    Attributes:
        replies: How many were given.
        attempts: Requests that were made for them.
        tokens_in: Read, where that is known.
        tokens_out: Written, where that is known.
        cost: In the currency of the prices; None if no price is known.
        unpriced: Replies whose cost is not known; what recorded users, scripts and people say
            has none.
        cut_off: Replies that ended at the most tokens, in the middle of what was being said.
        models: What answered, by the server's own account, with its fingerprint.
        notes: What has to be known of replies, and of how many.
        beyond: Replies with more tokens than `max_tokens` allows.
        longest: Tokens of the longest reply.
    """

    replies: int = 0
    attempts: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    unpriced: int = 0
    cut_off: int = 0
    models: tuple[str, ...] = ()
    notes: dict[str, int] = field(default_factory=dict)
    beyond: int = 0
    longest: int = 0

    def with_reply(
        self, turn: RecordedTurn, *, has_price: bool = False, asked: bool = True, most: int = 0
    ) -> "Usage":
        """The same with one more reply.

        Args:
            turn: The reply.
            has_price: Whether who gave it may have a price: known, or by its tokens.
            asked: Whether a model was asked; what was written before takes no request.
            most: The most tokens that were allowed; 0 for any number.
        """
        beyond = bool(most) and (turn.tokens_out or 0) > most
        has_price = has_price or turn.tokens_in is not None or turn.tokens_out is not None
        cost = self.cost
        if turn.cost is not None:
            cost = (cost or 0.0) + turn.cost
        marks = f" ({turn.fingerprint})" if turn.fingerprint else ""
        model = {turn.model + marks} if turn.model else set()
        return Usage(
            self.replies + 1,
            self.attempts + (turn.attempts if asked else 0),
            self.tokens_in + (turn.tokens_in or 0),
            self.tokens_out + (turn.tokens_out or 0),
            cost,
            self.unpriced + (turn.cost is None and has_price),
            self.cut_off + (turn.finish == CUT_OFF),
            tuple(sorted({*self.models, *model})),
            dict(sorted((Counter(self.notes) + Counter(filter(None, [turn.note]))).items())),
            self.beyond + beyond,
            max(self.longest, turn.tokens_out or 0),
        )

    def with_failure(self, failure: Failure) -> "Usage":
        """The same with what was spent on a reply that never came."""
        cost = self.cost if failure.cost is None else (self.cost or 0.0) + failure.cost
        return replace(
            self,
            attempts=self.attempts + failure.attempts,
            tokens_in=self.tokens_in + (failure.tokens_in or 0),
            tokens_out=self.tokens_out + (failure.tokens_out or 0),
            cost=cost,
        )


@dataclass(frozen=True)
class Collected:
    """What a collection made.

    Attributes:
        folder: The corpus.
        dialogues: How many conversations are in it.
        turns: How many turns.
        before: Conversations of an earlier run.
        failures: Those that failed, by id.
        usage: What all of them took, by the label of who spoke.
        partial: Conversations in the corpus that did not come to their end.
        left: Conversations that are still to take place, or to come to their end.
        stopped: The budget that was used up, in words; empty if none was.
        ended: Of conversations with simulated users, how many of each agent ended why.
    """

    folder: Path
    dialogues: int
    turns: int
    before: int
    failures: dict[str, Failure] = field(default_factory=dict)
    usage: dict[str, Usage] = field(default_factory=dict)
    partial: int = 0
    left: int = 0
    stopped: str = ""
    ended: dict[str, dict[str, int]] = field(default_factory=dict)


def write_collected(
    plan: CollectionPlan,
    opened: OpenPlan,
    journal: Journal,
    target: Path,
    before: int,
    *,
    stopped: str,
    keep_partial: bool,
    force: bool,
) -> Collected:
    """Write the corpus in the order of the plan, whatever order conversations ended in."""
    by_name = {planned.dialog: planned for planned in opened.conversations}
    names = sorted(by_name, key=lambda name: (by_name[name].agent.label, name))
    ordered = {n: journal.conversations[n] for n in names if n in journal.conversations}
    failures = {
        name: one.failure
        for name, one in ordered.items()
        if one.failure is not None and not one.paused
    }
    kept = [
        _dialogue(by_name[name], one)
        for name, one in ordered.items()
        if one.failure is None or (keep_partial and _answered(one))
    ]
    whole = sum(one.failure is None for one in ordered.values())
    if not kept:
        place = journal.path.with_name(FAILURES)
        _write_failures(place, {name: ordered[name] for name in failures}, by_name)
        raise DialensError(_why_nothing(failures, stopped, place))
    earlier = journal.earlier
    usage = _usage([*earlier, *ordered.values()], by_name)
    ended = _endings(plan, ordered, by_name)
    source = _source(plan, opened, usage, failures)
    if ended:
        source["ended"] = ended
    with atomic_folder(target, force=force) as scratch:
        corpus = write_corpus(batches(kept), scratch, source=source)
        write_journal(scratch / JOURNAL, [*earlier, *ordered.values()])
        if failures:
            failed = {name: ordered[name] for name in failures}
            _write_failures(scratch / FAILURES, failed, by_name)
    return Collected(
        target,
        len(kept),
        corpus.manifest["counts"]["turns"],
        before,
        failures,
        usage,
        partial=len(kept) - whole,
        left=len(by_name) - whole - len(failures),
        stopped=stopped,
        ended=ended,
    )


def collected_corpus(
    opened: OpenPlan, conversations: Mapping[str, Conversation], finished: Collection[str]
) -> Corpus | None:
    """Those conversations that came to their end, in memory; None if there are none."""
    by_name = {planned.dialog: planned for planned in opened.conversations}
    made = [_dialogue(by_name[name], conversations[name]) for name in sorted(finished)]
    return Corpus.of(made) if made else None


def _why_nothing(failures: dict[str, Failure], stopped: str, place: Path) -> str:
    if stopped:
        return (
            f"The budget ({stopped}) was used up before a conversation came to its end. What was "
            "said is kept: the same command with a larger budget goes on from there."
        )
    first = next(iter(failures.values()))
    return (
        f"No conversation came to its end; all {len(failures):,} failed. The first, by "
        f"{first.who}: {first.reason} All are in {place}, with what was said; the same command "
        "tries them again."
    )


def _answered(conversation: Conversation) -> bool:
    """Whether the agent under study said anything of its own."""
    return any(turn.role == "agent" and turn.attempts for turn in conversation.turns)


def _dialogue(planned: PlannedConversation, conversation: Conversation) -> Dialogue:
    agent, partner = planned.agent, planned.partner
    talking = planned.sides["partner"].agent
    names = {"agent": agent.label, "partner": getattr(talking, "speaker", partner.label)}
    if agent.label == partner.label:
        names["partner"] += " (partner)"
    turns = [
        Turn(names[turn.role], turn.role, turn.text, meta=_marks(turn))
        for turn in conversation.turns
    ]
    # What was given is nobody's own words: context, whoever is made to say it.
    given = turns[: len(planned.given)]
    for turn in given:
        turn.role, turn.meta = "partner", {"opening": True}
    for turn, speaker in zip(given, planned.speakers, strict=False):
        turn.speaker = speaker
    if partner.spec.kind == USER:
        about = dict(getattr(talking, "about", {}))
        for turn in turns:
            turn.meta = {"scenario": about["scenario"], **(turn.meta or {})}
        turns[0].meta = {**(turns[0].meta or {}), **about}
        turns[-1].meta = {**(turns[-1].meta or {}), "ended": conversation.ended}
    if conversation.failure is not None:
        turns[-1].meta = {
            **(turns[-1].meta or {}),
            PARTIAL: True,
            "reason": f"{conversation.failure.who}: {conversation.failure.reason}",
        }
    return Dialogue(agent.agent.system, agent.agent.name, planned.dialog, turns)


def _marks(turn: RecordedTurn) -> dict[str, object] | None:
    """What has to be known of a turn: that it was cut off, what was thought or called before it."""
    marks = {
        "finish": turn.finish if turn.finish not in ("", WHOLE) else None,
        "reasoning": turn.thought or None,
        "note": turn.note or None,
        "before": list(turn.before) or None,
    }
    return {name: value for name, value in marks.items() if value is not None} or None


def _endings(
    plan: CollectionPlan,
    ordered: dict[str, Conversation],
    by_name: dict[str, PlannedConversation],
) -> dict[str, dict[str, int]]:
    """Why conversations with simulated users ended, by agent."""
    if not plan.with_users:
        return {}
    reasons: dict[str, Counter[str]] = defaultdict(Counter)
    for name, conversation in ordered.items():
        planned = by_name[name]
        if conversation.failure is None and planned.partner.spec.kind == USER:
            reasons[planned.agent.label][conversation.ended] += 1
    return {
        label: {ending: counts[ending] for ending in ENDINGS if counts[ending]}
        for label, counts in sorted(reasons.items())
    }


def _usage(
    tries: Iterable[Conversation], by_name: dict[str, PlannedConversation]
) -> dict[str, Usage]:
    """What was spent, on conversations that failed and were tried again as well."""
    usage: dict[str, Usage] = defaultdict(Usage)
    for conversation in tries:
        planned = by_name[conversation.dialog]
        for turn in conversation.turns:
            if turn.attempts:  # an opening has none
                side = planned.agent if turn.role == "agent" else planned.partner
                priced = hasattr(side.agent, "prices")
                usage[side.label] = usage[side.label].with_reply(
                    turn, has_price=priced, asked=side.is_model, most=most_tokens(side)
                )
        for failure in conversation.in_vain:
            usage[failure.who] = usage[failure.who].with_failure(failure)
    return dict(sorted(usage.items()))


def _source(
    plan: CollectionPlan, opened: OpenPlan, usage: dict[str, Usage], failures: dict[str, Failure]
) -> dict[str, Any]:
    """What the manifest says: everything that made the conversations, and no time or key."""

    def described(agent: OpenAgent) -> dict[str, Any]:
        return {
            "system": agent.agent.system,
            "agent": agent.agent.name,
            "kind": agent.spec.kind,
            "target": agent.spec.target,
            "parameters": dict(agent.spec.parameters),
            "identity": agent.identity,
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
        "agents": [described(agent) for agent in opened.agents],
        "partners": [described(agent) for agent in opened.partners],
        "failed": dict(Counter(failure.kind for failure in failures.values())),
        "spent": {label: msgspec.to_builtins(one) for label, one in usage.items()},
    }


def _write_failures(
    path: Path, failed: dict[str, Conversation], by_name: dict[str, PlannedConversation]
) -> None:
    with path.open("wb") as file:
        for record in _failed(failed, by_name):
            file.write(msgspec.json.encode(record) + b"\n")


def _failed(
    failed: dict[str, Conversation], by_name: dict[str, PlannedConversation]
) -> Iterator[dict[str, Any]]:
    for name, conversation in failed.items():
        planned = by_name[name]
        yield {
            "dialog": name,
            "system": planned.agent.agent.system,
            "agent": planned.agent.agent.name,
            "partner": planned.partner.label,
            **msgspec.to_builtins(conversation.failure),
            "said": [{"role": turn.role, "text": turn.text} for turn in conversation.turns],
        }
