"""False positives of `dialens compare` where two agents are the same, as rates.

    python benchmarks/inference.py                       t on the jackknife, 6 to 19 units
    python benchmarks/inference.py --bootstrap 2000      the bootstrap beside it (slow)

Every line draws agents that do not differ: at .05 one in twenty should be called different, at
.001 one in a thousand. Skewed values and unequal sides show what the t test does where it is not
exact. Nothing here asserts anything.
"""

import argparse
from collections.abc import Callable

import numpy as np

from dialens.statistics import FEW, FEWEST, Floats, Resampled, jackknife_t

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


def simulate_bootstrap(
    draw: Draw, units: int, *, runs: int, seed: int, resamples: int = 2_000
) -> list[float]:
    """The same for paired units and the bootstrap."""
    rng = np.random.default_rng(seed)
    hits = np.zeros(len(ALPHAS))
    for _ in range(runs):
        (x, w), (y, v) = draw(rng, 1, units), draw(rng, 1, units)
        a, pulls_a = leave_one_out(x, w)
        b, pulls_b = leave_one_out(y, v)
        drawn = rng.integers(0, units, (resamples, units))
        gaps = np.average(x[0][drawn], axis=1, weights=w[0][drawn]) - np.average(
            y[0][drawn], axis=1, weights=v[0][drawn]
        )
        p = Resampled(float((a - b)[0]), gaps, (pulls_a - pulls_b)[0]).two_sided_p()
        hits += [p <= alpha for alpha in ALPHAS]
    return (hits / runs).tolist()


def main() -> None:
    """Print a line a design."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--runs", type=int, default=200_000, help="simulations a line")
    parser.add_argument("--bootstrap", type=int, default=0, help="simulations of the bootstrap")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    print(f"{'':44}" + "".join(f"{f'at {alpha:g}':>10}" for alpha in ALPHAS))
    designs: dict[str, Draw] = {"normal": normal, "skewed": skewed, "pooled share": pooled}
    for name, draw in designs.items():
        for units in (FEWEST, 8, 12, FEW - 1):
            for label, sizes, paired in (
                ("paired", (units, units), True),
                ("unpaired", (units, units), False),
                ("unpaired, unequal", (units, 2 * units), False),
            ):
                rates = simulate_t(draw, sizes, paired=paired, runs=options.runs, seed=options.seed)
                show(f"t, {units} units, {name}, {label}", rates)
            if options.bootstrap:
                rates = simulate_bootstrap(draw, units, runs=options.bootstrap, seed=options.seed)
                show(f"bootstrap, {units} units, {name}, paired", rates)


def show(label: str, rates: list[float]) -> None:
    """One line of rates."""
    print(f"{label:44}" + "".join(f"{rate:10.4f}" for rate in rates), flush=True)


if __name__ == "__main__":
    main()
