"""The turns of one call of a model: what was given to it, and what it replied."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from dialens.corpus._dialogue import Turn
from dialens.corpus._intake import RecordError
from dialens.corpus._reasoning import said_in
from dialens.corpus.readers._messages import ROLES, SPEAKERS, turns_of
from dialens.corpus.readers._payloads import Found


@dataclass(frozen=True)
class Exchange:
    """The turns of one call of a model, and how many of them stood in its input."""

    turns: list[Turn]
    given: int


def exchange_of(asked: Found | None, replied: Found | None) -> Exchange:
    """The turns of an input and an output; an output that repeats its input is not doubled.

    Raises:
        RecordError: If neither holds a message of a user or an assistant.
    """
    given = _turns(asked) if asked else []
    said = _turns(replied) if replied else []
    if given and said and starts_with(said, given):
        return Exchange(said, len(given))
    if not given and not said:
        path = (asked or replied or Found([], "")).path
        raise RecordError("holds no message of a user or an assistant", field=path)
    if given:
        meta = given[-1].meta or {}
        after = meta.pop("after", None)
        waiting = after if isinstance(after, list) else []
        given[-1].meta = meta or None
        if said:
            put_before(said[0], waiting)
        elif replied:
            waiting = [*waiting, *replied.messages]
        if waiting and not said:
            given[-1].meta = {**meta, "after": waiting}
    return Exchange([*given, *said], len(given))


def mark_given(turns: Iterable[Turn]) -> None:
    """Replies that stood in a prompt were given to the agent, not said by it."""
    for turn in turns:
        if turn.role == "agent":
            turn.role = "partner"


def put_before(turn: Turn, messages: object) -> None:
    """Keep messages that are no turns before this one."""
    if isinstance(messages, list) and messages:
        meta = turn.meta or {}
        old = meta.get("before")
        turn.meta = {**meta, "before": [*messages, *(old if isinstance(old, list) else [])]}


def _turns(found: Found) -> list[Turn]:
    try:
        turns = turns_of(found.messages, roles=ROLES, field=found.path, speaker_of=SPEAKERS)
    except RecordError as error:
        if found.alone:
            error.field = error.field.replace(f"{found.path}[0]", found.path, 1)
        raise
    if found.instructions and turns:
        put_before(turns[0], [found.instructions])
    return turns


def starts_with(turns: Sequence[Turn], beginning: Sequence[Turn]) -> bool:
    """Whether these turns are the beginning of those, but for space around texts."""
    if len(beginning) > len(turns):
        return False
    return all(_same(one, other) for one, other in zip(turns, beginning, strict=False))


def shared_beginning(one: Sequence[Turn], other: Sequence[Turn]) -> int:
    """How many turns two conversations have in common before they part."""
    pairs = enumerate(zip(one, other, strict=False))
    parted = (place for place, (mine, theirs) in pairs if not _same(mine, theirs))
    return next(parted, min(len(one), len(other)))


def _same(one: Turn, other: Turn) -> bool:
    return _side(one) == _side(other) and said_in(one.text) == said_in(other.text)


def _side(turn: Turn) -> str:
    """Who spoke; a repeated reply was the agent's, though its role is now the partner's."""
    return "agent" if turn.meta and turn.meta.get(REPEATED) else turn.role


REPEATED = "repeated"
"""The key of `meta` that marks a reply which is the agent's in another dialogue."""
