"""How much of the variance of ratings lies in items, in raters, and in the rest.

The model is `rating = mean + item + rater + residual`, items and raters drawn at random. Two
estimators give it from tables with holes:

- **Moments** (Koch 1967): half the mean squared difference between ratings of the same item,
  by the same rater, and of neither, each a sum of two or three variances. Closed form, and in
  resamples a rater or item drawn twice is never compared with itself: without that, copies that
  agree perfectly would push every bootstrap of agreement upwards.
- **REML** (Patterson & Thompson 1971) by average information (Gilmour, Thompson & Cullis 1995),
  the more precise one where the design is lopsided. The variance of items is not held above
  zero, since negative agreement is a finding; that of raters is, since where raters were brought
  to one mean the likelihood has no maximum below zero.

On complete tables both equal the analysis of variance.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse

from dialens.statistics.agreement._matrix import ONCE, Floats, RatingMatrix, Weights, weighted_sum

_MOST_STEPS = 100
_CLOSE = 1e-10
_MOST_DENSE = 4_000
_NO_VARIANCE = 1e-12
_TOO_FLAT = 1e12


@dataclass(frozen=True)
class Components:
    """Variances of items, raters and the rest, one value a resample.

    In the one-way model raters are part of the rest and `rater` is zero.
    """

    item: Floats
    rater: Floats
    rest: Floats

    def absolute(self, raters: float = 1.0, *, least: float = 1.0) -> Floats:
        """The share of items in the variance of a mean of `raters` ratings, raters' own included.

        Not defined where the variance of a mean of `least` ratings would be negative.

        Examples:
            >>> Components(*(np.array([x]) for x in (2.0, 1.0, 1.0))).absolute().tolist()
            [0.5]
        """
        return self._share(self.rater + self.rest, raters, least)

    def relative(self, raters: float = 1.0, *, least: float = 1.0) -> Floats:
        """The same where only differences between items count, as if raters were all alike.

        Examples:
            >>> Components(*(np.array([x]) for x in (2.0, 1.0, 1.0))).relative(2).tolist()
            [0.8]
        """
        return self._share(self.rest, raters, least)

    def _share(self, error: Floats, raters: float, least: float) -> Floats:
        tiny = _NO_VARIANCE * (np.abs(self.item) + np.abs(error))
        total = self.item + error / raters
        defined = (self.item + error / least >= -tiny) & (total > tiny)
        return np.where(defined, _ratio(self.item, total), np.nan)


def _ratio(above: Floats, below: Floats) -> Floats:
    """A share; not defined where there is no variance, or less than none."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(below > 0, above / below, np.nan)


def two_way_moments(table: RatingMatrix, weights: Weights = ONCE) -> Components:
    """Components with raters told apart, by moments.

    Examples:
        >>> table = RatingMatrix.of_array([[1, 2], [3, 4], [5, 6]])
        >>> found = two_way_moments(table)
        >>> [float(round(x[0], 9)) for x in (found.item, found.rater, found.rest)]
        [4.0, 0.5, 0.0]
    """
    cells = table.centred
    v, w = _columns(weights.items, len(table.items)), _columns(weights.raters, len(table.raters))
    v2, w2 = v**2, w**2
    n = table.over_raters(None, weights.raters)
    n2 = n if weights.raters is None else table.over_raters(None, w2)
    c = table.over_items(None, weights.items)
    c2 = c if weights.items is None else table.over_items(None, v2)
    r1, r2 = table.over_raters(cells, weights.raters), table.over_raters(cells**2, weights.raters)
    s1, s2 = table.over_items(cells, weights.items), table.over_items(cells**2, weights.items)
    rows, columns = n * r2 - r1**2, c * s2 - s1**2
    size = weighted_sum(v, n)
    spread = size * weighted_sum(v, r2) - weighted_sum(v, r1) ** 2
    apart = spread - weighted_sum(v2, rows) - weighted_sum(w2, columns)
    pairs = size**2 - weighted_sum(v2, n**2) - weighted_sum(w2, c**2) + weighted_sum(v2, n2)
    same_item = _pooled(v, rows, n, n2)
    same_rater = _pooled(w, columns, c, c2)
    neither = _ratio(apart, pairs)
    return Components(neither - same_item, neither - same_rater, same_item + same_rater - neither)


