"""What conversations come to: about, before they take place; at most, before each request."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dialens.agents._agent import Role
from dialens.agents._prices import prices_of, tokens_of
from dialens.agents._registry import kind_named
from dialens.agents.talks._journal import Conversation, Failure, RecordedTurn
from dialens.agents.talks._plan import (
    USER,
    CollectionPlan,
    OpenAgent,
    OpenPlan,
    PlannedConversation,
)
from dialens.base import DialensError, Spent

USUAL_REPLY = 100
"""Tokens of a reply of which nothing is known yet."""
_LONG_REPLY = 500
"""The same, where it must not be too few."""
_TOKENS_A_MESSAGE = 4
"""Of the marks around a message in the usual chat formats."""


@dataclass
class PlannedUse:
    """What is still to be asked of an agent.

    Attributes:
        label: What it is called.
        requests: To be made.
        tokens_in: To be read, about.
        tokens_out: To be written, about.
        cost: Of that; None if no price is known.
        minutes: At least, where it has a limit of requests or tokens a minute.
        measured: Whether the length of replies is that of earlier ones.
    """

    label: str
    requests: int = 0
    tokens_in: int = 0
    tokens_out: int = 0
    cost: float | None = None
    minutes: float = 0.0
    measured: bool = False


@dataclass
class Estimates:
    """Foresees what requests take, from what agents were set to and what they said before."""

    _written: dict[str, list[int]] = field(default_factory=lambda: defaultdict(list))
    _own: dict[str, int] = field(default_factory=dict)

    def learn(self, who: OpenAgent, turn: RecordedTurn) -> None:
        """Remember how long a reply was."""
        tokens = turn.tokens_out
        self._written[who.label].append(
            tokens_of(who.agent, turn.text) if tokens is None else tokens
        )

    def measured(self, who: OpenAgent) -> bool:
        """Whether anything is known of an agent's replies."""
        return bool(self._written[who.label])

    def usual(self, who: OpenAgent) -> int:
        """Tokens of a usual reply."""
        known = self._written[who.label]
        if known:
            return round(sum(known) / len(known))
        return min(USUAL_REPLY, most_tokens(who) or USUAL_REPLY)

    def longest(self, who: OpenAgent) -> int:
        """Tokens of a reply that is as long as it may be, as far as that is known.

        An endpoint may not keep to `max_tokens`: what it wrote before is believed more.
        """
        return max([most_tokens(who) or _LONG_REPLY, *self._written[who.label]])

    def read(self, who: OpenAgent, messages: Iterable[int]) -> int:
        """Tokens of a request: what the agent is told to be, and all that was said before."""
        if who.label not in self._own:
            self._own[who.label] = _told(who)
        return self._own[who.label] + sum(one + _TOKENS_A_MESSAGE for one in messages)

    def foreseen(self, who: OpenAgent, said: Sequence[RecordedTurn]) -> Spent:
        """The most that the next request to an agent takes; nothing where it is no model."""
        if not who.is_model:
            return Spent()
        read = self.read(who, [tokens_of(who.agent, turn.text) for turn in said])
        written = self.longest(who)
        # What is no message of a simulated user is drawn once more.
        draws = 2 if who.spec.kind == USER else 1
        return Spent(draws, draws * (read + written), draws * (_cost(who, read, written) or 0.0))

    def used(self, who: OpenAgent, said: Sequence[RecordedTurn], turn: RecordedTurn) -> Spent:
        """What a reply took, by the server's account, else about."""
        if not who.is_model:
            return Spent()
        read, written, cost = turn.tokens_in, turn.tokens_out, turn.cost
        if read is None:
            read = self.read(who, [tokens_of(who.agent, one.text) for one in said])
        if written is None:
            written = tokens_of(who.agent, turn.text)
        if cost is None:
            cost = _cost(who, read, written) or 0.0
        return Spent(turn.attempts, read + written, cost)

    def used_before(
        self, tries: Iterable[Conversation], planned: dict[str, PlannedConversation]
    ) -> Spent:
        """What earlier conversations took, failed ones included; learns from them."""
        spent = Spent()
        for conversation in tries:
            sides = _speakers(planned[conversation.dialog])
            for number, turn in enumerate(conversation.turns):
                if turn.attempts:  # what was given has none
                    who = sides[turn.role]
                    spent.add(self.used(who, conversation.turns[:number], turn))
                    self.learn(who, turn)
            for failure in conversation.in_vain:
                spent.add(self.in_vain(failure, sides.values()))
        return spent

    def in_vain(self, failure: Failure, sides: Iterable[OpenAgent]) -> Spent:
        """Requests of a try that failed."""
        models = {who.label for who in sides if who.is_model}
        if failure.who not in models:
            return Spent()
        tokens = (failure.tokens_in or 0) + (failure.tokens_out or 0)
        return Spent(failure.attempts, tokens, failure.cost or 0.0)


