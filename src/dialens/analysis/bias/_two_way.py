"""What raters and items do not explain: least squares on two crossed groupings.

Trends and correlations of ratings are looked at within raters and within items, whatever those
are like. Both are taken out exactly, also where most cells of raters × items are empty.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse, stats
from scipy.sparse import csgraph
from scipy.sparse import linalg as sparse_linalg

from dialens.base import Estimate
from dialens.statistics import Floats, Ints, jackknife_t
from dialens.statistics.agreement import RatingMatrix

_TOLERANCE = 1e-10
_NOTHING = 1e-8


def two_way_rest(values: Floats, first: Ints, second: Ints) -> Floats:
    """Columns of values without the means of both groupings, by least squares.

    Args:
        values: One row an observation.
        first: Its group in the first grouping, counted from 0.
        second: In the second.

    Examples:
        >>> values = np.array([[1.0], [2.0], [4.0], [5.0]])
        >>> two_way_rest(values, np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])).round(6).tolist()
        [[0.0], [0.0], [0.0], [0.0]]
    """
    n = len(values)
    ones = np.ones(n)
    left = sparse.csr_array((ones, (np.arange(n), first)))
    right = sparse.csr_array((ones, (np.arange(n), second)))
    design = sparse.csr_array(sparse.hstack([left, right]))
    scale = 1 / np.sqrt(np.asarray(design.sum(axis=0)).ravel())
    scaled = sparse.csr_array(design @ sparse.diags_array(scale))
    rest = np.empty_like(values)
    for column in range(values.shape[1]):
        y = values[:, column] - values[:, column].mean()
        solution = sparse_linalg.lsqr(scaled, y, atol=_TOLERANCE, btol=_TOLERANCE)[0]
        rest[:, column] = y - scaled @ solution
    return rest


@dataclass(frozen=True)
class Trends:
    """Slopes of a response on several covariates together, with raters as the unit.

    Attributes:
        slopes: Of each covariate.
        left_out: The same without each rater in turn: raters × covariates.
        inflation: What taking out the second grouping hides of the raters' differences.
        known: Whether a covariate varies within raters and items at all.
    """

    slopes: Floats
    left_out: Floats
    known: Floats
    inflation: float

    @classmethod
    def of(
        cls, response: Floats, covariates: Floats, first: Ints, second: Ints, rater: Ints
    ) -> "Trends":
        """Fit the slopes within two groupings.

        Every rater may have a slope of their own: the mean over raters is judged by how far it
        moves when a rater is left out.

        Args:
            response: One value an observation.
            covariates: One column a covariate.
            first: Of each observation, the first group taken out, counted from 0.
            second: The second.
            rater: Who gave it, counted from 0.

        Examples:
            >>> rater, item = np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4)
            >>> x = np.array([0, 1, 2, 2, 0, 1, 1, 2, 0, 0, 2, 1.0])[:, None]
            >>> found = Trends.of(3 * x[:, 0] + item - rater, x, rater, item, rater)
            >>> found.slopes.round(6).tolist()
            [3.0]
        """
        whole = two_way_rest(np.column_stack([covariates, response]), first, second)
        x, y = whole[:, :-1], whole[:, -1]
        size = np.square(covariates - covariates.mean(axis=0)).sum(axis=0)
        known = np.square(x).sum(axis=0) > _NOTHING * size
        raters = int(rater.max()) + 1
        width = int(known.sum())
        squares = np.zeros((raters, width, width))
        products = np.zeros((raters, width))
        x = x[:, known]
        np.add.at(squares, rater, x[:, :, None] * x[:, None, :])
        np.add.at(products, rater, x * y[:, None])
        slopes = np.full(len(known), np.nan)
        left = np.full((raters, len(known)), np.nan)
        if width:
            whole_squares, whole_products = squares.sum(axis=0), products.sum(axis=0)
            slopes[known] = np.linalg.lstsq(whole_squares, whole_products)[0]
            for at in range(raters):
                left[at, known] = np.linalg.lstsq(
                    whole_squares - squares[at], whole_products - products[at]
                )[0]
        return cls(slopes, left, known, hidden_by_items(second))

    def estimate(self, column: int, confidence: float) -> Estimate:
        """One slope with Student's t on the jackknife over raters."""
        value, left = float(self.slopes[column]), self.left_out[:, column]
        return jackknifed(value, left, confidence, self.inflation)


