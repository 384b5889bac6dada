"""Conversations of a study as a corpus: what other commands score, compare and validate."""

import json
from collections.abc import Mapping
from pathlib import Path

import polars as pl

from dialens.corpus import RATINGS, Dialogue, Tables, Turn, write_corpus
from dialens.corpus import tables as corpus_tables
from dialens.studies._exchange import ANSWERED
from dialens.studies._study import Study
from dialens.studies._waves import FIRST
from dialens.studies.store import RESTARTED

CONVERSATIONS = "conversations"
"""The folder of the corpus within an export."""

PARTICIPANT = "participant"
"""What participants are called in it."""


_SPENT = (
    "seconds", "waited", "held_ms", "over_pace", "tries", "tokens_in", "tokens_out", "cost",
    "finish",
)  # fmt: skip


def dialog_name(rater: str, talk: str, wave: int) -> str:
    """What a conversation is called in the tables.

    Examples:
        >>> dialog_name("p-7k2m", "chat-001", 1), dialog_name("p-7k2m", "chat-001", 2)
        ('p-7k2m-chat-001', 'p-7k2m-wave-2-chat-001')
    """
    return f"{rater}-{talk}" if wave == FIRST else f"{rater}-wave-{wave}-{talk}"


def dialogues(said: pl.DataFrame, greetings: Mapping[str, str]) -> list[Dialogue]:
    """Conversations in plain objects; those begun and thrown away are left out.

    The last turn says how the conversation ended, and if it did not come to its end, why.

    Args:
        said: In the columns of `studies.store.EXCHANGES`.
        greetings: What agents are said to have said first, by language.
    """
    kept = said.filter(pl.col("session_state") != RESTARTED)
    made = []
    for part in kept.partition_by("rater", "attempt", "talk", maintain_order=True):
        rows = part.rows(named=True)
        first = rows[0]
        agent = first["agent"]
        turns: list[Turn] = []
        greeting = greetings.get(first["language"], "")
        if greeting:
            # The study's words, not the agent's: context.
            turns.append(Turn(agent, "partner", greeting, meta={"opening": True}))
        for row in rows:
            turns.append(Turn(PARTICIPANT, "partner", row["said"], row["said_at"]))
            if row["state"] == ANSWERED:
                meta = {name: row[name] for name in _SPENT if row[name] is not None}
                turns.append(Turn(agent, "agent", row["reply"], row["replied_at"], meta=meta))
        if turns and first["ended"] is not None:
            turns[-1].meta = {**(turns[-1].meta or {}), "ended": first["ended"]}
        if first["partial"]:
            why = {"partial": True, "reason": first["partial_reason"]}
            turns[-1].meta = {**(turns[-1].meta or {}), **why}
        named = dialog_name(first["rater"], first["talk"], first["wave"])
        made.append(Dialogue(first["system"], agent, named, turns))
    return made


def with_partial(ratings: pl.DataFrame, said: pl.DataFrame) -> pl.DataFrame:
    """Ratings with `partial`: whether the conversation they are about did not come to its end.

    Args:
        ratings: In the columns of an export.
        said: In the columns of `studies.store.EXCHANGES`.
    """
    kept = said.filter(pl.col("session_state") != RESTARTED)
    columns = ("rater", "talk", "wave", "partial")
    marked = {dialog_name(*place): mark for *place, mark in kept.select(columns).iter_rows()}
    marks = pl.DataFrame(
        {"dialog": list(marked), "partial": list(marked.values())},
        schema={"dialog": pl.String, "partial": pl.Boolean},
    )
    return ratings.join(marks, on="dialog", how="left", maintain_order="left")


def write_conversations(
    study: Study, said: pl.DataFrame, ratings: pl.DataFrame, folder: Path
) -> int:
    """Write the corpus of a study's conversations with their ratings; gives how many there are.

    Args:
        study: The study.
        said: In the columns of `studies.store.EXCHANGES`.
        ratings: In the columns of an export.
        folder: Where to; must be empty or not there.

    Examples:
        >>> import tempfile
        >>> from dialens.studies._examples import TEA
        >>> from dialens.studies.store import EXCHANGES
        >>> from dialens.studies._study import study_of
        >>> folder = Path(tempfile.mkdtemp()) / "corpus"
        >>> write_conversations(study_of(TEA), EXCHANGES.to_frame(), RATINGS.to_frame(), folder)
        0
    """
    talks = study.design.conversations
    made = dialogues(said, _greetings(study))
    spoken = corpus_tables(made)
    names = [one.dialog for one in made]
    own = ratings.select(RATINGS.names()).filter(pl.col("dialog").is_in(names))
    agents = [] if talks is None else [agent.model_dump(mode="json") for agent in talks.agents]
    source = {
        "name": study.name,
        "format": "study",
        "study": {"version": study.design.version, "hash": study.hash},
        "agents": json.loads(json.dumps(agents)),
    }
    write_corpus([Tables(spoken.turns, own, spoken.references)], folder, source=source)
    return len(made)


def _greetings(study: Study) -> dict[str, str]:
    own = {name: study.said_in(name).design.conversations for name in study.languages}
    return {name: talks.greeting for name, talks in own.items() if talks is not None}
