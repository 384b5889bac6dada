"""How the variance of a fitted mixed model is shared between its levels."""

from dataclasses import dataclass

import numpy as np

from dialens.statistics._bootstrap import Floats
from dialens.statistics.mixed._inference import Curvature
from dialens.statistics.mixed._solver import MixedSystem

RESIDUAL = "residual"


@dataclass(frozen=True)
class VarianceComponent:
    """How much one level of the design contributes to the variance.

    Attributes:
        term: The grouping (`rater`, `system/agent`), or `residual`.
        effect: `(intercept)`, or the slope that varies.
        variance: In squared units of the response.
        sd: Its root.
        low: Lower end of the interval of `sd` (Wald on the log scale); None on the boundary.
        high: Upper end.
        share: Of the variance of an observation, averaged over the observations.
        share_low: Lower end of the interval of `share` (Wald on the logit scale).
        share_high: Upper end.
        levels: How many groups there are; for the residual, observations.
    """

    term: str
    effect: str
    variance: float
    sd: float
    low: float | None
    high: float | None
    share: float
    share_low: float | None
    share_high: float | None
    levels: int


def variance_components(
    system: MixedSystem, known: Curvature, confidence: float
) -> tuple[tuple[VarianceComponent, ...], tuple[tuple[str, str, str, float], ...]]:
    """The components of a fit, and the correlations between effects of the same term."""
    made: list[VarianceComponent] = []
    correlations: list[tuple[str, str, str, float]] = []
    places: list[tuple[str, str, int, int | None, int]] = [
        (term.name, effect, at, row, term.levels.height)
        for at, term in enumerate(system.terms)
        for row, effect in enumerate(term.effects)
    ]

    def contributions(theta: Floats) -> list[Floats]:
        """What each effect adds to an observation's variance, for σ = 1."""
        return [
            np.einsum("ij,ij->i", factor @ factor.T, moment)
            for factor, moment in zip(system.factors(theta), system.moments, strict=True)
        ]

    for term, effect, at, row, levels in [*places, (RESIDUAL, "", -1, None, system.n)]:

        def variance(theta: Floats, sigma: float, at: int = at, row: int | None = row) -> float:
            if row is None:
                return sigma**2
            factor = system.factors(theta)[at]
            return sigma**2 * float(factor[row] @ factor[row])

        def share(theta: Floats, sigma: float, at: int = at, row: int | None = row) -> float:
            parts = contributions(theta)
            whole = 1 + sum(float(part.sum()) for part in parts)
            return (1.0 if row is None else float(parts[at][row])) / whole

        value = variance(known.theta, known.sigma)
        bounds = known.interval(variance, "log", confidence)
        shares = known.interval(share, "logit", confidence)
        made.append(
            VarianceComponent(
                term=term,
                effect=effect,
                variance=value,
                sd=value**0.5,
                low=bounds[0] ** 0.5 if bounds else None,
                high=bounds[1] ** 0.5 if bounds else None,
                share=share(known.theta, known.sigma),
                share_low=shares[0] if shares else None,
                share_high=shares[1] if shares else None,
                levels=levels,
            )
        )
    for term_, factor in zip(system.terms, system.factors(known.theta), strict=True):
        sizes = np.linalg.norm(factor, axis=1)
        for i in range(len(sizes)):
            for j in range(i):
                if sizes[i] > 0 and sizes[j] > 0:
                    value = float(factor[i] @ factor[j] / (sizes[i] * sizes[j]))
                    correlations.append((term_.name, term_.effects[j], term_.effects[i], value))
    return tuple(made), tuple(correlations)
