"""Which units would make good gold items: those on which all that is known of them agrees.

An item whose right answer is known tells who answers with care. Nothing here knows the right
answer: units are suggested, and whoever makes the study says what has to hold.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from dialens.workbench._columns import JUDGE, PEOPLE, Column
from dialens.workbench._drawing import TURN, DrawnUnit
from dialens.workbench._index import Index
from dialens.workbench._view import column_of

_EACH = 3
_FAR = 0.35
"""How far from the middle a rank has to be to count as clear; 0.5 is the end."""
_FEWEST = 5
_MOST_FLAGGED = 3


@dataclass(frozen=True)
class GoldSuggestion:
    """A unit that could be a gold item.

    Attributes:
        unit: The unit.
        high: Whether it should be rated high; none where only a flag speaks for it.
        why: How it was chosen, in words.
    """

    unit: DrawnUnit
    high: bool | None
    why: str


def gold_suggestions(
    index: Index, units: Sequence[DrawnUnit], metric: str, codes: Mapping[int, str]
) -> list[GoldSuggestion]:
    """Units that were not drawn and are clear, the clearest first; then flagged ones.

    Clear is a unit that the metric and every quality that people or judges rated put far on the
    same side of the middle (ranks among the units given). Units with two witnesses come before
    those with one.

    Args:
        index: The conversations.
        units: Which are left.
        metric: A column of which it is known whether higher is better, or empty.
        codes: Names of flags by number.
    """
    if not units:
        return []
    level = TURN if units[0].turn is not None else "dialog"
    evidence = _evidence(index, level, metric)
    values = index.rows(level, [unit.id for unit in units], [c.name for c in evidence])
    table = pl.DataFrame(
        [{"id": row["id"], "flags": row["flags"], **{f"e{n}": row["values"][c.name]
          for n, c in enumerate(evidence)}} for row in values],
        schema={"id": pl.Int64, "flags": pl.String,
                **{f"e{n}": pl.Float64 for n in range(len(evidence))}},
    )  # fmt: skip
    ranked = table.with_columns(_rank(f"e{n}", c) for n, c in enumerate(evidence))
    by_id = {unit.id: unit for unit in units}
    found = []
    for row in ranked.iter_rows(named=True):
        known = {c.label: row[f"e{n}"] for n, c in enumerate(evidence) if row[f"e{n}"] is not None}
        sides = {rank > 0 for rank in known.values()}
        if known and len(sides) == 1 and min(map(abs, known.values())) >= _FAR:
            found.append((len(known), min(map(abs, known.values())), row["id"], known))
    found.sort(key=lambda one: (-min(one[0], 2), -one[1], one[2]))
    made = [
        GoldSuggestion(by_id[number], high, _why(known))
        for high in (True, False)
        for _, _, number, known in [
            one for one in found if (next(iter(one[3].values())) > 0) == high
        ][:_EACH]
    ]
    taken = {one.unit.id for one in made}
    flagged = table.filter(pl.col("flags").is_not_null(), ~pl.col("id").is_in(list(taken)))
    for number, flags in flagged.select("id", "flags").head(_MOST_FLAGGED).iter_rows():
        named = ", ".join(codes.get(int(code), f"flag {code}") for code in flags.split(","))
        made.append(GoldSuggestion(by_id[number], None, f"flagged: {named}"))
    return made


def _evidence(index: Index, level: str, metric: str) -> list[Column]:
    columns = index.columns(level)
    said = [c for c in columns.values() if c.kind in (PEOPLE, JUDGE) and c.numeric]
    chosen = [column_of(metric, columns)] if metric else []
    return [*(c for c in chosen if c.better is not None), *(c for c in said if c not in chosen)]


def _rank(name: str, column: Column) -> pl.Expr:
    """Between −0.5 and 0.5; positive is better. Of fewer than five units nothing is said."""
    count = pl.col(name).count()
    rank = (pl.col(name).rank("average") - 0.5) / count - 0.5
    side = -1 if column.better is False else 1
    return pl.when(count >= _FEWEST).then(rank * side).alias(name)


def _why(known: Mapping[str, float]) -> str:
    parts = []
    for label, rank in known.items():
        share = max(1, round((0.5 - abs(rank)) * 100))
        parts.append(f"{label} among the {'best' if rank > 0 else 'worst'} {share} %")
    alone = "; nothing else is known of it" if len(parts) == 1 else ""
    return ", ".join(parts) + alone
