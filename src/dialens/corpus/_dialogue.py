"""One conversation in plain objects, and many of them as tables."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec
import numpy as np
import polars as pl

from dialens.corpus._tables import RATINGS, REFERENCES, TURNS, Tables

_BATCH_TURNS = 65_536
_BATCH_CHARACTERS = 16_000_000


@dataclass(slots=True)
class Turn:
    """An utterance; its number is its place in `Dialogue.turns`."""

    speaker: str
    role: str
    text: str
    created_at: datetime | None = None
    reply_to: str | None = None
    meta: dict[str, object] | None = None


@dataclass(slots=True)
class Reference:
    """A reference response for a turn."""

    turn: int
    text: str


@dataclass(slots=True)
class Rating:
    """One judgement. Without `turn` it is of the whole dialogue."""

    quality: str
    value: float
    turn: int | None = None
    level: str = "turn"
    rater: str | None = None
    rater_kind: str = "human"
    study: str | None = None
    scale: object | None = None
    condition: str | None = None
    factors: dict[str, object] | None = None
    answered_at: datetime | None = None


@dataclass(slots=True)
class Dialogue:
    """A conversation between one agent and its partner, as a reader hands it over.

    Attributes:
        system: The system's name.
        agent: The agent's name.
        dialog: The id.
        turns: In order.
        ratings: Of the dialogue or its turns.
        references: For its turns.
        remarks: What was taken for what, for the user; counted over a source and said once.
    """

    system: str
    agent: str
    dialog: str
    turns: list[Turn]
    ratings: list[Rating] = field(default_factory=list)
    references: list[Reference] = field(default_factory=list)
    remarks: tuple[str, ...] = ()


def tables(dialogues: Iterable[Dialogue]) -> Tables:
    """Dialogues as tables, in their order.

    Examples:
        >>> talk = Dialogue(
        ...     "s", "bot", "d1", [Turn("U", "partner", "hi"), Turn("B", "agent", "hey")]
        ... )
        >>> tables([talk]).turns.select("dialog", "turn", "role", "text").rows()
        [('d1', 0, 'partner', 'hi'), ('d1', 1, 'agent', 'hey')]
    """
    talks = list(dialogues)
    spoken = [turn for talk in talks for turn in talk.turns]
    lengths = [len(talk.turns) for talk in talks]
    of_talk = pl.Series(np.repeat(np.arange(len(talks)), lengths))
    turns = {
        "system": pl.Series([talk.system for talk in talks], dtype=pl.String).gather(of_talk),
        "agent": pl.Series([talk.agent for talk in talks], dtype=pl.String).gather(of_talk),
        "dialog": pl.Series([talk.dialog for talk in talks], dtype=pl.String).gather(of_talk),
        "turn": [number for length in lengths for number in range(length)],
        "speaker": [turn.speaker for turn in spoken],
        "role": [turn.role for turn in spoken],
        "text": [turn.text for turn in spoken],
        "created_at": [turn.created_at for turn in spoken],
        "reply_to": [turn.reply_to for turn in spoken],
        "meta": [None if turn.meta is None else _json(turn.meta) for turn in spoken],
    }
    return Tables(
        turns=pl.DataFrame(turns, schema=TURNS),
        ratings=_ratings(talks),
        references=_references(talks),
    )


def _ratings(talks: list[Dialogue]) -> pl.DataFrame:
    rated = [(talk, rating) for talk in talks for rating in talk.ratings]
    columns: dict[str, list[Any]] = {
        "study": [rating.study for _, rating in rated],
        "rater": [rating.rater for _, rating in rated],
        "rater_kind": [rating.rater_kind for _, rating in rated],
        "level": [rating.level for _, rating in rated],
        "system": [talk.system for talk, _ in rated],
        "agent": [talk.agent for talk, _ in rated],
        "dialog": [talk.dialog for talk, _ in rated],
        "turn": [rating.turn for _, rating in rated],
        "quality": [rating.quality for _, rating in rated],
        "scale": [_json(rating.scale) for _, rating in rated],
        "value": [rating.value for _, rating in rated],
        "condition": [rating.condition for _, rating in rated],
        "factors": [_json(rating.factors) for _, rating in rated],
        "answered_at": [rating.answered_at for _, rating in rated],
    }
    frame = pl.DataFrame(columns, schema={name: RATINGS[name] for name in columns})
    rest = [pl.lit(None, RATINGS[name]).alias(name) for name in RATINGS if name not in columns]
    return frame.with_columns(rest).select(RATINGS.names())


def _references(talks: list[Dialogue]) -> pl.DataFrame:
    pairs = [(talk, reference) for talk in talks for reference in talk.references]
    columns = {
        "dialog": [talk.dialog for talk, _ in pairs],
        "turn": [reference.turn for _, reference in pairs],
        "text": [reference.text for _, reference in pairs],
    }
    return pl.DataFrame(columns, schema=REFERENCES)


def batches(dialogues: Iterable[Dialogue], *, turns: int = _BATCH_TURNS) -> Iterator[Tables]:
    """Tables of about `turns` turns each, fewer where turns are long, no dialogue cut in two.

    Examples:
        >>> talk = Dialogue("s", "bot", "d1", [Turn("B", "agent", "hey")])
        >>> [batch.turns.height for batch in batches([talk, talk, talk], turns=2)]
        [2, 1]
    """
    waiting: list[Dialogue] = []
    count = size = 0
    for talk in dialogues:
        waiting.append(talk)
        count += len(talk.turns)
        size += sum(len(turn.text) for turn in talk.turns)
        if count >= turns or size >= _BATCH_CHARACTERS:
            yield tables(waiting)
            waiting, count, size = [], 0, 0
    if waiting:
        yield tables(waiting)


def _json(value: object | None) -> str | None:
    return None if value is None else msgspec.json.encode(value).decode()
