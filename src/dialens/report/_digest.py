"""A run boiled down to what a page shows: agents, values with intervals, values of dialogues.

Everything comes from what the scores hold of dialogues, so no turn is read again.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from dialens.analysis.comparison import intervals, values_only
from dialens.base import MEMORY, Estimate
from dialens.corpus import agent_labels
from dialens.metrics import (
    PEOPLE,
    SYSTEMS,
    MetricCard,
    PlaceAmong,
    Scores,
    SizedValues,
    dialog_sizes,
)
from dialens.report._wording import Scale, headline_metrics

_AGENT = ["system", "agent"]
_NOWHERE = PlaceAmong()


@dataclass(frozen=True)
class Unit:
    """An agent (or a system), with its values by metric."""

    number: int
    system: str
    agent: str | None
    name: str
    dialogs: int
    turns: int | None
    estimates: Mapping[str, Estimate]


@dataclass(frozen=True)
class Digest:
    """What the pages draw from.

    Attributes:
        agents: In the order in which they were met.
        systems: The same for systems; empty where there is only one.
        cards: Of all metrics that were computed, by name.
        headline: Those that come first, as far as any agent has a value.
        silent: Those that would, had any agent one.
        dialogs: One row a dialogue, not yet read: `agent` (its number), `dialog`, and the headline
            metrics. There may be millions, so they are read a metric at a time.
        sizes: The words and turns of the agent in each of these, in their order, not yet read; None
            where they are not known.
        positions: Values by the agent's n-th turn, from 0.
        places: Where agents stand among people and public systems: by number of the agent, metric
            and group.
        signatures: What the numbers of each metric depend on.
    """

    agents: Sequence[Unit]
    systems: Sequence[Unit]
    cards: Mapping[str, MetricCard]
    headline: Sequence[str]
    silent: Sequence[str]
    dialogs: pl.LazyFrame
    sizes: pl.LazyFrame | None
    positions: pl.DataFrame
    places: Mapping[tuple[int, str, str], PlaceAmong]
    signatures: Mapping[str, str]

    @classmethod
    def of(cls, scores: Scores, *, seed: int = 0, memory: int = MEMORY) -> "Digest":
        """The digest of a run; `seed` is that of the bootstrap, `memory` the bytes it may take."""
        agents = _units(scores, "agent", seed, memory)
        headline, silent = _with_values(headline_metrics(scores.cards), agents)
        systems = (
            _units(scores, "system", seed, memory) if len({a.system for a in agents}) > 1 else []
        )
        numbers = pl.DataFrame(
            {
                "system": [unit.system for unit in agents],
                "agent": [unit.agent for unit in agents],
                "number": [unit.number for unit in agents],
            },
            schema={"system": pl.String, "agent": pl.String, "number": pl.Int64},
        )
        dialogs = scores.dialog_columns(headline).join(
            numbers.lazy(), on=_AGENT, how="left", maintain_order="left"
        )
        positions = scores.positions.join(
            numbers, on=_AGENT, how="left", maintain_order="left"
        ).select("metric", "turn", "value", "n", "n_missing", agent="number")
        kept = dialogs.select("dialog", *headline, agent="number")
        places = _places(scores, agents)
        return cls(
            agents,
            systems,
            scores.cards,
            headline,
            silent,
            kept,
            dialog_sizes(scores),
            positions,
            places,
            scores.signatures,
        )

    @property
    def metrics(self) -> Sequence[str]:
        """The names of all metrics that were computed."""
        return list(self.cards)

    def label(self, name: str) -> str:
        """What a metric is called in a heading."""
        return self.cards[name].label

    @cached_property
    def scales(self) -> dict[str, Scale]:
        """How each metric's values are written, from the agents' intervals."""
        return {
            name: Scale.of(
                card,
                [
                    (
                        unit.estimates[name].value,
                        unit.estimates[name].low,
                        unit.estimates[name].high,
                    )
                    for unit in self.agents
                ],
                self.people(name),
            )
            for name, card in self.cards.items()
        }

    def place(self, number: int, name: str, group: str = PEOPLE) -> PlaceAmong:
        """Where an agent stands among a group on a metric; without a percentile where unknown."""
        return self.places.get((number, name, group), _NOWHERE)

    def people(self, name: str) -> tuple[float, ...]:
        """Between which values the middle 90 % of people lie, whichever agent they resemble.

        Agents are held against people who wrote as much as they did, so this holds all of those.
        """
        known = [self.place(unit.number, name).quantiles for unit in self.agents]
        ends = [(each[0], each[-1]) for each in known if each]
        return (min(low for low, _ in ends), max(high for _, high in ends)) if ends else ()

    @cached_property
    def _typical(self) -> Mapping[tuple[int, str], float | None]:
        return {
            (agent, name): middle
            for name in self.headline
            for agent, middle in self._values(name)
            .group_by("agent")
            .agg(pl.col(name).median())
            .iter_rows()
        }

    def _values(self, name: str) -> pl.DataFrame:
        """Agent and value of every dialogue on one metric."""
        return self.dialogs.select("agent", name).collect(engine="streaming")

    def typical(self, number: int, name: str) -> float | None:
        """The median over an agent's dialogues of a headline metric."""
        return self._typical.get((number, name))

    def sized(self, name: str) -> Mapping[int, SizedValues]:
        """The dialogues of each agent that have a value of a headline metric, with their length."""
        table = self._values(name)
        if self.sizes is not None:
            table = table.hstack(self.sizes.collect(engine="streaming"))
        table = table.drop_nulls(name).drop_nans(name)
        return {
            agent: SizedValues(*(column.to_numpy() for column in _known(own.drop("agent"))))
            for (agent,), own in table.partition_by("agent", as_dict=True).items()
        }

    @cached_property
    def spread(self) -> dict[str, float | None]:
        """The standard deviation of each headline metric over all dialogues, where there is one."""
        spreads = {name: self._values(name)[name].std() for name in self.headline}
        return {n: spread if isinstance(spread, float) else None for n, spread in spreads.items()}


