"""Choices between agents: Bradley–Terry, win shares, best–worst, positions, raters, ranks.

Raters and items have preferences of their own: the log-odds of a choice are the difference of
abilities plus that of normal deviations of rater × agent and of item × agent. What is estimated is
the log-odds over all raters and items, which is smaller than that of a typical one.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import polars as pl
from scipy import optimize, special

from dialens.analysis.people import choices_of, people_from_choices, position_effect
from dialens.statistics import Floats
from inference_parts.lines import Line, Tally


@dataclass(frozen=True)
class Design:
    """A study with pairs of agents.

    Attributes:
        raters: How many people.
        items: How many items, all judged by everyone.
        abilities: Of the agents.
        rater_sd: How much raters differ in each agent's ability.
        item_sd: How much items do.
        ties: Davidson's parameter for ties.
        position: Log-odds of what is shown first.
        each: Items that each rater judges, at random; None is all of them.
    """

    raters: int
    items: int
    abilities: tuple[float, ...] = (0.0, 0.0)
    rater_sd: float = 0.0
    item_sd: float = 0.0
    ties: float = 0.0
    position: float = 0.0
    each: int | None = None

    def draw(self, rng: np.random.Generator) -> pl.DataFrame:
        """Ratings as a study exports them, two rows a choice."""
        k = len(self.abilities)
        first, second = np.triu_indices(k, 1)
        rater, item, pair = (
            grid.ravel()
            for grid in np.meshgrid(
                np.arange(self.raters), np.arange(self.items), np.arange(len(first)), indexing="ij"
            )
        )
        if self.each is not None:
            order = rng.random((self.raters, self.items)).argsort(axis=1).argsort(axis=1)
            kept = order[rater, item] < self.each
            rater, item, pair = rater[kept], item[kept], pair[kept]
        taste = rng.normal(0, 1, (self.raters, k)) * self.rater_sd
        suits = rng.normal(0, 1, (self.items, k)) * self.item_sd
        worth = np.array(self.abilities) + taste[rater] + suits[item]
        rows = np.arange(len(rater))
        a, b = first[pair], second[pair]
        a_first = rng.random(len(rater)) < 0.5
        gap = worth[rows, a] - worth[rows, b] + self.position * np.where(a_first, 1.0, -1.0)
        odds = np.stack([np.exp(gap / 2), np.full(len(gap), self.ties), np.exp(-gap / 2)])
        below = np.cumsum(odds / odds.sum(axis=0), axis=0)
        value = (rng.random(len(gap)) > below[:2]).sum(axis=0)
        outcome = np.array([1.0, 0.5, 0.0])[value]
        one = {"rater": rater, "dialog": item, "choice": rows}
        sides = [
            pl.DataFrame(one | {"agent": who, "value": won, "position": place})
            for who, won, place in (
                (a, outcome, (~a_first).astype(int)),
                (b, 1 - outcome, a_first.astype(int)),
            )
        ]
        return pl.concat(sides).with_columns(
            pl.col("rater", "dialog", "agent").cast(pl.String),
            quality=pl.lit("better"),
            scale=pl.lit('{"kind": "pairwise"}'),
        )

    def truth(self) -> float:
        """The log-odds that the first agent is preferred to the second, over raters and items."""
        return float(self._marginal()[0] - self._marginal()[1])

    def _marginal(self) -> Floats:
        """Abilities that fit the probabilities of all pairs best, after averaging."""
        nodes, weights = np.polynomial.hermite_e.hermegauss(81)
        weights = weights / weights.sum()
        sd = np.sqrt(2 * (self.rater_sd**2 + self.item_sd**2))
        first, second = np.triu_indices(len(self.abilities), 1)
        gap = np.subtract.outer(self.abilities, self.abilities)[first, second][:, None] + sd * nodes
        odds = np.stack([np.exp(gap / 2), np.full(gap.shape, self.ties), np.exp(-gap / 2)])
        shares = (odds / odds.sum(axis=0)) @ weights

        def loss(free: Floats) -> float:
            ability = np.append(free[:-1], 0.0)
            apart = ability[first] - ability[second]
            worth = np.stack([apart / 2, np.full(len(apart), free[-1]), -apart / 2])
            if not self.ties:
                worth[1] = -np.inf
            logs = worth - special.logsumexp(worth, axis=0)
            return -float(np.where(shares > 0, shares * np.where(shares > 0, logs, 0), 0).sum())

        start = np.zeros(len(self.abilities))
        found = optimize.minimize(loss, start, method="BFGS").x
        return np.append(found[:-1], 0.0)


def differences(design: Design, runs: int, seed: int) -> tuple[Tally, Tally, Tally]:
    """First against second, the first agent's win share, and whether all rank intervals hold."""
    rng = np.random.default_rng([seed, design.raters, design.items])
    pair, share, ranks = Tally(), Tally(), Tally()
    truth, expected = design.truth(), _share(design)
    for _ in range(runs):
        choices = choices_of(design.draw(rng))["better"]
        agents, found, _ = people_from_choices("better", choices)
        row = found.filter(pl.col("first") == "0", pl.col("second") == "1").row(0, named=True)
        pair.add(row["p"], row["low"], row["high"], truth)
        mean = agents.filter(pl.col("agent") == "0").row(0, named=True)
        share.add(None, mean["low"], mean["high"], expected)
        ranks.add(None, *_rank_bounds(agents, design))
    return pair, share, ranks


