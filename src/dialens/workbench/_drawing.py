"""Which units of a selection go into a study: a random draw from strata, the same for one seed.

Chance is a hash of the seed and of the unit's own names: neither the order of rows nor the version
of a package plays a part, and a unit keeps its place when others come or go.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b

import polars as pl

from dialens.base import DialensError, counted
from dialens.workbench._columns import Column
from dialens.workbench._index import Index
from dialens.workbench._view import View, column_of

TURN, DIALOG, OPENING = "turn", "dialog", "opening"
"""What is drawn: replies of agents, conversations, or contexts that several agents answered."""

MOST_QUANTILES = 5
_NAMES = ("source", "system", "agent", "dialog")
_PARTS = {2: ("lower half", "upper half"), 3: ("low third", "middle third", "high third")}


@dataclass(frozen=True)
class Strata:
    """What the draw is balanced over, besides agents.

    Attributes:
        metric: Name of a column whose quantiles are strata; none if empty.
        quantiles: How many of them.
        source: Whether each collection of conversations is a stratum.
    """

    metric: str = ""
    quantiles: int = 3
    source: bool = False


@dataclass(frozen=True)
class DrawnUnit:
    """Something that can be judged.

    Attributes:
        id: Number of the turn, or of the conversation.
        talk: Number of the conversation.
        source: The collection.
        system: As in the corpus.
        agent: As in the corpus.
        dialog: As in the corpus.
        turn: Number of the turn; none where the whole conversation is judged.
    """

    id: int
    talk: int
    source: str
    system: str
    agent: str
    dialog: str
    turn: int | None


@dataclass(frozen=True)
class Stratum:
    """A part of the selection.

    Attributes:
        name: In words: the agent, then what else it is split by.
        size: Units in it.
        drawn: Units drawn from it.
    """

    name: str
    size: int
    drawn: int


@dataclass(frozen=True)
class Draw:
    """What was drawn.

    Attributes:
        items: Each with its units: one, or the replies of several agents to one context.
        strata: How many of each.
        rest: Units of the selection that were not drawn, in the order of chance.
        pool: Units, or contexts, that could have been drawn.
        notes: What was left out, and why.
    """

    items: tuple[tuple[DrawnUnit, ...], ...]
    strata: tuple[Stratum, ...]
    rest: tuple[DrawnUnit, ...]
    pool: int
    notes: tuple[str, ...]

    @property
    def units(self) -> tuple[DrawnUnit, ...]:
        """All units that were drawn."""
        return tuple(unit for item in self.items for unit in item)


def draw(
    index: Index, view: View, what: str, count: int, *, seed: int, strata: Strata, agents: int = 1
) -> Draw:
    """Draw units of a view.

    Args:
        index: The conversations.
        view: The selection; of turns those of agents count, of a table of agents all they said.
        what: `turn`, `dialog` or `opening`.
        count: How many; all if there are fewer.
        seed: Random seed.
        strata: What is balanced besides agents.
        agents: How many agents have to have answered a context.

    Raises:
        DialensError: Nothing can be drawn.
    """
    level = TURN if what == TURN else DIALOG
    pool, notes = _pool(index, view, level, strata.metric)
    pool = _by_chance(pool, seed)
    if what == OPENING:
        return _openings(index, pool, count, agents, notes)
    pool = pool.with_columns(stratum=_stratum(index, level, strata))
    counts = pool.group_by("agent", "stratum").len().sort("agent", "stratum")
    sizes: dict[str, dict[str, int]] = {}
    for agent, name, n in counts.iter_rows():
        sizes.setdefault(agent, {})[name] = n
    shares = allocated({agent: sum(own.values()) for agent, own in sizes.items()}, count, seed)
    wanted = {name: n for agent, own in sizes.items()
              for name, n in allocated(own, shares[agent], seed).items()}  # fmt: skip
    parts = pool.partition_by("stratum", as_dict=True, maintain_order=True)
    chosen = [parts[name,].head(n) for name, n in wanted.items()]
    drawn = pl.concat([pool.head(0), *chosen]).sort("chance")
    rest = pool.join(drawn.select("id"), on="id", how="anti", maintain_order="left")
    return Draw(
        tuple((unit,) for unit in _units(drawn)),
        tuple(Stratum(name, n, wanted[name]) for own in sizes.values() for name, n in own.items()),
        tuple(_units(rest.sort("chance").head(5_000))),
        pool.height,
        tuple(notes),
    )


def allocated(sizes: Mapping[str, int], count: int, seed: int) -> dict[str, int]:
    """Equal parts of each stratum, as far as each has units; chance says who gets what is over.

    Examples:
        >>> allocated({"a": 10, "b": 2, "c": 10}, 12, seed=1)
        {'a': 5, 'b': 2, 'c': 5}
        >>> sum(allocated({"a": 3, "b": 3, "c": 3}, 7, seed=1).values())
        7
    """
    wanted = dict.fromkeys(sizes, 0)
    order = sorted(sizes, key=lambda name: _chance(seed, "stratum", name))
    left = min(count, sum(sizes.values()))
    while left:
        for name in order:
            if left and wanted[name] < sizes[name]:
                wanted[name] += 1
                left -= 1
    return wanted


def _pool(index: Index, view: View, level: str, metric: str) -> tuple[pl.DataFrame, list[str]]:
    """What can be drawn: replies of agents, or conversations in which an agent says something."""
    names = [*_NAMES, "turn", "role", "words"] if level == TURN else [*_NAMES, "words"]
    if metric:
        column_of(metric, index.columns(level))
    columns = [*names, *([metric] if metric and metric not in names else [])]
    bare = View(level=level)
    chosen = View(view.level, view.search, ranges=view.ranges, choices=view.choices,
                  missing=view.missing)  # fmt: skip
    notes = []
    if view.level == level == TURN and "role" not in view.choices:
        every = index.count(chosen)
        chosen = replace(chosen, choices={**chosen.choices, "role": ("agent",)})
        if people := every - index.count(chosen):
            notes.append(f"{counted(people, 'turn')} of people left out: agents are judged.")
    if view.level == level:
        pool = index.frame(chosen, columns)
    elif view.level == "agent":
        agents = index.frame(chosen, _NAMES[:3]).drop("id")
        pool = index.frame(bare, columns).join(agents, on=_NAMES[:3], how="semi")
    elif level == DIALOG:
        talks = index.frame(chosen, []).select(id="talk").unique()
        pool = index.frame(bare, columns).join(talks, on="id", how="semi")
    else:
        talks = index.frame(chosen, []).select(talk="id")
        pool = index.frame(bare, columns).join(talks, on="talk", how="semi")
    if level == TURN:
        pool = pool.filter(role="agent")
    else:
        pool = pool.with_columns(talk="id", turn=pl.lit(None, pl.Int32))
    silent = pool.filter(pl.col("words") == 0).height
    if silent:
        what = "reply" if level == TURN else "conversation"
        plural = "replies" if level == TURN else "conversations"
        notes.append(f"{counted(silent, what, plural)} without a word of the agent left out.")
    pool = pool.filter(pl.col("words") > 0)
    there = pool.height
    pool = pool.unique(["agent", "dialog", "turn"], keep="first", maintain_order=True)
    if pool.height < there:
        notes.append(
            f"{counted(there - pool.height, 'unit')} left out whose agent, conversation and turn "
            "have the same names in another collection: ratings could not be told apart."
        )
    if not pool.height:
        raise DialensError(
            "Nothing of this selection can be judged: it holds no reply of an agent. Choose "
            "another in Conversations."
        )
    value = pl.col(metric) if metric else pl.lit(None, pl.Float64)
    return pool.with_columns(value=value.cast(pl.Float64, strict=False)), notes


def _by_chance(pool: pl.DataFrame, seed: int) -> pl.DataFrame:
    """In the order of chance; second units of a conversation come after the first of all others."""
    rows = pool.select("source", "dialog", "turn").iter_rows()
    chance = pl.Series("chance", [_chance(seed, *row) for row in rows], dtype=pl.UInt64)
    again = pl.col("chance").rank("ordinal").over("talk")
    return pool.with_columns(chance).with_columns(again=again).sort("again", "chance")


def _chance(seed: int, *names: object) -> int:
    text = "\x1f".join(map(str, (seed, *names)))
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest())


def _stratum(index: Index, level: str, strata: Strata) -> pl.Expr:
    parts = [pl.col("agent").fill_null("")]
    if strata.source:
        parts.append(pl.col("source"))
    if strata.metric:
        label = column_of(strata.metric, index.columns(level)).label
        parts.append(_quantile(label, strata.quantiles))
    return pl.concat_str(parts, separator=" · ")


def _quantile(label: str, quantiles: int) -> pl.Expr:
    """Which of the equal parts of the pool a value is in, in words."""
    if not 2 <= quantiles <= MOST_QUANTILES:
        raise DialensError(f"A metric is split into 2 to {MOST_QUANTILES} parts.")
    rank = pl.col("value").rank("average")
    place = ((rank - 0.5) / pl.col("value").count() * quantiles).floor().cast(pl.Int64)
    words = _PARTS.get(quantiles) or [f"part {n + 1} of {quantiles}" for n in range(quantiles)]
    named = place.replace_strict(
        dict(enumerate(f"{label}, {word}" for word in words)), default=f"{label} unknown"
    )
    return named.fill_null(f"{label} unknown")


def _units(rows: pl.DataFrame) -> list[DrawnUnit]:
    names = ("id", "talk", *_NAMES, "turn")
    return [DrawnUnit(**row) for row in rows.select(names).iter_rows(named=True)]


def _openings(
    index: Index, pool: pl.DataFrame, count: int, agents: int, notes: Sequence[str]
) -> Draw:
    """Contexts that several agents answered: what each said first, of one conversation each."""
    found = index.sql(
        "select d.talk, d.opening, min(t.turn), min(t.row) from dialogs d "
        "join turns t on t.talk = d.talk and t.role = 'agent' and t.words > 0 "
        "where d.opening is not null group by 1, 2"
    )
    schema = {"talk": pl.Int64, "opening": pl.UInt64, "first": pl.Int32, "row": pl.Int64}
    first = pl.DataFrame(found, schema=schema, orient="row")
    replies = pool.drop("turn", "id").join(first, on="talk", maintain_order="left")
    replies = replies.unique(["opening", "agent"], keep="first", maintain_order=True)
    every = replies.group_by("opening", maintain_order=True)
    enough = every.agg(n=pl.len(), chance=pl.col("chance").min())
    short = enough.filter(pl.col("n") < agents).height
    enough = enough.filter(pl.col("n") >= agents).sort("chance")
    if not enough.height:
        raise DialensError(
            f"No context of this selection was answered by {agents} agents, which this template "
            "compares. Choose a template that judges one reply at a time, or more agents."
        )
    told = list(notes)
    if short:
        told.append(
            f"{counted(short, 'context')} left out that fewer than {agents} agents answered."
        )
    items = []
    for (opening,) in enough.head(count).select("opening").iter_rows():
        rows = replies.filter(opening=opening).sort("agent")
        items.append(tuple(_units(rows.with_columns(id="row", turn="first"))))
    whole = Stratum("contexts", enough.height, len(items))
    return Draw(tuple(items), (whole,), (), enough.height, tuple(told))


def stratum_columns(index: Index, level: str) -> list[Column]:
    """The columns whose quantiles can be strata."""
    return [c for c in index.columns(level).values() if c.numeric and c.name != "turn"]
