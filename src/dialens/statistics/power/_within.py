"""Power of a difference between two agents, or of their equivalence, for one planned study."""

from dialens.base import Estimate
from dialens.statistics.power._analysis import COMPUTED, mean_width, share_seen
from dialens.statistics.power._closed_form import exact_power, exact_width, is_exact
from dialens.statistics.power._curve import SIMULATIONS, simulate
from dialens.statistics.power._design import Design, PlannedPower, VarianceParts, refuse_margin


def power_within(
    parts: VarianceParts,
    effect: float,
    design: Design,
    *,
    alpha: float = 0.05,
    margin: float | None = None,
    simulations: int = SIMULATIONS,
    seed: int = 0,
) -> PlannedPower:
    """The chance to see a difference between two agents: in closed form, or else by simulation.

    Args:
        parts: What ratings are made of.
        effect: The true difference, in points of the rating.
        design: The study.
        alpha: Of the test; the interval has confidence 1 − alpha.
        margin: The smallest difference that matters; if given, power is that of showing that the
            agents differ by less.
        simulations: Studies to draw where the design has no closed form.
        seed: Random seed.

    Examples:
        >>> parts = VarianceParts(residual=1, rater_agent=0.3)
        >>> found = power_within(parts, 0.5, Design(raters=1, items=64, paired=False))
        >>> round(found.power.value, 2), found.power.basis
        (0.77, 'closed form')
    """
    design.refuse_impossible()
    refuse_margin(margin, effect)
    tested = effect != 0 or margin is not None
    if is_exact(parts, design):
        power = Estimate(
            exact_power(parts, design, effect, alpha=alpha, margin=margin), basis=COMPUTED
        )
        width = Estimate(exact_width(parts, design, alpha=alpha), basis=COMPUTED)
        how = "in closed form"
    else:
        result = simulate(
            parts, design, effect, simulations=simulations, alpha=alpha, margin=margin, seed=seed
        )
        power, width = share_seen(result.seen), mean_width(result.width)
        how = f"over {simulations:,} simulated studies"
    test = "A t-test" if margin is None else f"Two one-sided t-tests against ±{margin:g}"
    return PlannedPower(
        design.raters,
        design.items,
        design.ratings,
        effect,
        power if tested else Estimate(),
        width,
        f"{test}, {how}",
        design.dialogs,
    )


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
    return power_within(
        parts, effect, design, alpha=alpha, margin=margin, simulations=simulations, seed=seed
    )
