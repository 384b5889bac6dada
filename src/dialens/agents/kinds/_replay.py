"""Agents that say again what someone said in a corpus."""

import hashlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
    several, or none, the seed chooses.

    Examples:
        >>> agent = ReplayAgent("s", "a", {}, (Recorded("Hi.", ("Hello.",)),))
        >>> agent.reply([Message("partner", "Hi.")]).text
        'Hello.'
    """

    system: str
    name: str
    parameters: Parameters
    recorded: tuple[Recorded, ...]

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
        opening = next((message.text for message in history if message.role == "partner"), "")
        same = [one for one in self.recorded if one.opening == opening] or self.recorded
        said = same[seed % len(same)].said
        turn = sum(message.role == "agent" for message in history)
        if turn >= len(said):
            raise AgentError(f"The conversation that {self.system} says again is over.", ENDED)
        if not said[turn].strip():
            raise AgentError(f"The turn that {self.system} would say again is empty.", "empty")
        return Reply(said[turn], seconds=time.monotonic() - began)

    def stream(self, history: Sequence[Message], *, seed: int = 0) -> Iterator[str]:
        """Say what was said at this turn, in one piece."""
        yield self.reply(history, seed=seed).text


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