def hidden_by_items(item: Ints) -> float:
    """By how much items' means, which each rater has a part in, hide what raters differ in.

    Of n ratings around their mean only n − 1 are free, so that what is left of each has (n − 1)/n
    of its variance; the error made of it is too small by the square root of that.

    Examples:
        >>> round(hidden_by_items(np.array([0, 0, 1, 1])) ** 2, 6)  # two raters an item
        2.0
    """
    counts = np.bincount(item)
    shared = counts[counts > 1]
    if not len(shared):
        return 1.0
    return float(np.sqrt(shared.sum() / (shared - 1).sum()))


def jackknifed(
    value: float, left_out: Floats, confidence: float, inflation: float = 1.0
) -> Estimate:
    """A number with Student's t on the values it has without each unit in turn.

    `inflation` multiplies the standard error.

    Examples:
        >>> values = np.array([1.0, 2.0, 4.0, 3.0, 5.0, 8.0])
        >>> left = (values.sum() - values) / 5
        >>> found = jackknifed(values.mean(), left, 0.95)
        >>> round(found.low, 3), round(found.high, 3)  # as the t test of one sample
        (1.227, 6.439)
    """
    if not np.isfinite(left_out).all():
        return Estimate(value, reason="no interval: not defined without any one of the raters")
    ends = jackknife_t(
        value, 0.0, [inflation * (left_out.mean() - left_out)], confidence=confidence
    )
    low, high, p = (float(end) for end in ends)
    if low == high:
        return Estimate(value, reason="no interval: raters do not differ")
    return Estimate(value, low, high, p)


def item_test(
    table: RatingMatrix, *, two_way: bool
) -> tuple[float, float, float, float] | tuple[None, None, None, None]:
    """The F test that items do not differ: F, both degrees of freedom, p.

    Exact under normality also where cells are empty (Wald 1947): what items explain beyond raters
    against what neither explains. Without raters (`two_way` false), against everything else.

    Examples:
        >>> ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8]]
        >>> ratings += [[7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]  # Shrout & Fleiss 1979, Table 2
        >>> f, df1, df2, p = item_test(RatingMatrix.of_array(ratings), two_way=True)
        >>> round(f, 2), df1, df2  # mean squares 11.24 and 1.02
        (11.03, 5.0, 15.0)
    """
    value, item = table.centred, table.item
    if two_way and table.rater is not None:
        rater = table.rater
        rest = two_way_rest(value[:, None], rater, item)[:, 0]
        before = value - (np.bincount(rater, value) / np.bincount(rater))[rater]
        size = len(table.items) + len(table.raters)
        pairs = (item, rater + len(table.items))
        links = sparse.coo_array((np.ones(len(value)), pairs), shape=(size, size))
        parts, _ = csgraph.connected_components(links, directed=False)
        df1, df2 = len(table.items) - parts, len(value) - size + parts
    else:
        before = value - value.mean()
        rest = value - (np.bincount(item, value) / np.bincount(item))[item]
        df1, df2 = len(table.items) - 1, len(value) - len(table.items)
    left, all_left = float(rest @ rest), float(before @ before)
    if df1 < 1 or df2 < 1 or left <= _NOTHING * all_left:
        return None, None, None, None
    f = max(all_left - left, 0.0) / df1 / (left / df2)
    return f, float(df1), float(df2), float(stats.f.sf(f, df1, df2))
