"""Differences of two coefficients of agreement: two conditions, two judges, a panel and one more.

Kappas and alphas of two tables are independent only where neither items nor raters are shared.
Units are told by their names: an item that both tables hold is left out of both at once, so that
what it does to both cancels (a paired comparison); an item of one table is left out of that one.
The same goes for raters. Each way of being shared has a variance of its own (two samples where
nothing is), by the jackknife, with Satterthwaite's degrees of freedom. Where tables share items or
raters, the interval is the wider of those over items and over raters: what is neither moves both,
and with their sum 98 to 100 % of the 95 % intervals hold. Where they share nothing, both are added,
as for a single coefficient (`_jackknife`; the figures are in `docs/inference.md`). A difference
crowds nowhere, so it is taken as it is.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import special

from dialens.base import DialensError, Estimate
from dialens.statistics.agreement._battery import RARE, STATISTICS, Battery, reasons_against
from dialens.statistics.agreement._jackknife import FEWEST_ITEMS, FEWEST_RATERS
from dialens.statistics.agreement._matrix import ONCE, Floats, RatingMatrix, Weights
from dialens.statistics.agreement._rare import rarely_said

ITEMS, BOTH = "items", "items and raters"
_MOST_LEFT_OUT = 200
_ROUNDING = 1e-9


@dataclass(frozen=True)
class AgreementDifference(Estimate):
    """First minus second, and both.

    Attributes:
        first: The coefficient of the first table.
        second: That of the second.
        paired: Whether most items of both are the same.
    """

    first: float | None = None
    second: float | None = None
    paired: bool | None = None


def agreement_difference(
    first: RatingMatrix,
    second: RatingMatrix,
    statistic: str,
    *,
    fixed: Collection[str] = (),
    words: bool = False,
    confidence: float = 0.95,
) -> AgreementDifference:
    """How much further raters agree in one table than in another, with interval and p.

    Items and raters of the same name are the same: where both tables hold them, the comparison is
    paired. With fewer than three raters in a table the interval is over items alone, and about
    these raters.

    Args:
        first: The ratings of one condition.
        second: Those of the other.
        statistic: One of `STATISTICS`, such as `fleiss_kappa`, `alpha_ordinal` or `ICC(2,1)`.
        fixed: Raters that are no sample, such as a judge whose part is asked for: never left out.
        words: Whether ratings are codes of words, which have no distance.
        confidence: Of the interval.

    Returns:
        First minus second; `n` is the number of items, `basis` says over what the interval is.

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> truth = rng.normal(size=(60, 1))
        >>> clear, vague = (
        ...     RatingMatrix.of_array(truth + noise * rng.normal(size=(60, 6)) > 0)
        ...     for noise in (0.4, 2.0)
        ... )
        >>> found = agreement_difference(clear, vague, "fleiss_kappa")
        >>> bool(0 < found.low < found.value < found.high), bool(found.p < 0.01), found.basis
        (True, True, 'items and raters')
        >>> agreement_difference(clear, clear, "fleiss_kappa").value
        0.0
    """
    if statistic not in STATISTICS:
        raise DialensError(
            f"There is no statistic {statistic!r}. There are: {', '.join(STATISTICS)}."
        )
    tables = (first, second)
    told = ("words",) if words else ()
    for table in tables:
        if not len(table.value):
            return AgreementDifference(reason="there are no ratings")
        why = reasons_against(table, told, names=[statistic]).get(statistic)
        if why:
            return AgreementDifference(reason=why)
    sides = [Battery(table, [statistic]) for table in tables]
    values = [float(side(ONCE)[statistic][0]) for side in sides]
    value = values[0] - values[1]
    if np.isnan(value):
        return AgreementDifference(reason="there is no variance it could be a share of")
    known = AgreementDifference(
        value,
        n=len(set(first.items) | set(second.items)),
        first=values[0],
        second=values[1],
        paired=_paired(first, second),
    )
    rare = [why for table in tables if (why := rarely_said(table.labels()))]
    if rare and statistic in RARE:
        return replace(known, reason=f"no interval: {rare[0]}")
    if min(len(table.items) for table in tables) < FEWEST_ITEMS:
        return replace(known, reason=f"no interval: fewer than {FEWEST_ITEMS} items")

    def without(weights: Sequence[Weights]) -> Floats:
        with np.errstate(invalid="ignore", divide="ignore"):
            left = [side(w)[statistic] for side, w in zip(sides, weights, strict=True)]
        return left[0] - left[1]

    parts = _left_out(first.items, second.items)
    over = [_variances(without([Weights(items=w) for w in pair]) for pair in parts)]
    basis = ITEMS
    drawn = [[r for r in table.raters if r not in fixed] for table in tables]
    if min(map(len, drawn)) >= FEWEST_RATERS and not statistic.startswith("cohen_kappa"):
        parts = _left_out(first.raters, second.raters, fixed)
        over.append(_variances(without([Weights(raters=w) for w in pair]) for pair in parts))
        basis = BOTH
    if any(variance is None for each in over for variance, _ in each):
        why = "no interval: it is not defined without some of the items or raters"
        return replace(known, reason=why)
    if not {*first.items} & {*second.items} and not {*first.raters} & {*second.raters}:
        over = [[piece for each in over for piece in each]]
    errors = [_error([(float(v or 0.0), groups) for v, groups in each]) for each in over]
    error, freedom = max(errors, key=lambda one: one[0] * _far(one[1], confidence))
    if error <= _ROUNDING:
        return replace(known, reason="no interval: it is the same without any of the items")
    reach = error * _far(freedom, confidence)
    p = 2 * float(special.stdtr(freedom, -abs(value) / error))
    return replace(known, low=value - reach, high=value + reach, p=p, basis=basis)


def _error(pieces: Sequence[tuple[float, int]]) -> tuple[float, float]:
    """The standard error from variances of several kinds of units, and degrees of freedom."""
    variance = sum(piece for piece, _ in pieces)
    squares = sum(piece**2 / (groups - 1) for piece, groups in pieces)
    return float(np.sqrt(variance)), variance**2 / squares if squares > 0 else 1.0


def _far(freedom: float, confidence: float) -> float:
    return float(special.stdtrit(freedom, (1 + confidence) / 2))


def _paired(first: RatingMatrix, second: RatingMatrix) -> bool:
    """Whether most items of both tables are the same."""
    shared = len(set(first.items) & set(second.items))
    return 2 * shared > max(len(first.items), len(second.items))


def _left_out(
    first: Sequence[str], second: Sequence[str], fixed: Collection[str] = ()
) -> list[tuple[Floats, Floats]]:
    """Weights of both tables without each unit in turn: shared units, then those of one table.

    Of many, groups are left out in turn. Units that are too few for a variance of their own are
    taken together with the rest.
    """
    here, there = set(first), set(second)
    kinds = [
        [name for name in first if name in there and name not in fixed],
        [name for name in first if name not in there and name not in fixed],
        [name for name in second if name not in here and name not in fixed],
    ]
    kinds = [names for names in kinds if names]
    if min(map(len, kinds)) < FEWEST_RATERS:
        kinds = [[name for names in kinds for name in names]]
    found = []
    for names in kinds:
        groups = min(len(names), _MOST_LEFT_OUT)
        group = {name: place % groups for place, name in enumerate(names)}
        pair = []
        for side in (first, second):
            weights = np.ones((len(side), groups))
            for place, name in enumerate(side):
                if name in group:
                    weights[place, group[name]] = 0.0
            pair.append(weights)
        found.append((pair[0], pair[1]))
    return found


def _variances(left_out: Iterable[Floats]) -> list[tuple[float | None, int]]:
    """The jackknife's variance of each kind of unit, and how many groups it comes from."""
    found: list[tuple[float | None, int]] = []
    for left in left_out:
        size = len(left)
        if np.isnan(left).any():
            found.append((None, size))
            continue
        found.append((float((size - 1) / size * ((left - left.mean()) ** 2).sum()), size))
    return found
