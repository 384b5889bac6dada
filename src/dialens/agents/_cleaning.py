"""Replies without the secrets of this process, however they came to quote one."""

import time
from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dialens.agents._agent import Agent, Message, Reply
from dialens.base import CleanedPieces, without_secrets

SECRET_NOTE = "a secret was taken out of it"
"""The note of such a reply."""


def clean_reply(reply: Reply) -> Reply:
    """The same reply without secrets; a note says where one was taken out.

    Examples:
        >>> clean_reply(Reply("Hello.")).note
        ''
    """
    clean = replace(
        reply,
        text=without_secrets(reply.text),
        thought=without_secrets(reply.thought),
        finish=without_secrets(reply.finish),
        model=without_secrets(reply.model),
        note=without_secrets(reply.note),
        fingerprint=None if reply.fingerprint is None else without_secrets(reply.fingerprint),
        before=tuple(_cleaned(message) for message in reply.before),
    )
    return clean if clean == replace(reply, before=tuple(reply.before)) else noted(clean)


def noted(reply: Reply) -> Reply:
    """The same reply with the note that a secret was taken out."""
    if SECRET_NOTE in reply.note:
        return reply
    return replace(reply, note="; ".join(filter(None, [reply.note, SECRET_NOTE])))


def clean_pieces(pieces: Iterable[str], removed: list[bool]) -> Generator[str, None, None]:
    """Pieces of a reply without secrets, also those that two pieces hold together.

    Args:
        pieces: As they come.
        removed: Gets an entry if a secret was taken out.
    """
    cleaner = CleanedPieces()
    for piece in pieces:
        clean = cleaner.add(piece)
        if clean:
            yield clean
    rest = cleaner.end()
    if rest:
        yield rest
    if cleaner.removed:
        removed.append(True)


def streamed(
    agent: Agent, history: Sequence[Message], *, seed: int = 0
) -> Generator[str, None, Reply]:
    """Let an agent answer piece by piece, and return its whole reply at the end, without secrets.

    Examples:
        >>> from dialens.agents.kinds import ScriptAgent
        >>> agent = ScriptAgent("s", "a", {}, (("Hello there.",),))
        >>> pieces = streamed(agent, [])
        >>> "".join(pieces)
        'Hello there.'
    """
    began = time.monotonic()
    written: list[str] = []
    ended: list[object] = []

    def heard() -> Generator[str, None, None]:
        pieces = agent.stream(history, seed=seed)
        while True:
            try:
                piece = next(pieces)
            except StopIteration as end:
                ended.append(end.value)
                return
            yield piece

    for piece in clean_pieces(heard(), []):
        written.append(piece)
        yield piece
    if isinstance(ended[0], Reply):
        return clean_reply(ended[0])
    return Reply("".join(written), seconds=time.monotonic() - began)


def _cleaned(value: Any) -> Any:
    if isinstance(value, str):
        return without_secrets(value)
    if isinstance(value, Mapping):
        return {name: _cleaned(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_cleaned(inner) for inner in value]
    return value
