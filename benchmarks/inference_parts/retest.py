"""Agreement of raters with themselves: intervals over pairs that share raters and items."""

from collections.abc import Iterator
from functools import cache

import numpy as np

from dialens.statistics import Floats
from dialens.statistics.agreement import ICC, Occasions, RatingMatrix, icc
from inference_parts.lines import Line, Tally

DESIGNS = ((8, 10), (15, 10), (15, 30), (40, 20), (40, 6))
_ITEM, _RATER, _BOTH, _MOOD, _REST = 1.0, 0.5, 0.6, 0.2, 0.8


def twice(rng: np.random.Generator, raters: int, items: int, *, points: bool) -> list[Floats]:
    """What raters say of items on two days: opinions stay, moods and noise do not."""
    opinion = rng.normal(0, _ITEM, (1, items)) + rng.normal(0, _RATER, (raters, 1))
    opinion = opinion + rng.normal(0, _BOTH, (raters, items))
    days = []
    for _ in range(2):
        mood = rng.normal(0, _MOOD, (raters, 1))
        said = opinion + mood + rng.normal(0, _REST, (raters, items))
        days.append(np.clip(np.round(3 + said), 1, 5) if points else said)
    return days


@cache
def truth(points: bool) -> float:
    """What the coefficient is with very many raters and items."""
    rng, values = np.random.default_rng(12345), []
    for _ in range(30):
        both = np.cov([day.ravel() for day in twice(rng, 1_500, 300, points=points)])
        values.append(2 * both[0, 1] / np.trace(both))
    return float(np.mean(values))


def lines(runs: int, seed: int) -> Iterator[Line]:
    """Intervals that leave out raters and items, and those of independent pairs."""
    for raters, items in DESIGNS:
        for points in (False, True):
            rng, ours, naive = np.random.default_rng(seed), Tally(), Tally()
            rater, item = np.divmod(np.arange(raters * items), items)
            for _ in range(runs):
                first, second = (day.ravel() for day in twice(rng, raters, items, points=points))
                found = Occasions(first, second, rater, item).estimate(ICC)
                ours.add(None, found.low, found.high, truth(points))
                table = RatingMatrix.of_array(np.column_stack([first, second]))
                by_f = icc(table)["ICC(2,1)"]
                naive.add(None, by_f.low, by_f.high, truth(points))
            units, kind = f"{raters} × {items}", "five points" if points else "normal"
            yield ours.line("retest, over raters and items", kind, units, null=False)
            yield naive.line("retest, F of independent pairs", kind, units, null=False)
