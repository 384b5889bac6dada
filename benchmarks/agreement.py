"""Bootstrap of ICC(2,k): resampled sums of squares against a loop over pingouin, in one run.

    python benchmarks/agreement.py                     150 items × 77 raters, 1,000 resamples
    python benchmarks/agreement.py --loops 50          time pingouin on 50 resamples, not on 20

The loop draws items and raters as we do, builds the table of the resample, and asks pingouin for
its coefficients; its time for all resamples follows from those it ran. Ours is the time for all
of them. Both run on one thread. Nothing here asserts anything.
"""

import argparse
import os
import time
import warnings

# ruff: noqa: E402
# Before numpy is loaded: on a busy machine threads of linear algebra wait for each other.
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(name, "1")

import numpy as np
import pandas as pd
import pingouin

from dialens.statistics.agreement import RatingMatrix, icc, two_way_moments
from dialens.statistics.agreement._resampling import drawn


def made(items: int, raters: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    return (rng.normal(size=(items, 1)) + 0.7 * rng.normal(size=(1, raters))) + 1.2 * rng.normal(
        size=(items, raters)
    )


def ours(ratings: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """ICC(2,k) for every resample of items and raters."""
    table = RatingMatrix.of_array(ratings)
    n, k = table.shape
    rng = np.random.default_rng(seed)
    parts = [
        two_way_moments(table, weights).absolute(k)
        for weights in drawn(n, k, "both", resamples, rng)
    ]
    return np.concatenate(parts)


def theirs(ratings: np.ndarray, loops: int, seed: int) -> tuple[float, np.ndarray]:
    """Seconds a resample, and the coefficients."""
    n, k = ratings.shape
    rng = np.random.default_rng(seed)
    item, rater = np.repeat(np.arange(n), k), np.tile(np.arange(k), n)
    found = []
    started = time.perf_counter()
    for _ in range(loops):
        rows, columns = rng.integers(0, n, n), rng.integers(0, k, k)
        table = pd.DataFrame(
            {"item": item, "rater": rater, "value": ratings[np.ix_(rows, columns)].ravel()}
        )
        forms = pingouin.intraclass_corr(table, "item", "rater", "value").set_index("Type")
        found.append(forms.loc["ICC(A,k)", "ICC"])
    return (time.perf_counter() - started) / loops, np.array(found)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--items", type=int, default=150)
    options.add_argument("--raters", type=int, default=77)
    options.add_argument("--resamples", type=int, default=1_000)
    options.add_argument("--loops", type=int, default=20)
    options.add_argument("--repeat", type=int, default=20)
    given = options.parse_args()
    warnings.simplefilter("ignore")
    ratings = made(given.items, given.raters, seed=0)
    one = icc(RatingMatrix.of_array(ratings))["ICC(2,k)"]
    theirs(ratings, 2, seed=0)  # whatever is loaded on first use
    seconds, looped = theirs(ratings, given.loops, seed=1)
    best = np.inf
    for seed in range(given.repeat):
        started = time.perf_counter()
        replicates = ours(ratings, given.resamples, seed)
        best = min(best, time.perf_counter() - started)
    loop = seconds * given.resamples
    print(f"{given.items} items × {given.raters} raters, {given.resamples:,} resamples of ICC(2,k)")
    print(f"estimate                  {one.value:.4f}, F interval {one.low:.4f} to {one.high:.4f}")
    print(f"dialens, mean ± sd        {replicates.mean():.4f} ± {replicates.std():.4f}")
    print(
        f"pingouin loop, mean ± sd  {looped.mean():.4f} ± {looped.std():.4f} ({len(looped)} runs)"
    )
    print(f"dialens                   {best:.4f} s (best of {given.repeat})")
    print(f"pingouin loop             {loop:.1f} s ({seconds * 1e3:.1f} ms a resample)")
    print(f"ratio                     {loop / best:,.0f} ×")


if __name__ == "__main__":
    main()