def _known(values: pl.DataFrame) -> pl.DataFrame:
    """Values with their sizes, or without where that of any of them is not known."""
    table = values.fill_nan(None)
    return table.select(table.columns[:1]) if any(table.null_count().row(0)) else table


def _with_values(
    names: Sequence[str], agents: Sequence[Unit]
) -> tuple[Sequence[str], Sequence[str]]:
    """Metrics that some agent has and those that none has; all of them where none has any."""
    there = [n for n in names if any(unit.estimates[n].value is not None for unit in agents)]
    return (there, [n for n in names if n not in there]) if there else (names, [])


def _units(scores: Scores, level: str, seed: int, memory: int) -> list[Unit]:
    if scores.why_not_resampled is None:
        table = intervals(scores, level=level, seed=seed, memory=memory)
    else:
        table = values_only(scores, level=level)
    keys = _AGENT if level == "agent" else ["system"]
    turns = (
        scores.table.filter(pl.col("level") == level)
        .select(*keys, "metric", "n", "n_missing", turn_reason="reason")
        .collect(engine="streaming")
    )
    joined = table.join(turns, on=[*keys, "metric"], how="left", maintain_order="left")
    parts = list(joined.group_by(keys, maintain_order=True))
    if level == "agent":
        names = agent_labels([(str(key[0]), str(key[1])) for key, _ in parts])
    else:
        names = [str(key[0]) for key, _ in parts]
    units = []
    for number, (name, (key, rows)) in enumerate(zip(names, parts, strict=True)):
        agent = str(key[1]) if level == "agent" else None
        system = str(key[0])
        estimates = {row["metric"]: _estimate(row) for row in rows.iter_rows(named=True)}
        behind = [e.n + (e.n_missing or 0) for e in estimates.values() if e.n is not None]
        units.append(
            Unit(
                number,
                system,
                agent,
                name,
                int(rows["n_dialogs"][0]),
                max(behind) if behind else None,
                estimates,
            )
        )
    return units


def _estimate(row: Mapping[str, object]) -> Estimate:
    reasons = [str(reason) for reason in (row["turn_reason"], row["reason"]) if reason]
    return Estimate(
        value=_float(row["value"]),
        low=_float(row["low"]),
        high=_float(row["high"]),
        n=None if row["n"] is None else int(str(row["n"])),
        n_missing=int(str(row["n_missing"] or 0)),
        basis=str(row["basis"]),
        reason="; ".join(dict.fromkeys(reasons)) or None,
    )


def _float(value: object) -> float | None:
    return float(value) if isinstance(value, float) else None


def _places(scores: Scores, agents: Sequence[Unit]) -> dict[tuple[int, str, str], PlaceAmong]:
    numbers = {(unit.system, unit.agent): unit.number for unit in agents}
    return {
        (numbers[row["system"], row["agent"]], row["metric"], row["group"]): PlaceAmong.of(row)
        for row in scores.reference((PEOPLE, SYSTEMS)).iter_rows(named=True)
        if (row["system"], row["agent"]) in numbers
    }
