"""The parameters at which Laplace's approximation is highest, and how well they are known."""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, optimize, special

from dialens.base import DialensError
from dialens.statistics._bootstrap import Floats, Ints, Mask
from dialens.statistics.mixed._laplace import LatentSystem, LogitRows

LARGEST = 12.0
"""Standard deviations (log odds) end here: beyond it every answer is certain."""
_SMALL = 0.02
_OFF_EDGE = (0.05, 0.2, 0.6)
_RESTARTS = 4
_FARTHEST = 40.0
_STEP = 1e-4


@dataclass(frozen=True)
class Optimum:
    """A fitted logistic mixed model in numbers.

    Attributes:
        psi: Thresholds, then fixed effects.
        theta: Cholesky factors of the random effects' covariances.
        loglik: Log-likelihood.
        free: Which of `theta` lie inside their bounds.
        covariance: Of `psi` and the free part of `theta`.
    """

    psi: Floats
    theta: Floats
    loglik: float
    free: Ints
    covariance: Floats


def best(system: LatentSystem) -> Optimum:
    """Maximise the likelihood over thresholds, fixed effects and standard deviations.

    The search runs in coordinates in which the model without random effects is round, with the
    gaps between thresholds as logarithms. A standard deviation of zero is always stationary, so
    small positive values are tried in its place.
    """
    psi, information = without_random_effects(system.rows)
    search = _Search(system, psi, information)
    flags = np.array(system.diagonal, dtype=bool)
    v, theta, value = search.run(np.zeros(len(psi)), flags.astype(np.float64))
    for _ in range(_RESTARTS):
        edge = flags & (theta < _SMALL)
        if not edge.any():
            break
        if np.any(theta[edge] > 0.0):
            held = search.run(v, np.where(edge, 0.0, theta), held=edge)
            if held[2] <= value + 1e-6:
                v, theta, value = held
        away = search.away(v, theta, value, np.flatnonzero(edge))
        if away is None:
            break
        moved = search.run(v, away)
        if moved[2] >= value - 1e-7:
            break
        v, theta, value = moved
    return _known(system, search.natural(v), theta)


class _Search:
    """The likelihood in round coordinates."""

    def __init__(self, system: LatentSystem, psi: Floats, information: Floats) -> None:
        self.system = system
        self.count = system.rows.thresholds
        self.start = self._logged(psi)
        bent = self._jacobian(self.start)
        self.upper = linalg.cholesky(bent.T @ information @ bent)
        flags = np.array(system.diagonal, dtype=bool)
        self.bounds = [(0.0 if own else -LARGEST, LARGEST) for own in flags]

    def run(
        self, v: Floats, theta: Floats, held: Mask | None = None
    ) -> tuple[Floats, Floats, float]:
        """Minimise from a point; those of `theta` that are held stay where they are."""
        p = len(v)

        def value_at(x: Floats) -> tuple[float, Floats]:
            logged = self._point(x[:p])
            found = self.system.laplace(self._unlogged(logged), x[p:])
            bent = self._jacobian(logged)
            by_v = linalg.solve_triangular(self.upper.T, bent.T @ found.gradient[:p], lower=True)
            return found.value, np.concatenate([by_v, found.gradient[p:]])

        bounds = [(-_FARTHEST, _FARTHEST)] * p + [
            (theta[at], theta[at]) if held is not None and held[at] else bound
            for at, bound in enumerate(self.bounds)
        ]
        result = optimize.minimize(
            value_at,
            np.concatenate([v, theta]),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": 500, "ftol": 1e-12, "gtol": 1e-5, "maxcor": 20},
        )
        return result.x[:p], result.x[p:], float(result.fun)

    def away(self, v: Floats, theta: Floats, value: float, edge: Ints) -> Floats | None:
        """A point off the edge at which the likelihood is higher, if there is one."""
        psi = self.natural(v)
        for at in edge:
            for size in _OFF_EDGE:
                tried = theta.copy()
                tried[at] = size
                if self.system.laplace(psi, tried).value < value - 1e-7:
                    return tried
        return None

    def natural(self, v: Floats) -> Floats:
        """Thresholds and fixed effects of a point."""
        return self._unlogged(self._point(v))

    def _point(self, v: Floats) -> Floats:
        return self.start + linalg.solve_triangular(self.upper, v)

    def _logged(self, psi: Floats) -> Floats:
        logged = psi.copy()
        logged[1 : self.count] = np.log(np.diff(psi[: self.count]))
        return logged

    def _unlogged(self, logged: Floats) -> Floats:
        psi = logged.copy()
        psi[1 : self.count] = logged[0] + np.cumsum(np.exp(logged[1 : self.count]))
        return psi

    def _jacobian(self, logged: Floats) -> Floats:
        bent = np.eye(len(logged))
        if self.count:
            bent[: self.count, 0] = 1.0
            gaps = np.exp(logged[1 : self.count])
            bent[: self.count, 1 : self.count] = np.tri(self.count, self.count - 1, -1) * gaps
        return bent


def without_random_effects(rows: LogitRows) -> tuple[Floats, Floats]:
    """Thresholds and fixed effects by Newton's method, and their information."""
    psi = np.zeros(rows.design.shape[1])
    psi[: rows.thresholds] = np.linspace(-1, 1, rows.thresholds)

    def value_at(psi: Floats) -> float:
        return rows.inside(rows.design @ psi) + rows.outside(psi)[0]

    value = value_at(psi)
    for _ in range(100):
        share = special.expit(rows.design @ psi)
        _, pull, bend = rows.outside(psi)
        score = rows.design.T @ (rows.successes - rows.trials * share) + pull
        weight = rows.trials * share * (1 - share)
        information = (rows.design * weight[:, None]).T @ rows.design + bend
        try:
            step = linalg.solve(information, score, assume_a="pos")
        except linalg.LinAlgError:
            raise DialensError(
                "The effects of the model cannot be told apart in this table. "
                "Leave one of its fixed terms out."
            ) from None
        if float(score @ step) < 1e-12:
            break
        size = 1.0
        while size > 1e-9 and not value_at(psi + size * step) >= value:
            size /= 2
        psi = psi + size * step
        value = value_at(psi)
    return psi, information


def _known(system: LatentSystem, psi: Floats, theta: Floats) -> Optimum:
    """The curvature at the optimum, by differences of the exact gradient."""
    p = len(psi)
    flags = np.array(system.diagonal, dtype=bool)
    inside = ~flags | ((theta > 10 * _STEP) & (theta < LARGEST - 1e-6))
    free = np.flatnonzero(inside)
    loglik = -system.laplace(psi, theta).value
    point = np.concatenate([psi, theta])
    places = np.concatenate([np.arange(p), p + free]).astype(np.int64)
    rows = []
    for at in places:
        step = _STEP * max(1.0, abs(point[at]) / 10)
        ends = []
        for sign in (1, -1):
            moved = point.copy()
            moved[at] += sign * step
            ends.append(system.laplace(moved[:p], moved[p:]).gradient[places])
        rows.append((ends[0] - ends[1]) / (2 * step))
    hessian = np.array(rows)
    hessian = (hessian + hessian.T) / 2
    if np.linalg.eigvalsh(hessian).min() <= 0:
        # A flat direction among the standard deviations: they are taken as known.
        free, hessian = free[:0], hessian[:p, :p]
    return Optimum(psi, theta, loglik, free, np.linalg.inv(hessian))
