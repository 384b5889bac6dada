"""How precisely a study measures the reliability of its ratings: the width of an ICC's interval."""

import numpy as np
from scipy import stats

from dialens.base import DialensError, Estimate
from dialens.statistics._bootstrap import Floats
from dialens.statistics.power._analysis import COMPUTED, mean_width, share_seen
from dialens.statistics.power._curve import SIMULATIONS
from dialens.statistics.power._design import Design, PlannedPower

_NODES = 2_000
_MOST_ITEMS = 1_000_000
_CELLS_AT_ONCE = 2_000_000


def icc_precision(
    icc: float,
    *,
    raters: int,
    items: int,
    width: float | None = None,
    shared_raters: bool = False,
    rater_share: float = 0.0,
    alpha: float = 0.05,
    simulations: int = SIMULATIONS,
    seed: int = 0,
) -> PlannedPower:
    """The expected width of the interval of an intraclass correlation of single ratings.

    With raters of their own for every item it is ICC(1), with shared raters ICC(3,1) or, if they
    differ in severity, ICC(2,1). The first two have exact intervals by F, whose width is averaged
    over its distribution; the third has McGraw and Wong's (1996) and is simulated.

    Args:
        icc: The true coefficient.
        raters: Who rate each item.
        items: Rated.
        width: The width that is wanted; if given, `power` is the chance that the interval is no
            wider (the assurance of Zou 2012).
        shared_raters: Whether the same raters rate all items.
        rater_share: Share of all variance that comes from how high raters rate on the whole.
        alpha: The interval has confidence 1 − alpha.
        simulations: Studies to draw where there is no closed form.
        seed: Random seed.

    Returns:
        Expected width, and assurance if a width is wanted; `effect` is the coefficient.

    Examples:
        >>> found = icc_precision(0.85, raters=4, items=20, width=0.2)  # Bonett's (2002) example
        >>> round(found.width.value, 2), round(found.power.value, 2)
        (0.2, 0.51)
    """
    _refuse(icc, raters, rater_share, shared_raters=shared_raters)
    Design(raters, items).refuse_impossible()
    if rater_share:
        widths = _agreement_widths(icc, rater_share, (raters, items), alpha, simulations, seed)
        found = mean_width(widths)
        assured = share_seen((widths <= (width or 0.0)).astype(np.float64))
        method = f"McGraw and Wong's interval of ICC(2,1) over {simulations:,} simulated studies"
    else:
        widths = _exact_widths(icc, raters, items, alpha, shared=shared_raters)
        found = Estimate(float(widths.mean()), basis=COMPUTED)
        assured = Estimate(float((widths <= (width or 0.0)).mean()), basis=COMPUTED)
        method = (
            f"The exact interval of {'ICC(3,1)' if shared_raters else 'ICC(1)'} by F, averaged "
            "over its distribution"
        )
    return PlannedPower(
        raters, items, raters * items, icc, assured if width else Estimate(), found, method
    )


def icc_items(
    icc: float,
    width: float,
    *,
    raters: int,
    assurance: float | None = None,
    shared_raters: bool = False,
    alpha: float = 0.05,
) -> int | None:
    """The fewest items whose expected interval is no wider than wanted.

    Args:
        icc: The true coefficient.
        width: The width that is wanted.
        raters: Who rate each item; they must not differ in severity.
        assurance: If given, the interval must be that narrow with this chance, not on average.
        shared_raters: Whether the same raters rate all items.
        alpha: The interval has confidence 1 − alpha.

    Returns:
        The number, or None if not even a million items suffice.

    Examples:
        >>> icc_items(0.7, 0.2, raters=3), bonett_items(0.7, 0.2, raters=3)
        (68, 68)
    """
    _refuse(icc, raters, 0.0, shared_raters=shared_raters)
    if not width > 0:
        raise DialensError(f"The width of an interval must be above 0; seen: {width:g}.")

    def enough(items: int) -> bool:
        widths = _exact_widths(icc, raters, items, alpha, shared=shared_raters)
        if assurance is None:
            return bool(widths.mean() <= width)
        return bool((widths <= width).mean() >= assurance)

    high = max(bonett_items(icc, width, raters=raters, alpha=alpha), 2)
    while not enough(high):
        high *= 2
        if high > _MOST_ITEMS:
            return None
    low = 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def bonett_items(icc: float, width: float, *, raters: int, alpha: float = 0.05) -> int:
    """Bonett's (2002, formula 3) approximation of how many items an interval takes.

    Examples:
        >>> bonett_items(0.85, 0.2, raters=4)  # 19.2 in his example
        20
    """
    z = float(stats.norm.ppf(1 - alpha / 2))
    spread = (1 - icc) ** 2 * (1 + (raters - 1) * icc) ** 2
    items = 8 * z**2 * spread / (raters * (raters - 1) * width**2) + 1
    if raters == 2 and icc >= 0.7:
        items += 5 * icc  # his remedy for where the formula falls short
    return int(np.ceil(items))


