"""Power of showing that two agents differ by less than what matters."""

from dialens.base import DialensError, Estimate
from dialens.statistics.power._analysis import COMPUTED, mean_width, share_seen
from dialens.statistics.power._closed_form import exact_power, exact_width, is_exact
from dialens.statistics.power._curve import SIMULATIONS, simulate
from dialens.statistics.power._design import Design, PlannedPower, VarianceParts


def power_equivalence(
    parts: VarianceParts,
    margin: float,
    design: Design,
    *,
    effect: float = 0.0,
    alpha: float = 0.05,
    simulations: int = SIMULATIONS,
    seed: int = 0,
) -> PlannedPower:
    """The chance to show by two one-sided tests that a difference is inside ±margin.

    Args:
        parts: What ratings are made of.
        margin: The smallest difference that would matter, in points of the rating.
        design: The study.
        effect: The true difference; 0 is the best case.
        alpha: Of each one-sided test: equivalence is shown where the interval of confidence
            1 − 2 alpha lies inside the margin.
        simulations: Studies to draw where the design has no closed form.
        seed: Random seed.

    Returns:
        Power, in closed form where the design has one.

    Examples:
        >>> study = Design(raters=1, items=60)
        >>> found = power_equivalence(VarianceParts(residual=0.7), 0.5, study)
        >>> round(found.power.value, 2), found.power.basis
        (0.97, 'closed form')
    """
    if not margin > abs(effect):
        raise DialensError(
            f"Nothing can show a difference of {effect:g} to be inside ±{margin:g}. Give a margin "
            "that is larger than the true difference."
        )
    design.refuse_impossible()
    if is_exact(parts, design):
        power = exact_power(parts, design, effect, alpha=alpha, margin=margin)
        width = exact_width(parts, design, alpha=alpha)
        found = Estimate(power, basis=COMPUTED), Estimate(width, basis=COMPUTED)
        how = "in closed form"
    else:
        result = simulate(
            parts, design, effect, simulations=simulations, alpha=alpha, margin=margin, seed=seed
        )
        found = share_seen(result.seen), mean_width(result.width)
        how = f"over {simulations:,} simulated studies"
    return PlannedPower(
        design.raters,
        design.items,
        design.ratings,
        effect,
        *found,
        f"Two one-sided t-tests against ±{margin:g}, {how}",
    )
