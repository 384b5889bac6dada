"""What the hierarchy System > Agent > Dialog > Turn lets one ask of an agent.

Giorgi et al. (2023, arXiv:2305.14757) expect traits to differ between the agents of a system and to
be kept by each agent from dialogue to dialogue, states to move within dialogues, and matching to be
a matter of dialogues. Differences between agents are `trait_profile`'s; here are the other three:

- **drift**: how far an agent's trait moves between its dialogues, beyond what its own turns would
  bring about by chance. Dialogues hold few words, so their scores differ even where the agent does
  not; the turns of one dialogue tell by how much. This needs no other agent.
- **states**: how far emotions move from turn to turn within dialogues, and which share of all their
  movement that is.
- **matching**: whether an agent matches its partner more than the partners of its other dialogues.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl
from numpy.typing import NDArray
from scipy import stats

from dialens.analysis.profiles._agent_tables import (
    ALIKE,
    ALL_EMOTIONS,
    ALL_EMOTIONS_CLASSIFIER,
    DRIFT,
    MATCHES,
    NO_TURN,
    ONE_DIALOG,
    ONE_TURN,
    STATES,
)
from dialens.analysis.profiles._layers import Components, TurnLayers, resampled_layers, turn_values
from dialens.analysis.profiles._matching import partner_match
from dialens.analysis.profiles._traits import compared_over_systems, lasting_traits
from dialens.metrics import Scores
from dialens.statistics import Floats, Ints, Resampled, corrected
from dialens.text import PLUTCHIK

RESAMPLES = 1_000
_MOST_UNDEFINED = 0.05
_AGENT = ["system", "agent"]
_STATISTICS = ("n", "mean", "squares")
_NO_VARIANCE = 1e-18


@dataclass(frozen=True)
class AgentProfile:
    """What can be told of agents beyond their values.

    Attributes:
        drift: One row an agent and trait; columns as `DRIFT`.
        states: One row an agent and state, and one for all agents; columns as `STATES`.
        matching: One row an agent and metric; columns as `MATCHES`.
        sampled: How many dialogues were looked at, where not at all of them.
    """

    drift: pl.DataFrame
    states: pl.DataFrame
    matching: pl.DataFrame
    sampled: int | None = None


def agent_profile(
    scores: Scores,
    *,
    seed: int = 0,
    resamples: int = RESAMPLES,
    confidence: float = 0.95,
    most_dialogs: int = 5_000,
) -> AgentProfile:
    """Drift of traits, movement of states and matching of partners, agent by agent.

    Args:
        scores: What `dialens.score` or `Scores.open` gives. Drift and states need its turns.
        seed: Of the sample, the other partners and the intervals of states.
        resamples: How many times dialogues are drawn for those.
        confidence: Of all intervals.
        most_dialogs: Of more, a random sample is looked at, as even over the agents as it can be.

    Examples:
        >>> from dialens import Corpus, score
        >>> from dialens.corpus import Dialogue, Turn
        >>> lines = ["I love it!", "What a fright.", "So sad.", "Great joy!"]
        >>> def talk(n):
        ...     said = [Turn("B", "agent", lines[(n + k) % 4]) for k in range(3)]
        ...     return Dialogue("s", "bot", f"d{n}", [Turn("A", "partner", lines[n % 4]), *said])
        >>> scores = score(Corpus.of([talk(n) for n in range(8)]), metrics=["emotion"])
        >>> found = agent_profile(scores)
        >>> found.states.filter(pl.col("state") == "emotions")["share"].round(2).to_list()
        [1.0, 1.0]
        >>> found.matching.select("agent", "metric", "n_dialogs").rows()
        [('bot', 'emotion_matching', 8)]
    """
    dialogs, sampled = _dialogs(scores, seed, most_dialogs)
    traits = lasting_traits(scores)
    kinds = _state_kinds(scores)
    measured = [*traits, *(name for kind in kinds for name in kind.measures)]
    chosen = None if sampled is None else dialogs["dialog"]
    turns = turn_values(scores, measured, chosen)
    agents = dialogs.select(_AGENT).unique(maintain_order=True)
    return AgentProfile(
        _adjusted(pl.DataFrame(list(_drift(turns, agents, traits, confidence)), schema=DRIFT)),
        pl.DataFrame(
            list(_states(turns, agents, kinds, seed, resamples, confidence)), schema=STATES
        ),
        _matching(scores, dialogs, seed, confidence),
        sampled,
    )


def _dialogs(scores: Scores, seed: int, most: int) -> tuple[pl.DataFrame, int | None]:
    """The dialogues to look at with their rows in the states, and how many if not all."""
    named = scores.states.select(*_AGENT, "dialog").with_row_index("row")
    total = scores.states.select(pl.len()).collect(engine="streaming").item()
    if total <= most:
        return named.collect(engine="streaming"), None
    owners = scores.states.select(pl.col(_AGENT).cast(pl.Categorical)).collect(engine="streaming")
    places = owners.with_row_index("row").group_by(_AGENT).agg("row")["row"]
    each = max(1, most // len(places))
    order = np.random.default_rng([seed, 7]).permutation(total)
    first = [_first(own.to_numpy(), order, each) for own in places]
    chosen = pl.Series(np.sort(np.concatenate(first)), dtype=pl.UInt32)
    kept = named.filter(pl.col("row").is_in(chosen.implode())).collect(engine="streaming")
    return kept, kept.height


def _first(rows: NDArray[np.uint32], order: Ints, most: int) -> NDArray[np.uint32]:
    """Those of the rows that come first in an order."""
    if len(rows) <= most:
        return rows
    return rows[np.argpartition(order[rows], most - 1)[:most]]


def _drift(
    turns: pl.DataFrame, agents: pl.DataFrame, traits: Sequence[str], confidence: float
) -> Iterator[dict[str, object]]:
    for trait in traits:
        layers = _by_agent(turns, agents, [trait])
        groups: dict[str | None, list[TurnLayers]] = {}
        for (system, _), one in layers.items():
            groups.setdefault(system, []).append(one)
        if compared_over_systems([system for system, _ in layers]):
            groups = {None: list(layers.values())}
        apart = {system: sd_of_agents(some) for system, some in groups.items()}
        known = [one for one in apart.values() if one is not None]
        whole = {"system": None, "agent": None, "trait": trait}
        yield (
            whole
            | _drift_of(list(layers.values()), confidence)
            | {"sd_agents": float(np.sqrt(np.mean(np.square(known)))) if known else None}
        )
        for (system, agent), one in layers.items():
            row = {"system": system, "agent": agent, "trait": trait} | _drift_of([one], confidence)
            yield row | {"sd_agents": apart[system if system in apart else None]}


def sd_of_agents(agents: Sequence[TurnLayers]) -> float | None:
    """How far agents differ in the means of their turns, the noise of those means taken off.

    Examples:
        >>> def agent(*means):
        ...     column = np.array(means)[:, None]
        ...     return TurnLayers.of(np.full(len(means), 2.0), column, np.zeros_like(column))
        >>> sd_of_agents([agent(1.0, 1.0), agent(3.0, 3.0), agent(5.0, 5.0)])
        2.0
        >>> sd_of_agents([agent(1.0, 3.0)]) is None
        True
    """
    there = [one for one in agents if one.dialogs]
    if len(there) < 2:
        return None
    found = Components.of(np.sum([one.parts([0]) for one in there], axis=0))
    between, within = (max(float(x[0]), 0.0) for x in (found.between, found.within))
    if np.isnan(between) or np.isnan(within):
        return None
    total = np.array([one.rows.sum(axis=0) for one in there])
    turns, squared, means = total[:, 1], total[:, 2], total[:, 5] / total[:, 1]
    noise = between * squared / turns**2 + within / turns
    return float(np.sqrt(max(means.var(ddof=1) - noise.mean(), 0.0)))


def _drift_of(agents: Sequence[TurnLayers], confidence: float) -> dict[str, object]:
    """From the F test of dialogues against turns.

    Its interval is exact where dialogues have equally many turns, and close to it otherwise
    (Searle, Casella & McCulloch 1992, ch. 3).
    """
    dialogs, n_turns = sum(one.dialogs for one in agents), sum(one.turns for one in agents)
    row: dict[str, object] = {"n_dialogs": dialogs, "n_turns": n_turns}
    around, df1, squares, df2, spread = np.sum([one.parts([0]) for one in agents], axis=0)[0]
    if not dialogs:
        return row | {"reason": NO_TURN}
    if df2 < 1:
        return row | {"reason": ONE_TURN}
    if df1 < 1:
        return row | {"reason": ONE_DIALOG}
    n0, within = spread / df1, squares / df2
    if max(around / df1, within) <= _NO_VARIANCE:
        return row | {"drift": 0.0, "reason": ALIKE}
    if within <= _NO_VARIANCE:
        return row | {"drift": float(np.sqrt(around / df1 / n0)), "share": 1.0, "p": 0.0}
    f = around / df1 / within
    tail = (1 - confidence) / 2
    ends = [f / float(stats.f.isf(q, df1, df2)) for q in (tail, 1 - tail)]
    drift, low, high = (float(np.sqrt(within * max(x - 1, 0) / n0)) for x in (f, *ends))
    return row | {
        "drift": drift,
        "low": low,
        "high": high,
        "share": drift**2 / (drift**2 + within),
        "share_high": high**2 / (high**2 + within),
        "expected": float(np.sqrt(within / n0)),
        "f": f,
        "p": float(stats.f.sf(f, df1, df2)),
    }


@dataclass(frozen=True)
class _Kind:
    """States that turns have together: all of them, or none.

    Attributes:
        whole: What their variances add up to.
        measures: Their names.
        parts: Those that are added, as places in `measures`.
        shown: Those that are told one by one.
    """

    whole: str
    measures: Sequence[str]
    parts: Sequence[int]
    shown: Sequence[int]


def _state_kinds(scores: Scores) -> list[_Kind]:
    """By lexicon: eight emotions and their entropy. By classifier: 27 emotions, taken together."""
    kinds = []
    parts = _parts(scores, ALL_EMOTIONS)
    if len(parts) == len(PLUTCHIK):
        family = scores.cards[parts[0]].family
        beside = [
            name
            for name, card in scores.cards.items()
            if card.describes == "state" and card.family == family and not card.part_of
        ]
        names = [*parts, *beside]
        kinds.append(_Kind(ALL_EMOTIONS, names, range(len(parts)), range(len(names))))
    parts = _parts(scores, ALL_EMOTIONS_CLASSIFIER)
    if len(parts) > 1:
        kinds.append(_Kind(ALL_EMOTIONS_CLASSIFIER, parts, range(len(parts)), ()))
    return kinds


def _parts(scores: Scores, whole: str) -> list[str]:
    return [name for name, card in scores.cards.items() if card.part_of == whole]


def _states(
    turns: pl.DataFrame,
    agents: pl.DataFrame,
    kinds: Sequence[_Kind],
    seed: int,
    resamples: int,
    confidence: float,
) -> Iterator[dict[str, object]]:
    for number, kind in enumerate(kinds):
        layers = _by_agent(turns, agents, kind.measures)
        rng = np.random.default_rng([seed, 8, number])
        units: dict[tuple[str | None, str | None], list[TurnLayers]] = {
            (None, None): [one for one in layers.values() if one.dialogs]
        }
        units |= {key: [one] for key, one in layers.items()}
        choices = [kind.parts, *([place] for place in kind.shown)]
        names = [kind.whole, *(kind.measures[place] for place in kind.shown)]
        for (system, agent), some in units.items():
            counts = {
                "system": system,
                "agent": agent,
                "n_dialogs": sum(one.dialogs for one in some),
                "n_turns": sum(one.turns for one in some),
            }
            made = _layer_rows(some, choices, resamples, rng, confidence)
            for name, row in zip(names, made, strict=True):
                yield counts | {"state": name} | row


def _by_agent(
    turns: pl.DataFrame, agents: pl.DataFrame, measures: Sequence[str]
) -> dict[tuple[str, str], TurnLayers]:
    """The turns of every agent; a measure of its own, or measures that turns have together."""
    names = list(measures)
    wide = None
    for name in names:
        one = turns.filter(pl.col("metric") == name).select(
            *_AGENT, "dialog", *(pl.col(what).alias(f"{what} {name}") for what in _STATISTICS)
        )
        keys = [*_AGENT, "dialog"]
        wide = one if wide is None else wide.join(one, on=keys, maintain_order="left")
    assert wide is not None
    parts = wide.partition_by(_AGENT, as_dict=True)
    return {
        (system, agent): _layers(parts.get((system, agent), wide.clear()), names)
        for system, agent in agents.iter_rows()
    }


def _layers(part: pl.DataFrame, names: Sequence[str]) -> TurnLayers:
    means, squares = (
        part.select([f"{what} {name}" for name in names]).to_numpy().astype(np.float64)
        for what in ("mean", "squares")
    )
    return TurnLayers.of(_floats(part[f"n {names[0]}"]), means, squares)


def _layer_rows(
    agents: Sequence[TurnLayers],
    choices: Sequence[Sequence[int]],
    resamples: int,
    rng: np.random.Generator,
    confidence: float,
) -> Iterator[dict[str, object]]:
    dialogs = sum(one.dialogs for one in agents)
    turns = sum(one.turns for one in agents)
    if turns == dialogs:
        for _ in choices:
            yield {"reason": ONE_TURN if dialogs else NO_TURN}
        return
    drawn = resampled_layers(agents, choices, resamples, rng)
    for measures, (spread, share) in zip(choices, drawn, strict=True):
        parts = np.sum([one.parts(measures) for one in agents], axis=0)
        between = float(Components.of(parts).between[0])
        reason = None
        if np.isnan(between):
            reason = ONE_DIALOG
        elif np.isnan(share.estimate):
            reason = ALIKE
        yield {
            "sd_within": spread.estimate,
            "sd_between": None if np.isnan(between) else float(np.sqrt(max(between, 0.0))),
            "share": None if np.isnan(share.estimate) else share.estimate,
            "reason": reason,
            **_ends(spread, "low", "high", confidence, dialogs),
            **_ends(share, "share_low", "share_high", confidence, dialogs),
        }


def _ends(
    drawn: Resampled, low: str, high: str, confidence: float, dialogs: int
) -> dict[str, float | None]:
    if dialogs < 2 or np.isnan(drawn.estimate) or drawn.undefined > _MOST_UNDEFINED:
        return {low: None, high: None}
    ends = drawn.interval(confidence)
    return dict(zip((low, high), ends, strict=True))


def _matching(scores: Scores, dialogs: pl.DataFrame, seed: int, confidence: float) -> pl.DataFrame:
    # Style before emotions, and words before what models read.
    matching = sorted(
        (card for card in reversed(scores.cards.values()) if card.matches),
        key=lambda card: "model" in card.needs,
    )
    names = [card.name for card in matching]
    if scores.why_not_resampled is not None:
        agents = dialogs.group_by(_AGENT, maintain_order=True).agg(n_dialogs=pl.len()).to_dicts()
        why = {"reason": scores.why_not_resampled}
        rows = [agent | {"metric": name} | why for name in names for agent in agents]
        return pl.DataFrame(rows, schema=MATCHES)
    columns = _columns(scores, names, dialogs["row"])
    dialogs = dialogs.with_columns(row=pl.int_range(pl.len(), dtype=pl.UInt32))
    rows = []
    for place, metric in enumerate(scores.computing[name] for name in names):
        made = []
        for number, (key, part) in enumerate(dialogs.group_by(_AGENT, maintain_order=True)):
            rng = np.random.default_rng([seed, 9, place, number])
            at = part["row"].to_numpy().astype(np.int64)
            found = partner_match(metric, columns, at, rng=rng, confidence=confidence)
            made.append(
                {
                    "system": key[0],
                    "agent": key[1],
                    "metric": metric.name,
                    "match": found.match,
                    "others": found.others,
                    "excess": found.excess,
                    "low": found.low,
                    "high": found.high,
                    "p": found.p,
                    "n_dialogs": found.dialogs,
                    "reason": found.reason,
                }
            )
        rows += _adjusted(pl.DataFrame(made, schema=MATCHES)).to_dicts()
    return pl.DataFrame(rows, schema=MATCHES)


def _columns(scores: Scores, metrics: Sequence[str], rows: pl.Series) -> dict[str, Floats]:
    """The columns of the states that metrics need, of some dialogues in ascending order."""
    names = scores.state_columns(metrics)
    chosen = scores.states.with_row_index("row").filter(pl.col("row").is_in(rows.implode()))
    frame = chosen.select(names).collect(engine="streaming")
    return {name: _floats(frame[name]) for name in names}


def _adjusted(table: pl.DataFrame) -> pl.DataFrame:
    """P-values corrected over the agents of a table."""
    return corrected(table, where=pl.col("agent").is_not_null(), family=None)


def _floats(column: pl.Series) -> Floats:
    return column.to_numpy().astype(np.float64)
