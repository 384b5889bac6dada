"""Whether the agents of a study answer: each is asked one short question, all at once."""

import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dialens.agents import Agent, Message, Reply
    from dialens.studies.design import Conversations, Pace

QUESTION = "Hello, how are you?"
_MOST_CHARACTERS = 120
_LOOK_S = 0.05


@dataclass(frozen=True)
class AskedAgent:
    """What came back from an agent.

    Attributes:
        name: In the data of the study.
        reply: What it said; none if it did not answer.
        problem: Why not, and the remedy.
        seconds: From the question to the last word.
    """

    name: str
    reply: "Reply | None"
    problem: str = ""
    seconds: float = 0.0

    def line(self) -> str:
        """What came back, in a line for the terminal."""
        if self.reply is None:
            return f"! {self.name} does not answer: {self.problem}"
        text = " ".join(self.reply.text.split())
        short = text if len(text) <= _MOST_CHARACTERS else f"{text[:_MOST_CHARACTERS]}…"
        reply = self.reply
        took = {"tokens read": reply.tokens_in, "tokens written": reply.tokens_out}
        facts = [f"{n:,} {what}" for what, n in took.items() if n is not None]
        facts += [] if reply.cost is None else [f"cost {reply.cost:.4f}"]
        spent = f" ({', '.join(facts)})" if facts else ""
        return f"{self.name} answered {QUESTION!r} after {self.seconds:.1f} s{spent}: {short}"

    def too_slow(self, pace: "Pace") -> str:
        """Says that the agent could be told by its speed; empty if the pace hides it."""
        if self.reply is None or self.seconds <= pace.delay(self.reply.text):
            return ""
        wanted = pace.seconds + self.seconds - pace.delay(self.reply.text)
        return (
            f"{self.name} took {self.seconds:.1f} s, and the pace gives a reply of that "
            f"length {pace.delay(self.reply.text):.1f} s: its speed tells it apart. Set "
            f"conversations.pace.seconds to {wanted:.0f} or more (and at_most above it)."
        )


def ask_agents(
    agents: Mapping[str, "Agent"], talks: "Conversations", *, seed: int
) -> Sequence[AskedAgent]:
    """Ask each agent as the study would, after its greeting, and wait no longer than it would.

    Args:
        agents: By their names in the data.
        talks: The settings of the study.
        seed: Random seed.
    """
    from dialens.agents import Message

    opening = [Message("agent", talks.greeting)] if talks.greeting else []
    history = [*opening, Message("partner", QUESTION)]
    results: dict[str, AskedAgent] = {}

    def ask(name: str) -> None:
        results[name] = _asked(name, agents[name], history, seed)

    # Not waited for longer than the study would: whoever hangs does not keep the command alive.
    threads = [threading.Thread(target=ask, args=(name,), daemon=True) for name in agents]
    for thread in threads:
        thread.start()
    latest = time.monotonic() + talks.reply_seconds
    while any(thread.is_alive() for thread in threads) and time.monotonic() < latest:
        time.sleep(_LOOK_S)
    late = f"no answer within {talks.reply_seconds:g} s (conversations.reply_seconds)."
    return [results.get(name) or AskedAgent(name, None, late) for name in agents]


def _asked(name: str, agent: "Agent", history: "Sequence[Message]", seed: int) -> AskedAgent:
    from dialens.agents import AgentError

    began = time.monotonic()
    try:
        reply = agent.reply(history, seed=seed)
    except AgentError as error:
        return AskedAgent(name, None, str(error))
    except Exception as error:
        return AskedAgent(name, None, f"{type(error).__name__}: {error}")
    if not reply.text.strip():
        return AskedAgent(name, None, "it said nothing.")
    return AskedAgent(name, reply, seconds=time.monotonic() - began)
