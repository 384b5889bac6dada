"""Profile-likelihood intervals of the standard deviations of a linear mixed model.

A standard deviation stays in the interval as long as the best model that has it is not rejected by
a likelihood-ratio test (Bates et al. 2015, §5.1). Unlike Wald's intervals they are not symmetric
on any scale and reach zero where the data allow it. As in lme4 the likelihood is the full one, not
the restricted one.
"""

from collections.abc import Callable

import numpy as np
import polars as pl
from scipy import optimize, stats

from dialens.base import one_thread
from dialens.statistics._bootstrap import Floats
from dialens.statistics.mixed._fit import MixedFit
from dialens.statistics.mixed._solver import MixedSystem

_OFF_EDGE = 0.02


def profile_intervals(fit: MixedFit, *, confidence: float | None = None) -> pl.DataFrame:
    """Profile-likelihood intervals of the standard deviations of a fit.

    Args:
        fit: A linear mixed model.
        confidence: Confidence level; that of the fit if not given.

    Returns:
        One row a variance component: `term`, `effect`, `sd` as fitted, `low` and `high`. `low` is
        zero where a variance of zero is not rejected; an end that was not found is null.

    Examples:
        >>> from dialens.statistics.mixed import fit_mixed
        >>> yields = pl.DataFrame(
        ...     {
        ...         "batch": [b for b in "ABC" for _ in range(3)],
        ...         "value": [15.4, 14.4, 14.6, 16.1, 15.9, 16.6, 14.1, 14.9, 14.4],
        ...     }
        ... )
        >>> profile_intervals(fit_mixed(yields, random=["batch"]))["term"].to_list()
        ['batch', 'residual']
    """
    level = fit.confidence if confidence is None else confidence
    limit = float(stats.norm.ppf(0.5 + level / 2))
    system = fit._system
    rows = []
    with one_thread():
        theta = system.best(reml=False)
        sigma = system.estimate(theta, reml=False)[2]
        lowest = system.criterion(theta, reml=False)
        places = [(at, row) for at, size in enumerate(system.sizes) for row in range(size)]
        for component, place in zip(fit.components, [*places, None], strict=True):
            profile = _Profile(system, theta, sigma, place)
            low, high = _ends(profile.deviance, lowest, profile.best, limit)
            rows.append((component.term, component.effect, component.sd, low, high))
    schema = {"term": pl.String, "effect": pl.String} | dict.fromkeys(
        ("sd", "low", "high"), pl.Float64
    )
    return pl.DataFrame(rows, schema=schema, orient="row")


class _Profile:
    """The deviance of the best model that has one standard deviation at a given value."""

    def __init__(
        self, system: MixedSystem, theta: Floats, sigma: float, place: tuple[int, int] | None
    ) -> None:
        self.system, self.sigma, self.place = system, sigma, place
        factors = system.factors(theta)
        self.fixed = None
        if place is not None:
            # With its effect first, a standard deviation is one entry of the Cholesky factor.
            at, row = place
            self.order = [row, *(i for i in range(system.sizes[at]) if i != row)]
            factors[at] = _lower(factors[at][self.order])
            self.fixed = sum(size * (size + 1) // 2 for size in system.sizes[:at])
        self.start = np.concatenate(
            [factor[np.tril_indices(len(factor))] for factor in factors] or [np.zeros(0)]
        )
        self.best = sigma if self.fixed is None else float(self.start[self.fixed]) * sigma
        self.others = [at for at in range(len(self.start)) if at != self.fixed]
        self.reached = np.append(self.start[self.others], 0.0)

    def deviance(self, value: float) -> float:
        """Of the best model with the standard deviation at `value`."""
        bounds = [self.system.bounds[at] for at in self.others]
        count = len(bounds)
        if self.fixed is not None:
            bounds.append((-3.0, 3.0))  # the residual's own, as a logarithm by the fitted one
        if not bounds:
            return self._at(value, np.zeros(0), self.sigma)
        # Off zero, where a search would find no slope.
        start = self.reached[: len(bounds)]
        edge = np.array([low == 0.0 for low, _ in bounds])
        start = np.where(edge, np.maximum(start, _OFF_EDGE), start)

        def at_point(x: Floats) -> float:
            sigma = value if self.fixed is None else self.sigma * float(np.exp(x[-1]))
            return self._at(value, x[:count], sigma)

        result = optimize.minimize(
            at_point, start, method="L-BFGS-B", bounds=bounds, options={"ftol": 1e-11}
        )
        self.reached = np.append(result.x, 0.0)[: len(self.reached)]
        return float(result.fun)

    def _at(self, value: float, others: Floats, sigma: float) -> float:
        """The deviance at one point; factors are relative to the fitted σ."""
        scaled = self.start.copy()
        scaled[self.others] = others
        if self.fixed is not None:
            scaled[self.fixed] = value / self.sigma
        theta = self._ordered(scaled) * self.sigma / sigma
        constant, residual, _ = self.system.parts(theta, reml=False)
        free = self.system.n * np.log(2 * np.pi * sigma**2)
        return float(constant + free + residual / sigma**2)

    def _ordered(self, scaled: Floats) -> Floats:
        """The parameters with the effects back in their places."""
        if self.place is None:
            return scaled
        at, _ = self.place
        factors = self.system.factors(scaled)
        factors[at] = _lower(factors[at][np.argsort(self.order)])
        return np.concatenate([factor[np.tril_indices(len(factor))] for factor in factors])


def _lower(root: Floats) -> Floats:
    """The lower triangular factor of root · root′, with a diagonal that is not negative."""
    upper = np.linalg.qr(root.T)[1]
    signs = np.where(np.diag(upper) < 0, -1.0, 1.0)
    return np.asarray((upper * signs[:, None]).T, dtype=np.float64)


def _ends(
    deviance: Callable[[float], float], lowest: float, best: float, limit: float
) -> tuple[float | None, float | None]:
    """Where the root of the deviance's rise passes the limit, on both sides of the best value."""

    def beyond(value: float) -> float:
        return float(np.sqrt(max(deviance(value) - lowest, 0.0))) - limit

    low: float | None = 0.0
    floor = best * 1e-3
    if best > 0 and beyond(floor) > 0:
        low = float(optimize.brentq(beyond, floor, best, xtol=best * 1e-5, rtol=1e-5))
    reach = max(best, 1e-3)
    for _ in range(30):
        reach *= 1.6
        if beyond(reach) > 0:
            start = max(best, reach / 1.6)
            return low, float(optimize.brentq(beyond, start, reach, xtol=reach * 1e-5, rtol=1e-5))
    return low, None
