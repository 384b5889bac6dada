"""How sure a fitted mixed model is: degrees of freedom, and intervals of its variances.

Satterthwaite's approximation as in Fai & Cornelius (1996) and Kuznetsova et al. (2017): the
curvature of the likelihood says how well the variances are known, and that says how far the
variance of a fixed effect may be off.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import stats

from dialens.statistics._bootstrap import Floats
from dialens.statistics.mixed._solver import MixedSystem

_STEP = 1e-3
_SMALLEST = 0.05


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
        if not np.isfinite(error):
            return None
        reach = float(stats.norm.ppf(0.5 + confidence / 2)) * error
        centre = _linked(value, link)
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
    return float(1 / (1 + np.exp(-value)) if link == "logit" else np.exp(value))
