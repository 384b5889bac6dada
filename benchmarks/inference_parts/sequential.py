"""Stopping by precision: how often intervals miss when one looks after every participant.

Studies in which cells do not differ. People come one by one to the cell where most is gained, from
ten in each on, until every interval is narrow enough or everybody has come. `p<.05` is the share of
studies in which an interval excluded the truth at any look, `covered` the share that held it when
the study stopped. The ordinary interval is Welch's, looked at as often and used in the same way.
"""

from collections.abc import Callable, Iterator
from itertools import combinations

import numpy as np
from scipy import special

from dialens.statistics import Floats, gains, sequence_reach
from inference_parts.lines import Line

CELLS = (2, 3, 4)
LEAST, IN_CELL, PLANNED = 10, 60, 50.0
_SKEWED = (0.03, 0.05, 0.12, 0.30, 0.50)

Draw = Callable[[np.random.Generator, tuple[int, ...], int], Floats]


def likert(rng: np.random.Generator, shape: tuple[int, ...], cell: int) -> Floats:
    """Means of six ratings on five points."""
    person = rng.normal(0, 0.7, (*shape, 1))
    said = np.clip(np.round(3.6 + person + rng.normal(0, 0.9, (*shape, 6))), 1, 5)
    return np.asarray(said.mean(axis=-1))


def single(rng: np.random.Generator, shape: tuple[int, ...], cell: int) -> Floats:
    """One rating on five points, most at the top."""
    return rng.choice(np.arange(1.0, 6.0), p=_SKEWED, size=shape)


def slider(rng: np.random.Generator, shape: tuple[int, ...], cell: int) -> Floats:
    """One place on a line of 100 points, some at its end."""
    return np.clip(rng.normal(75, 25, shape), 0, 100)


def unequal(rng: np.random.Generator, shape: tuple[int, ...], cell: int) -> Floats:
    """Normal values, three times as wide in the first cell."""
    return rng.normal(0, 3.0 if cell == 0 else 1.0, shape)


KINDS: dict[str, tuple[Draw, float]] = {
    "means of six ratings on five points": (likert, 0.45),
    "one rating on five points, skewed": (single, 0.6),
    "slider with people at its end": (slider, 14.0),
    "unequal variances": (unequal, 1.3),
}
"""What people's values are, and the half width at which a study is content."""


def lines(runs: int, seed: int) -> Iterator[Line]:
    """Both intervals, of every kind of data and number of cells."""
    for cells in CELLS:
        for name, (draw, wanted) in KINDS.items():
            for method, reach in (("confidence sequence", _sequence), ("Welch", _welch)):
                missed, held, people = _studies(draw, cells, wanted, reach, runs, seed)
                units = f"{cells} cells, {people:.0f}"
                yield Line(f"stopping, {method}", name, units, runs, missed, held, 0.0)


Reach = Callable[[Floats, Floats, Floats], Floats]


def _sequence(weights: Floats, n: Floats, variance: Floats) -> Floats:
    """As `dialens.studies` uses it: 95 % for all differences together."""
    level = 1 - 0.05 / len(weights)
    return np.stack(
        [
            sequence_reach(
                one, n, variance, planned=PLANNED * np.count_nonzero(one), confidence=level
            )
            for one in weights
        ],
        axis=-1,
    )


def _welch(weights: Floats, n: Floats, variance: Floats) -> Floats:
    """The ordinary interval, corrected for the number of differences, not for looks."""
    each = np.square(weights) * (variance / n)[:, None, :]
    whole = each.sum(axis=-1)
    freedom = whole**2 / (each**2 / (n - 1)[:, None, :]).sum(axis=-1)
    return np.sqrt(whole) * special.stdtrit(freedom, 1 - 0.025 / len(weights))


def _studies(
    draw: Draw, cells: int, wanted: float, reach: Reach, runs: int, seed: int
) -> tuple[float, float, float]:
    """Share of studies that ever missed, share that held at the end, people at the end."""
    rng = np.random.default_rng(seed)
    at_most = IN_CELL * cells
    values = np.stack([draw(rng, (runs, at_most), cell) for cell in range(cells)], axis=1)
    sums, squares = np.cumsum(values, axis=2), np.cumsum(values**2, axis=2)
    weights = np.array(
        [[(k == a) - (k == b) for k in range(cells)] for a, b in combinations(range(cells), 2)],
        dtype=np.float64,
    )
    n = np.full((runs, cells), LEAST)
    ever, going = np.zeros(runs, dtype=bool), np.ones(runs, dtype=bool)
    held, people = np.zeros(runs, dtype=bool), np.zeros(runs)
    for total in range(LEAST * cells, at_most + 1):
        place = n[..., None] - 1
        mean = np.take_along_axis(sums, place, axis=2)[..., 0] / n
        square = np.take_along_axis(squares, place, axis=2)[..., 0]
        variance = np.maximum((square - n * mean**2) / (n - 1), 1e-12)
        around = reach(weights, n.astype(np.float64), variance)
        miss = (np.abs(mean @ weights.T) > around).any(axis=1)
        ever |= miss
        stops = going & ((around.max(axis=1) <= wanted) | (total == at_most))
        held[stops], people[stops] = ~miss[stops], total
        going &= ~stops
        told = gains(weights, n, variance) + 1e-12 * rng.random(n.shape)
        n[np.arange(runs), told.argmax(axis=1)] += 1
    return float(ever.mean()), float(held.mean()), float(people.mean())
