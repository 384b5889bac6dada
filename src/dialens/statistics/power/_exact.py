"""Power and width in closed form, for the balanced designs that have one.

Averaged over raters and dialogues, items are independent and normal: the test is a t-test over
items, its power the tail of a noncentral t, and the expected width that of a mean of normals.
Where raters come back and differ in what they prefer, there are two crossed samples and no closed
form; scales of whole numbers have none either.
"""

import numpy as np
from scipy import special, stats

from dialens.statistics.power._design import Design, VarianceParts


def is_exact(parts: VarianceParts, design: Design, *, of_mean: bool = False) -> bool:
    """Whether a closed form holds, for the difference or for one agent's mean."""
    if design.scale is not None:
        return False
    if not design.shared_raters:
        return True
    if of_mean:
        return parts.rater == parts.rater_agent == 0
    return parts.rater_agent == 0


def item_variance(parts: VarianceParts, design: Design, *, of_mean: bool = False) -> float:
    """Variance of an item's mean rating, or of the difference of two agents' on one item."""
    chance = parts.residual**2
    if not design.shared_raters:
        chance += parts.rater**2 + parts.rater_agent**2
    alone = (parts.dialog**2 + chance / design.raters) / design.dialogs
    if of_mean or not design.paired:
        return alone + parts.item**2
    return 2 * alone


def _error(parts: VarianceParts, design: Design, *, of_mean: bool) -> tuple[float, int]:
    """Standard error and degrees of freedom."""
    variance = item_variance(parts, design, of_mean=of_mean) / design.items
    if of_mean or design.paired:
        return float(np.sqrt(variance)), design.items - 1
    return float(np.sqrt(2 * variance)), 2 * design.items - 2


def exact_power(
    parts: VarianceParts, design: Design, effect: float, *, alpha: float = 0.05
) -> float:
    """The chance to see a difference between two agents, by the noncentral t.

    Examples:
        >>> study = Design(raters=1, items=64, paired=False)
        >>> round(exact_power(VarianceParts(), study, 0.5), 3)  # Cohen 1988: 64 a group, d = .5
        0.801
    """
    error, freedom = _error(parts, design, of_mean=False)
    if error == 0:
        return float(effect != 0)
    # t² is F on 1 and as many degrees of freedom, and has both tails in one.
    limit = float(stats.f.ppf(1 - alpha, 1, freedom))
    power = float(stats.ncf.sf(limit, 1, freedom, (effect / error) ** 2))
    return power if np.isfinite(power) else 1.0  # so far out that the series gives up


def exact_width(
    parts: VarianceParts, design: Design, *, alpha: float = 0.05, of_mean: bool = False
) -> float:
    """The expected width of the interval of a difference, or of one agent's mean.

    Examples:
        >>> study = Design(raters=4, items=100)
        >>> round(exact_width(VarianceParts(), study, of_mean=True), 3)
        0.198
    """
    error, freedom = _error(parts, design, of_mean=of_mean)
    # The mean of a standard deviation is a little below its square's root (c4).
    shrunk = np.sqrt(2 / freedom) * np.exp(
        special.gammaln((freedom + 1) / 2) - special.gammaln(freedom / 2)
    )
    return float(2 * stats.t.ppf(1 - alpha / 2, freedom) * error * shrunk)