def _share(design: Design) -> float:
    """The first agent's expected share of duels won, ties as half."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(81)
    sd = np.sqrt(2 * (design.rater_sd**2 + design.item_sd**2))
    gaps = np.array([design.abilities[0] - other for other in design.abilities[1:]])
    gap = gaps[:, None] + sd * nodes
    odds = np.stack([np.exp(gap / 2), np.full(gap.shape, design.ties), np.exp(-gap / 2)])
    shares = odds / odds.sum(axis=0)
    return float(((shares[0] + shares[1] / 2) @ (weights / weights.sum())).mean())


def _rank_bounds(agents: pl.DataFrame, design: Design) -> tuple[float, float]:
    """An interval around 0 if every agent's rank interval holds its true rank, else beside it."""
    abilities = np.array(design.abilities)
    holds = True
    if agents["rank_low"].null_count():
        return 1.0, 2.0
    for name, low, high in agents.select("agent", "rank_low", "rank_high").iter_rows():
        better = int((abilities > abilities[int(name)]).sum())
        equal = int((abilities == abilities[int(name)]).sum())
        # Of equal agents each may have any of their ranks: all of these must lie inside.
        holds = holds and low <= better + 1 and high >= better + equal
    return (-1.0, 1.0) if holds else (1.0, 2.0)


def positions(design: Design, runs: int, seed: int) -> Tally:
    """The effect of what is shown first."""
    rng = np.random.default_rng([seed, design.raters, design.items])
    tally = Tally()
    truth = float(special.expit(_attenuated(design)))
    for _ in range(runs):
        row = position_effect(choices_of(design.draw(rng))["better"]).row(0, named=True)
        tally.add(row["p"], row["low"], row["high"], truth)
    return tally


def _attenuated(design: Design) -> float:
    """The log-odds of the first place, over raters and items that differ."""
    at = Design(1, 1, (design.position, 0.0), design.rater_sd, design.item_sd, design.ties)
    return at.truth()


def spreads(design: Design, runs: int, seed: int) -> Tally:
    """The test that raters do not differ in what they prefer."""
    rng = np.random.default_rng([seed, design.raters, design.items])
    tally = Tally()
    for run in range(runs):
        found = choices_of(design.draw(rng))["better"].fit().rater_spread(seed=run)
        tally.add(found.p, None, None)
    return tally


def best_worst(design: Design, runs: int, seed: int) -> tuple[Tally, Tally]:
    """First against second, and the first agent's best–worst score, from best–worst answers."""
    rng = np.random.default_rng([seed, design.raters, design.items])
    pair, score = Tally(), Tally()
    for _ in range(runs):
        choices = choices_of(_best_worst_ratings(design, rng))["better"]
        agents, found, _ = people_from_choices("better", choices)
        row = found.filter(pl.col("first") == "0", pl.col("second") == "1").row(0, named=True)
        pair.add(row["p"], row["low"], row["high"])
        mean = agents.filter(pl.col("agent") == "0").row(0, named=True)
        score.add(None, mean["low"], mean["high"])
    return pair, score


def orders(design: Design, runs: int, seed: int) -> Tally:
    """First against second, from all agents put in order (Plackett–Luce)."""
    rng = np.random.default_rng([seed, design.raters, design.items])
    tally = Tally()
    truth = design.abilities[0] - design.abilities[1]
    for _ in range(runs):
        choices = choices_of(_best_worst_ratings(design, rng, ranked=True))["better"]
        _, found, _ = people_from_choices("better", choices)
        row = found.filter(pl.col("first") == "0", pl.col("second") == "1").row(0, named=True)
        tally.add(row["p"], row["low"], row["high"], truth)
    return tally


