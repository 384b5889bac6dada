"""Which dialogues stand behind each name in a comparison, and which of them answer the same."""

from collections.abc import Mapping

import polars as pl

from dialens.analysis.comparison._runs import contexts_told_apart, shortest_names, systems_of
from dialens.corpus import agent_labels
from dialens.metrics import Scores

SIDE_DIALOGS = pl.Schema(
    {
        "run": pl.String,
        "system": pl.String,
        "agent": pl.String,
        "dialog": pl.String,
        "context": pl.UInt64,
        "side": pl.String,
    }
)
"""A row a dialogue: its run, its names there, the context that pairs it, and its side's name."""


def side_dialogs(runs: Mapping[str, Scores], *, level: str = "agent") -> pl.DataFrame:
    """The dialogues of all sides of a comparison, as `compare` names and pairs them.

    Args:
        runs: The run that was compared, or several, by name and in the same order.
        level: `agent` or `system`.
    """
    parts = [
        scores.states.select("system", "agent", "dialog", "context")
        .collect(engine="streaming")
        .with_columns(
            run=pl.lit(name, pl.String),
            called=pl.col("system").replace_strict(systems_of(name, scores), default=None)
            if len(runs) > 1
            else pl.col("system"),
        )
        for name, scores in runs.items()
    ]
    every = pl.concat(parts)
    keys = ["run", "called"] if level == "system" else ["run", "called", "agent"]
    members = every.select(keys).unique(maintain_order=True)
    agents = members["agent"].to_list() if level == "agent" else [None] * members.height
    systems = members["called"].to_list()
    if len(runs) > 1:
        names = shortest_names(list(zip(members["run"].to_list(), systems, agents, strict=True)))
        paired = contexts_told_apart(every.drop("system").rename({"called": "system"}).lazy())
        every = every.with_columns(paired.collect()["context"])
    elif level == "agent":
        names = agent_labels(list(zip(systems, members["agent"].to_list(), strict=True)))
    else:
        names = systems
    named = members.with_columns(side=pl.Series(names, dtype=pl.String))
    return every.join(named, on=keys, maintain_order="left").select(SIDE_DIALOGS.names())