def one_way_moments(table: RatingMatrix, weights: Weights = ONCE) -> Components:
    """Components with raters as part of the rest, by moments; raters need not be known."""
    cells = table.centred
    v = _columns(weights.items, len(table.items))
    n = table.over_raters(None, weights.raters)
    n2 = n if weights.raters is None else table.over_raters(None, weights.raters**2)
    r1, r2 = table.over_raters(cells, weights.raters), table.over_raters(cells**2, weights.raters)
    rows = n * r2 - r1**2
    size = weighted_sum(v, n)
    spread = size * weighted_sum(v, r2) - weighted_sum(v, r1) ** 2
    between = _ratio(spread - weighted_sum(v**2, rows), size**2 - weighted_sum(v**2, n**2))
    within = _pooled(v, rows, n, n2)
    return Components(between - within, np.zeros_like(within), within)


def _columns(weights: Floats | None, size: int) -> Floats:
    return np.ones((size, 1)) if weights is None else weights


def _pooled(times: Floats, spread: Floats, count: Floats, squares: Floats) -> Floats:
    """Half the mean squared difference within groups, groups weighted by their degrees of freedom.

    `count² − squares` is the number of pairs of different members.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.where(count > 0, spread / count, 0.0)
        below = np.where(count > 0, count - squares / count, 0.0)
    return _ratio(weighted_sum(times, above), weighted_sum(times, below))


@dataclass(frozen=True)
class Fitted:
    """Components by likelihood, and the covariance of the three estimates."""

    parts: Components
    covariance: Floats


def reml(table: RatingMatrix, *, two_way: bool) -> Fitted | None:
    """Components by restricted maximum likelihood; None where the search finds no maximum.

    Examples:
        >>> holes = RatingMatrix.of_array([[1, 2, np.nan], [3, 5, 4], [np.nan, 6, 8], [7, 9, 8]])
        >>> found = reml(holes, two_way=True).parts
        >>> bool(found.item[0] > found.rest[0] > 0)
        True
    """
    start = two_way_moments(table) if two_way else one_way_moments(table)
    begin = np.array([start.item[0], start.rater[0], start.rest[0]])
    total = float(table.centred.var())
    if not np.isfinite(begin).all() or total <= 0:
        return None
    if begin[2] <= 0.01 * total:  # moments may miss by far where ratings are few
        begin = total * np.array([0.4, 0.1 if two_way else 0.0, 0.5])
    if two_way and min(table.shape) > _MOST_DENSE:
        return None
    if two_way:
        found = _search(_Crossed.of(table, two_way=True), begin, two_way=True)
        if found is not None and found.parts.rater[0] >= 0:
            return found
        begin[1] = 0.0  # the edge: raters alike, as after their means were taken off
    return _search(_Crossed.of(table, two_way=False), begin, two_way=False)


def _search(model: "_Crossed", begin: Floats, *, two_way: bool) -> Fitted | None:
    """Newton's steps with the average information, halved while they lead downhill or outside."""

    def found(at: Floats, point: _Point) -> Fitted:
        covariance = np.zeros((3, 3))
        covariance[np.ix_(free, free)] = linalg.inv(point.information[np.ix_(free, free)])
        return Fitted(Components(*(at[i : i + 1] for i in range(3))), covariance)

    free = np.array([True, two_way, True])
    now = begin.copy()
    point = model.at(now)
    while point is None and np.abs(now[:2]).max() > _NO_VARIANCE * now[2]:
        now[:2] /= 2
        point = model.at(now)
    for _ in range(_MOST_STEPS):
        if point is None:
            return None
        step = np.zeros(3)
        information = point.information[np.ix_(free, free)]
        if not np.linalg.cond(information) < _TOO_FLAT:
            return None
        step[free] = np.linalg.solve(information, point.slope[free])
        if np.abs(step).max() <= _CLOSE * now[2]:
            return found(now + step, point)
        for _ in range(30):
            ahead = model.at(now + step)
            if ahead is not None and ahead.likelihood >= point.likelihood - 1e-9:
                break
            step /= 2
        else:
            flat = np.abs(point.slope[free] * now[2]).max() < 1e-3
            return found(now, point) if flat else None
        now, point = now + step, ahead
    return None


@dataclass(frozen=True)
class _Point:
    likelihood: float
    slope: Floats
    information: Floats


