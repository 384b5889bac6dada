"""What the tables of a profile say: for each of its four questions a verdict and its numbers.

Whoever shows a profile puts these into words; nothing is decided there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import polars as pl

from dialens.analysis.profiles import (
    ALIKE,
    ALL_EMOTIONS,
    ALL_EMOTIONS_CLASSIFIER,
    TraitProfile,
    systems_apart,
)

CHANCE = 0.05
_MUCH = 0.10
"""A share of the variance of turns that counts as medium (LeBreton & Senter 2008)."""
_HALF = 0.5

Row = Mapping[str, Any]


class Difference(Enum):
    """Whether agents differ in their traits."""

    IN_MOST = "in half of the traits or more"
    IN_SOME = "in some"
    IN_NONE = "in none beyond chance"
    NO_TRAIT = "no trait has a value"
    ONE_AGENT = "there is no other agent"
    SINGLE_DIALOGS = "no agent has two dialogues"
    UNTESTED = "there is no test"


@dataclass(frozen=True)
class DifferenceVerdict:
    """Whether traits vary across the agents.

    Attributes:
        kind: The verdict.
        traits: Those that have a value.
        differing: Those in which agents of one system differ beyond chance.
        tested: How many have a test.
        systems: How many systems have one.
        most: The row of the system and trait that differ most.
        why: Why there is no test.
    """

    kind: Difference
    traits: Sequence[str] = ()
    differing: Sequence[str] = ()
    tested: int = 0
    systems: int = 0
    most: Row = field(default_factory=dict)
    why: str = ""


def wholes(profile: TraitProfile, trait: str) -> list[dict[str, Any]]:
    """The rows of a trait over all agents of a system, those with most agents first."""
    rows = profile.table.filter(pl.col("trait") == trait, pl.col("level") == "system")
    return rows.sort("n_agents", descending=True, maintain_order=True).to_dicts()


def difference_verdict(profile: TraitProfile, names: Sequence[str]) -> DifferenceVerdict:
    """Whether these traits vary across the agents."""
    scored = [name for name in names if name in profile.traits]
    traits = [name for name in scored if name in profile.known]
    if not traits:
        return DifferenceVerdict(Difference.NO_TRAIT)
    of_agents = profile.table.filter(pl.col("level") == "agent", pl.col("trait") == traits[0])
    sizes = of_agents["n_dialogs"] + of_agents["n_missing"]
    if len(sizes) == 1:
        return DifferenceVerdict(Difference.ONE_AGENT)
    rows = [row for name in traits for row in wholes(profile, name)]
    tested = [row for row in rows if row["p"] is not None]
    if not tested and (sizes < 2).all():
        return DifferenceVerdict(Difference.SINGLE_DIALOGS)
    if not tested:
        return DifferenceVerdict(Difference.UNTESTED, why=str(rows[0]["reason"]))
    apart = systems_apart(profile)
    beyond = [row for row in tested if str(row["system"]) in apart.get(row["trait"], ())]
    differing = [name for name in traits if any(row["trait"] == name for row in beyond)]
    tried = len({row["trait"] for row in tested})
    kind = Difference.IN_SOME if differing else Difference.IN_NONE
    return DifferenceVerdict(
        Difference.IN_MOST if 2 * len(differing) >= tried else kind,
        traits,
        differing,
        tried,
        len({row["system"] for row in tested}),
        max(beyond or tested, key=lambda row: float(row["stability"])),
    )


class Stability(Enum):
    """Whether agents keep their traits from dialogue to dialogue."""

    STABLE = "no drift, and none that matters can hide"
    NEARLY = "drifts, and none that matters can hide"
    UNSEEN = "no drift is seen, but one that matters may hide"
    SMALL = "drifts that do not matter, but one that does may hide"
    SOME_DRIFT = "some agents drift by more than agents differ"
    ALL_DRIFT = "all agents do"
    UNKNOWN = "there is no drift to be had"


@dataclass(frozen=True)
class StabilityVerdict:
    """Whether each agent is stable across dialogues.

    Attributes:
        kind: The verdict.
        traits: Those with a drift, the one that tells agents apart best first.
        pooled: The row of each trait over all agents.
        agents: The rows of agents.
        moving: Those that drift beyond chance.
        much: Those of them whose drift matters.
        reasons: Why there is no drift.
    """

    kind: Stability
    traits: Sequence[str] = ()
    pooled: Mapping[str, Row] = field(default_factory=dict)
    agents: Sequence[Row] = ()
    moving: Sequence[Row] = ()
    much: Sequence[Row] = ()
    reasons: frozenset[str] = frozenset()


def stability_verdict(drift: pl.DataFrame, traits: Sequence[str]) -> StabilityVerdict:
    """Whether agents keep these traits; `drift` is that of `AgentProfile`."""
    table = drift.filter(pl.col("trait").is_in(traits))
    over_all = table.filter(pl.col("agent").is_null())
    pooled = {row["trait"]: row for row in over_all.to_dicts() if row["drift"] is not None}
    if not pooled:
        reasons = frozenset(over_all["reason"].drop_nulls())
        return StabilityVerdict(Stability.UNKNOWN, reasons=reasons)
    agents = table.filter(pl.col("agent").is_not_null(), pl.col("drift").is_not_null()).to_dicts()
    there = [name for name in traits if name in pooled]
    moving = [row for row in agents if row["p_adjusted"] is not None and row["p_adjusted"] < CHANCE]
    much = [row for row in moving if _matters(row)]
    return StabilityVerdict(
        _stability(agents, moving, much, [pooled[name] for name in there]),
        sorted(there, key=lambda name: -_telling(pooled[name])),
        pooled,
        agents,
        moving,
        much,
    )


def _stability(
    agents: Sequence[Row], moving: Sequence[Row], much: Sequence[Row], pooled: Sequence[Row]
) -> Stability:
    """That no drift was found is not yet that there is none: the interval must say so."""
    if much:
        of_some, of_all = ({(r["system"], r["agent"]) for r in rows} for rows in (much, agents))
        return Stability.ALL_DRIFT if of_some == of_all else Stability.SOME_DRIFT
    if all(_surely_small(row) for row in pooled):
        return Stability.NEARLY if moving else Stability.STABLE
    return Stability.SMALL if moving else Stability.UNSEEN


def _surely_small(row: Row) -> bool:
    """Whether even the upper end of a drift would not matter."""
    if row["high"] is None:
        return bool(row["drift"] == 0)
    if row["sd_agents"] is not None:
        return bool(row["high"] < row["sd_agents"])
    return bool(row["share_high"] < _MUCH)


def _matters(row: Row) -> bool:
    """Whether a drift is as large as what tells agents apart, or of medium size by itself."""
    if row["sd_agents"] is not None:
        return bool(row["drift"] > row["sd_agents"])
    return bool(row["share"] >= _MUCH)


def _telling(row: Row) -> float:
    """How far a trait tells agents apart, in units of its noise."""
    return float((row["sd_agents"] or 0.0) / (row["expected"] or 1.0))


class Movement(Enum):
    """Whether states move within dialogues."""

    WITHIN = "most of what differs lies within dialogues"
    BOTH = "within dialogues and between them"
    BETWEEN = "most of it lies between dialogues"
    NONE = "all turns are alike"
    UNCOMPARED = "they move, but there is nothing to compare with"
    UNKNOWN = "no dialogue has two turns with a state"
    UNSCORED = "no state was scored"


@dataclass(frozen=True)
class MovementVerdict:
    """Whether states vary within dialogues.

    Attributes:
        kind: The verdict.
        whole: The states that are taken together, and the verdict is on.
        second: The same by other means, where there are any.
        pooled: The row of each state over all agents.
        why: Why it is not known.
    """

    kind: Movement
    whole: str = ""
    second: str | None = None
    pooled: Mapping[str, Row] = field(default_factory=dict)
    why: str = ""


def movement_verdict(states: pl.DataFrame) -> MovementVerdict:
    """Whether states move within dialogues; `states` are those of `AgentProfile`."""
    pooled = {row["state"]: row for row in states.filter(pl.col("agent").is_null()).to_dicts()}
    scored = [name for name in (ALL_EMOTIONS, ALL_EMOTIONS_CLASSIFIER) if name in pooled]
    if not scored:
        return MovementVerdict(Movement.UNSCORED)
    known = [name for name in scored if pooled[name]["sd_within"] is not None]
    if not known:
        return MovementVerdict(Movement.UNKNOWN, why=str(pooled[scored[0]]["reason"]))
    first, *others = known
    return MovementVerdict(_movement(pooled[first]), first, next(iter(others), None), pooled)


def _movement(row: Row) -> Movement:
    if row["reason"] == ALIKE:
        return Movement.NONE
    if row["share"] is None:
        return Movement.UNCOMPARED
    low = row["share"] if row["share_low"] is None else row["share_low"]
    high = row["share"] if row["share_high"] is None else row["share_high"]
    if low > _HALF:
        return Movement.WITHIN
    return Movement.BETWEEN if high < _HALF else Movement.BOTH


class Matching(Enum):
    """Whom agents match."""

    OWN_PARTNERS = "in most cases their own partners"
    SOME_OWN = "in some cases"
    NOBODY = "nobody in particular"
    NO_PARTNER = "nobody else speaks"
    NO_OTHERS = "no agent has two dialogues with a partner"
    UNKNOWN = "no dialogue has a value"
    UNSCORED = "no matching was scored"


@dataclass(frozen=True)
class MatchingVerdict:
    """Whom agents match: their own partners, or anybody.

    Attributes:
        kind: The verdict.
        rows: Those that can be judged, the highest excess first within each metric.
        why: Why there are none.
    """

    kind: Matching
    rows: Sequence[Row] = ()
    why: str = ""

    @property
    def metrics(self) -> list[str]:
        """The metrics that can be judged."""
        return list(dict.fromkeys(row["metric"] for row in self.rows))


def matching_verdict(table: pl.DataFrame) -> MatchingVerdict:
    """Whom agents match; `table` is the matching of `AgentProfile`."""
    if not table.height:
        return MatchingVerdict(Matching.UNSCORED)
    rows = table.filter(pl.col("excess").is_not_null()).to_dicts()
    if not rows:
        return _unmatched(table)
    close = sum(matches_its_own(row) for row in rows)
    tested = sum(row["p"] is not None for row in rows)
    kind = Matching.SOME_OWN if close else Matching.NOBODY
    return MatchingVerdict(Matching.OWN_PARTNERS if tested and 2 * close >= tested else kind, rows)


def _unmatched(table: pl.DataFrame) -> MatchingVerdict:
    reasons = table["reason"].drop_nulls().to_list()
    commonest = max(dict.fromkeys(reasons), key=reasons.count)
    if commonest == "nothing to answer":
        return MatchingVerdict(Matching.NO_PARTNER, why=commonest)
    kind = Matching.NO_OTHERS if table["match"].count() else Matching.UNKNOWN
    return MatchingVerdict(kind, why=commonest)


def beyond_chance(row: Row) -> bool:
    """Whether an agent's excess is more than chance, corrected over agents."""
    return row["p_adjusted"] is not None and row["p_adjusted"] < CHANCE


def matches_its_own(row: Row) -> bool:
    """Whether an agent matches its own partners more than those of its other dialogues."""
    return beyond_chance(row) and row["excess"] > 0
