"""Agents and metrics on the terminal: their values, and where they stand among people."""

from collections.abc import Mapping, Sequence
from itertools import accumulate

import polars as pl
from rich.console import Console
from rich.table import Column

from dialens.cli._asked import why_missing
from dialens.cli._standing import print_one_agent
from dialens.cli._terminal import plain_console, plain_table
from dialens.corpus import agent_labels
from dialens.metrics import PEOPLE, Scores
from dialens.report import headline_metrics

_NUMBER = 6  # characters of a value
_GAP = 2
_MOST_AGENTS = 12

Agent = tuple[str, str]
"""A system and a name."""


def print_agents(scores: Scores, asked: Sequence[str], places: pl.DataFrame) -> int:
    """Print tables of agents and metrics: those asked for, else headline ones.

    Args:
        scores: What was scored.
        asked: Names of metrics.
        places: Where the agents stand, as `Scores.reference` gives it.

    Returns:
        How many agents there are.
    """
    values = scores.table.filter(pl.col("level") == "agent").collect(engine="streaming")
    if not values.height:
        return 0
    if not (values["n"] + values["n_missing"]).sum():
        print(
            "No turn in this corpus is an agent's, so every value is missing. Name the roles "
            "(assistant, bot, agent) in the data, or choose the format with --format."
        )
    console = plain_console()
    present = values.filter(pl.col("value").is_not_null())["metric"].unique()
    present = present if len(present) else values["metric"].unique()
    headline = headline_metrics({name: scores.cards[name] for name in sorted(present)})
    wide = scores.wide("agent")
    if wide.height == 1 and not asked:
        print_one_agent(console, scores, headline, places)
        return 1
    agents: list[Agent] = wide.select("system", "agent").rows()
    labels = dict(zip(agents, agent_labels(agents), strict=True))
    labels = {agent: labels[agent] for agent in agents[:_MOST_AGENTS]}
    cells = {
        ((row["system"], row["agent"]), name): f"{row[name]:.3f}"
        for row in wide.iter_rows(named=True)
        for name in scores.names
        if row.get(name) is not None
    }
    print_grids(console, labels, asked or headline, cells, all_of_them=bool(asked))
    for line in why_missing(scores, asked):
        print(line)
    if wide.height > _MOST_AGENTS:
        print(f"… and {wide.height - _MOST_AGENTS:,} more agents")
    _print_places(console, places, labels, headline)
    return wide.height


def _print_places(
    console: Console, places: pl.DataFrame, labels: Mapping[Agent, str], names: Sequence[str]
) -> None:
    """The share of people that each agent scores higher than, as far as there is room."""
    among_people = (pl.col("group") == PEOPLE) & pl.col("percentile").is_not_null()
    known = places.filter(among_people & pl.col("metric").is_in(names))
    if not known.height:
        return
    cells = {
        ((row["system"], row["agent"]), row["metric"]): f"{row['percentile']:.0f}"
        for row in known.iter_rows(named=True)
    }
    console.print("\nHigher than so many of 100 people, in dialogues of about as many words:")
    placed = [name for name in names if name in known["metric"]]
    print_grids(console, labels, placed, cells, all_of_them=False)


def print_grids(
    console: Console,
    labels: Mapping[Agent, str],
    names: Sequence[str],
    cells: Mapping[tuple[Agent, str], str],
    *,
    all_of_them: bool,
) -> None:
    """Print a row an agent and a column a metric; no name is ever cut.

    Args:
        console: Where to.
        labels: The agents, and what each is called.
        names: The metrics, the most important first.
        cells: What stands where; a dash where nothing does.
        all_of_them: Whether metrics without room get further tables; else they are left out.
    """
    room = console.width - max(map(len, ["agent", *labels.values()]))
    left = list(names) if all_of_them else fitting(names, room)
    while left:
        here = fitting(left, room)
        left = left[len(here) :]
        table = plain_table(Column("agent", overflow="fold"))
        columns = [[cells.get((agent, name), "–") for agent in labels] for name in here]
        for name, column in zip(here, columns, strict=True):
            # A fixed width: rich would widen some columns beyond the room and cut the last.
            width = max(map(len, [*name.split("_"), *column]))
            table.add_column(name.replace("_", " "), width=width)
        for label, row in zip(labels.values(), zip(*columns, strict=True), strict=True):
            table.add_row(label, *row)
        console.print("", table)


def fitting(metrics: Sequence[str], room: int) -> list[str]:
    """As many metrics from the first on as have room beside each other, one at least.

    Examples:
        >>> fitting(["emotional_entropy", "question", "length"], 22)
        ['emotional_entropy', 'question']
    """
    widths = [max(_NUMBER, *map(len, name.split("_"))) + _GAP for name in metrics]
    kept = [name for name, end in zip(metrics, accumulate(widths), strict=True) if end <= room]
    return kept or list(metrics[:1])
