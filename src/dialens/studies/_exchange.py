"""One exchange of a conversation: what a participant said, and what became of the reply."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

WAITING, ANSWERED, FAILED, GIVEN_UP = "waiting", "answered", "failed", "given_up"
EXCHANGE_STATES = (WAITING, ANSWERED, FAILED, GIVEN_UP)


@dataclass(frozen=True)
class Exchange:
    """A message of a participant and the agent's reply to it.

    Attributes:
        talk: The conversation: the id of its screen.
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


def is_over(exchanges: Sequence[Exchange], wanted: int) -> bool:
    """Whether nothing more can be said: everything was answered, or the agent was given up.

    Examples:
        >>> from datetime import UTC
        >>> noon = datetime(2026, 1, 1, 12, tzinfo=UTC)
        >>> is_over([Exchange("chat-001", 1, "k", "Hi", noon, ANSWERED, 1, "Hello")], wanted=2)
        False
        >>> is_over([Exchange("chat-001", 1, "k", "Hi", noon, GIVEN_UP, 3)], wanted=2)
        True
    """
    if any(one.state == GIVEN_UP for one in exchanges):
        return True
    return sum(one.state == ANSWERED for one in exchanges) >= wanted


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
