"""What agents, systems and dialogues are called where a source leaves it open or a user says so.

An agent is called as its source calls it (its model, its speaker), else by its file; a system by
its file. A user's own names (`--agent`, `--system`) come before both. Ids of dialogues need to be
unique within a source: one that an earlier source has used gets its own source's name in front.
"""

from collections import Counter
from collections.abc import Iterator, Sequence

import polars as pl

from dialens.corpus._intake import Intake
from dialens.corpus._roles import UNKNOWN
from dialens.corpus._source import Source
from dialens.corpus._tables import Tables

PIPED = "assistant"
"""The agent's name where there is not even a file, as with a pipe."""


def named(parts: Iterator[Tables], source: Source, intake: Intake) -> Iterator[Tables]:
    """The batches of a reader, with names for what it left open and the user's own names."""
    intake.begin(source.stem)
    for part in parts:
        if intake.renamed:
            dialogs = part.turns["dialog"].unique(maintain_order=True)
            taken = dialogs.filter(dialogs.is_in(list(intake.renamed)))
            intake.count_renamed(taken.replace(intake.renamed).to_list())
        yield Tables(
            turns=_renamed(part.turns, source, intake),
            ratings=_renamed(part.ratings, source, intake),
            references=_renamed(part.references, source, intake),
        )


def _renamed(table: pl.DataFrame, source: Source, intake: Intake) -> pl.DataFrame:
    names = {
        "system": (source.stem, source.fallback_system, source.options.system),
        "agent": (UNKNOWN, source.fallback_agent, source.options.agent),
    }
    columns = []
    for column, (open_name, fallback, own) in names.items():
        if column not in table.columns:
            continue
        named = pl.col(column).is_not_null()
        if own is not None:
            columns.append(pl.when(named).then(pl.lit(own)).alias(column))
        elif fallback != open_name:
            left_open = pl.col(column) == open_name
            columns.append(
                pl.when(left_open).then(pl.lit(fallback)).otherwise(column).alias(column)
            )
    if intake.renamed:
        columns.append(pl.col("dialog").replace(intake.renamed))
    return table.with_columns(columns) if columns else table


def agent_labels(agents: Sequence[tuple[str, str]]) -> list[str]:
    """A label for each agent (a system and a name), no two alike and none longer than it must be.

    Examples:
        >>> agent_labels([("v1", "gpt"), ("v1", "llama")])
        ['gpt', 'llama']
        >>> agent_labels([("v1", "gpt"), ("v2", "gpt"), ("v3", "v3")])
        ['v1 / gpt', 'v2 / gpt', 'v3']
    """
    counts = Counter(agent for _, agent in agents)
    if all(count == 1 for count in counts.values()):
        return [agent for _, agent in agents]
    return [agent if agent == system else f"{system} / {agent}" for system, agent in agents]
