"""Conversations so far that every agent is to answer: the same ones, once each."""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from dialens import corpus
from dialens.agents._agent import ENDED, AgentError, Message, Parameters, Reply
from dialens.base import DialensError


@dataclass(frozen=True)
class Context:
    """A conversation up to the words that are to be answered.

    Attributes:
        id: Of the dialogue it was taken from.
        said: Turns, the partner's last.
        speakers: Who said each of them.
    """

    id: str
    said: tuple[Message, ...]
    speakers: tuple[str, ...]


def read_contexts(path: Path) -> tuple[Context, ...]:
    r"""Contexts from conversations in any format: each up to the partner's last words.

    What several dialogues have in common, as where several agents answered the same, is taken once.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "chats.jsonl"
        >>> _ = path.write_text(
        ...     '{"id": "a", "messages": [{"role": "user", "content": "Hi"}, '
        ...     '{"role": "assistant", "content": "Hello."}]}\n'
        ... )
        >>> read_contexts(path)[0].said
        (Message(role='partner', text='Hi'),)
    """
    turns = corpus.read(path).turns.select("dialog", "turn", "speaker", "role", "text").collect()
    found: dict[tuple[Message, ...], Context] = {}
    for part in turns.sort("dialog", "turn").partition_by("dialog", maintain_order=True):
        last = part.with_row_index().filter(pl.col("role") == "partner")["index"].max()
        if last is None:
            continue
        rows = part.head(int(str(last)) + 1).filter(pl.col("text").str.strip_chars() != "")
        said = tuple(Message(row["role"], row["text"]) for row in rows.iter_rows(named=True))
        if not said or said[-1].role != "partner" or said in found:
            continue
        found[said] = Context(part["dialog"][0], said, tuple(rows["speaker"]))
    if not found:
        raise DialensError(f"{path} holds no turn of a partner that could be answered.")
    return tuple(found.values())


@dataclass(frozen=True)
class ContextPartner:
    """Stands where a partner would: everything it has to say was said before."""

    contexts: tuple[Context, ...] = field(repr=False)
    system: str = "contexts"
    name: str = "contexts"
    parameters: Parameters = field(default_factory=dict)

    @property
    def identity(self) -> str:
        """The hash of what is to be answered."""
        said = "\0".join(one.text for context in self.contexts for one in context.said)
        return hashlib.sha256(said.encode()).hexdigest()

    def reply(self, history: Sequence[Message], *, seed: int = 0) -> Reply:
        """End the conversation."""
        raise AgentError("The context was answered.", ENDED)

    def stream(self, history: Sequence[Message], *, seed: int = 0) -> Iterator[str]:
        """End the conversation."""
        yield self.reply(history, seed=seed).text
