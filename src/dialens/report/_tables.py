"""Agents by metrics: values with their intervals."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

import polars as pl

from dialens.base import counted
from dialens.metrics import PEOPLE, SYSTEMS, PlaceAmong
from dialens.report._among import place_words
from dialens.report._digest import Digest, Unit
from dialens.report._table import Cell, Column, Place, Table

_FIRST = 2
"""Columns before the metrics: who, and how many dialogues."""
_AGENTS = "agents"
_MOST_METRICS = 6
_MOST_ROWS = 12


def headline_tables(digest: Digest) -> list[Table]:
    """Agents by headline metrics."""
    return _tables(
        _AGENTS, "Agents by headline metrics", "Agent", digest.agents, digest.headline, digest
    )


def system_tables(digest: Digest) -> list[Table]:
    """Systems by headline metrics, where there are several."""
    if not digest.systems:
        return []
    return _tables("systems", "Systems", "System", digest.systems, digest.headline, digest)


def other_tables(digest: Digest) -> Iterator[list[Table]]:
    """Everything else that was computed, family by family."""
    rest = [card for name, card in digest.cards.items() if name not in digest.headline]
    for family in dict.fromkeys(card.family for card in rest):
        members = [card for card in rest if card.family == family]
        names = [card.name for card in members]
        heading = members[0].family_label
        yield _tables(f"family-{family}", heading, "Agent", digest.agents, names, digest)


def size(tables: Sequence[Table]) -> str:
    """How many metrics, and whether there is anything to see."""
    rows = [row for table in tables for row in table.cells]
    seen = any(cell.sort is not None for row in rows for cell in row[_FIRST:])
    metrics = sum(len(table.heads) - _FIRST for table in tables)
    return counted(metrics, "metric") + ("" if seen else ", no values")


def _tables(
    key: str, title: str, unit: str, units: Sequence[Unit], names: Sequence[str], digest: Digest
) -> list[Table]:
    """One table, or for few rows several of as many metrics as have room beside each other.

    Many rows stay in one table, whichever metric they are sorted by; it scrolls sideways. The
    numbers of all metrics go with the last part.
    """
    count = 1 if len(units) > _MOST_ROWS else -(-len(names) // _MOST_METRICS)
    ends = [round(len(names) * part / count) for part in range(count + 1)] if count else [0, 0]
    tables = []
    for part, (start, end) in enumerate(pairwise(ends), start=1):
        at, which = (key, title) if part == 1 else (f"{key}-{part}", f"{title}, part {part}")
        tables.append(_table(at, which, unit, units, names[start:end], digest))
    tables[-1] = replace(tables[-1], data=_numbers(units, names, digest), file=key)
    return tables


def _table(
    key: str, title: str, unit: str, units: Sequence[Unit], names: Sequence[str], digest: Digest
) -> Table:
    heads = [Column(unit, "text"), Column("Dialogues", "number")]
    for name in names:
        meaning = digest.cards[name].meaning
        if any(u.estimates[name].basis == "mean of dialogs" for u in units if name in u.estimates):
            meaning += "; here the mean over dialogues"
        heads.append(Column(digest.label(name), "number", f"{meaning}."))
    rows = [
        [
            Cell(u.name, u.name, agent=u.number if key.startswith(_AGENTS) else None),
            Cell(
                f"{u.dialogs:,}",
                u.dialogs,
                "" if u.turns is None else counted(u.turns, "turn"),
            ),
            *(_cell(u, name, digest) for name in names),
        ]
        for u in units
    ]
    return Table(key, title, heads, rows)


def _cell(unit: Unit, name: str, digest: Digest) -> Cell:
    scale = digest.scales[name]
    estimate = unit.estimates[name]
    among = "" if unit.agent is None else _among(digest.place(unit.number, name))
    sure, missing = estimate.has_interval, estimate.n_missing or 0
    total = (estimate.n or 0) + missing
    why = estimate.reason or ""
    if missing:
        why = f"{missing:,} of {counted(total, 'turn')} without a value. {why}"
    elif estimate.value is not None and not sure:
        why = f"No interval: {why}"
    short = f"{missing:,} missing" if missing else "" if sure else "no interval"
    if estimate.value is None:
        short = "why?"
    place = None
    if estimate.value is not None:
        place = Place(
            scale.place(estimate.value),
            None if estimate.low is None else scale.place(estimate.low),
            None if estimate.high is None else scale.place(estimate.high),
        )
    return Cell(
        scale.text(estimate.value),
        estimate.value,
        " · ".join(part for part in (scale.interval(estimate.low, estimate.high), among) if part),
        f"{why}." if why and not why.endswith(".") else why,
        short if why else "",
        place,
    )


def _among(place: PlaceAmong) -> str:
    """The place among people, as it stands below a value."""
    if place.percentile is None:
        return ""
    share = place_words(PlaceAmong(place.percentile), brief=True)
    return f"above {share} of people"


def _numbers(units: Sequence[Unit], names: Sequence[str], digest: Digest) -> pl.DataFrame:
    """The numbers of a table, a row a value, for those who want to go on with them."""
    rows = []
    for unit in units:
        for name in names:
            estimate = unit.estimates[name]
            people, systems = (
                PlaceAmong() if unit.agent is None else digest.place(unit.number, name, group)
                for group in (PEOPLE, SYSTEMS)
            )
            rows.append(
                {
                    "system": unit.system,
                    "agent": unit.agent,
                    "metric": name,
                    "value": estimate.value,
                    "low": estimate.low,
                    "high": estimate.high,
                    "n_dialogs": unit.dialogs,
                    "percentile_people": people.percentile,
                    "percentile_low": people.low,
                    "percentile_high": people.high,
                    "percentile_systems": systems.percentile,
                    "reason": estimate.reason,
                }
            )
    return pl.DataFrame(rows, infer_schema_length=None)
