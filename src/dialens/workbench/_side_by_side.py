"""Agents that were given the same opening: which openings, where they differ most, turn by turn."""

from collections.abc import Sequence
from dataclasses import dataclass

from dialens.base import DialensError, did_you_mean
from dialens.workbench._columns import FACT, FLAG, Column
from dialens.workbench._dialogue import Dialog, read_dialog
from dialens.workbench._index import Index
from dialens.workbench._queries import expression
from dialens.workbench._workbench import Workbench

MOST_AGENTS = 4


@dataclass(frozen=True)
class Contender:
    """An agent of a collection.

    Attributes:
        key: In addresses: its name, with collection and system where several have that name.
        source: The collection.
        system: Its system.
        agent: Its name.
        dialogs: How many conversations it has.
    """

    key: str
    source: str
    system: str | None
    agent: str
    dialogs: int


@dataclass(frozen=True)
class Opening:
    """What several agents were given to answer, or one turn of what followed.

    Attributes:
        number: Of the opening; in addresses.
        text: How it begins.
        turn: Number of the turn; None for whole conversations.
        values: Mean value of each agent, in their order; None where it has none.
        spread: The highest less the lowest; None with fewer than two values.
    """

    number: int
    text: str
    turn: int | None
    values: tuple[float | None, ...]
    spread: float | None


@dataclass(frozen=True)
class Openings:
    """Openings that agents share, those with the largest spread first.

    Attributes:
        rows: Some of them.
        total: How many there are; turns, where turns are compared.
        shared: How many openings at least two of the agents were given.
        alone: How many openings only one of them was given.
        unopened: Conversations that an agent begins itself, which nothing can be aligned by.
    """

    rows: tuple[Opening, ...]
    total: int
    shared: int
    alone: int
    unopened: int


@dataclass(frozen=True)
class Side:
    """What one agent made of an opening.

    Attributes:
        contender: The agent.
        dialog: Its first conversation from there.
        others: Names of its further ones.
    """

    contender: Contender
    dialog: Dialog
    others: tuple[str, ...]


def contenders(index: Index) -> tuple[Contender, ...]:
    """Every agent of every collection, those with the most conversations first."""
    rows = index.sql("select source, system, agent, dialogs from agents order by dialogs desc, row")
    names = [agent or "" for _, _, agent, _ in rows]
    pairs = [(source, agent) for source, _, agent, _ in rows]
    made = []
    for source, system, agent, dialogs in rows:
        key = agent or ""
        if names.count(key) > 1:
            key = f"{key} ({source})"
            if pairs.count((source, agent)) > 1:
                key = f"{agent or ''} ({source}, {system})"
        made.append(Contender(key, source, system, agent or "", dialogs))
    return tuple(made)


def choose(index: Index, asked: Sequence[str]) -> tuple[Contender, ...]:
    """The agents that are named, four at most; those that share most openings if none is.

    A name that several collections have stands for all of them.

    Raises:
        DialensError: There is no such agent.
    """
    every = contenders(index)
    if not asked:
        sharing: tuple[Contender, ...] = index._cached("sharing", lambda: _sharing(index, every))
        return sharing
    made: dict[str, Contender] = {}
    for name in asked:
        found = [one for one in every if one.key == name]
        found = found or [one for one in every if one.agent == name]
        if not found:
            keys = [one.key for one in every]
            raise DialensError(
                f"There is no agent {name}. {did_you_mean(name, keys)}Agents: {', '.join(keys)}."
            )
        made |= {one.key: one for one in found}
    return tuple(made.values())[:MOST_AGENTS]


def _sharing(index: Index, every: Sequence[Contender]) -> tuple[Contender, ...]:
    """The agents that have most openings in common with others, in the order of all."""
    rows = index.sql(
        "with shared as (select opening from dialogs where opening is not null group by opening "
        "having count(distinct (source, system, agent)) > 1) "
        "select source, system, agent, count(distinct opening) as n from dialogs "
        "where opening in (select opening from shared) group by all order by n desc, agent limit ?",
        (MOST_AGENTS,),
    )
    best = {(source, system, agent or "") for source, system, agent, _ in rows}
    return tuple(one for one in every if (one.source, one.system, one.agent) in best)


def given(index: Index, opening: int) -> tuple[Contender, ...]:
    """The agents that were given an opening, in the order of all."""
    rows = index.sql(
        "select distinct source, system, agent from dialogs where opening = cast(? as ubigint)",
        (str(opening),),
    )
    known = {(source, system, agent or "") for source, system, agent in rows}
    return tuple(one for one in contenders(index) if (one.source, one.system, one.agent) in known)


def measures(index: Index, level: str) -> tuple[Column, ...]:
    """The columns of numbers that agents can be held against each other by."""
    return tuple(
        column
        for column in index.columns(level).values()
        if column.numeric and column.kind != FLAG and (column.kind != FACT or column.sql == "words")
    )


def usual_measure(index: Index, level: str) -> str:
    """The column to begin with: the first that is shown first, else the length."""
    named = [column.name for column in measures(index, level)]
    return next((name for name in index.usual(level) if name in named), named[0])


