"""Comparisons of a folder: their tables, the cards they were made with, what they rest on."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import polars as pl

from dialens.analysis.comparison import COMPARISONS, is_score_folder
from dialens.base import DialensError, first_line
from dialens.metrics import MetricCard, Scores, metrics
from dialens.report import comparison_lines
from dialens.workbench._catalogue import Catalogue, Item
from dialens.workbench._command_lines import shown_path

TABLE = "comparison.parquet"
USERS = "compare --users"


@dataclass(frozen=True)
class Comparison:
    """A comparison that was read.

    Attributes:
        item: What it is in the catalogue.
        table: Its rows, columns as `COMPARISONS`.
        cards: Of all its metrics.
        runs: The score folders that were compared, in order; none where they are not at hand.
        unseen: Why the dialogues behind it cannot be shown; empty if they can.
    """

    item: Item
    table: pl.DataFrame = field(repr=False)
    cards: Mapping[str, MetricCard] = field(repr=False)
    runs: tuple[Item, ...]
    unseen: str

    @property
    def lines(self) -> list[str]:
        """What it says, as `dialens compare` words it; the answer first."""
        return comparison_lines(self.table, self.cards)

    def row(self, metric: str, a: str, b: str) -> Mapping[str, Any] | None:
        """The row of a metric and a pair; None if there is none."""
        found = self.table.filter(metric=metric, a=a, b=b)
        return found.row(0, named=True) if found.height else None


def open_comparison(item: Item, catalogue: Catalogue) -> Comparison:
    """Read a comparison of a catalogue.

    Raises:
        DialensError: Its table cannot be read.
    """
    path = item.path / TABLE if item.path.is_dir() else item.path
    table = _read(path, *_stamp(path))
    runs = _runs(item, catalogue)
    known = dict(metrics())
    for source in item.sources:
        known |= _cards(source.path)
    names = table["metric"].unique(maintain_order=True)
    cards = {name: known.get(name) or _nameless(name) for name in names}
    return Comparison(item, table, cards, runs, "" if runs else _why_unseen(item))


def newest_first(items: tuple[Item, ...]) -> list[Item]:
    """Items by when they were made; those that nobody knows of last."""
    return sorted(items, key=lambda one: (-one.made.timestamp() if one.made else 0.0, one.name))


def not_compared(catalogue: Catalogue) -> list[Item]:
    """Score folders that no comparison of the folder was made from."""
    used = {source.path for item in catalogue.of("comparison") for source in item.sources}
    return [item for item in catalogue.of("scores") if item.path not in used]


def compare_command(run: Item) -> str:
    """The command that compares the agents of a score folder."""
    return f"dialens compare {shlex.quote(shown_path(run.path))}"


def _runs(item: Item, catalogue: Catalogue) -> tuple[Item, ...]:
    """The score folders of the catalogue that were compared; none unless all are there."""
    if item.record is not None and item.record.command == USERS:
        return ()
    there = {run.path: run for run in catalogue.of("scores")}
    found = [there.get(source.path) for source in item.sources]
    return tuple(run for run in found if run is not None) if all(found) else ()


def _why_unseen(item: Item) -> str:
    if item.record is not None and item.record.command == USERS:
        return "Users’ turns were scored on the way, and no score folder holds their values."
    scored = [source.path.name for source in item.sources if is_score_folder(source.path)]
    if scored and len(scored) == len(item.sources):
        return "The scores that were compared lie outside this folder. Open the one above both."
    return (
        "The conversations were scored on the way, so their values are nowhere kept. Score them "
        "into this folder (dialens score CONVERSATIONS -o SCORES), then compare what was written."
    )


def _stamp(path: Path) -> tuple[int, int]:
    try:
        found = path.stat()
    except OSError as error:
        raise DialensError(f"{path.name} of this comparison cannot be read: {error}.") from error
    return found.st_size, found.st_mtime_ns


@lru_cache(maxsize=16)
def _read(path: Path, _size: int, _time: int) -> pl.DataFrame:
    """The table of a file as it was at a time."""
    try:
        table = pl.read_parquet(path, glob=False)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise _damaged(path, first_line(error)) from error
    lost = [name for name in COMPARISONS if name not in table.columns]
    if lost or not table.height:
        raise _damaged(path, f"it has no {lost[0]}" if lost else "it has no rows")
    try:
        return table.select(pl.col(name).cast(kind) for name, kind in COMPARISONS.items())
    except pl.exceptions.PolarsError as error:
        raise _damaged(path, first_line(error)) from error


def _damaged(path: Path, why: str) -> DialensError:
    return DialensError(
        f"{path} is not a table that `dialens compare` wrote ({why}). Compare again to replace it."
    )


def _cards(place: Path) -> dict[str, MetricCard]:
    """Cards of a score folder, if it is one that can be read."""
    if not is_score_folder(place):
        return {}
    try:
        return dict(Scores.open(place).cards)
    except DialensError:
        return {}


def _nameless(name: str) -> MetricCard:
    """A card for a metric that nobody here knows: its name alone."""

    def make(_: object) -> Any:
        raise DialensError(f"{name} is not installed here.")

    return MetricCard(name, "A metric that is not installed here", "other", make, headline=None)
