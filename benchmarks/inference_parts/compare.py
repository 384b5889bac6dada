"""`dialens compare` and the intervals of `dialens score`, of agents that are the same or differ.

Sums of dialogues are drawn directly and every simulation is a metric of its own, so that one call
of `compare` judges hundreds. The last lines score corpora of generated talk.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache

import numpy as np
import polars as pl
from scipy import special

from dialens.analysis.comparison import compare, intervals
from dialens.corpus import Corpus, Dialogue, Turn
from dialens.metrics import (
    SCORES,
    Definition,
    MetricCard,
    Resources,
    ScoredMetric,
    Scores,
    State,
    TurnValue,
    Values,
)
from dialens.metrics import score as score_corpus
from dialens.statistics import Floats, spearman_rows
from inference_parts.lines import Line, Tally

UNITS = (5, 6, 10, 20, 50, 100)
AGENTS = 12
DIALOGS = 25
CORPORA = 40
Statistic = Callable[[Floats], Floats]
Draw = Callable[[np.random.Generator, int, int], Floats]
"""Sums of dialogues: simulations × dialogues × columns."""


def mean(sums: Floats) -> Floats:
    """The first column by the second."""
    return sums[:, 0] / np.maximum(sums[:, 1], 1e-300)


def entropy(sums: Floats) -> Floats:
    """Of the shares of the columns."""
    shares = sums / np.maximum(sums.sum(axis=1, keepdims=True), 1e-300)
    return -special.xlogy(shares, shares).sum(axis=1)


def order(sums: Floats) -> Floats:
    """The rank correlation of the first half of the columns with the second."""
    half = sums.shape[1] // 2
    return spearman_rows(sums[:, :half], sums[:, half:])[0]


def _plain(values: Floats) -> Floats:
    return np.stack([values, np.ones_like(values)], axis=-1)


def normal(shift: float) -> Draw:
    return lambda rng, runs, n: _plain(rng.normal(3 + shift, 1, (runs, n)))


def lognormal(shift: float) -> Draw:
    return lambda rng, runs, n: _plain(rng.lognormal(shift, 0.7, (runs, n)))


def sparse(share: float) -> Draw:
    """0 in most dialogues, otherwise a log-normal count."""
    return lambda rng, runs, n: _plain(
        (rng.random((runs, n)) < share) * rng.lognormal(0, 0.7, (runs, n))
    )


def pooled(successes: float) -> Draw:
    """A share of words, pooled over dialogues of unequal length."""

    def draw(rng: np.random.Generator, runs: int, n: int) -> Floats:
        words = rng.poisson(rng.gamma(4, 25, (runs, n))) + 5
        counts = rng.binomial(words, rng.beta(successes, 20 - successes, (runs, n)))
        return np.stack([counts, words], axis=-1).astype(np.float64)

    return draw


def emotions(concentration: float) -> Draw:
    """Counts of eight emotions, each dialogue with a mixture of its own."""
    weights = np.array([0.6, 0.5, 0.3, 0.3, 0.2, 0.1, 0.05, 0.05]) ** concentration
    return lambda rng, runs, n: rng.poisson(20 * rng.dirichlet(weights, (runs, n))).astype(
        np.float64
    )


def orders(swapped: bool) -> Draw:
    """Counts of eight emotions of the agent and of its partner, in nearly the same order."""
    own = np.array([3, 2.5, 2, 1.6, 1.2, 0.8, 0.5, 0.3])
    other = own[[1, 0, 2, 4, 3, 5, 7, 6]] if swapped else own
    both = np.concatenate([own, other])
    return lambda rng, runs, n: rng.poisson(
        np.repeat(rng.gamma(1, 1, (runs, n, 2)), 8, axis=-1) * both
    ).astype(np.float64)


@dataclass(frozen=True)
class Design:
    """What dialogues are like without a difference, and another agent's with one."""

    name: str
    statistic: Statistic
    same: Draw
    other: Draw

    def truth(self, draw: Draw) -> float:
        """The value of very many dialogues."""
        return _truth(self.statistic, draw)


@cache
def _truth(statistic: Statistic, draw: Draw) -> float:
    rows = draw(np.random.default_rng(1), 1, 1_000_000)
    return float(statistic(rows.sum(axis=1))[0])


DESIGNS = (
    Design("normal", mean, normal(0), normal(1)),
    Design("log-normal", mean, lognormal(0), lognormal(0.5)),
    Design("pooled share", mean, pooled(2), pooled(3)),
    Design("0 in 95 %", mean, sparse(0.05), sparse(0.15)),
    Design("0 in 80 %", mean, sparse(0.2), sparse(0.4)),
    Design("entropy", entropy, emotions(1), emotions(0.7)),
    Design("rank correlation", order, orders(swapped=True), orders(swapped=False)),
)


def scores_of(sides: dict[str, Floats], statistic: Statistic, *, contexts: bool) -> Scores:
    """Scores of agents from the sums of their dialogues, a metric a simulation."""
    runs, columns = next(iter(sides.values())).shape[::2]
    names = [f"m{run}" for run in range(runs)]
    states = []
    for agent, rows in sides.items():
        dialogs = rows.shape[1]
        contents = {
            f"own|{name}|{column}": rows[run, :, column]
            for run, name in enumerate(names)
            for column in range(columns)
        }
        places = pl.Series("context", [f"c{i}" if contexts else None for i in range(dialogs)])
        who = {
            "system": ["s"] * dialogs,
            "agent": [agent] * dialogs,
            "dialog": [f"{agent}{i}" for i in range(dialogs)],
            "context": places.cast(pl.String),
            "other_turns": np.ones(dialogs),
        }
        states.append(pl.DataFrame(who | contents))
    metrics = tuple(_metric(name, statistic) for name in names)
    nothing = pl.LazyFrame()
    return Scores(nothing, pl.concat(states).lazy(), nothing, SCORES.to_frame(), metrics)


