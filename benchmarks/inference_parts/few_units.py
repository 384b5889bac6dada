"""Student's t on the jackknife, where two agents are the same and dialogues are few."""

from collections.abc import Callable, Iterator

import numpy as np

from dialens.statistics import FEWEST, Floats, jackknife_t
from inference_parts.lines import Line

ALPHAS = (0.05, 0.01, 0.001)
BLOCK = 20_000
Draw = Callable[[np.random.Generator, int, int], tuple[Floats, Floats]]
"""Values and weights of the units, a row a simulation; the metric is their weighted mean."""


def normal(rng: np.random.Generator, rows: int, units: int) -> tuple[Floats, Floats]:
    return rng.normal(3, 1, (rows, units)), np.ones((rows, units))


def skewed(rng: np.random.Generator, rows: int, units: int) -> tuple[Floats, Floats]:
    return rng.lognormal(0, 0.7, (rows, units)), np.ones((rows, units))


def pooled(rng: np.random.Generator, rows: int, units: int) -> tuple[Floats, Floats]:
    """A share of words pooled over dialogues of unequal length, each with a share of its own."""
    words = rng.poisson(rng.gamma(4, 25, (rows, units))) + 5
    counts = rng.binomial(words, rng.beta(2, 18, (rows, units)))
    return counts / words, words.astype(np.float64)


def leave_one_out(values: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """The pooled mean, and how much each unit pulls at it."""
    total, weight = (values * weights).sum(-1, keepdims=True), weights.sum(-1, keepdims=True)
    left = (total - values * weights) / (weight - weights)
    return (total / weight)[..., 0], left.mean(-1, keepdims=True) - left


def simulate_t(
    draw: Draw, units: tuple[int, int], *, paired: bool, runs: int, seed: int
) -> list[float]:
    """The share of simulations with a p at or below each alpha."""
    rng = np.random.default_rng(seed)
    hits = np.zeros(len(ALPHAS))
    for _ in range(runs // BLOCK):
        a, pulls_a = leave_one_out(*draw(rng, BLOCK, units[0]))
        b, pulls_b = leave_one_out(*draw(rng, BLOCK, units[1]))
        sides = [pulls_a - pulls_b] if paired else [pulls_a, -pulls_b]
        p = jackknife_t(a, b, sides)[2]
        hits += [np.count_nonzero(p <= alpha) for alpha in ALPHAS]
    return (hits / (runs // BLOCK * BLOCK)).tolist()


def lines(runs: int, seed: int) -> Iterator[Line]:
    """The t test on the jackknife, for every design; it is cheap, so that runs are many."""
    many = max(runs, BLOCK) // BLOCK * BLOCK * 10
    designs: dict[str, Draw] = {"normal": normal, "skewed": skewed, "pooled share": pooled}
    for name, draw in designs.items():
        for units in (FEWEST, 8, 12, 19):
            for label, sizes, paired in (
                ("paired", (units, units), True),
                ("unpaired", (units, units), False),
                ("unpaired, unequal", (units, 2 * units), False),
            ):
                rate = simulate_t(draw, sizes, paired=paired, runs=many, seed=seed)[0]
                yield Line(
                    "t on the jackknife", f"{name}, {label}", f"{units}", many, rate, None, 0
                )
