"""A person at the terminal, as a partner of agents."""

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from dialens.agents._agent import ENDED, AgentError, AgentSpec, Message, Parameters, Reply
from dialens.agents._settings import Named
from dialens.base import DialensError

DONE, QUIT = "/done", "/quit"


def ask(prompt: str) -> str:
    """A line from the terminal."""
    return input(prompt)


@dataclass(frozen=True)
class HumanAgent:
    """Shows what was said last and reads an answer.

    `/done` ends the conversation and keeps it; `/quit`, or the end of the input, stops everything.

    Examples:
        >>> person = HumanAgent(
        ...     "human", "you", {}, ask=lambda prompt: "Fine.", show=lambda line: None
        ... )
        >>> person.reply([Message("partner", "How are you?")]).text
        'Fine.'
    """

    system: str
    name: str
    parameters: Parameters
    ask: Callable[[str], str] = field(default=ask, repr=False)
    show: Callable[[str], None] = field(default=print, repr=False)

    def reply(self, history: Sequence[Message], *, seed: int = 0) -> Reply:
        """Show the last message and read a line that is not blank."""
        began = time.monotonic()
        if len(history) <= 1:
            self.show(f"\nA new conversation. {DONE} ends it, {QUIT} stops.")
        if history:
            self.show(f"them: {history[-1].text}")
        while True:
            try:
                line = self.ask("you:  ").strip()
            except EOFError:
                line = QUIT
            if line == QUIT:
                raise KeyboardInterrupt
            if line == DONE:
                raise AgentError("The conversation was ended.", ENDED)
            if line:
                return Reply(line, seconds=time.monotonic() - began)

    def ended(self, history: Sequence[Message]) -> None:
        """Show what was said last, and that it was the last."""
        if history and history[-1].role == "partner":
            self.show(f"them: {history[-1].text}")
        self.show("That was the last turn of this conversation.")

    def stream(self, history: Sequence[Message], *, seed: int = 0) -> Iterator[str]:
        """The answer in one piece."""
        yield self.reply(history, seed=seed).text


def open_agent(spec: AgentSpec) -> HumanAgent:
    """The person at the terminal."""
    if spec.parameters:
        raise DialensError("A human has no settings.")
    if not sys.stdin.isatty() and not spec.target:
        raise DialensError(
            "There is nobody at the terminal. Run this in a terminal, or write human:stdin to "
            "read answers from standard input, one a line."
        )
    named = Named.of(spec, system="human")
    return HumanAgent(named.system, spec.name or "terminal", named.parameters)