def _metric(name: str, statistic: Statistic) -> ScoredMetric:
    def compute(state: State) -> Values:
        sums = state.own[name]
        return Values.where(statistic(sums), nothing=sums.sum(axis=1) == 0)

    def make(resources: Resources) -> Definition:
        return Definition((TurnValue(name, lambda batch: np.empty(0)),), compute)

    card = MetricCard(name, "A simulated metric", "simulated", make)
    return ScoredMetric(card, f"{name}|v1", (name,), bound=card.bind(Resources()))


def compared(
    design: Design,
    draws: tuple[Draw, Draw],
    units: tuple[int, int],
    *,
    paired: bool,
    runs: int,
    seed: int,
) -> Line:
    """One line: `runs` comparisons of two agents."""
    rng = np.random.default_rng([seed, *units])
    sides = {"a": draws[0](rng, runs, units[0]), "b": draws[1](rng, runs, units[1])}
    table = compare(scores_of(sides, design.statistic, contexts=paired), seed=seed, resamples=500)
    null = draws[0] is draws[1]
    truth = 0.0 if null else design.truth(draws[0]) - design.truth(draws[1])
    tally = Tally()
    for p, low, high in table.select("p", "low", "high").iter_rows():
        tally.add(p, low, high, truth)
    kind = "paired" if paired else "unpaired"
    what = "no difference" if null else "difference"
    size = f"{units[0]}" if units[0] == units[1] else f"{units[0]} and {units[1]}"
    return tally.line(f"compare, {kind}", f"{design.name}, {what}", size, null=null)


def alone(design: Design, units: int, runs: int, seed: int) -> Line:
    """One line: the intervals of one agent."""
    rng = np.random.default_rng([seed, units])
    scores = scores_of({"a": design.same(rng, runs, units)}, design.statistic, contexts=False)
    truth = design.truth(design.same)
    tally = Tally()
    for low, high in intervals(scores, seed=seed, resamples=500).select("low", "high").iter_rows():
        tally.add(None, low, high, truth)
    return tally.line("interval of one agent", design.name, f"{units}", null=False)


def false_share(table: pl.DataFrame) -> tuple[float, int, int]:
    """The share of discoveries that are between equal agents, how many those are and all."""
    found = table.filter(pl.col("p_adjusted") < 0.05)
    false = found.filter((pl.col("a") != "other") & (pl.col("b") != "other")).height
    return false / max(found.height, 1), false, found.height


def many_agents(seed: int) -> Iterator[Line]:
    """Twelve agents of which eleven are the same: what corrected p-values below .05 are worth."""
    for design in DESIGNS[:4]:
        shares = []
        for corpus in range(CORPORA):
            rng = np.random.default_rng([seed, corpus])
            sides = {f"same{i}": design.same(rng, 20, DIALOGS) for i in range(AGENTS - 1)}
            sides["other"] = design.other(rng, 20, DIALOGS)
            scores = scores_of(sides, design.statistic, contexts=False)
            shares.append(false_share(compare(scores, seed=seed))[0])
        yield _discoveries(design.name, shares)
    shares = [
        false_share(compare(_talk(np.random.default_rng([seed, corpus])), seed=seed))[0]
        for corpus in range(CORPORA)
    ]
    yield _discoveries("generated talk, 7 metrics", shares)


def _discoveries(design: str, shares: list[float]) -> Line:
    return Line(
        "compare, false discoveries",
        f"{design}, 11 of 12 agents the same",
        f"{AGENTS} × {DIALOGS}",
        len(shares),
        float(np.mean(shares)),
        None,
        0.0,
    )


_WORDS = tuple(
    "i you we the a of to in is was love hate happy fear trust because maybe think not never good "  # noqa: SIM905
    "friend work home very but and or for with day night time dog music storm glad awful".split()
)


def _talk(rng: np.random.Generator) -> Scores:
    """Scores of generated talk: one agent writes longer turns and asks more often."""
    talks = []
    for number in range(AGENTS):
        other = number == AGENTS - 1
        agent = "other" if other else f"same{number}"
        for dialog in range(DIALOGS):
            turns = []
            for _ in range(3):
                for who, role in (("u", "partner"), (agent, "agent")):
                    longer = other and role == "agent"
                    words = rng.choice(_WORDS, 1 + int(rng.lognormal(1.8 + 0.5 * longer, 0.7)))
                    end = "?" if rng.random() < (0.6 if longer else 0.3) else "."
                    turns.append(Turn(who, role, " ".join(words) + end))
            talks.append(Dialogue("s", agent, f"{agent}-{dialog}", turns))
    names = ["length", "question", "joy_share", "fear_share", "trust_share", "emotional_entropy"]
    return score_corpus(Corpus.of(talks), metrics=[*names, "style_matching_articles"])


def lines(runs: int, seed: int) -> Iterator[Line]:
    """Every design under no difference and under one."""
    for design in DESIGNS:
        same = (design.same, design.same)
        for units in UNITS:
            for sizes, paired in (
                ((units, units), True),
                ((units, units), False),
                ((units, 4 * units), False),
            ):
                yield compared(design, same, sizes, paired=paired, runs=runs, seed=seed)
            differ = (design.other, design.same)
            yield compared(design, differ, (units, units), paired=False, runs=runs, seed=seed)
            yield alone(design, units, runs, seed)
    yield from many_agents(seed)
