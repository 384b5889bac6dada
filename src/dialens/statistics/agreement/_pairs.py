"""Statistics of two raters, and of rankings: Cohen's kappa and Kendall's W."""

from collections.abc import Sequence

import numpy as np
from scipy import stats

from dialens.statistics.agreement._components import two_way_moments
from dialens.statistics.agreement._matrix import ONCE, Floats, RatingMatrix, Weights

KAPPA_WEIGHTS = ("none", "linear", "quadratic")


def cohen_kappa(table: RatingMatrix, disagreement: str, weights: Weights = ONCE) -> Floats:
    """Cohen's kappa (1960) of two raters over the items both judged, or weighted (1968).

    Args:
        table: Two raters.
        disagreement: `none` (any difference counts one), `linear` or `quadratic` in the distance
            of the values themselves.
        weights: How often items count.

    Examples:
        >>> table = RatingMatrix.of_array([[1, 1], [2, 2], [1, 2], [2, 2], [1, 1], [2, 1]])
        >>> cohen_kappa(table, "none").round(4).tolist()
        [0.3333]
    """
    cells = table.rectangle()
    both = ~np.isnan(cells).any(axis=1)
    first, second = cells[both, 0], cells[both, 1]
    values = np.unique(np.concatenate([first, second]))
    v = np.ones((len(first), 1)) if weights.items is None else weights.items[both]
    gap = np.abs(values[:, None] - values)
    distance = {"none": (gap > 0).astype(np.float64), "linear": gap, "quadratic": gap**2}
    apart = distance[disagreement]
    codes = np.searchsorted(values, first), np.searchsorted(values, second)
    size = v.sum(axis=0)
    size = np.where(size > 0, size, np.nan)  # a draw without any item both judged
    mine, theirs = (np.eye(len(values))[:, code] @ v / size for code in codes)
    observed = (apart[codes][:, None] * v).sum(axis=0) / size
    expected = (mine * (apart @ theirs)).sum(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(expected > 1e-12, 1 - observed / expected, np.nan)


def why_no_cohen(
    table: RatingMatrix, disagreement: str, *, words: Sequence[str] = ()
) -> str | None:
    """Why Cohen's kappa cannot be computed; None where it can."""
    if table.rater is None:
        return "raters are not known: it is a statistic of two particular raters"
    if len(table.raters) != 2:
        return f"it is a statistic of two raters, and there are {len(table.raters):,}"
    if words and disagreement != "none":
        return f"ratings are words ({', '.join(words[:3])} …), which have no distance"
    shared = table.value[table.per_item[table.item] == 2]
    if len(shared) < 4:
        return "the two raters judged fewer than two items in common"
    if float(np.ptp(shared)) == 0:
        return f"all ratings are the same ({shared[0]:g}): agreement beyond chance is not defined"
    return None


def ranked(table: RatingMatrix) -> RatingMatrix:
    """Every rater's ratings as ranks, ties sharing the mean of theirs."""
    ranks = stats.rankdata(table.rectangle(), axis=0)
    assert table.rater is not None
    return table.with_values(ranks[table.item, table.rater])


def kendall_w(ranks: RatingMatrix, weights: Weights = ONCE) -> Floats:
    """Kendall's coefficient of concordance of ranks, corrected for ties.

    W is the consistency of ranks stepped up: with r the mean covariance of two raters' ranks over
    their mean variance, W = (1 + (k − 1) r) / k. In resamples of items the ranks stay as they are.

    Examples:
        >>> table = RatingMatrix.of_array([[1, 2, 1], [2, 1, 3], [3, 3, 2], [4, 4, 4]])
        >>> kendall_w(ranked(table)).round(4).tolist()
        [0.7778]
    """
    k = len(ranks.raters)
    together = two_way_moments(ranks, weights).relative()
    found: Floats = (1 + (k - 1) * together) / k
    return found


def why_no_w(table: RatingMatrix, *, words: Sequence[str] = ()) -> str | None:
    """Why Kendall's W cannot be computed; None where it can."""
    if words:
        return f"ratings are words ({', '.join(words[:3])} …), which have no order"
    if table.rater is None:
        return "raters are not known: each one's ranking is needed"
    if len(table.raters) < 2:
        return f"there is only one rater ({table.raters[0]}): nobody to agree with"
    if len(table.items) < 2:
        return "there is only one item: nothing to rank"
    if not table.complete:
        return (
            f"not every rater ranked every item ({table.empty_cells:,} of "
            f"{len(table.items) * len(table.raters):,} cells are empty)"
        )
    spread = np.ptp(table.rectangle(), axis=0)
    if not spread.any():
        return "no rater told any two items apart: there are no ranks"
    return None


def concordance_test(w: float, items: int, raters: int) -> tuple[float, float]:
    """Friedman's χ² and its p, against raters who rank at random.

    Examples:
        >>> chi2, p = concordance_test(0.7778, items=4, raters=3)
        >>> round(chi2, 2), round(p, 3)
        (7.0, 0.072)
    """
    chi2 = raters * (items - 1) * w
    return chi2, float(stats.chi2.sf(chi2, items - 1))
