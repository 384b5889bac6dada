"""Intraclass correlations: the six forms of Shrout and Fleiss, with McGraw and Wong's names.

| Shrout & Fleiss 1979 | McGraw & Wong 1996 | raters | what counts |
|---|---|---|---|
| ICC(1,1), ICC(1,k) | ICC(1), ICC(k) | others for each item, or unknown | all but items is error |
| ICC(2,1), ICC(2,k) | ICC(A,1), ICC(A,k) | drawn at random | absolute agreement |
| ICC(3,1), ICC(3,k) | ICC(C,1), ICC(C,k) | these and no others | consistency |

`1` is the reliability of one rating, `k` that of an item's mean. On complete tables F tests and
intervals are those of the analysis of variance. Tables with holes go through variance components,
with intervals from their information; k is then the harmonic mean of the number of ratings an item
has (ten Hove, Jorgensen & van der Ark 2022, "Updated guidelines on selecting an intraclass
correlation coefficient").
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from scipy import stats

from dialens.base import DialensError, Estimate
from dialens.statistics.agreement._components import (
    Components,
    one_way_moments,
    reml,
    two_way_moments,
)
from dialens.statistics.agreement._matrix import ONCE, Floats, RatingMatrix, Weights

FORMS: Mapping[str, str] = {
    "ICC(1,1)": "ICC(1)",
    "ICC(2,1)": "ICC(A,1)",
    "ICC(3,1)": "ICC(C,1)",
    "ICC(1,k)": "ICC(k)",
    "ICC(2,k)": "ICC(A,k)",
    "ICC(3,k)": "ICC(C,k)",
}
"""Shrout and Fleiss's names and McGraw and Wong's."""

_FARTHEST = 300.0

TWO_WAY = tuple(form for form in FORMS if form[4] != "1")
"""Forms that need to know who rated."""


@dataclass(frozen=True, kw_only=True)
class Icc(Estimate):
    """One form of the intraclass correlation.

    Attributes:
        value: The coefficient; may be negative.
        low: Lower end of the analytic interval: of the F distribution, or of the likelihood
            where the table has holes; None where there is neither.
        high: Upper end.
        f: Of the test that items do not differ; None where the table has holes.
        df1: Its degrees of freedom.
        df2: Its degrees of freedom.
        p: Of that test.
        k: Ratings an item's mean is made of.
    """

    value: float
    f: float | None
    df1: float | None
    df2: float | None
    k: float


@dataclass(frozen=True)
class Parts:
    """Variance components of a table.

    Attributes:
        one_way: Raters as part of the rest.
        two_way: Raters told apart; None where they are not known.
        covariances: Of the estimates of either, where likelihood gave them.
    """

    one_way: Components
    two_way: Components | None
    covariances: tuple[Floats | None, Floats | None] = (None, None)


def icc(
    table: RatingMatrix, *, confidence: float = 0.95, parts: Parts | None = None
) -> dict[str, Icc]:
    """All forms that can be computed; those that need raters are left out where none are known.

    A coefficient without any variance to share out is NaN. A table that holds too little to
    compute any form is refused with the reason that `why_not` gives. `parts` saves computing
    `variance_parts` again.

    Examples:
        >>> ratings = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8]]
        >>> ratings += [[7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]  # Shrout & Fleiss 1979, Table 2
        >>> found = icc(RatingMatrix.of_array(ratings))
        >>> {form: round(one.value, 2) for form, one in found.items()}
        {'ICC(1,1)': 0.17, 'ICC(2,1)': 0.29, 'ICC(3,1)': 0.71,
         'ICC(1,k)': 0.44, 'ICC(2,k)': 0.62, 'ICC(3,k)': 0.91}
    """
    reason = why_not(table, "ICC(1,1)") if _too_little(table) else None
    if reason is not None:
        raise DialensError(f"No intraclass correlation: {reason}.")
    k = ratings_per_item(table)
    parts = parts or variance_parts(table)
    values = _forms(parts.one_way, parts.two_way, k)
    tests = _limits(parts, k, confidence) | _tests(table, confidence)
    forms = {}
    for form, x in values.items():
        low, high, f, df1, df2, p = tests[form]
        forms[form] = Icc(value=float(x[0]), low=low, high=high, f=f, df1=df1, df2=df2, p=p, k=k)
    return forms


def why_not(table: RatingMatrix, form: str) -> str | None:
    """Why a form cannot be computed; None where it can.

    Examples:
        >>> why_not(RatingMatrix.of_array([[1, 2]]), "ICC(1,1)")
        'there is only one item: differences between items cannot be seen'
    """
    if not len(table.items):
        return "there are no ratings"
    if len(table.items) < 2:
        return "there is only one item: differences between items cannot be seen"
    if table.rater is not None and len(table.raters) < 2:
        return f"there is only one rater ({table.raters[0]}): nobody to agree with"
    if table.per_item.max() < 2:
        return "no item has more than one rating: agreement cannot be told from the items' own"
    if float(np.ptp(table.value)) == 0:
        return f"all ratings are the same ({table.value[0]:g}): there is no variance to share out"
    if form in TWO_WAY and table.rater is None:
        return "raters are not known: their own level cannot be told from disagreement"
    if form in TWO_WAY and table.per_rater.max() < 2:
        return "no rater judged more than one item: raters cannot be told from disagreement"
    return None


def _too_little(table: RatingMatrix) -> bool:
    """Whether there is nothing to divide by, as opposed to no variance to share out."""
    return len(table.items) < 2 or table.per_item.max() < 2


def ratings_per_item(table: RatingMatrix) -> float:
    """The harmonic mean of the number of ratings, over items that have any."""
    counts = table.per_item[table.per_item > 0]
    if counts.min() == counts.max():
        return float(counts[0])
    return float(len(counts) / (1 / counts).sum())


def variance_parts(table: RatingMatrix) -> Parts:
    """One-way and two-way components: the analysis of variance if balanced, else REML.

    Where REML finds no maximum (negative variances at the edge of what is possible), moments stand
    in for it.
    """
    one, one_error = one_way_moments(table), None
    if table.per_item.min() != table.per_item.max():
        fitted = reml(table, two_way=False)
        if fitted is not None:
            one, one_error = fitted.parts, fitted.covariance
    if table.rater is None:
        return Parts(one, None, (one_error, None))
    two, two_error = two_way_moments(table), None
    if not table.complete:
        fitted = reml(table, two_way=True)
        if fitted is not None:
            two, two_error = fitted.parts, fitted.covariance
    return Parts(one, two, (one_error, two_error))


def icc_replicates(table: RatingMatrix, weights: Weights = ONCE) -> dict[str, Floats]:
    """All forms by moments for every resample; on complete tables what `icc` gives."""
    k = ratings_per_item(table)
    two = None if table.rater is None else two_way_moments(table, weights)
    return _forms(one_way_moments(table, weights), two, k)


def _forms(one: Components, two: Components | None, k: float) -> dict[str, Floats]:
    """Every form; not defined where not even a mean of k ratings would have any variance."""
    found = {"ICC(1,1)": one.absolute(least=k), "ICC(1,k)": one.absolute(k)}
    if two is not None:
        found |= {
            "ICC(2,1)": two.absolute(least=k),
            "ICC(3,1)": two.relative(least=k),
            "ICC(2,k)": two.absolute(k),
            "ICC(3,k)": two.relative(k),
        }
    return {form: found[form] for form in FORMS if form in found}


_Test = tuple[float | None, float | None, float | None, float | None, float | None, float | None]
_NOTHING: _Test = (None, None, None, None, None, None)


def _limits(parts: Parts, k: float, confidence: float) -> dict[str, _Test]:
    """Intervals of a table with holes, from the likelihood's information.

    On Fisher's scale for intraclass correlations, ½ log((1 + (k − 1) r) / (1 − r)), where the
    spread hardly depends on r; k − 1 is taken to be 1 at least.
    """
    found = dict.fromkeys(FORMS, _NOTHING)
    for digit, way in (("1", 0), ("2", 1), ("3", 1)):
        fitted, covariance = (parts.one_way, parts.two_way)[way], parts.covariances[way]
        if fitted is None or covariance is None:
            continue
        limits = _fisher_limits(fitted, covariance, k, confidence, absolute=digit != "3")
        if limits is not None:
            low, high = limits
            found[f"ICC({digit},1)"] = (low, high, None, None, None, None)
            found[f"ICC({digit},k)"] = (_stepped(low, k), _stepped(high, k), None, None, None, None)
    return found


def _fisher_limits(
    fitted: Components, covariance: Floats, k: float, confidence: float, *, absolute: bool
) -> tuple[float, float] | None:
    a, b, e = (float(x[0]) for x in (fitted.item, fitted.rater, fitted.rest))
    total = a + e + (b if absolute else 0.0)
    size = max(k, 2.0)
    r = a / total if total > 0 else 1.0
    if not -1 / (size - 1) < r < 1:
        return None
    slope = np.array([total - a, -a if absolute else 0.0, -a]) / total**2
    error = math.sqrt(max(0.0, float(slope @ covariance @ slope)))
    error *= 0.5 * ((size - 1) / (1 + (size - 1) * r) + 1 / (1 - r))
    centre = 0.5 * math.log((1 + (size - 1) * r) / (1 - r))
    reach = float(stats.norm.ppf((1 + confidence) / 2)) * error
    reach = min(reach, _FARTHEST)
    low, high = (math.exp(2 * z) for z in (centre - reach, centre + reach))
    return (low - 1) / (low + size - 1), (high - 1) / (high + size - 1)


def _tests(table: RatingMatrix, confidence: float) -> dict[str, _Test]:
    """Intervals and F tests of balanced tables (Shrout & Fleiss 1979; McGraw & Wong 1996).

    One-way forms ask that all items have as many ratings, two-way forms that no cell is empty.
    """
    n, k = len(table.items), int(table.per_item[0])
    if table.per_item.min() != table.per_item.max() or k < 2:
        return {}
    means = np.bincount(table.item, table.centred, minlength=n) / k
    rows = k * float((means**2).sum()) / (n - 1)
    within = float(((table.centred - means[table.item]) ** 2).sum())
    if rows <= 1e-12 * within:  # the items' means are the same but for rounding
        rows = 0.0
    tests = _one_way(rows, within / (n * (k - 1)), n, k, confidence)
    if table.rater is not None and table.complete:
        levels = np.bincount(table.rater, table.centred, minlength=k) / n
        columns = n * float((levels**2).sum())
        rest = max(0.0, within - columns) / ((n - 1) * (k - 1))
        tests |= _two_way(rows, columns / (k - 1), rest, n, k, confidence)
    return tests


def _one_way(rows: float, within: float, n: int, k: int, confidence: float) -> dict[str, _Test]:
    if within <= 0:
        return dict.fromkeys(("ICC(1,1)", "ICC(1,k)"), _NOTHING)
    df1, df2 = n - 1, n * (k - 1)
    f = rows / within
    low, high = _f_limits(f, df1, df2, confidence)
    test = (f, df1, df2, float(stats.f.sf(f, df1, df2)))
    return {
        "ICC(1,1)": ((low - 1) / (low + k - 1), (high - 1) / (high + k - 1), *test),
        "ICC(1,k)": (_of_mean(low), _of_mean(high), *test),
    }


def _two_way(
    rows: float, columns: float, rest: float, n: int, k: int, confidence: float
) -> dict[str, _Test]:
    forms = ("ICC(2,1)", "ICC(3,1)", "ICC(2,k)", "ICC(3,k)")
    if rest <= 1e-14 * (rows + columns):
        return dict.fromkeys(forms, _NOTHING)
    df1, df2 = n - 1, (n - 1) * (k - 1)
    f = rows / rest
    low, high = _f_limits(f, df1, df2, confidence)
    test = (f, df1, df2, float(stats.f.sf(f, df1, df2)))
    low2, high2 = _absolute_limits(rows, columns, rest, n, k, confidence)
    return {
        "ICC(2,1)": (low2, high2, *test),
        "ICC(3,1)": ((low - 1) / (low + k - 1), (high - 1) / (high + k - 1), *test),
        "ICC(2,k)": (_stepped(low2, k), _stepped(high2, k), *test),
        "ICC(3,k)": (_of_mean(low), _of_mean(high), *test),
    }


def _of_mean(f: float) -> float | None:
    """The reliability of a mean from an end of F; none where F is zero."""
    return 1 - 1 / f if f > 0 else None


def _f_limits(f: float, df1: int, df2: int, confidence: float) -> tuple[float, float]:
    tail = (1 + confidence) / 2
    return f / float(stats.f.ppf(tail, df1, df2)), f * float(stats.f.ppf(tail, df2, df1))


def _absolute_limits(
    rows: float, columns: float, rest: float, n: int, k: int, confidence: float
) -> tuple[float | None, float | None]:
    """The interval of ICC(2,1), by Satterthwaite's degrees of freedom."""
    total = rows + (k - 1) * rest + k * (columns - rest) / n
    noise = k * columns + (k * n - k - n) * rest
    if total <= 0 or noise <= 0:
        return None, None
    single = (rows - rest) / total
    if single >= 1:
        return 1.0, 1.0
    a = k * single / (n * (1 - single))
    b = 1 + k * single * (n - 1) / (n * (1 - single))
    spread = (a * columns) ** 2 / (k - 1) + (b * rest) ** 2 / ((n - 1) * (k - 1))
    nu = (a * columns + b * rest) ** 2 / spread if spread > 0 else 0.0
    if nu < 1e-3:
        return None, None
    tail = (1 + confidence) / 2
    f_low = float(stats.f.ppf(tail, n - 1, nu))
    f_high = float(stats.f.ppf(tail, nu, n - 1))
    return (
        n * (rows - f_low * rest) / (f_low * noise + n * rows),
        n * (f_high * rows - rest) / (noise + n * f_high * rows),
    )


def _stepped(single: float | None, k: float) -> float | None:
    """The reliability of a mean of k (Spearman 1910; Brown 1910)."""
    if single is None or 1 + (k - 1) * single <= 0:
        return None
    return k * single / (1 + (k - 1) * single)