@dataclass(frozen=True)
class _Crossed:
    """The likelihood of a crossed design; the larger side is eliminated by hand."""

    rows: np.ndarray[tuple[int], np.dtype[np.int64]]
    columns: np.ndarray[tuple[int], np.dtype[np.int64]]
    value: Floats
    counts: Floats
    cells: sparse.csr_array
    turned: bool
    two_way: bool

    @classmethod
    def of(cls, table: RatingMatrix, *, two_way: bool) -> "_Crossed":
        rows = table.item
        columns = np.zeros_like(rows) if not two_way or table.rater is None else table.rater
        turned = two_way and table.shape[1] > table.shape[0]
        if turned:
            rows, columns = columns, rows
        shape = (int(rows.max()) + 1, int(columns.max()) + 1)
        cells = sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=shape)
        counts = np.bincount(rows, minlength=shape[0]).astype(np.float64)
        return cls(rows, columns, table.centred, counts, cells, turned, two_way)

    def at(self, variances: Floats) -> _Point | None:
        """Likelihood, slope and average information; None where nothing can have such variances."""
        rest = variances[2]
        if rest <= 0:
            return None
        own, other = variances[:2] / rest
        if self.turned:
            own, other = other, own
        scale = 1 + own * self.counts
        if scale.min() <= _NO_VARIANCE:
            return None
        shrink = own / scale
        shape = self.cells.shape
        left = np.diag(np.bincount(self.columns, minlength=shape[1]).astype(np.float64))
        left -= (self.cells.T @ (self.cells * shrink[:, None])).toarray()
        whole = np.eye(shape[1]) + other * left
        try:
            factor = linalg.cho_factor(whole, lower=True)
        except linalg.LinAlgError:
            return None

        def solve(vector: Floats) -> Floats:
            """The inverse of the covariance matrix (over the rest) times a vector."""
            first = self._without_rows(vector, shrink)
            if not self.two_way:
                return first
            sums = np.bincount(self.columns, first, minlength=shape[1])
            back = linalg.cho_solve(factor, sums)[self.columns]
            both: Floats = first - other * self._without_rows(back, shrink)
            return both

        one = solve(np.ones_like(self.value))
        mass = float(one.sum())

        def project(vector: Floats) -> Floats:
            solved = solve(vector)
            rest: Floats = solved - one * (solved.sum() / mass)
            return rest

        seen = project(self.value)
        size = len(self.value)
        quadratic = float(self.value @ seen)
        if mass <= 0 or quadratic <= 0:
            return None
        by_row = np.bincount(self.rows, seen, minlength=shape[0])
        by_column = np.bincount(self.columns, seen, minlength=shape[1])
        pulls = [np.asarray(x, np.float64) for x in (by_row[self.rows], by_column[self.columns])]
        pulls.append(seen)
        inverse = linalg.cho_solve(factor, np.eye(shape[1]))
        squares = (self.cells.T @ (self.cells * (1 / scale**2)[:, None])).toarray()
        one_by_row = np.bincount(self.rows, one, minlength=shape[0])
        one_by_column = np.bincount(self.columns, one, minlength=shape[1])
        trace_row = float((self.counts / scale).sum() - other * (inverse * squares).sum())
        trace_row -= float((one_by_row**2).sum()) / mass
        trace_column = float((inverse * left).sum() - (one_by_column**2).sum() / mass)
        trace_rest = size - 1 - own * trace_row - other * trace_column
        traces = np.array([trace_row, trace_column, trace_rest])
        likelihood = -0.5 * (
            float(np.log(scale).sum())
            + 2 * float(np.log(np.diag(factor[0])).sum())
            + np.log(mass)
            + (size - 1) * np.log(rest)
            + quadratic / rest
        )
        projected = [project(pull) for pull in pulls]
        fit = np.array([float(pull @ seen) for pull in pulls])
        slope = -0.5 * (traces / rest - fit / rest**2)
        information = np.array([[float(a @ b) for b in projected] for a in pulls])
        information /= 2 * rest**3
        order = [1, 0, 2] if self.turned else [0, 1, 2]
        return _Point(likelihood, slope[order], information[np.ix_(order, order)])

    def _without_rows(self, vector: Floats, shrink: Floats) -> Floats:
        sums = np.bincount(self.rows, vector, minlength=len(shrink))
        result: Floats = vector - (shrink * sums)[self.rows]
        return result
