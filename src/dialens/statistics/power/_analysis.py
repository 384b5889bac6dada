"""How simulated studies are analysed: a difference, its error, and whether it is seen."""

import numpy as np
from scipy import stats

from dialens.base import Estimate
from dialens.statistics._bootstrap import Floats

SIMULATED = "simulation"
COMPUTED = "closed form"


def verdicts(
    gap: Floats, error: Floats, freedom: Floats, *, alpha: float, margin: float | None = None
) -> tuple[Floats, Floats]:
    """Whether each study sees what it looks for, and the width of its interval.

    A difference is seen where its t-test has p below alpha; equivalence is seen where both
    one-sided t-tests against the margin have. A study without any variance cannot be tested and
    sees nothing: it would call the smallest difference certain.

    Args:
        gap: Differences.
        error: Their standard errors.
        freedom: Degrees of freedom of these.
        alpha: Of the tests; the intervals have confidence 1 − alpha.
        margin: The smallest difference that matters, if equivalence is tested.

    Examples:
        >>> one = np.ones(1)
        >>> seen, width = verdicts(one, one / 4, one * 20, alpha=0.05)
        >>> seen.tolist(), width.round(2).tolist()
        ([1.0], [1.04])
        >>> verdicts(one, one / 4, one * 20, alpha=0.05, margin=1.2)[0].tolist()
        [0.0]
    """
    reach = stats.t.ppf(1 - alpha / 2, freedom) * error
    if margin is None:
        seen = np.abs(gap) > reach
    else:
        seen = np.abs(gap) + stats.t.ppf(1 - alpha, freedom) * error < margin
    tested = np.where(np.isnan(reach), np.nan, (seen & (error > 0)).astype(np.float64))
    return tested, 2 * reach


def share_seen(seen: Floats) -> Estimate:
    """The share of studies that see it, with the 95 % error of the simulation (Wilson).

    Examples:
        >>> found = share_seen(np.array([1.0, 0.0, 1.0, 1.0]))
        >>> found.value, round(found.low, 2), round(found.high, 2)
        (0.75, 0.3, 0.95)
    """
    n = len(seen)
    if np.isnan(seen).any():
        return Estimate(n=n, reason="one rater cannot tell raters from items", basis=SIMULATED)
    hits = int(seen.sum())
    ends = stats.binomtest(hits, n).proportion_ci(0.95, method="wilson")
    return Estimate(hits / n, float(ends.low), float(ends.high), n=n, basis=SIMULATED)


def mean_width(widths: Floats) -> Estimate:
    """The mean width of an interval, with the 95 % error of the simulation.

    Examples:
        >>> mean_width(np.array([1.0, 1.0])).value
        1.0
    """
    n = len(widths)
    if np.isnan(widths).any():
        return Estimate(n=n, reason="one rater cannot tell raters from items", basis=SIMULATED)
    error = 1.96 * float(widths.std(ddof=1)) / np.sqrt(n)
    mean = float(widths.mean())
    return Estimate(mean, mean - error, mean + error, n=n, basis=SIMULATED)


def mean_of(table: Floats, *, crossed: bool) -> tuple[Floats, Floats, Floats]:
    """Mean, standard error and degrees of freedom of tables of items × raters.

    Where raters come back for every item and differ, both are samples: the error is that of
    Satterthwaite's quasi-F, (items + raters − rest). Otherwise items alone are.
    """
    studies, items, raters = table.shape
    mean = table.mean(axis=(1, 2))
    by_item = table.mean(axis=2)
    square_items = raters * by_item.var(axis=1, ddof=1)
    if not crossed:
        return mean, np.sqrt(square_items / (items * raters)), np.full(studies, items - 1.0)
    if raters < 2:
        nothing = np.full(studies, np.nan)
        return mean, nothing, nothing
    by_rater = table.mean(axis=1)
    square_raters = items * by_rater.var(axis=1, ddof=1)
    rest = table - by_item[:, :, None] - by_rater[:, None, :] + mean[:, None, None]
    free = (items - 1) * (raters - 1)
    square_rest = (rest**2).sum(axis=(1, 2)) / free
    total = square_items + square_raters - square_rest
    below = square_items**2 / (items - 1) + square_raters**2 / (raters - 1) + square_rest**2 / free
    larger = np.maximum(square_items, square_raters)
    total = np.maximum(total, larger)  # an estimate below one of its parts is chance
    return mean, np.sqrt(total / (items * raters)), np.maximum(total**2 / below, 1.0)


def apart(first: Floats, second: Floats, *, shared: bool) -> tuple[Floats, Floats, Floats]:
    """Difference of two groups of items with a pooled error.

    Where the same raters judged both and may prefer one, the error of their preferences is added;
    chance then counts twice, which errs on the side of caution.
    """
    studies, items, raters = first.shape
    a, b = first.mean(axis=2), second.mean(axis=2)
    gap = b.mean(axis=1) - a.mean(axis=1)
    by_items = (a.var(axis=1, ddof=1) + b.var(axis=1, ddof=1)) / items
    freedom = 2.0 * items - 2
    if not shared:
        return gap, np.sqrt(by_items), np.full(studies, freedom)
    if raters < 2:
        nothing = np.full(studies, np.nan)
        return gap, nothing, nothing
    by_raters = (second.mean(axis=1) - first.mean(axis=1)).var(axis=1, ddof=1) / raters
    below = by_items**2 / freedom + by_raters**2 / (raters - 1)
    return gap, np.sqrt(by_items + by_raters), (by_items + by_raters) ** 2 / below


def between(first: Floats, second: Floats, *, crossed: bool) -> tuple[Floats, Floats, Floats]:
    """Difference of two cells that have raters of their own and the same items.

    Args:
        first: Studies × items × raters of the first cell; every rater rates every item.
        second: Of the second.
        crossed: Whether items differ in how much the cells move them: then items are a sample
            beside the raters, and the error is that of the quasi-F (raters + items − rest).
    """
    studies, items, raters = first.shape
    cells = np.stack([first, second], axis=1)
    by_rater, by_item = cells.mean(axis=2), cells.mean(axis=3)
    gap = by_rater[:, 1].mean(axis=1) - by_rater[:, 0].mean(axis=1)
    if raters < 2:
        nothing = np.full(studies, np.nan)
        return gap, nothing, nothing
    square_raters = items * by_rater.var(axis=2, ddof=1).mean(axis=1)
    freedom = 2.0 * (raters - 1)
    unit = 2 / (items * raters)
    if not crossed:
        return gap, np.sqrt(square_raters * unit), np.full(studies, freedom)
    square_items = raters * (by_item[:, 1] - by_item[:, 0]).var(axis=1, ddof=1) / 2
    mean = cells.mean(axis=(2, 3), keepdims=True)
    rest = cells - by_item[:, :, :, None] - by_rater[:, :, None, :] + mean
    free = freedom * (items - 1)
    square_rest = (rest**2).sum(axis=(1, 2, 3)) / free
    total = np.maximum(
        square_raters + square_items - square_rest, np.maximum(square_raters, square_items)
    )
    below = square_raters**2 / freedom + square_items**2 / (items - 1) + square_rest**2 / free
    return gap, np.sqrt(total * unit), np.maximum(total**2 / below, 1.0)
