"""A conversation between a person and an agent, added to a corpus at its end."""

from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dialens.agents._agent import Agent, AgentSpec, Message, Reply
from dialens.agents._cleaning import streamed
from dialens.agents._settings import label_of
from dialens.base import DialensError, atomic_folder
from dialens.corpus import Corpus, Dialogue, Tables, Turn, is_corpus_folder, tables, write_corpus

PERSON = "human"
"""What the person is called in the corpus."""

_FORMAT = "agents chat"


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass
class Chat:
    """A conversation that is going on.

    Attributes:
        agent: Who answers.
        seed: Of the conversation.
        clock: Returns the time.
        turns: What was said, with the time.

    Examples:
        >>> from dialens.agents.kinds import ScriptAgent
        >>> chat = Chat(ScriptAgent("s", "a", {}, (("Hello.", "I see."),)))
        >>> "".join(chat.say("Hi!"))
        'Hello.'
        >>> [message.text for message in chat.history]
        ['Hi!', 'Hello.']
    """

    agent: Agent
    seed: int = 0
    clock: Callable[[], datetime] = _now
    turns: list[Turn] = field(default_factory=list)
    _again: int = 0

    @property
    def history(self) -> list[Message]:
        """What was said, as the agent sees it."""
        return [_seen(turn) for turn in self.turns]

    def say(self, text: str) -> Generator[str, None, Reply]:
        """Say something, and get the answer piece by piece.

        If the agent fails, what was said stays, and `again` asks once more.
        """
        self.turns.append(Turn(PERSON, "partner", text, self.clock()))
        return (yield from self._answer())

    def again(self) -> Generator[str, None, Reply]:
        """Take the last answer back and get another, drawn anew."""
        if self.turns and self.turns[-1].role == "agent":
            self.turns.pop()
        if not self.turns:
            raise DialensError("Nothing was said yet. Say something first.")
        self._again += 1
        return (yield from self._answer())

    def _answer(self) -> Generator[str, None, Reply]:
        reply = yield from streamed(self.agent, self.history, seed=self.seed + self._again)
        label = label_of(self.agent.system, self.agent.name)
        self.turns.append(Turn(label, "agent", reply.text, self.clock(), meta=_usage(reply)))
        return reply


def _seen(turn: Turn) -> Message:
    """A turn as the agent sees it, with the tools that it called for its own."""
    if turn.role != "agent":
        return Message("partner", turn.text)
    before = (turn.meta or {}).get("before")
    return Message("agent", turn.text, before if isinstance(before, list) else ())


def _usage(reply: Reply) -> dict[str, object]:
    usage = {
        "seconds": round(reply.seconds, 3),
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
        "cost": reply.cost,
        "finish": reply.finish if reply.finish not in ("", "stop") else None,
        "reasoning": reply.thought or None,
        "before": list(reply.before) or None,
        "note": reply.note or None,
    }
    return {name: value for name, value in usage.items() if value is not None}


def refuse_foreign(folder: Path) -> None:
    """Refuse, before a word is spoken, a place to whose content a chat cannot be added."""
    if not folder.exists() or (folder.is_dir() and not any(folder.iterdir())):
        return
    if not folder.is_dir() or not is_corpus_folder(folder):
        raise DialensError(f"{folder} is not a corpus. Name another place for the conversation.")
    if Corpus.open(folder).manifest["source"].get("format") != _FORMAT:
        raise DialensError(
            f"{folder} is a corpus that holds other things than chats. Name another place."
        )


def add_to_corpus(chat: Chat, spec: AgentSpec, folder: Path) -> str:
    """Add a chat to a corpus of chats, made if it is not there; return the dialogue's id.

    The folder is replaced as a whole: an interruption leaves it as it was.
    """
    refuse_foreign(folder)
    parts: list[Tables] = []
    agents: list[dict[str, Any]] = []
    if is_corpus_folder(folder):
        old = Corpus.open(folder)
        parts.append(Tables(old.turns.collect(), old.ratings.collect(), old.references.collect()))
        agents = old.manifest["source"]["agents"]
    number = 1 + (parts[0].turns["dialog"].n_unique() if parts else 0)
    dialog = f"chat-{number:03d}"
    about = {
        "system": chat.agent.system,
        "agent": chat.agent.name,
        "kind": spec.kind,
        "target": spec.target,
        "parameters": dict(spec.parameters),
        "identity": str(getattr(chat.agent, "identity", "")),
    }
    parts.append(tables([Dialogue(chat.agent.system, chat.agent.name, dialog, chat.turns)]))
    source = {
        "name": folder.name,
        "format": _FORMAT,
        "agents": agents if about in agents else [*agents, about],
    }
    with atomic_folder(folder) as scratch:
        write_corpus(parts, scratch, source=source)
    return dialog
