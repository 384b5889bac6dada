"""What asking an agent takes, as far as that is known before it is asked."""

from dialens.agents._agent import Agent
from dialens.agents._registry import kind_named
from dialens.base import DialensError

CHARACTERS_A_TOKEN = 4


def prices_of(agent: Agent, kind: str) -> tuple[float, float] | None:
    """Of a million tokens read and written; what runs in this program or beside it costs nothing.

    Who stands behind an endpoint, and what that takes, is not known unless a price is set, even
    where the endpoint itself is on this machine; nor is it of kinds that other packages bring.
    """
    prices: tuple[float, float] | None = getattr(agent, "prices", None)
    if prices is not None or getattr(agent, "host", None) is not None:
        return prices
    try:
        return (0.0, 0.0) if kind_named(kind).entry is None else None
    except DialensError:  # made by the program that uses it, which alone knows what it is
        return None


def tokens_of(agent: Agent, text: str) -> int:
    """Tokens of a text: counted where the kind can, else a quarter of its characters.

    Examples:
        >>> from dialens.agents.kinds import ScriptAgent
        >>> tokens_of(ScriptAgent("s", "a", {}, (("Hi",),)), "What a fine morning.")
        6
    """
    count = getattr(agent, "count", None)
    return int(count(text)) if callable(count) else len(text) // CHARACTERS_A_TOKEN + 1