def refuse_unpriced(plan: CollectionPlan, opened: OpenPlan) -> None:
    """Refuse a limit of cost where a price is not known: it could not be kept."""
    if plan.budget.cost is None:
        return
    for who in opened.models:
        if prices_of(who.agent, who.kind) is None:
            raise DialensError(
                f"A limit of cost cannot be kept: the prices of {who.label} are not known. Set "
                "them (--set price_in=… --set price_out=…, of a million tokens; in a plan under "
                "`set`), or limit tokens or requests in a plan (budget: {tokens: …})."
            )


def planned_use(
    plan: CollectionPlan, opened: OpenPlan, tries: Sequence[Conversation] = ()
) -> tuple[list[PlannedUse], Spent]:
    """What is still to be asked, agent by agent, and what was spent; nothing is asked.

    Every request reads the conversation so far again. Replies are foreseen as long as those that
    were collected before; else 100 tokens, or `max_tokens` where that is less.

    Args:
        plan: Who talks with whom.
        opened: The same with its agents.
        tries: Conversations that took place, or were tried.
    """
    planned = {one.dialog: one for one in opened.conversations}
    there = {one.dialog: one for one in tries if one.dialog in planned}
    estimates = Estimates()
    counted = [one for one in tries if one.dialog in planned and not _taken_up(one, there)]
    spent = estimates.used_before(counted, planned)
    uses: dict[str, PlannedUse] = {}
    for one in opened.conversations:
        before = there.get(one.dialog)
        if before is None or before.failure is not None:
            _foresee(one, before, plan.first, estimates, uses)
    for who in opened.models:
        use = uses.get(who.label)
        if use is not None:
            use.cost = _cost(who, use.tokens_in, use.tokens_out)
            use.measured = estimates.measured(who)
    _take_time(opened, uses)
    return [uses[label] for label in sorted(uses)], spent


def _foresee(
    planned: PlannedConversation,
    before: Conversation | None,
    first: Role,
    estimates: Estimates,
    uses: dict[str, PlannedUse],
) -> None:
    """Go through a conversation that is to take place, and count what each side would be asked."""
    sides = _speakers(planned)
    agent = sides["agent"].agent
    said = [tokens_of(agent, one.text) for one in planned.given]
    role: str | None = planned.given[-1].role if planned.given else None
    if before is not None and before.paused:
        said = [tokens_of(agent, one.text) for one in before.turns]
        role = before.turns[-1].role if before.turns else role
    while len(said) < planned.turns:
        role = first if role is None else _other(role)
        who = sides[role]
        written = estimates.usual(who)
        if who.is_model:
            use = uses.setdefault(who.label, PlannedUse(who.label))
            use.requests += 1
            use.tokens_in += estimates.read(who, said)
            use.tokens_out += written
        said.append(written)


def _taken_up(conversation: Conversation, there: dict[str, Conversation]) -> bool:
    """Whether a later try goes on from this one, and holds what was said in it."""
    return conversation.paused and there[conversation.dialog] is not conversation


def _take_time(opened: OpenPlan, uses: dict[str, PlannedUse]) -> None:
    """The minutes that limits make it take; agents of one account share a limit."""
    together: dict[int, list[OpenAgent]] = defaultdict(list)
    for who in opened.models:
        limit = getattr(who.agent, "limit", None)
        if limit is not None and who.label in uses:
            together[id(limit)].append(who)
    for several in together.values():
        limit = several[0].agent.limit  # type: ignore[attr-defined]
        own = [uses[who.label] for who in {who.label: who for who in several}.values()]
        requests = sum(use.requests for use in own)
        tokens = sum(use.tokens_in + use.tokens_out for use in own)
        minutes = max(
            requests / limit.requests if limit.requests else 0.0,
            tokens / limit.tokens if limit.tokens else 0.0,
        )
        for use in own:
            use.minutes = minutes


def _speakers(planned: PlannedConversation) -> dict[str, OpenAgent]:
    return {"agent": planned.agent, "partner": planned.partner}


def _other(role: str) -> Role:
    return "agent" if role == "partner" else "partner"


def most_tokens(who: OpenAgent) -> int:
    """The most tokens of a reply, where that is set; else 0."""
    most = who.spec.parameters.get("max_tokens", 0)
    return int(most) if isinstance(most, int | float) else 0


def _told(who: OpenAgent) -> int:
    """Tokens of persona, instruction and whatever else an agent is told in words."""
    task = getattr(who.agent, "task", None)
    if isinstance(task, str):
        return tokens_of(who.agent, task) + _TOKENS_A_MESSAGE
    try:
        declared = kind_named(who.spec.kind).declared
    except DialensError:
        return 0
    hidden = {one.name for one in declared if one.connection}
    told = [
        value
        for name, value in who.spec.parameters.items()
        if name not in hidden and isinstance(value, str)
    ]
    return sum(tokens_of(who.agent, text) + _TOKENS_A_MESSAGE for text in told)


def _cost(who: OpenAgent, read: int, written: int) -> float | None:
    prices = prices_of(who.agent, who.kind)
    if prices is None:
        return None
    return (read * prices[0] + written * prices[1]) / 1e6
