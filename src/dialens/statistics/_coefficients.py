"""Plain coefficients of two columns: correlations, and the area under the ROC curve.

Without intervals; `dialens.statistics._bootstrap.percentile_estimate` bootstraps them over rows, and
`dialens.statistics.correlation._correlation` gives correlations of many columns with intervals over clusters.
"""

import numpy as np

from dialens.statistics._bootstrap import Floats


def ranks(values: Floats) -> Floats:
    """Ranks from 1, ties shared.

    Examples:
        >>> ranks(np.array([5.0, 1.0, 5.0])).tolist()
        [2.5, 1.0, 2.5]
    """
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    result: Floats = (last - (counts - 1) / 2)[inverse]
    return result


def pearson(left: Floats, right: Floats) -> float:
    """Pearson's correlation; NaN if a side is constant.

    Examples:
        >>> round(pearson(np.array([1.0, 2, 3]), np.array([1.0, 2, 4])), 4)
        0.982
    """
    left, right = left - left.mean(), right - right.mean()
    size = float(np.sqrt((left**2).sum() * (right**2).sum()))
    return float((left * right).sum() / size) if size > 0 else float("nan")


def spearman(left: Floats, right: Floats) -> float:
    """Spearman's correlation: Pearson's of the ranks.

    Examples:
        >>> spearman(np.array([1.0, 2, 3]), np.array([1.0, 9, 4]))
        0.5
    """
    return pearson(ranks(left), ranks(right))


def partial_pearson(left: Floats, right: Floats, given: Floats) -> float:
    """Pearson's correlation of what a straight line in `given` leaves of both sides.

    Examples:
        >>> given = np.array([1.0, 2, 3, 4])
        >>> noise = np.array([1.0, -1, -1, 1])
        >>> round(partial_pearson(given + noise, given - noise, given), 6)
        -1.0
    """
    line = np.stack([np.ones_like(given), given], axis=1)

    def rest(values: Floats) -> Floats:
        result: Floats = values - line @ np.linalg.lstsq(line, values, rcond=None)[0]
        return result

    return pearson(rest(left), rest(right))


def area_under_curve(scores: Floats, truth: np.ndarray) -> float:
    """The chance that a positive scores above a negative, ties counting half; NaN without both.

    Examples:
        >>> area_under_curve(np.array([0.1, 0.4, 0.35, 0.8]), np.array([0, 0, 1, 1]))
        0.75
    """
    positive = int(truth.sum())
    negative = len(truth) - positive
    if not positive or not negative:
        return float("nan")
    total = ranks(scores)[truth.astype(bool)].sum()
    return float((total - positive * (positive + 1) / 2) / (positive * negative))


def spearman_rows(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Spearman's correlation of each row of two narrow tables, and the smaller spread of ranks.

    Where that spread is 0, one side is constant and the correlation is NaN. Every pair of columns
    is compared, which beats sorting each row as long as columns are few.

    Examples:
        >>> value, spread = spearman_rows(np.array([[1.0, 2, 3]]), np.array([[1.0, 3, 2]]))
        >>> value.tolist()
        [0.5]
    """
    a, b = _centred_ranks(first), _centred_ranks(second)
    spread_a, spread_b = (a**2).sum(axis=0), (b**2).sum(axis=0)
    size = np.sqrt(spread_a * spread_b)
    value = np.divide((a * b).sum(axis=0), size, out=np.full_like(size, np.nan), where=size > 0)
    return value, np.minimum(spread_a, spread_b)


def _centred_ranks(rows: Floats) -> Floats:
    """Twice the rank less its mean (columns × rows): how many are below, minus how many above."""
    columns = np.ascontiguousarray(rows.T)
    result = np.zeros_like(columns)
    for a in range(len(columns)):
        for b in range(a):
            sign = np.sign(columns[a] - columns[b])
            result[a] += sign
            result[b] -= sign
    return result