def _refuse(icc: float, raters: int, rater_share: float, *, shared_raters: bool) -> None:
    if not 0 <= icc < 1:
        raise DialensError(f"An ICC to plan for lies from 0 to below 1; seen: {icc:g}.")
    if raters < 2:
        raise DialensError(f"Agreement needs at least two raters of each item; seen: {raters}.")
    if rater_share and not shared_raters:
        raise DialensError(
            "Raters' own levels can be told from chance only if they rate all items: give "
            "--shared-raters, or leave --rater-share out."
        )
    if not 0 <= rater_share < 1 - icc:
        raise DialensError(
            f"Items have a share of {icc:g} of the variance (the ICC), so that raters' own levels "
            f"must have less than {1 - icc:g}; seen: {rater_share:g}."
        )


def _exact_widths(icc: float, raters: int, items: int, alpha: float, *, shared: bool) -> Floats:
    """Widths at evenly spaced points of the distribution of F."""
    above = items - 1
    below = above * (raters - 1) if shared else items * (raters - 1)
    shares = (np.arange(_NODES) + 0.5) / _NODES
    ratio = stats.f.ppf(shares, above, below) * (1 + raters * icc / (1 - icc))
    low = ratio / stats.f.ppf(1 - alpha / 2, above, below)
    high = ratio * stats.f.ppf(1 - alpha / 2, below, above)
    width: Floats = _coefficient(high, raters) - _coefficient(low, raters)
    return width


def _coefficient(ratio: Floats, raters: int) -> Floats:
    return (ratio - 1) / (ratio + raters - 1)


def _agreement_widths(
    icc: float,
    rater_share: float,
    size: tuple[int, int],
    alpha: float,
    simulations: int,
    seed: int,
) -> Floats:
    """Widths of the interval of ICC(2,1) (McGraw and Wong 1996, table 7) in simulated studies."""
    k, n = size
    rng = np.random.default_rng([seed, k, n])
    step = max(1, _CELLS_AT_ONCE // (k * n))
    widths = []
    for start in range(0, simulations, step):
        studies = min(step, simulations - start)
        y = rng.normal(0, np.sqrt(1 - icc - rater_share), (studies, n, k))
        y += rng.normal(0, np.sqrt(icc), (studies, n, 1))
        y += rng.normal(0, np.sqrt(rater_share), (studies, 1, k))
        low, high = agreement_interval(y, alpha)
        widths.append(high - low)
    return np.concatenate(widths)


def agreement_interval(tables: Floats, alpha: float) -> tuple[Floats, Floats]:
    """Both ends of the interval of ICC(2,1), for tables of studies × items × raters.

    Examples:
        >>> rows = [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9]]
        >>> shrout_fleiss = np.array([[*rows, [6, 2, 4, 7]]], dtype=float)
        >>> low, high = agreement_interval(shrout_fleiss, 0.05)
        >>> round(float(low[0]), 3), round(float(high[0]), 3)
        (0.019, 0.761)
    """
    _, n, k = tables.shape
    by_item, by_rater = tables.mean(axis=2), tables.mean(axis=1)
    mean = tables.mean(axis=(1, 2))
    rows = k * by_item.var(axis=1, ddof=1)
    columns = n * by_rater.var(axis=1, ddof=1)
    rest = tables - by_item[:, :, None] - by_rater[:, None, :] + mean[:, None, None]
    errors = (rest**2).sum(axis=(1, 2)) / ((n - 1) * (k - 1))
    icc = (rows - errors) / (rows + (k - 1) * errors + k * (columns - errors) / n)
    a = k * icc / (n * (1 - icc))
    b = 1 + k * icc * (n - 1) / (n * (1 - icc))
    freedom = (a * columns + b * errors) ** 2 / (
        (a * columns) ** 2 / (k - 1) + (b * errors) ** 2 / ((n - 1) * (k - 1))
    )
    limit = stats.f.ppf(1 - alpha / 2, n - 1, freedom)
    other = stats.f.ppf(1 - alpha / 2, freedom, n - 1)
    own = k * columns + (k * n - k - n) * errors
    low = n * (rows - limit * errors) / (limit * own + n * rows)
    high = n * (other * rows - errors) / (own + n * other * rows)
    return low, high
