"""Exchanges of a conversation: what a participant said, and what became of the replies.

A conversation has one side, or two where two agents answer each message side by side. What is said
on a side is kept under a name of its own, so that each side is a conversation with one agent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import cached_property

WAITING, ANSWERED, FAILED, GIVEN_UP = "waiting", "answered", "failed", "given_up"
EXCHANGE_STATES = (WAITING, ANSWERED, FAILED, GIVEN_UP)
READY = "ready"
"""The state of a conversation in which nothing was said yet."""

ALL_SAID, BY_PARTICIPANT, BY_TIME, BY_AGENT = "exchanges", "participant", "time", "agent"
ENDINGS = (ALL_SAID, BY_PARTICIPANT, BY_TIME, BY_AGENT)
"""How a conversation ends: all messages are written, the participant ends it, the time is over, or
the agent ended it or failed for good."""

LEFT, LEFT_AFTER_FAILURE, AGENT_FAILED = "left", "left_after_failure", "agent_failed"
PARTIAL = {
    LEFT: "the participant left",
    LEFT_AFTER_FAILURE: "the participant left after the agent had failed",
    AGENT_FAILED: "the agent failed for good",
    "other_agent_failed": "the agent beside it failed for good",
    "under_way": "still under way",
    "begun_anew": "the participant began again",
}
"""Why a conversation is partial, with words for people."""


@dataclass(frozen=True)
class Exchange:
    """A message of a participant and the agent's reply to it.

    Attributes:
        talk: The conversation, or the side of it.
        number: Of the exchange in it, from 1.
        key: Made up by the page, the same when it sends the message again.
        said: What the participant wrote.
        said_at: When it was stored.
        state: `waiting` for the reply; `answered`; `failed`, and may be tried again; `given_up`,
            which ends the conversation.
        tries: How often the agent was asked.
        reply: What the agent said.
        replied_at: When that, or the failure, was stored.
        reason: Of the last failure, a word for tables.
        seconds: From the question to the last piece of the reply.
        requests: That the agent made for the reply, where it says so.
        tokens_in: Read by the model, where it says so.
        tokens_out: Written by the model, where it says so.
        cost: In the currency of the agent's prices, where they are known.
        shown_at: From when on the whole reply is shown; never before it was stored.
        ended: How the conversation ended, if it ended with this exchange: one of `ENDINGS`.
        due_at: When the pace of the study shows the reply; none if replies are shown as they come.
    """

    talk: str
    number: int
    key: str
    said: str
    said_at: datetime
    state: str = WAITING
    tries: int = 0
    reply: str | None = None
    replied_at: datetime | None = None
    reason: str | None = None
    seconds: float | None = None
    requests: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    shown_at: datetime | None = None
    ended: str | None = None
    due_at: datetime | None = None


@dataclass(frozen=True)
class Side:
    """One of the agents that answer a message.

    Attributes:
        talk: Under which name what is said there is kept.
        system: The agent's, as in a corpus.
        agent: Who answers.
    """

    talk: str
    system: str
    agent: str


@dataclass(frozen=True)
class Talk:
    """A conversation as it is planned.

    Attributes:
        sides: Who answers: one agent, or two side by side.
        most: Messages after which it is over.
        least: Messages after which the participant may end it; none if never.
        seconds: After the first message, when it is over; none for no limit.
    """

    sides: tuple[Side, ...]
    most: int
    least: int | None = None
    seconds: float | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Under which names its sides are kept."""
        return tuple(side.talk for side in self.sides)


