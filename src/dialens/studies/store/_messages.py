"""What is sent and answered in a conversation, on its way into the database."""

from dataclasses import dataclass
from datetime import datetime

from dialens.studies._exchange import Exchange, Side, Talk


@dataclass(frozen=True)
class ParticipantMessage:
    """What a participant says.

    Attributes:
        talk: The conversation; each of its sides is to answer.
        index: Of the screen.
        number: Of the exchange, from 1.
        text: What was written.
        key: Made up by the page, the same when it sends the message again.
    """

    talk: Talk
    index: int
    number: int
    text: str
    key: str


@dataclass(frozen=True)
class Lease:
    """The right of one server, and no other, to ask the agent of an exchange.

    Attributes:
        session: Its row.
        server: Whose lease it is.
        exchange: The message to be answered.
        before: The earlier exchanges of the conversation.
        talk: The conversation.
        side: The side of it that is to answer.
        since: When the participant began to wait for this reply.
    """

    session: int
    server: str
    exchange: Exchange
    before: tuple[Exchange, ...]
    talk: Talk
    side: Side
    since: datetime

    @property
    def beside(self) -> tuple[str, ...]:
        """Under which names the other sides are kept."""
        return tuple(name for name in self.talk.names if name != self.side.talk)


@dataclass(frozen=True)
class AgentReply:
    """What an agent answered.

    Attributes:
        text: The reply.
        seconds: From the question to the last piece.
        requests: That were made.
        tokens_in: Read by the model.
        tokens_out: Written by the model.
        cost: Of the reply.
        due_at: When the pace of the study shows it; sides of a conversation are then shown
            together. None if it is shown as it comes.
        finish: Why it ended in the middle (`length`, …); none if it is whole or nothing is known.
    """

    text: str
    seconds: float
    requests: int | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    due_at: datetime | None = None
    finish: str | None = None


@dataclass(frozen=True)
class AgentFailure:
    """How an agent failed.

    Attributes:
        reason: A word for tables.
        detail: What went wrong, for the researcher.
        seconds: From the question to the failure.
        final: Whether the conversation ends with it.
    """

    reason: str
    detail: str
    seconds: float
    final: bool
