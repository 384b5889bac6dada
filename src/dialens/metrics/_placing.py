"""Where agents stand among people and public systems.

An agent is held against speakers in single dialogues: each of its dialogues gets its place among
those of people who wrote about as many words, and the agent the mean of these places. That is the
chance that a dialogue of the agent scores higher than one of a person, and 50 for people
themselves. Values of an agent over many dialogues are not looked up: pooled values spread less than
those of dialogues, and diversity falls with every further word.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import polars as pl

from dialens.base import atomic_file, for_spreadsheet
from dialens.metrics._reference import (
    PEOPLE,
    SYSTEMS,
    Distribution,
    References,
    bands_of,
    reference_values,
)
from dialens.metrics._state import Floats
from dialens.statistics import FEWEST, Ints, Jackknife, skewed_t

if TYPE_CHECKING:
    from dialens.metrics._scores import Scores

_WORDS = "own|length|0"
_TURNS = "own|length|1"
_SHOWN = (0.05, 0.25, 0.5, 0.75, 0.95)
_POINTS = 200
_AT_ONCE = 32_768
_QUANTILES = ("p05", "p25", "p50", "p75", "p95")
_COLUMNS = ("percentile", "low", "high", "value", "n_reference", "by_length", "reason")
FILES: Final = ("reference.parquet", "reference.csv")

PLACES = pl.Schema(
    {
        "metric": pl.String,
        "system": pl.String,
        "agent": pl.String,
        "group": pl.String,
        "percentile": pl.Float64,
        "low": pl.Float64,
        "high": pl.Float64,
        "value": pl.Float64,
        "p05": pl.Float64,
        "p25": pl.Float64,
        "p50": pl.Float64,
        "p75": pl.Float64,
        "p95": pl.Float64,
        "n_dialogs": pl.Int64,
        "n_reference": pl.Int64,
        "by_length": pl.Boolean,
        "reason": pl.String,
    }
)
"""One row an agent, metric and group. `percentile` is the mean place of the agent's dialogues among
those of the group, 0 to 100, with its 95 % interval over dialogues; `value` is the mean of the
dialogues, and `p05` to `p95` are those of the group's dialogues of like length. `reason` says why
there is no place or no interval."""


@dataclass(frozen=True)
class PlaceAmong:
    """Where the dialogues of one agent stand among those of a group.

    Attributes:
        percentile: Their mean place, 0 to 100; None where there is none.
        low: Low end of its 95 % interval over dialogues.
        high: High end.
        value: The mean of the dialogues.
        quantiles: The 5th, 25th, 50th, 75th and 95th of the group's dialogues of like length.
        n_reference: How many units of the group stand behind it.
        by_length: Whether dialogues were held against such of like length.
        reason: Why there is no place or no interval.
    """

    percentile: float | None = None
    low: float | None = None
    high: float | None = None
    value: float | None = None
    quantiles: tuple[float, ...] = ()
    n_reference: int | None = None
    by_length: bool | None = None
    reason: str | None = None

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> "PlaceAmong":
        """From a row of `PLACES`."""
        known = row["p50"] is not None
        quantiles = tuple(row[name] for name in _QUANTILES) if known else ()
        return cls(quantiles=quantiles, **{name: row[name] for name in _COLUMNS})

    def row(self) -> dict[str, object]:
        """As columns of `PLACES`."""
        row: dict[str, object] = {name: getattr(self, name) for name in _COLUMNS}
        return row | dict(zip(_QUANTILES, self.quantiles, strict=False))


def place_agents(
    scores: "Scores",
    *,
    groups: Sequence[str] = (PEOPLE, SYSTEMS),
    references: References | None = None,
) -> pl.DataFrame:
    """The place of every agent among people and systems on every metric; columns as `PLACES`.

    Args:
        scores: What was scored.
        groups: Whom to compare with: `people`, `systems`, or sources by their names on the card.
        references: Other reference values than those that ship.
    """
    known = (references or reference_values()).fitting(scores.signatures)
    agents, rows_of = _agents(scores)
    sizes = _sizes(scores)
    rows: list[dict[str, object]] = []
    for metric in scores.metrics:
        why = known.why_not(metric.name, metric.signature)
        column = _column(scores.dialog_columns([metric.name]), metric.name)
        for (system, agent), own in zip(agents, rows_of, strict=True):
            values = column[own]
            there = ~np.isnan(values)
            values = values[there]
            counts: list[Floats | None] = [
                None if size is None else size[own][there] for size in sizes
            ]
            if any(count is not None and np.isnan(count).any() for count in counts):
                counts = [None, None]
            for group in groups:
                place = PlaceAmong(reason=why)
                if why is None:
                    place = place_values(known, metric.name, group, values, *counts)
                rows.append(
                    {
                        "metric": metric.name,
                        "system": system,
                        "agent": agent,
                        "group": group,
                        "n_dialogs": len(values),
                        **place.row(),
                    }
                )
    return pl.DataFrame(rows, schema=PLACES)


def _agents(scores: "Scores") -> tuple[list[tuple[str, str]], list[Ints]]:
    """The agents in the order in which they were met, and the places of their dialogues."""
    keys = ["system", "agent"]
    owners = scores.dialogs.select(pl.col(keys).cast(pl.Categorical)).collect(engine="streaming")
    members = owners.with_row_index("row").group_by(keys, maintain_order=True).agg("row")
    rows = [own.to_numpy().astype(np.int64) for own in members["row"]]
    return [(system, agent) for system, agent in members.select(keys).iter_rows()], rows


def dialog_sizes(scores: "Scores") -> pl.LazyFrame | None:
    """The `words` and `turns` of the agent in each dialogue, not yet read; None where not known.

    States and dialogues are written together, so they stand in the order of `dialog_columns`.
    """
    if _WORDS not in scores.states.collect_schema().names():
        return None
    return scores.states.select(words=pl.col(_WORDS), turns=pl.col(_TURNS))


def _sizes(scores: "Scores") -> list[Floats | None]:
    sizes = dialog_sizes(scores)
    if sizes is None:
        return [None, None]
    return [_column(sizes, name) for name in ("words", "turns")]


def _column(table: pl.LazyFrame, name: str) -> Floats:
    """A column of numbers, NaN where there is none."""
    column = table.select(pl.col(name).cast(pl.Float64)).collect(engine="streaming")[name]
    return column.to_numpy().astype(np.float64, copy=False)


def place_values(
    known: References,
    metric: str,
    group: str,
    values: Floats,
    words: Floats | None = None,
    turns: Floats | None = None,
) -> PlaceAmong:
    """The place of one agent's dialogues among those of a group.

    Args:
        known: The reference values.
        metric: What was measured.
        group: Whom to compare with.
        values: One a dialogue.
        words: What the agent wrote in it; all lengths are taken together where it is not known.
        turns: How many turns it took; a dialogue with one is held against single turns.
    """
    if not known.distributions(metric, "dialog", group):
        return PlaceAmong(reason=f"there are no reference values of {group} for this metric")
    if not len(values):
        return PlaceAmong(reason="no dialog of the agent has a value")
    places = np.full(len(values), np.nan)
    weights: list[tuple[Distribution, int]] = []
    for distribution, rows in _held_against(known, metric, group, len(values), words, turns):
        for start in range(0, len(rows), _AT_ONCE):
            some = rows[start : start + _AT_ONCE]
            places[some] = distribution.percentiles(values[some])
        weights.append((distribution, len(rows)))
    low, high, why = _interval(places)
    return PlaceAmong(
        percentile=float(places.mean()),
        low=low,
        high=high,
        value=float(values.mean()),
        quantiles=_mixed(weights),
        n_reference=sum(distribution.n for distribution, _ in weights),
        by_length=any(distribution.least_words for distribution, _ in weights),
        reason=why,
    )


def _held_against(
    known: References,
    metric: str,
    group: str,
    count: int,
    words: Floats | None,
    turns: Floats | None,
) -> Iterator[tuple[Distribution, Ints]]:
    """Distributions, with the rows of the dialogues that are held against each."""
    single = np.zeros(count, dtype=bool)
    if turns is not None and known.distributions(metric, "turn", group):
        single = turns <= 1
    for level, chosen in (("turn", single), ("dialog", ~single)):
        distributions = known.distributions(metric, level, group)
        rows = np.flatnonzero(chosen)
        bands = np.zeros(len(rows), dtype=np.int64)
        if words is not None:
            bands = bands_of(distributions, words[rows])
        for band in np.unique(bands):
            yield distributions[band], rows[bands == band]


@dataclass(frozen=True)
class SizedValues:
    """What dialogues of one agent score, and how long they are.

    Attributes:
        values: One a dialogue.
        words: What the agent wrote in it; None where it is not known.
        turns: How many turns it took.
    """

    values: Floats
    words: Floats | None = None
    turns: Floats | None = None

    def against(self, known: References, metric: str, group: str) -> list[Distribution]:
        """What the dialogues are held against, each distribution once."""
        sizes = (len(self.values), self.words, self.turns)
        return [found for found, _ in _held_against(known, metric, group, *sizes)]


def turned_by_length(
    known: References, metric: str, group: str, lower: SizedValues, upper: SizedValues
) -> bool:
    """Whether the first agent stands below the second only because of the length of dialogues.

    So it is where dialogues of the two are held against units of several lengths, and the first
    would not stand below the second were all of them held against all dialogues of the group.

    Examples:
        >>> known = reference_values()
        >>> values = np.full(6, 0.9)
        >>> long, short = (SizedValues(values, np.full(6, words)) for words in (400.0, 15.0))
        >>> turned_by_length(known, "distinct_2", PEOPLE, short, long)
        True
        >>> turned_by_length(known, "distinct_2", PEOPLE, short, short)
        False
    """
    against = [each.against(known, metric, group) for each in (lower, upper)]
    if len({id(distribution) for some in against for distribution in some}) < 2:
        return False
    below, above = (
        place_values(known, metric, group, each.values).percentile or 0.0 for each in (lower, upper)
    )
    return below >= above


def _interval(places: Floats) -> tuple[float | None, float | None, str | None]:
    """The 95 % interval of the mean place, and why there is none."""
    count = len(places)
    if count < FEWEST:
        return None, None, f"fewer than {FEWEST} dialogs, so the place has no interval"
    mean = places.mean()
    inferred = skewed_t(Jackknife.of(mean, (places.sum() - places) / (count - 1), places))
    low, high = float(inferred.low), float(inferred.high)
    if np.isnan(low) or np.isnan(high):
        return None, None, "nearly all dialogs have the same place, so it has no interval"
    return max(low, 0.0), min(high, 100.0), None


def _mixed(weights: Sequence[tuple[Distribution, int]]) -> tuple[float, ...]:
    """Quantiles of distributions mixed as the agent's dialogues are held against them."""
    even = (np.arange(_POINTS) + 0.5) / _POINTS
    values = np.concatenate([np.interp(even, d.probabilities, d.quantiles) for d, _ in weights])
    mass = np.repeat([float(count) for _, count in weights], _POINTS)
    order = np.argsort(values, kind="stable")
    upto = np.cumsum(mass[order]) / mass.sum()
    places = np.minimum(np.searchsorted(upto, _SHOWN), len(order) - 1)
    return tuple(float(value) for value in values[order][places])


def write_places(scores: "Scores", folder: Path) -> None:
    """Write where agents stand as Parquet and as CSV into a folder of scores."""
    places = scores.reference()
    parquet, csv = (folder / name for name in FILES)
    with atomic_file(parquet) as scratch:
        places.write_parquet(scratch)
    with atomic_file(csv) as scratch:
        for_spreadsheet(places).write_csv(scratch)
