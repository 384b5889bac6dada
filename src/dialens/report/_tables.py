"""Agents × metrics as rows of cells that a template can print without thinking."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dialens.report._digest import Digest, Unit
from dialens.report._wording import Scale, counted


@dataclass(frozen=True)
class Head:
    """The head of a metric's column."""

    metric: str
    label: str
    meaning: str


@dataclass(frozen=True)
class Cell:
    """A value with its interval, drawn as a dot on a line; places are percents of the column."""

    value: str
    interval: str
    sort: float | None
    at: float | None
    low: float | None
    high: float | None
    missing: str
    why: str


@dataclass(frozen=True)
class Row:
    """An agent or a system."""

    number: int
    name: str
    dialogs: int
    turns: int | None
    cells: Sequence[Cell]


@dataclass(frozen=True)
class Table:
    """A table of values.

    Attributes:
        id: Unique on the page.
        caption: What it shows.
        unit: What a row is: `Agent` or `System`.
        heads: One a metric.
        rows: One an agent.
    """

    id: str
    caption: str
    unit: str
    heads: Sequence[Head]
    rows: Sequence[Row]

    @property
    def size(self) -> str:
        """How many metrics, and whether there is anything to see."""
        seen = any(cell.sort is not None for row in self.rows for cell in row.cells)
        return counted(len(self.heads), "metric") + ("" if seen else ", no values")


def headline_table(digest: Digest) -> Table:
    """Agents by headline metrics."""
    return _table("agents", "Agents", "Agent", digest.agents, digest.headline, digest)


def system_table(digest: Digest) -> Table | None:
    """Systems by headline metrics, where there are several."""
    if not digest.systems:
        return None
    return _table("systems", "Systems", "System", digest.systems, digest.headline, digest)


def other_tables(digest: Digest) -> Iterator[Table]:
    """Everything else that was computed, family by family."""
    rest = [card for name, card in digest.cards.items() if name not in digest.headline]
    for family in dict.fromkeys(card.family for card in rest):
        members = [card for card in rest if card.family == family]
        names = [card.name for card in members]
        heading = members[0].family_label
        yield _table(f"family-{family}", heading, "Agent", digest.agents, names, digest)


def _table(
    id: str, caption: str, unit: str, units: Sequence[Unit], names: Sequence[str], digest: Digest
) -> Table:
    heads = []
    for name in names:
        meaning = digest.cards[name].meaning
        if any(u.estimates[name].basis == "mean of dialogs" for u in units if name in u.estimates):
            meaning += "; here the mean over dialogues"
        heads.append(Head(name, digest.label(name), meaning))
    rows = [
        Row(
            u.number,
            u.name,
            u.dialogs,
            u.turns,
            [_cell(u, name, digest.scales[name]) for name in names],
        )
        for u in units
    ]
    return Table(id, caption, unit, heads, rows)


def _cell(unit: Unit, name: str, scale: Scale) -> Cell:
    estimate = unit.estimates[name]
    sure = estimate.sure
    total = (estimate.n or 0) + estimate.missing
    why = estimate.why
    if estimate.missing:
        why = f"{estimate.missing:,} of {counted(total, 'turn')} without a value. {why}"
    elif estimate.value is not None and not sure:
        why = f"No interval: {why}"
    short = f"{estimate.missing:,} missing" if estimate.missing else "" if sure else "no interval"
    if estimate.value is None:
        short = "why?"
    return Cell(
        value=scale.text(estimate.value),
        interval=scale.interval(estimate.low, estimate.high),
        sort=estimate.value,
        at=None if estimate.value is None else scale.place(estimate.value),
        low=None if estimate.low is None else scale.place(estimate.low),
        high=None if estimate.high is None else scale.place(estimate.high),
        missing=short if why else "",
        why=f"{why}." if why and not why.endswith(".") else why,
    )
