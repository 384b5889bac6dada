"""Drift of a judge: how often a shift is found where there is none, and how often intervals hold.

    python benchmarks/judge_drift.py [--replications 2000] [--seed 0]

A judge gives items points from 1 to 5 on two occasions, each time anew: the item's own level and
noise, rounded. Prints, for several numbers of items and sizes of noise, the share of replications
in which the interval of `paired_shift` leaves out 0 although nothing changed, the same of a paired
t test, and the share of intervals that hold a planted shift of half a point (in the mean of what
the judge says before rounding to points: ceilings make it a little smaller, so the truth is taken
from 200,000 items).
"""

import argparse

import numpy as np
from scipy import stats

from dialens.statistics.judges import paired_shift

_TRUTH = 200_000


def ratings(generator: np.random.Generator, items: int, noise: float, shift: float) -> np.ndarray:
    """Two occasions of one judge, a column each."""
    level = generator.normal(3, 0.8, items)
    heard = level[:, None] + generator.normal(0, noise, (items, 2)) + [0.0, shift]
    return np.clip(np.round(heard), 1, 5)


def main() -> None:
    """Print the table."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--replications", type=int, default=2_000)
    options.add_argument("--seed", type=int, default=0)
    given = options.parse_args()
    generator = np.random.default_rng(given.seed)
    print("items  noise  changed  false positives  of a t test  held (shift planted)")
    for items in (8, 20, 50, 200):
        for noise in (0.05, 0.2, 0.6):
            long = ratings(generator, _TRUTH, noise, 0.5)
            truth = float(np.mean(long[:, 1] - long[:, 0]))
            wrong, wrong_t, held, changed = 0, 0, 0, 0.0
            for _ in range(given.replications):
                same = ratings(generator, items, noise, 0.0)
                gaps = same[:, 1] - same[:, 0]
                changed += float(np.mean(gaps != 0)) / given.replications
                found = paired_shift(gaps, seed=int(generator.integers(2**31)))
                wrong += found.p is not None and found.p <= 0.05
                if np.ptp(gaps):
                    wrong_t += bool(stats.ttest_1samp(gaps, 0).pvalue <= 0.05)
                moved = ratings(generator, items, noise, 0.5)
                found = paired_shift(moved[:, 1] - moved[:, 0])
                held += found.low is not None and found.low <= truth <= (found.high or 0.0)
            shares = [100 * one / given.replications for one in (wrong, wrong_t, held)]
            print(
                f"{items:>5}  {noise:>5}  {changed:>7.2f}  {shares[0]:>13.1f} %"
                f"  {shares[1]:>9.1f} %  {shares[2]:>18.1f} %"
            )


if __name__ == "__main__":
    main()
