"""Agents that say again what someone said in a corpus."""

import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import polars as pl

from dialens import corpus
from dialens.agents._agent import ENDED, AgentError, AgentSpec, Message, Parameters, Reply
from dialens.agents._settings import Named, read_settings, setting
from dialens.base import DialensError


@dataclass(frozen=True)
class ReplaySettings:
    """Whose words are said again."""

    role: str = setting("agent", "Whose turns to say.", choices=("agent", "partner"))
    of_system: str = setting("", "Only dialogues of this system.")
    of_agent: str = setting("", "Only dialogues of this agent.")


@dataclass(frozen=True)
class Recorded:
    """One side of a conversation: how the other began, and what this one said."""

    opening: str
    said: tuple[str, ...]


@dataclass(frozen=True)
class ReplayAgent:
    """Says what one side of a recorded conversation said, turn by turn, and ends with it.

    The conversation that begins with the same words of the partner is chosen; where there are
    several, or none, the seed chooses. In a collection the number of the conversation does: each is
    said once before any is said again, and in the same order to everybody.

    Examples:
        >>> agent = ReplayAgent("s", "a", {}, (Recorded("Hi.", ("Hello.",)),))
        >>> agent.reply([Message("partner", "Hi.")]).text
        'Hello.'
    """

    system: str
    name: str
    parameters: Parameters
    recorded: tuple[Recorded, ...]
    number: int | None = None

    @property
    def identity(self) -> str:
        """The hash of what it says."""
        digest = hashlib.sha256()
        for one in self.recorded:
            digest.update("\0".join((one.opening, *one.said, "\n")).encode())
        return digest.hexdigest()

    def reply(self, history: Sequence[Message], *, seed: int = 0) -> Reply:
        """Say what was said at this turn."""
        began = time.monotonic()
        said = self._chosen(history, seed).said
        turn = sum(message.role == "agent" for message in history)
        if turn >= len(said):
            raise AgentError(f"The conversation that {self.system} says again is over.", ENDED)
        if not said[turn].strip():
            raise AgentError(f"The turn that {self.system} would say again is empty.", "empty")
        return Reply(said[turn], seconds=time.monotonic() - began)

    def stream(self, history: Sequence[Message], *, seed: int = 0) -> Iterator[str]:
        """Say what was said at this turn, in one piece."""
        yield self.reply(history, seed=seed).text

    def numbered(self, number: int) -> "ReplayAgent":
        """Itself in the n-th conversation of a collection.

        Examples:
            >>> agent = ReplayAgent(
            ...     "s", "a", {}, (Recorded("", ("One.",)), Recorded("", ("Two.",)))
            ... )
            >>> [agent.numbered(number).reply([]).text for number in range(3)]
            ['One.', 'Two.', 'One.']
        """
        return replace(self, number=number)

    def _chosen(self, history: Sequence[Message], seed: int) -> Recorded:
        opening = next((message.text for message in history if message.role == "partner"), "")
        # A silent partner is no opening that could be told from another.
        same = [one for one in self.recorded if opening and one.opening == opening]
        several = same or self.recorded
        return several[(seed if self.number is None else self.number) % len(several)]


def open_agent(spec: AgentSpec) -> ReplayAgent:
    """A replay agent from anything that `dialens formats` lists."""
    settings = read_settings(ReplaySettings, spec)
    if not spec.target:
        raise DialensError("A replay agent needs conversations: replay:CORPUS, in any format.")
    turns = corpus.read(Path(spec.target)).turns
    if settings.of_system:
        turns = turns.filter(pl.col("system") == settings.of_system)
    if settings.of_agent:
        turns = turns.filter(pl.col("agent") == settings.of_agent)
    own = pl.col("role") == settings.role
    table = (
        turns.group_by("dialog", maintain_order=True)
        .agg(
            opening=pl.col("text").filter(~own).first().fill_null(""),
            said=pl.col("text").filter(own),
        )
        .filter(pl.col("said").list.len() > 0)
        .collect()
    )
    if table.height == 0:
        raise DialensError(
            f"{spec.target} holds no turn of role {settings.role} to say again"
            f"{' by that system or agent' if settings.of_system or settings.of_agent else ''}."
        )
    named = Named.of(spec, ReplaySettings)
    recorded = tuple(
        Recorded(row["opening"], tuple(row["said"])) for row in table.iter_rows(named=True)
    )
    return ReplayAgent(named.system, named.name, named.parameters, recorded)
