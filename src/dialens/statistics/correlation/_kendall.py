"""Kendall's tau-b with an error that respects clusters, without looking at every pair.

The error needs, for each unit, with how many others it agrees in order. Looking at all pairs takes
a minute for a table of ten thousand; here units are walked in the order of one variable, in blocks,
and those behind are known by how often each value of the other variable has come up.
"""

import numpy as np

from dialens.statistics._bootstrap import Floats, Ints, Mask, cluster_sums

_BLOCK = 256


def kendall(
    x: Floats, y: Floats, clusters: Ints, strata: Ints | None = None
) -> tuple[float, float]:
    """Kendall's tau-b, and its standard error on Fisher's scale from the clusters' influence.

    With weights w on the units, tau is N / √(Dx·Dy): half sums over pairs of w·w times the sign
    of concordance, and of w·w over pairs not tied in x, or in y. Its derivative by a unit's weight
    is that unit's influence; summed over clusters and squared, the influences give the variance.

    Args:
        x: Values of the units.
        y: Other values of the same.
        clusters: Of each unit.
        strata: Only units of the same stratum are paired; None pairs all.

    Examples:
        >>> tau, error = kendall(np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4]), np.arange(4))
        >>> round(tau, 4)
        0.6667
    """
    balance, apart_x, apart_y = np.empty((3, len(x)))
    for rows in _strata(x, strata):
        balance[rows], apart_x[rows], apart_y[rows] = concordance(x[rows], y[rows])
    total, pairs_x, pairs_y = balance.sum() / 2, apart_x.sum() / 2, apart_y.sum() / 2
    if not pairs_x or not pairs_y:
        return float("nan"), float("nan")
    scale = np.sqrt(pairs_x * pairs_y)
    tau = float(total / scale)
    influence = balance / scale - tau * (apart_x / pairs_x + apart_y / pairs_y) / 2
    of_cluster = cluster_sums(influence[:, None], clusters)[:, 0]
    count = len(of_cluster)
    if count < 2 or abs(tau) >= 1:
        return tau, float("nan")
    variance = count / (count - 1) * float((of_cluster**2).sum())
    return tau, float(np.sqrt(variance) / (1 - tau**2))


def kendall_null(x: Floats, y: Floats, strata: Ints | None = None) -> float:
    """The standard deviation of tau-b over all permutations within strata, with ties in both.

    Kendall (1970, equation 4.4) for the balance of concordant pairs; NaN where all values are the
    same.

    Examples:
        >>> round(kendall_null(np.array([1.0, 2, 3, 4]), np.array([1.0, 3, 2, 4])), 4)
        0.4907
    """
    pairs_x, pairs_y, variance = 0.0, 0.0, 0.0
    for rows in _strata(x, strata):
        n = int(rows.sum())
        for_x, for_y = (
            (n * n - float((np.unique(values[rows], return_counts=True)[1] ** 2).sum())) / 2
            for values in (x, y)
        )
        pairs_x, pairs_y = pairs_x + for_x, pairs_y + for_y
        variance += _null_variance(x[rows], y[rows])
    if variance <= 1e-9 or not pairs_x or not pairs_y:
        return float("nan")
    return float(np.sqrt(variance / (pairs_x * pairs_y)))


def _null_variance(x: Floats, y: Floats) -> float:
    n = float(len(x))
    if n < 2:
        return 0.0
    t, u = (np.unique(values, return_counts=True)[1].astype(np.float64) for values in (x, y))
    single = [(k * (k - 1) * (2 * k + 5)).sum() for k in (t, u)]
    pairs = [(k * (k - 1)).sum() for k in (t, u)]
    triples = [(k * (k - 1) * (k - 2)).sum() for k in (t, u)]
    variance = (n * (n - 1) * (2 * n + 5) - single[0] - single[1]) / 18
    variance += pairs[0] * pairs[1] / (2 * n * (n - 1))
    if n > 2:
        variance += triples[0] * triples[1] / (9 * n * (n - 1) * (n - 2))
    return float(variance)


def _strata(x: Floats, strata: Ints | None) -> list[Mask]:
    if strata is None:
        return [np.ones(len(x), dtype=np.bool_)]
    return [strata == stratum for stratum in np.unique(strata)]


def concordance(x: Floats, y: Floats) -> tuple[Floats, Floats, Floats]:
    """For each unit: others in concordant less those in discordant order; not tied in x; in y.

    Examples:
        >>> [part.tolist() for part in concordance(np.array([1.0, 2, 2]), np.array([5.0, 6, 4]))]
        [[0.0, 1.0, -1.0], [2.0, 1.0, 1.0], [2.0, 2.0, 2.0]]
    """
    n = len(x)
    x_code, y_code = (np.unique(values, return_inverse=True)[1] for values in (x, y))
    y_count = np.bincount(y_code)
    order = np.lexsort((y_code, x_code))
    a, b = x_code[order].astype(np.int64), y_code[order].astype(np.int64)
    cell = a * len(y_count) + b
    start, end = (np.searchsorted(a, a, side) for side in ("left", "right"))
    cell_start, cell_end = (np.searchsorted(cell, cell, side) for side in ("left", "right"))
    both_less, less_same = _behind(a, b, end, len(y_count))
    y_less = (np.cumsum(y_count) - y_count)[b]
    y_more = n - y_less - y_count[b]
    less_more = start - both_less - less_same
    more_less = y_less - both_less - (cell_start - start)
    both_more = y_more - less_more - (end - cell_end)
    result = np.empty((3, n))
    result[0, order] = both_less + both_more - less_more - more_less
    result[1, order] = n - (end - start)
    result[2, order] = n - y_count[b]
    return result[0], result[1], result[2]


def _behind(a: Ints, b: Ints, end: Ints, values: int) -> tuple[Ints, Ints]:
    """Units less in a and less in b, and less in a but equal in b; a is in order.

    Blocks end where a changes, so that whoever came in an earlier block is less in a. A value of a
    that fills a block of its own needs no comparison within.
    """
    n = len(a)
    less, same = np.zeros(n, dtype=np.int64), np.zeros(n, dtype=np.int64)
    seen = np.zeros(values, dtype=np.int64)
    low = 0
    while low < n:
        high = int(end[low])
        while high < n and int(end[high]) - low <= _BLOCK:
            high = int(end[high])
        block_a, block_b = a[low:high], b[low:high]
        less[low:high] = (np.cumsum(seen) - seen)[block_b]
        same[low:high] = seen[block_b]
        if block_a[0] != block_a[-1]:
            before = block_a[:, None] > block_a[None, :]
            less[low:high] += (before & (block_b[:, None] > block_b[None, :])).sum(axis=1)
            same[low:high] += (before & (block_b[:, None] == block_b[None, :])).sum(axis=1)
        seen += np.bincount(block_b, minlength=values)
        low = high
    return less, same
