"""Closed forms of power and width, for the balanced designs that have one.

Averaged over raters and dialogues, items are independent and normal: the test is a t-test over
items, its power the tail of a noncentral t, and the expected width that of a mean of normals. Where
raters come back and differ in what they prefer, there are two crossed samples and no closed form;
scales of whole numbers have none.
"""

import numpy as np
from scipy import special, stats

from dialens.statistics.power._design import Design, VarianceParts

_NODES = 2_000


def power_of_t(effect: float, error: float, freedom: float, alpha: float) -> float:
    """The chance that a two-sided t-test sees an effect, by the noncentral t.

    Examples:
        >>> round(power_of_t(0.5, (2 / 64) ** 0.5, 126, 0.05), 3)  # Cohen 1988: 64 a group, d = .5
        0.801
    """
    if error == 0:
        return float(effect != 0)
    # t² is F on 1 and as many degrees of freedom, and has both tails in one.
    limit = float(stats.f.ppf(1 - alpha, 1, freedom))
    power = float(stats.ncf.sf(limit, 1, freedom, (effect / error) ** 2))
    return power if np.isfinite(power) else 1.0  # so far out that the series gives up


def power_of_tost(
    effect: float, error: float, freedom: float, alpha: float, margin: float
) -> float:
    """The chance that two one-sided t-tests both see a difference inside the margin.

    Given the estimate of the error, the estimate of the difference is normal and must fall between
    two limits; its chance is averaged over the distribution of the error, which is a chi.

    Args:
        effect: The true difference.
        error: The standard error of its estimate.
        freedom: Degrees of freedom of that.
        alpha: Of each of both tests.
        margin: The smallest difference that matters.

    Examples:
        >>> round(power_of_tost(0.0, 0.1, 38, 0.05, 0.3), 3)
        0.807
    """
    if error == 0:
        return float(abs(effect) < margin)
    shares = (np.arange(_NODES) + 0.5) / _NODES
    ratio = np.sqrt(stats.chi2.ppf(shares, freedom) / freedom)
    reach = stats.t.ppf(1 - alpha, freedom) * ratio
    high = stats.norm.cdf((margin - effect) / error - reach)
    low = stats.norm.cdf((-margin - effect) / error + reach)
    return float(np.maximum(high - low, 0.0).mean())


def width_of_t(error: float, freedom: float, alpha: float) -> float:
    """The expected width of the interval of a mean of normals.

    Examples:
        >>> round(width_of_t(0.05, 99, 0.05), 3)
        0.198
    """
    # The mean of a standard deviation is a little below its square's root (c4).
    shrunk = np.sqrt(2 / freedom) * np.exp(
        special.gammaln((freedom + 1) / 2) - special.gammaln(freedom / 2)
    )
    return float(2 * stats.t.ppf(1 - alpha / 2, freedom) * error * shrunk)


def is_exact(parts: VarianceParts, design: Design, *, of_mean: bool = False) -> bool:
    """Whether a closed form holds, for the difference or for one agent's mean."""
    if design.scale is not None:
        return False
    if design.between:
        return not of_mean
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


def error_of(parts: VarianceParts, design: Design, *, of_mean: bool = False) -> tuple[float, float]:
    """Standard error and degrees of freedom of the difference, or of one agent's mean."""
    if design.between:
        return between_error(parts, design.raters, design.items, design.items)
    variance = item_variance(parts, design, of_mean=of_mean) / design.items
    if of_mean or design.paired:
        return float(np.sqrt(variance)), design.items - 1
    return float(np.sqrt(2 * variance)), 2 * design.items - 2


def between_error(parts: VarianceParts, raters: int, items: int, each: int) -> tuple[float, float]:
    """Standard error and degrees of freedom of a difference between two cells.

    Both cells show the same items, so that what items differ in cancels. What is left are the
    raters, and where the condition moves some items more than others also the items: then the
    degrees of freedom are Satterthwaite's of the quasi-F (raters + items − rest), as Westfall,
    Kenny and Judd (2014) have them for raters within conditions.

    Args:
        parts: What ratings are made of.
        raters: Of each cell.
        items: In the study.
        each: Of these, those that each rater rates.

    Examples:
        >>> error, freedom = between_error(VarianceParts(rater=0.6, residual=0.8), 20, 16, 16)
        >>> round(error, 3), freedom
        (0.2, 38.0)
    """
    ratings = raters * each
    rest = parts.residual**2
    by_raters = rest + each * parts.rater**2
    freedom = 2.0 * (raters - 1)
    if parts.item_cell == 0:
        return float(np.sqrt(2 * by_raters / ratings)), freedom
    by_items = rest + ratings / items * parts.item_cell**2
    free = max(2.0 * (ratings - raters - items + 1), 1.0)
    total = by_raters + by_items - rest
    below = by_raters**2 / freedom + by_items**2 / (items - 1) + rest**2 / free
    return float(np.sqrt(2 * total / ratings)), total**2 / below


def exact_power(
    parts: VarianceParts,
    design: Design,
    effect: float,
    *,
    alpha: float = 0.05,
    margin: float | None = None,
) -> float:
    """The chance to see a difference between two agents, or their equivalence.

    Args:
        parts: What ratings are made of.
        design: The study.
        effect: The true difference.
        alpha: Of the test, or of both one-sided tests of equivalence.
        margin: The smallest difference that matters, if equivalence is tested.

    Examples:
        >>> study = Design(raters=1, items=64, paired=False)
        >>> round(exact_power(VarianceParts(), study, 0.5), 3)  # Cohen 1988: 64 a group, d = .5
        0.801
    """
    error, freedom = error_of(parts, design)
    if margin is not None:
        return power_of_tost(effect, error, freedom, alpha, margin)
    return power_of_t(effect, error, freedom, alpha)


def exact_width(
    parts: VarianceParts, design: Design, *, alpha: float = 0.05, of_mean: bool = False
) -> float:
    """The expected width of the interval of a difference, or of one agent's mean.

    Examples:
        >>> study = Design(raters=4, items=100)
        >>> round(exact_width(VarianceParts(), study, of_mean=True), 3)
        0.198
    """
    return width_of_t(*error_of(parts, design, of_mean=of_mean), alpha)