def openings(
    index: Index,
    agents: Sequence[Contender],
    column: Column,
    level: str,
    *,
    most: int,
    offset: int = 0,
) -> Openings:
    """Openings that at least two agents share, where they differ most on a column first.

    Args:
        index: Of the folder.
        agents: Two to four.
        column: Of the level.
        level: `dialog` compares means of conversations, `turn` turns of the same number.
        most: How many rows.
        offset: How many rows are left out before.
    """
    key = ("openings", tuple(agents), column.name, level, most, offset)
    made: Openings = index._cached(
        key, lambda: _openings(index, agents, column, level, most=most, offset=offset)
    )
    return made


def _openings(
    index: Index, agents: Sequence[Contender], column: Column, level: str, *, most: int, offset: int
) -> Openings:
    listed, values = _listed(agents)
    shared, alone, unopened = _counts(index, agents)
    if level == "turn":
        measured = (
            f"select d.opening, t.turn, d.place, avg({expression(column)}) as v "
            "from turns t join d on t.talk = d.talk left join live_turn l on t.row = l.id "
            f"where {expression(column)} is not null group by 1, 2, 3"
        )
        needed = "count(v) > 1"
    else:
        measured = (
            f"select t.opening, null::int as turn, d.place, avg({expression(column)}) as v "
            "from dialogs t join d on t.talk = d.talk left join live_dialog l on t.talk = l.id "
            "group by 1, 2, 3"
        )
        needed = "count(*) > 1"
    found = index.sql(
        f"with c(place, source, system, agent) as (values {listed}), "
        "d as (select d.talk, d.opening, c.place from dialogs d join c on d.source = c.source "
        "and d.agent is not distinct from c.agent and d.system is not distinct from c.system "
        f"where d.opening is not null), v as ({measured}) "
        "select opening, turn, case when count(v) > 1 then max(v) - min(v) end as spread, "
        "list([place, v]) as each, count(*) over () as total from v group by opening, turn "
        f"having {needed} order by spread desc nulls last, opening, turn limit ? offset ?",
        [*values, most, offset],
    )
    texts = _texts(index, [row[0] for row in found])
    rows = []
    for number, turn, spread, each, _ in found:
        by_place = {int(place): value for place, value in each}
        shown = tuple(by_place.get(place) for place in range(len(agents)))
        rows.append(Opening(number, texts.get(number, ""), turn, shown, spread))
    total = int(found[0][4]) if found else (shared if level == "dialog" else 0)
    return Openings(tuple(rows), total, shared, alone, unopened)


def _listed(agents: Sequence[Contender]) -> tuple[str, list[object]]:
    """Agents as rows of SQL, and their values."""
    values: list[object] = []
    for place, one in enumerate(agents):
        values += [place, one.source, one.system, one.agent]
    return ", ".join(["(?::int, ?::varchar, ?::varchar, ?::varchar)"] * len(agents)), values


def _counts(index: Index, agents: Sequence[Contender]) -> tuple[int, int, int]:
    listed, values = _listed(agents)
    found = index.sql(
        f"with c(place, source, system, agent) as (values {listed}), "
        "d as (select d.opening, c.place from dialogs d join c on d.source = c.source "
        "and d.agent is not distinct from c.agent and d.system is not distinct from c.system), "
        "n as (select opening, count(distinct place) as agents, count(*) as talks from d "
        "group by opening) "
        "select count(*) filter (opening is not null and agents > 1), "
        "count(*) filter (opening is not null and agents = 1), "
        "coalesce(sum(talks) filter (opening is null), 0) from n",
        values,
    )[0]
    return int(found[0]), int(found[1]), int(found[2])


def _texts(index: Index, numbers: Sequence[int]) -> dict[int, str]:
    """How openings begin."""
    if not numbers:
        return {}
    marks = ", ".join(["cast(? as ubigint)"] * len(numbers))
    rows = index.sql(
        "select opening, any_value(opening_text) from dialogs "
        f"where opening in ({marks}) group by opening",
        [str(number) for number in numbers],
    )
    return dict(rows)


def sides(
    bench: Workbench,
    opening: int,
    agents: Sequence[Contender],
    *,
    columns: Sequence[str],
    coder: str,
    others: bool = True,
    most: int | None,
) -> tuple[Side, ...]:
    """What agents made of an opening; those that were not given it are left out.

    Raises:
        DialensError: None of them was.
    """
    made = []
    for one in agents:
        found = bench.index.sql(
            "select talk, dialog from dialogs where opening = cast(? as ubigint) and source = ? "
            "and agent is not distinct from ? and system is not distinct from ? order by talk",
            (str(opening), one.source, one.agent, one.system),
        )
        if found:
            talk = int(found[0][0])
            shown = read_dialog(bench, talk, columns=columns, coder=coder, others=others, most=most)
            made.append(Side(one, shown, tuple(str(name) for _, name in found[1:])))
    if not made:
        raise DialensError(
            "None of these agents was given this opening. The folder may have changed: choose "
            "another from the list."
        )
    return tuple(made)


def turn_spreads(shown: Sequence[Side], column: str) -> dict[int, float]:
    """How far the agents lie apart at each turn that at least two have a value of."""
    values: dict[int, list[float]] = {}
    for side in shown:
        for turn in side.dialog.shown:
            value = turn.values.get(column)
            if value is not None:
                values.setdefault(turn.turn, []).append(value)
    return {turn: max(found) - min(found) for turn, found in values.items() if len(found) > 1}
