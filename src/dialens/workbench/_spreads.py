"""How columns are spread, overall and by agent, in intervals that all of them share."""

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from weakref import WeakKeyDictionary

from dialens.workbench._columns import Column
from dialens.workbench._index import Index
from dialens.workbench._pages import Histogram

BINS = 20
_MOST_AGENTS = 12


@dataclass(frozen=True)
class Spread:
    """How the values of a column are spread over some rows.

    Attributes:
        name: Of the agent; empty for all rows.
        n: Rows with a value.
        histogram: In intervals that the agents share.
    """

    name: str
    n: int
    histogram: Histogram


def spread_of(
    index: Index, level: str, column: Column, *, by_agent: bool = False, bins: int = BINS
) -> list[Spread]:
    """How a column is spread over all units of a level, then agent by agent; none without values.

    Only units that could have a value count as missing one: agents' turns, for a metric of turns.
    Agents are those with most values, the first dozen.
    """
    table = f"{level}s t"
    if column.live:
        key = "row" if level == "turn" else "talk"
        table += f" left join live_{level} l on t.{key} = l.id"
    value = f'{"l" if column.live else "t"}."{column.sql}"'
    could = "true" if level != "turn" or column.live else "t.role = 'agent'"
    facts = (
        f"min({value}), max({value}), avg({value}), count({value}), "
        f"count(*) filter ({value} is null and {could})"
    )
    (low, high, mean, n, missing) = index.sql(f"select {facts} from {table}")[0]
    if not n:
        return []
    width = (high - low) / bins
    place = f"least(floor(({value} - ?) / ?)::int, {bins - 1})" if width else "0"
    ends = [low, width] if width else []

    def binned(rows: list[tuple[int, int]]) -> list[int]:
        counts = [0] * (bins if width else 1)
        for at, number in rows:
            counts[max(0, at)] += number
        return counts

    rows = index.sql(
        f"select {place}, count(*) from {table} where {value} is not null group by 1", ends
    )
    whole = Spread("", n, Histogram(low, high, binned(rows), missing, mean))
    if not by_agent:
        return [whole]
    agents = index.sql(
        f"select agent, {facts} from {table} group by agent having count({value}) > 0 "
        f"order by count({value}) desc, agent limit {_MOST_AGENTS}"
    )
    counted = index.sql(
        f"select agent, {place}, count(*) from {table} where {value} is not null group by 1, 2",
        ends,
    )
    found = [whole]
    for agent, _, _, own_mean, own_n, own_missing in sorted(agents, key=lambda row: str(row[0])):
        own = binned([(at, count) for who, at, count in counted if who == agent])
        found.append(Spread(str(agent), own_n, Histogram(low, high, own, own_missing, own_mean)))
    return found


_KNOWN: WeakKeyDictionary[Index, dict[tuple[str, str], Spread | None]] = WeakKeyDictionary()
_LOCK = threading.Lock()


def spreads(index: Index, level: str, columns: Sequence[Column]) -> dict[str, Spread | None]:
    """How each of some columns is spread over all units of a level; None without values.

    Those that cannot change while an index is open are looked up once.
    """
    with _LOCK:
        known = _KNOWN.setdefault(index, {})
    found: dict[str, Spread | None] = {}
    for column in columns:
        key = (level, column.name)
        if column.live or key not in known:
            spread = next(iter(spread_of(index, level, column)), None)
            if column.live:
                found[column.name] = spread
                continue
            known[key] = spread
        found[column.name] = known[key]
    return found
