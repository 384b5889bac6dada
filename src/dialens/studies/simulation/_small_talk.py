"""Small talk: lines that stand for what people and agents say where nobody is asked."""

from collections.abc import Sequence
from datetime import UTC, datetime

from dialens.studies._exchange import ANSWERED, Exchange
from dialens.studies.design import Conversations
from dialens.studies.plan import shuffled

LINES = (
    "Hello! How is your day going?",
    "I went for a walk this morning, it was lovely.",
    "What do you like to do at the weekend?",
    "I have been trying to cook more often lately.",
    "Do you have any advice for a beginner?",
    "That sounds interesting, tell me more.",
    "I am not sure that I agree with you there.",
    "My sister says the same, as it happens.",
    "What would you do in my place?",
    "Thanks, I had not thought of that.",
    "Let us talk about music instead.",
    "I should go soon, it was nice talking to you.",
)
REPLIES = (
    "That sounds good. What made you think of it?",
    "I see. Could you say a little more about that?",
    "Many people feel that way, and it often passes.",
    "I would start small and see how it goes.",
    "It depends on what you like, but both can be fun.",
    "I like that idea very much.",
    "Oh, I have never heard that before.",
    "Perhaps you could ask a friend to join you.",
    "Yes, that is what I would do as well.",
    "It was nice talking to you, too.",
)
_THEN = datetime(2026, 1, 1, tzinfo=UTC)


def line(who: str, talk: str, number: int) -> str:
    """What somebody says, the same whenever it comes up.

    Examples:
        >>> line("person-1", "chat-001", 1) == line("person-1", "chat-001", 1)
        True
    """
    mixed = shuffled(LINES, who, talk)
    return mixed[(number - 1) % len(mixed)]


def stand_in(agent: str, number: int) -> str:
    """What stands for an agent's reply."""
    mixed = shuffled(REPLIES, agent)
    return mixed[(number - 1) % len(mixed)]


def example(talks: Conversations, names: Sequence[str]) -> tuple[Exchange, ...]:
    """A whole conversation, to preview what comes after it.

    Args:
        talks: The settings of the study.
        names: Under which names its sides are kept.
    """
    return tuple(
        Exchange(
            name, number, "example", line("example", names[0], number), _THEN, ANSWERED, 1,
            stand_in("example" if name == names[0] else name, number),
        )
        for name in names
        for number in range(1, talks.exchanges + 1)
    )  # fmt: skip


def last_message(who: str, talk: str, least: int | None, most: int) -> int:
    """After how many messages somebody ends a conversation who may, the same at every look.

    Examples:
        >>> last_message("person-1", "chat-001", None, 6)
        6
        >>> {last_message(f"person-{n}", "chat-001", 2, 4) for n in range(20)}
        {2, 3, 4}
    """
    if least is None:
        return most
    chosen: int = shuffled(range(least, most + 1), who, talk, "end")[0]
    return chosen