@dataclass(frozen=True)
class TalkState:
    """How far a conversation is at a moment.

    Attributes:
        talk: The conversation.
        exchanges: Of the participation; those of other conversations are left aside.
        now: The moment.
        until: The exchange after which something else comes; none for the last.

    Examples:
        >>> from datetime import UTC
        >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
        >>> talk = Talk((Side("chat-001", "house", "ada"),), most=2)
        >>> said = Exchange("chat-001", 1, "k", "Hi", noon, ANSWERED, 1, "Hello")
        >>> state = TalkState(talk, [said], noon)
        >>> state.state, state.number, state.ended
        ('answered', 2, None)
        >>> TalkState(talk, [replace(said, state=GIVEN_UP)], noon).ended
        'agent'
    """

    talk: Talk
    exchanges: Sequence[Exchange]
    now: datetime
    until: int | None = None

    @cached_property
    def sides(self) -> tuple[tuple[Exchange, ...], ...]:
        """What was said, by side, as participants see it: what is not shown yet is waited for."""
        own = as_seen([one for one in self.exchanges if one.talk in self.talk.names], self.now)
        return tuple(tuple(one for one in own if one.talk == name) for name in self.talk.names)

    @property
    def last(self) -> tuple[Exchange, ...]:
        """The newest exchange of each side; empty if nothing was said."""
        return tuple(side[-1] for side in self.sides if side)

    @property
    def state(self) -> str:
        """Of the newest message: it waits if a side waits, and has failed if one has failed."""
        states = [one.state for one in self.last]
        return next((s for s in (WAITING, GIVEN_UP, FAILED, ANSWERED) if s in states), READY)

    @property
    def answered(self) -> int:
        """Messages that every side has answered."""
        return min(sum(one.state == ANSWERED for one in side) for side in self.sides)

    @property
    def number(self) -> int:
        """The number of the exchange that is next, or under way."""
        busy = self.state not in (READY, ANSWERED)
        return len(self.sides[0]) + (0 if busy else 1)

    @property
    def held_s(self) -> float | None:
        """Seconds until replies that are held back are shown; none if an agent is waited for."""
        newest = [
            one
            for one in self.exchanges
            if one.talk in self.talk.names and one.number == len(self.sides[0])
        ]
        if self.state != WAITING or any(one.state == WAITING for one in newest):
            return None
        return max((one.shown_at - self.now).total_seconds() for one in newest if one.shown_at)

    @property
    def closes_at(self) -> datetime | None:
        """When the time is over; none without a limit, and before the first message."""
        if self.talk.seconds is None or not self.sides[0]:
            return None
        return self.sides[0][0].said_at + timedelta(seconds=self.talk.seconds)

    @property
    def seconds_left(self) -> float | None:
        """Until the time is over; none where no time runs."""
        closes = self.closes_at
        return None if closes is None else max((closes - self.now).total_seconds(), 0.0)

    @property
    def ended(self) -> str | None:
        """How the conversation ended; none if it goes on, as it does while a reply is awaited."""
        if self.state == WAITING:
            return None
        if self.state == GIVEN_UP:
            return BY_AGENT
        # One side may have said its last word while the other has yet to be tried again.
        stored = next((one.ended for one in self.last if one.ended not in (None, ALL_SAID)), None)
        if stored is not None:
            return stored
        if self.answered >= self.talk.most:
            return ALL_SAID
        return BY_TIME if self.seconds_left == 0 else None

    @property
    def over(self) -> bool:
        """Whether nothing more can be said."""
        return self.ended is not None

    @property
    def done(self) -> bool:
        """Whether the participant goes on to what comes after this conversation, or this part."""
        return self.over or (self.until is not None and self.answered >= self.until)

    @property
    def may_end(self) -> bool:
        """Whether the participant may end the conversation now."""
        least = self.talk.least
        return (
            least is not None and self.answered >= least and self.state != WAITING and not self.over
        )


def whole_of(talk: str) -> str:
    """The conversation that a side belongs to, by the name under which the side is kept.

    Examples:
        >>> whole_of("chat-001-2"), whole_of("chat-001")
        ('chat-001', 'chat-001')
    """
    return "-".join(talk.split("-")[:2])


def as_seen(exchanges: Sequence[Exchange], now: datetime) -> tuple[Exchange, ...]:
    """Exchanges as a participant sees them: a reply that is held back is waited for.

    At a pace, sides are shown together, so the quicker one waits for the other. A reply that was
    not held back is seen whatever the clock of this machine says.
    """
    awaited = {(whole_of(one.talk), one.number) for one in exchanges if one.state == WAITING}

    def hidden(one: Exchange) -> bool:
        beside = one.due_at is not None and (whole_of(one.talk), one.number) in awaited
        held = one.shown_at is not None and one.shown_at > now and one.shown_at != one.replied_at
        return beside or held

    return tuple(
        replace(one, state=WAITING, reply=None, ended=None) if hidden(one) else one
        for one in exchanges
    )


def spoken(exchanges: Iterable[Exchange], *, greeting: str = "") -> list[tuple[str, str]]:
    """Role and text of every turn so far; what was never answered is the last one.

    Examples:
        >>> from datetime import UTC
        >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
        >>> spoken([Exchange("chat-001", 1, "k", "Hi", noon)], greeting="Hello!")
        [('agent', 'Hello!'), ('partner', 'Hi')]
    """
    turns = [("agent", greeting)] if greeting else []
    for one in exchanges:
        turns.append(("partner", one.said))
        if one.state == ANSWERED and one.reply is not None:
            turns.append(("agent", one.reply))
    return turns
