"""Power of a difference between shares: ratings that are yes or no."""

from dataclasses import replace

import numpy as np
from scipy import optimize, special, stats

from dialens.base import DialensError, Estimate
from dialens.statistics._bootstrap import Floats
from dialens.statistics.power._analysis import COMPUTED, mean_width, share_seen, verdicts
from dialens.statistics.power._curve import SIMULATIONS, blocks_of, difference, influences
from dialens.statistics.power._design import Design, LogitParts, PlannedPower, refuse_margin

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(61)
_FEWEST = 5


def power_binary(
    first: float,
    second: float,
    design: Design,
    *,
    parts: LogitParts | None = None,
    alpha: float = 0.05,
    margin: float | None = None,
    simulations: int = SIMULATIONS,
    seed: int = 0,
) -> PlannedPower:
    """The chance to see that two agents, or two conditions, differ in a share.

    Without variance of raters, items and dialogues, ratings are independent and the power is that
    of the test of two proportions (Fleiss 1981). Otherwise yes and no are drawn from a logistic
    model in which raters and items are samples, and shares are compared as means are.

    Args:
        first: Share of the first agent, over all raters and items.
        second: Share of the second.
        design: The study; its scale and mean play no part.
        parts: What makes ratings alike, in logits; nothing if None.
        alpha: Of the test; the interval has confidence 1 − alpha.
        margin: The smallest difference that matters; if given, power is that of showing that the
            shares differ by less.
        simulations: Studies to draw where ratings are not independent.
        seed: Random seed.

    Returns:
        Power; `effect` is the second share minus the first.

    Examples:
        >>> found = power_binary(0.5, 0.75, Design(raters=1, items=50))
        >>> round(found.power.value, 3)  # as power.prop.test of R has it
        0.74
        >>> alike = LogitParts(rater=1, rater_agent=1)
        >>> study = Design(raters=5, items=10, shared_raters=True)
        >>> power_binary(0.5, 0.75, study, parts=alike).power.value < 0.5
        True
    """
    refuse_shares(first=first, second=second)
    refuse_margin(margin, second - first)
    design.refuse_impossible()
    spread = parts or LogitParts()
    n = design.ratings // 2
    fewest = n * min(first, second, 1 - first, 1 - second)
    if spread.total == 0 and fewest >= _FEWEST and margin is None:
        power, width = _independent(first, second, n, alpha)
        found = Estimate(power, basis=COMPUTED), Estimate(width, basis=COMPUTED)
        method = "The normal test of two proportions of independent ratings"
    else:
        seen, widths = _simulated(first, second, design, spread, alpha, margin, simulations, seed)
        found = share_seen(seen), mean_width(widths)
        method = (
            f"{simulations:,} simulated studies of a logistic model; shares are compared by "
            f"t-tests over {'raters' if design.between else 'items'}"
            + (" and raters" if design.shared_raters and spread.rater_agent else "")
        )
    tested = first != second or margin is not None
    return PlannedPower(
        design.raters,
        design.items,
        design.ratings,
        second - first,
        found[0] if tested else Estimate(),
        found[1],
        method,
        design.dialogs,
    )


def refuse_shares(**shares: float) -> None:
    """Refuse shares that are none, or that leave nothing to chance."""
    for name, share in shares.items():
        if not 0 < share < 1:
            raise DialensError(f"The {name} share must lie between 0 and 1; seen: {share:g}.")


def logit_of(share: float, spread: float) -> float:
    """The logit around which people must lie for their shares to average to a share.

    Examples:
        >>> logit_of(0.5, 1.0), round(logit_of(0.7311, 0.0), 2), round(logit_of(0.7311, 2.0), 2)
        (0.0, 1.0, 1.63)
    """
    if spread == 0 or share == 0.5:
        return float(special.logit(share))

    def excess(centre: float) -> float:
        shares = special.expit(centre + spread * _NODES)
        return float(np.average(shares, weights=_WEIGHTS)) - share

    reach = abs(float(special.logit(share))) * (1 + spread) + 1
    centre: float = optimize.brentq(excess, -reach, reach)
    return centre


def _independent(first: float, second: float, n: int, alpha: float) -> tuple[float, float]:
    """Power and width of the interval where every rating is a coin of its own."""
    pooled = (first + second) / 2
    z = float(stats.norm.ppf(1 - alpha / 2))
    null = np.sqrt(2 * pooled * (1 - pooled))
    own = np.sqrt(first * (1 - first) + second * (1 - second))
    shift = abs(second - first) * np.sqrt(n)
    power = stats.norm.cdf((shift - z * null) / own) + stats.norm.cdf((-shift - z * null) / own)
    return float(power), float(2 * z * own / np.sqrt(n))


def _simulated(
    first: float,
    second: float,
    design: Design,
    parts: LogitParts,
    alpha: float,
    margin: float | None,
    simulations: int,
    seed: int,
) -> tuple[Floats, Floats]:
    rng = np.random.default_rng([seed, design.raters, design.items, design.dialogs])
    known = replace(parts, rater_agent=0.0) if design.between else parts  # they see one of two
    centres = np.array([logit_of(share, known.total) for share in (first, second)])
    seen, widths = [], []
    for shape in blocks_of(design, simulations):
        logits = influences(known, design, shape, rng) + centres[:, None, None, None]
        said = rng.random(shape) < special.expit(logits)
        found = difference(
            said.mean(axis=3), design, favourites=known.rater_agent > 0, crossed=False
        )
        results = verdicts(*found, alpha=alpha, margin=margin)
        seen.append(results[0])
        widths.append(results[1])
    return np.concatenate(seen), np.concatenate(widths)
