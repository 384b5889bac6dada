"""Differences of kappas and alphas: two conditions, and a judge that joins a panel of people."""

from collections.abc import Iterator
from functools import cache

import numpy as np

from dialens.statistics import Floats
from dialens.statistics.agreement import (
    RatingMatrix,
    agreement_difference,
    fleiss_kappa,
    krippendorff_alpha,
)
from inference_parts.lines import Line, Tally

DESIGNS = ((20, 5), (50, 8))
SHARED = {
    "same items, other raters": (True, False),
    "same items and raters": (True, True),
    "other items, same raters": (False, True),
    "nothing shared": (False, False),
}
THRESHOLDS = {"binary": (0.0,), "five points": (-2.0, -0.8, 0.5, 1.6)}
STATISTICS = {"binary": "fleiss_kappa", "five points": "alpha_ordinal"}
PANELS = ((20, 3), (50, 3), (50, 8), (100, 20))
BIAS = 0.3
_JUDGE = "judge"


def rated(
    rng: np.random.Generator, items: Floats, raters: tuple[Floats, Floats], noise: float, kind: str
) -> Floats:
    """Raters who differ in level and in how well they see."""
    level, sight = raters
    felt = 1.2 * items[:, None] * np.exp(0.4 * sight) + 0.5 * level
    felt = felt + noise * rng.normal(size=felt.shape)
    return np.digitize(felt, THRESHOLDS[kind]).astype(np.float64)


def named(values: Floats, item: str, rater: str) -> RatingMatrix:
    """A full table whose items and raters have names."""
    rows, columns = np.indices(values.shape)
    return RatingMatrix.of(
        [f"{item}{at}" for at in rows.ravel()],
        [f"{rater}{at}" for at in columns.ravel()],
        values.ravel(),
    )


@cache
def truth(kind: str, noise: float) -> float:
    """The coefficient with very many items and raters."""
    rng, found = np.random.default_rng(12345), []
    for _ in range(30):
        raters = (rng.normal(size=60), rng.normal(size=60))
        table = RatingMatrix.of_array(rated(rng, rng.normal(size=1_000), raters, noise, kind))
        by_rank = STATISTICS[kind] == "alpha_ordinal"
        found.append(krippendorff_alpha(table, "ordinal") if by_rank else fleiss_kappa(table))
    return float(np.mean(found))


def conditions(runs: int, seed: int) -> Iterator[Line]:
    """Two conditions with equal agreement, and with different."""
    for kind, statistic in STATISTICS.items():
        for n, k in DESIGNS:
            for shared, (items_shared, raters_shared) in SHARED.items():
                for noise in (1.0, 2.0):
                    rng, tally = np.random.default_rng(seed), Tally()
                    for _ in range(runs):
                        items = rng.normal(size=n)
                        raters = (rng.normal(size=k), rng.normal(size=k))
                        first = named(rated(rng, items, raters, 1.0, kind), "i", "r")
                        if not items_shared:
                            items = rng.normal(size=n)
                        if not raters_shared:
                            raters = (rng.normal(size=k), rng.normal(size=k))
                        names = ("i" if items_shared else "j", "r" if raters_shared else "s")
                        second = named(rated(rng, items, raters, noise, kind), *names)
                        found = agreement_difference(first, second, statistic)
                        gap = truth(kind, 1.0) - truth(kind, noise)
                        tally.add(found.p, found.low, found.high, gap)
                    equal = "equal" if noise == 1.0 else "different"
                    design = f"{kind}, {shared}, {equal}"
                    yield tally.line(
                        f"difference of {statistic}", design, f"{n} × {k}", null=noise == 1.0
                    )


def joining(runs: int, seed: int) -> Iterator[Line]:
    """A judge that joins people: change of ICC(2,1) and of alpha."""
    for statistic in ("ICC(2,1)", "alpha_interval"):
        for n, k in PANELS:
            for sight, design in ((1.0, "a judge like people"), (0.3, "a judge that sees little")):
                rng, tally = np.random.default_rng(seed), Tally()
                by_size = _gain(k, sight) if statistic == "ICC(2,1)" else _alpha_gain(k, sight)
                for _ in range(runs):
                    first, second = _panels(rng, n, k, sight)
                    found = agreement_difference(first, second, statistic, fixed=(_JUDGE,))
                    tally.add(found.p, found.low, found.high, by_size)
                yield tally.line(f"judge joins, {statistic}", design, f"{n} × {k}", null=False)


def _panels(
    rng: np.random.Generator, n: int, k: int, sight: float
) -> tuple[RatingMatrix, RatingMatrix]:
    """People with a judge, and the same people alone."""
    item = rng.normal(size=(n, 1))
    people = item + 0.5 * rng.normal(size=(1, k)) + rng.normal(size=(n, k))
    judge = sight * item + BIAS + rng.normal(size=(n, 1))
    names = [f"r{at}" for at in range(k)]
    tables = []
    for values, raters in ((np.column_stack([people, judge]), [*names, _JUDGE]), (people, names)):
        items = [str(at) for at in range(n) for _ in raters]
        tables.append(RatingMatrix.of(items, raters * n, values.ravel()))
    return tables[0], tables[1]


def _gain(k: int, sight: float) -> float:
    """The change of ICC(2,1) with very many items; people's levels have the variance .25.

    The ICC of a panel is the mean covariance of two raters by their mean variance and half the
    mean squared difference of their levels.
    """
    alone = 1 / (1 + 0.25 + 1)
    covariance = ((k - 1) + 2 * sight) / (k + 1)
    variance = (2 * k + sight**2 + 1) / (k + 1)
    level = (k * (k - 1) / 2 * 0.25 + k * (0.25 + BIAS**2) / 2) / ((k + 1) * k / 2)
    return covariance / (variance + level) - alone


@cache
def _alpha_gain(k: int, sight: float) -> float:
    """The change of alpha for intervals, from many panels with many items."""
    rng = np.random.default_rng(12345)
    gains = []
    for _ in range(300):
        both = [krippendorff_alpha(table, "interval") for table in _panels(rng, 1_000, k, sight)]
        gains.append(both[0] - both[1])
    return float(np.mean(gains))


def lines(runs: int, seed: int) -> Iterator[Line]:
    """Conditions, then panels."""
    yield from conditions(runs, seed)
    yield from joining(runs, seed)
