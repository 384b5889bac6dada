"""Inference from a fitted mixed model: degrees of freedom, variance components, their intervals.

Satterthwaite's approximation as in Fai & Cornelius (1996) and Kuznetsova et al. (2017): the
curvature of the likelihood says how well the variances are known, and that says how far the
variance of a fixed effect may be off.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from scipy import special, stats

from dialens.base import DialensError
from dialens.statistics._bootstrap import Floats
from dialens.statistics.mixed._solver import MixedSystem
from dialens.statistics.mixed._terms import RandomTerm

RESIDUAL = "residual"
_STEP = 1e-3
_SMALLEST = 0.05
_LARGEST_LOG = 300.0


@dataclass(frozen=True)
class Curvature:
    """What is known about the variances at the best fit.

    Attributes:
        theta: The relative covariance.
        sigma: The residual standard deviation.
        free: Which parameters of `theta` lie inside their bounds; the rest is held fixed.
        spread: Covariance of the free parameters and σ; None if the likelihood is flat.
        slopes: How the fixed effects' covariance changes with each of them.
    """

    theta: Floats
    sigma: float
    free: tuple[int, ...]
    spread: Floats | None
    slopes: tuple[Floats, ...]

    def degrees(self, weights: Floats, covariance: Floats) -> float:
        """Satterthwaite's degrees of freedom of a combination of fixed effects; NaN if unknown."""
        if self.spread is None:
            return float("nan")
        variance = float(weights @ covariance @ weights)
        change = np.array([weights @ slope @ weights for slope in self.slopes])
        doubt = float(change @ self.spread @ change)
        return 2 * variance**2 / doubt if doubt > 0 else float("inf")

    def interval(
        self, of: Callable[[Floats, float], float], link: str, confidence: float
    ) -> tuple[float, float] | None:
        """A Wald interval of a function of the variances, symmetric on the log or logit scale."""
        if self.spread is None:
            return None
        value = of(self.theta, self.sigma)
        if not (0 < value < (1 if link == "logit" else np.inf)):
            return None
        moved = []
        for at in (*self.free, -1):
            ends = []
            for sign in (1.0, -1.0):
                theta, sigma = self.theta.copy(), self.sigma
                if at < 0:
                    step = _STEP * sigma
                    sigma += sign * step
                else:
                    step = _STEP * max(abs(theta[at]), _SMALLEST)
                    theta[at] += sign * step
                ends.append(_linked(of(theta, sigma), link))
            moved.append((ends[0] - ends[1]) / (2 * step))
        gradient = np.array(moved)
        error = float(np.sqrt(max(gradient @ self.spread @ gradient, 0.0)))
        reach = float(stats.norm.ppf(0.5 + confidence / 2)) * error
        centre = _linked(value, link)
        # Beyond that the end of the interval is no number: nothing is known of the variance.
        if not np.isfinite(error) or (link == "log" and centre + reach > _LARGEST_LOG):
            return None
        return _unlinked(centre - reach, link), _unlinked(centre + reach, link)


def curvature(system: MixedSystem, theta: Floats, sigma: float, *, reml: bool) -> Curvature:
    """Second differences of the likelihood in θ; its part in σ is known exactly."""
    free_rows = system.n - system.p if reml else system.n
    steps = _STEP * np.maximum(np.abs(theta), _SMALLEST)
    lower = np.array([low for low, _ in system.bounds])
    free = [at for at in range(len(theta)) if theta[at] - 2 * steps[at] > lower[at]]
    seen: dict[tuple[tuple[int, int], ...], tuple[float, float, Floats]] = {}

    def at_moved(*moves: tuple[int, int]) -> tuple[float, float, Floats]:
        if moves not in seen:
            moved = theta.copy()
            for index, sign in moves:
                moved[index] += sign * steps[index]
            seen[moves] = system.parts(moved, reml=reml)
        return seen[moves]

    def total(*moves: tuple[int, int]) -> float:
        constant, residual, _ = at_moved(*moves)
        return constant + residual / sigma**2

    count = len(free)
    hessian = np.zeros((count + 1, count + 1))
    hessian[count, count] = 4 * free_rows / sigma**2
    slopes: list[Floats] = []
    middle = total()
    for i, a in enumerate(free):
        up, down = at_moved((a, 1)), at_moved((a, -1))
        hessian[i, i] = (total((a, 1)) + total((a, -1)) - 2 * middle) / steps[a] ** 2
        hessian[count, i] = -2 * (up[1] - down[1]) / (2 * steps[a]) / sigma**3
        slopes.append(sigma**2 * (up[2] - down[2]) / (2 * steps[a]))
        for j, b in enumerate(free[:i]):
            both = total((a, 1), (b, 1)) + total((a, -1), (b, -1))
            single = total((a, 1)) + total((a, -1)) + total((b, 1)) + total((b, -1))
            hessian[i, j] = (both - single + 2 * middle) / (2 * steps[a] * steps[b])
    hessian = np.tril(hessian) + np.tril(hessian, -1).T
    slopes.append(2 * sigma * at_moved()[2])
    spread: Floats | None = None
    if np.all(np.linalg.eigvalsh(hessian) > 0):
        spread = np.asarray(2 * np.linalg.inv(hessian), dtype=np.float64)
    return Curvature(theta, sigma, tuple(free), spread, tuple(slopes))


def _linked(value: float, link: str) -> float:
    return float(np.log(value) - (np.log1p(-value) if link == "logit" else 0.0))


def _unlinked(value: float, link: str) -> float:
    return float(special.expit(value) if link == "logit" else np.exp(value))


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


def named_component(
    components: Sequence[VarianceComponent], term: str, effect: str
) -> VarianceComponent:
    """One variance component by its term; where there is none, say which there are."""
    for component in components:
        if component.term == term and (term == RESIDUAL or component.effect == effect):
            return component
    known = ", ".join(component.term for component in components)
    raise DialensError(f"The model has no variance component {term!r}. It has: {known}.")


class _Factored(Protocol):
    """A model whose random effects have covariances given by Cholesky factors."""

    terms: list[RandomTerm]
    moments: list[Floats]
    n: int

    def factors(self, theta: Floats) -> list[Floats]: ...


def variance_components(
    system: _Factored, known: Curvature, confidence: float
) -> tuple[tuple[VarianceComponent, ...], tuple[tuple[str, str, str, float], ...]]:
    """The components of a fit, and the correlations between effects of the same term."""
    result: list[VarianceComponent] = []
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
        result.append(
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
    return tuple(result), tuple(correlations)