def _best_worst_ratings(
    design: Design, rng: np.random.Generator, *, ranked: bool = False
) -> pl.DataFrame:
    """The best and the worst of all agents, or all in order, by every rater about every item."""
    k = len(design.abilities)
    taste = rng.normal(0, 1, (design.raters, 1, k)) * design.rater_sd
    suits = rng.normal(0, 1, (1, design.items, k)) * design.item_sd
    noise = rng.gumbel(0, 1, (design.raters, design.items, k))
    place = (np.array(design.abilities) + taste + suits + noise).argsort(axis=2).argsort(axis=2)
    rater, item, agent = np.indices(place.shape)
    return pl.DataFrame(
        {
            "rater": rater.ravel().astype(str),
            "dialog": item.ravel().astype(str),
            "agent": agent.ravel().astype(str),
            "value": (
                (k - place).ravel().astype(float)  # 1 is the best
                if ranked
                else (place == k - 1).ravel().astype(float) - (place == 0).ravel().astype(float)
            ),
        }
    ).with_columns(quality=pl.lit("better"), scale=pl.lit(_RANKED if ranked else _BEST_WORST))


_BEST_WORST = '{"kind": "best_worst"}'
_RANKED = '{"kind": "ranking", "low": 1, "high": 4, "reversed": true}'
BOTH = "raters and items differ"
NULLS = (
    (2, 20, 0.5, 0.5, BOTH),
    (20, 2, 0.5, 0.5, BOTH),
    (5, 5, 0.0, 0.0, "nobody differs"),
    (5, 5, 0.5, 0.5, BOTH),
    (5, 20, 0.7, 0.0, "raters differ"),
    (20, 5, 0.0, 0.7, "items differ"),
    (10, 10, 0.5, 0.5, BOTH),
    (20, 20, 0.5, 0.5, BOTH),
)


def lines(runs: int, seed: int) -> Iterator[Line]:
    """All designs."""
    for raters, items, rater_sd, item_sd, label in NULLS:
        units = f"{raters} × {items}"
        design = Design(raters, items, (0.0, 0.0), rater_sd, item_sd)
        pair, share, _ = differences(design, runs, seed)
        yield pair.line("Bradley–Terry", f"2 agents, null, {label}", units)
        yield share.line("share of duels won", f"2 agents, null, {label}", units)
    for raters, items in ((5, 20), (10, 10)):
        units = f"{raters} × {items}"
        sided = Design(raters, items, (0.0, 0.0), 0.5, 0.5, position=0.5)
        yield differences(sided, runs, seed)[0].line(
            "Bradley–Terry", "2 agents, null, position effect .5", units
        )
        still = Design(raters, items, (0.5, 0.0), 0.5, 0.5)
        yield positions(still, runs, seed).line("position", "no effect, agents differ", units)
        yield positions(sided, runs, seed).line("position", "log-odds .5", units, null=False)
        same = Design(raters, items, (0.5, 0.0), 0.0, 0.7)
        yield spreads(same, runs, seed).line("raters differ", "they do not, items do", units)
        four = Design(raters, items, (0.0,) * 4, 0.5, 0.5)
        pair, score = best_worst(four, runs, seed)
        yield pair.line("best–worst", "4 agents, null", units)
        yield score.line("best–worst score", "4 agents, null", units)
        yield orders(four, runs, seed).line("Plackett–Luce", "orders of 4, null", units)
    for raters, items in ((5, 5), (10, 10), (20, 20)):
        units = f"{raters} × {items}"
        strong = Design(raters, items, (1.0, 0.0), 0.5, 0.5)
        pair, share, _ = differences(strong, runs, seed)
        yield pair.line("Bradley–Terry", "2 agents, log-odds 1", units, null=False)
        yield share.line("share of duels won", "2 agents, log-odds 1", units, null=False)
    for raters, items in ((5, 20), (20, 20)):
        units = f"{raters} × {items}"
        tied = Design(raters, items, (0.0, 0.0, 0.0), 0.5, 0.5, ties=1.0)
        pair, _, ranks = differences(tied, runs, seed)
        yield pair.line("Bradley–Terry, ties", "3 agents, null", units)
        yield ranks.line("all ranks", "3 equal agents, ties", units)
    four = Design(10, 10, (0.5, 0.0, 0.0, -0.5), 0.5, 0.5)
    pair, share, ranks = differences(four, runs, seed)
    yield pair.line("Bradley–Terry", "4 agents, log-odds .5", "10 × 10", null=False)
    yield share.line("share of duels won", "4 agents", "10 × 10", null=False)
    yield ranks.line("all ranks", "4 agents", "10 × 10", null=False)
    sparse = Design(20, 40, (0.0, 0.0, 0.0), 0.5, 0.5, each=5)
    pair, _, ranks = differences(sparse, runs, seed)
    yield pair.line("Bradley–Terry", "3 agents, null, 5 of 40 items each", "20 × 40")
    yield ranks.line("all ranks", "3 equal agents, 5 of 40 items each", "20 × 40")
