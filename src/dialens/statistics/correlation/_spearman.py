"""Spearman's coefficient within strata, and its error from the influence of each cluster."""

import numpy as np
from scipy import stats

from dialens.statistics._bootstrap import Floats, Ints, cluster_sums


def stratum_ranks(table: Floats, strata: Ints) -> Floats:
    """Mid-ranks of each column within strata, from −½ to ½, with mean 0 in every stratum.

    Examples:
        >>> table = np.array([[5.0], [7.0], [1.0], [2.0], [2.0], [9.0]])
        >>> stratum_ranks(table, np.array([0, 0, 1, 1, 1, 1]))[:, 0].tolist()
        [-0.25, 0.25, -0.375, 0.0, 0.0, 0.375]
    """
    result = np.empty_like(table)
    for stratum in np.unique(strata):
        rows = strata == stratum
        count = int(rows.sum())
        result[rows] = (stats.rankdata(table[rows], axis=0) - (count + 1) / 2) / count
    return result


def spearman_errors(x: Floats, y: Floats, strata: Ints, clusters: Ints) -> Floats:
    """Standard errors of Spearman's coefficients on Fisher's scale, columns of x with those of y.

    Weights on the units change the ranks of all others, too: with h = ½·sign of an order, a rank is
    a sum of h over units, and the derivative of Σ rank·rank by a unit's weight has a part for the
    unit itself and one for the ranks that it moves. Summed over clusters and squared, these
    influences give the variance, as for Kendall's coefficient.

    Args:
        x: Units × columns, without missing values.
        y: The same units × other columns.
        strata: Within which units are ranked.
        clusters: Of each unit.

    Examples:
        >>> values = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0]])
        >>> other = np.array([[2.0], [1.0], [4.0], [3.0], [6.0], [5.0]])
        >>> spearman_errors(values, other, np.zeros(6, int), np.arange(6)).shape
        (1, 1)
    """
    ranks_x, ranks_y = stratum_ranks(x, strata), stratum_ranks(y, strata)
    size = np.bincount(np.unique(strata, return_inverse=True)[1])
    scale = (1 / size)[np.unique(strata, return_inverse=True)[1]]
    orders_x, orders_y = _orders(x, strata), _orders(y, strata)
    spread_x, spread_y = (ranks_x**2).sum(axis=0), (ranks_y**2).sum(axis=0)
    own_x, own_y = (
        (ranks**2 + 2 * _moved(orders, ranks, scale)) / np.maximum(spread, 1e-300)
        for ranks, orders, spread in (
            (ranks_x, orders_x, spread_x),
            (ranks_y, orders_y, spread_y),
        )
    )
    count = len(np.unique(clusters))
    result = np.full((x.shape[1], y.shape[1]), np.nan)
    for i in range(x.shape[1]):
        by_x = _moved([orders_x[i]] * y.shape[1], ranks_y, scale)
        for j in range(y.shape[1]):
            both = np.sqrt(spread_x[i] * spread_y[j])
            if both <= 0 or count < 2:
                continue
            rho = float(ranks_x[:, i] @ ranks_y[:, j] / both)
            if abs(rho) >= 1 - 1e-12:
                continue
            by_y = _moved([orders_y[j]], ranks_x[:, [i]], scale)[:, 0]
            cross = ranks_x[:, i] * ranks_y[:, j] + by_x[:, j] + by_y
            influence = cross / both - rho * (own_x[:, i] + own_y[:, j]) / 2
            of_cluster = cluster_sums(influence[:, None], clusters)[:, 0]
            variance = count / (count - 1) * float((of_cluster**2).sum())
            result[i, j] = np.sqrt(variance) / (1 - rho**2)
    return result


def _orders(table: Floats, strata: Ints) -> list[Ints]:
    """Of each column, the place of every unit among the distinct values of the strata."""
    return [
        np.unique(np.column_stack([strata, column]), axis=0, return_inverse=True)[1].ravel()
        for column in table.T
    ]


def _moved(orders: list[Ints], ranks: Floats, scale: Floats) -> Floats:
    """Σ over units of h times a rank, h = ½·sign of the order of the two: column by column.

    The ranks sum to 0 in every stratum, so that one running sum over all strata serves each.
    """
    result = np.empty_like(ranks)
    for place, order in enumerate(orders):
        sums = np.bincount(order, ranks[:, place])
        upto = np.cumsum(sums)
        result[:, place] = -(2 * upto - sums)[order] / 2
    scaled: Floats = result * scale[:, None]
    return scaled
