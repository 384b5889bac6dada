"""What people said of agents, as tables of a terminal."""

from collections.abc import Iterator
from typing import Any

import polars as pl
from rich.table import Column, Table

from dialens.analysis.people import CHOSEN, People
from dialens.base import interval, listed, number, p_value
from dialens.cli._terminal import plain_table
from dialens.report.people import headline, said

_MOST_COLUMNS = 4
_MOST_ROWS = 8


def people_grids(people: People) -> Iterator[Table]:
    """Agents by quality with mean and interval; then the differences that are clear."""
    rows = people.agents.drop_nulls("mean")
    if rows["agent"].n_unique() < 2:
        return
    agents = rows["agent"].unique().sort().to_list()
    if len(agents) <= _MOST_COLUMNS:
        yield _wide(people, rows, agents)
    else:
        yield _long(rows)
    clear = sorted((one for one in said(people) if one.clear), key=lambda one: -one.strength)
    if not clear:
        return
    heads = ["by", "95 % interval", "corrected p"]
    grid = plain_table(Column("clear difference", overflow="fold"), numbers=heads)
    for one in clear[:_MOST_ROWS]:
        who = f"{one.better} over {one.worse}, {one.quality}"
        who += " (nobody compared them directly)" if one.modelled else ""
        by = one.size.replace(" percentage points", " %").partition(" points")[0]
        grid.add_row(who, by, one.ends, p_value(one.row["p_adjusted"]))
    if len(clear) > _MOST_ROWS:
        grid.add_row(f"… and {len(clear) - _MOST_ROWS} more")
    if any(one.row["scale"] in CHOSEN for one in clear[:_MOST_ROWS]):
        grid.caption = "percentages of choices are those of the model"
    yield grid


def _wide(people: People, rows: pl.DataFrame, agents: list[str]) -> Table:
    """A row a quality, a column an agent."""
    grid = plain_table(Column("quality", overflow="fold"), numbers=agents)
    for (quality,), part in rows.group_by(["quality"], maintain_order=True):
        cells = {row["agent"]: _cell(row) for row in part.iter_rows(named=True)}
        grid.add_row(str(quality), *(cells.get(agent, "–") for agent in agents))
    less = sorted(set(rows["quality"]) & people.lower)
    choices = rows.filter(pl.col("scale").is_in(CHOSEN), pl.col("unit") == "share").height
    mean = "mean, or share of choices won, as counted" if choices else "mean"
    grid.caption = f"{mean} (95 % interval)" + (
        f"; less is better of {listed(less)}" if less else ""
    )
    return grid


def _long(rows: pl.DataFrame) -> Table:
    """A row an agent, best first, of the headline quality; the report has the others."""
    quality = headline(rows["quality"].unique(maintain_order=True).to_list())
    part = rows.filter(pl.col("quality") == quality).sort("rank", nulls_last=True)
    grid = plain_table("agent", numbers=[f"{quality}: mean, 95 % interval, rank"])
    for row in part.head(_MOST_ROWS).iter_rows(named=True):
        place = "" if row["rank"] is None else f" #{row['rank']}"
        grid.add_row(row["agent"], f"{_cell(row)}{place}")
    if part.height > _MOST_ROWS:
        grid.add_row(f"… and {part.height - _MOST_ROWS} more")
    return grid


def _cell(row: dict[str, Any]) -> str:
    percent = row["unit"] == "share"
    digits = None if percent or row["mean"] >= 20 else 2
    mean = number(row["mean"], digits, percent=percent)
    ends = interval(row["low"], row["high"], digits, percent=percent).replace(" to ", "–")
    return f"{mean} ({ends})"
