"""Power of a comparison between cells of a study: conditions with raters of their own."""

from dialens.base import DialensError, Estimate
from dialens.statistics.power._analysis import COMPUTED
from dialens.statistics.power._closed_form import (
    between_error,
    power_of_t,
    power_of_tost,
    width_of_t,
)
from dialens.statistics.power._design import Design, PlannedPower, VarianceParts, refuse_margin


def power_between(
    parts: VarianceParts,
    effect: float,
    *,
    raters: int,
    items: int,
    each: int | None = None,
    alpha: float = 0.05,
    margin: float | None = None,
) -> PlannedPower:
    """The chance to see a difference between two cells, for instance with and without an anchor.

    Args:
        parts: What ratings are made of. Raters and chance count, and `item_cell`: items that the
            condition moves unequally. How high items are rated cancels, for both cells show them.
        effect: The difference, in points of the rating.
        raters: Of each cell.
        items: In the study.
        each: How many items each rater rates; all of them if None. Items are dealt evenly.
        alpha: Of the test; the interval has confidence 1 − alpha.
        margin: The smallest difference that matters; if given, power is that of showing that the
            cells differ by less.

    Returns:
        Power and expected width in closed form; `ratings` counts both cells.

    Examples:
        >>> parts = VarianceParts(rater=0.8, residual=1.2)
        >>> found = power_between(parts, 0.5, raters=64, items=4)
        >>> round(found.power.value, 3), found.ratings  # rater means with a variance of 1: Cohen
        (0.801, 512)
    """
    own = items if each is None else each
    refuse_margin(margin, effect)
    Design(raters, items, between=True).refuse_impossible()
    if not 1 <= own <= items:
        raise DialensError(
            f"Each rater rates between 1 and {items} items, which is all there are; seen: {own}."
        )
    if own * raters < items:
        raise DialensError(
            f"{raters} raters a cell with {own} items each cannot reach all {items} items. Give "
            "more raters, more items each, or fewer items."
        )
    error, freedom = between_error(parts, raters, items, own)
    if margin is None:
        power = power_of_t(effect, error, freedom, alpha)
    else:
        power = power_of_tost(effect, error, freedom, alpha, margin)
    method = (
        "A t-test over the means of raters; its power is the tail of a noncentral t"
        if parts.item_cell == 0
        else "A mixed model with raters and items as samples; its power is the tail of a "
        "noncentral t with Satterthwaite's degrees of freedom"
    )
    return PlannedPower(
        raters,
        items,
        2 * raters * own,
        effect,
        Estimate(power, basis=COMPUTED) if effect or margin is not None else Estimate(),
        Estimate(width_of_t(error, freedom, alpha), basis=COMPUTED),
        method,
    )
