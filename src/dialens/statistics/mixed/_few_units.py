"""Standard errors and degrees of freedom of logistic mixed models where raters or items are few.

Maximum likelihood takes the fixed effects as known and so makes the variances of few groups too
small, and the normal distribution takes the variances as known. Both are mended as in linear
models: the variances move one Newton step towards their restricted estimates, where the
likelihood has the fixed effects integrated out, and Satterthwaite's approximation says how many
degrees of freedom a standard error then has.
"""

import numpy as np

from dialens.statistics._bootstrap import Floats
from dialens.statistics.mixed._inference import Curvature
from dialens.statistics.mixed._laplace import LatentSystem
from dialens.statistics.mixed._optimum import LARGEST, Optimum

_LARGEST_STEP = 2.0


def restricted(system: LatentSystem, optimum: Optimum) -> tuple[Floats, Curvature]:
    """The covariance of thresholds and fixed effects, and what is known about the variances."""
    p = len(optimum.psi)
    spread = optimum.covariance[p:, p:]
    theta = optimum.theta.copy()

    def inverse(theta: Floats) -> Floats:
        return np.asarray(np.linalg.inv(system.information(optimum.psi, theta)), dtype=np.float64)

    def moved(theta: Floats) -> list[tuple[Floats, Floats, float]]:
        """The inverse information on both sides along each free parameter, and the distance."""
        result = []
        for at in optimum.free:
            step = max(1e-3, 0.01 * abs(theta[at]))
            up, down = theta.copy(), theta.copy()
            up[at] += step
            down[at] -= step
            result.append((inverse(up), inverse(down), 2 * step))
        return result

    slopes = [
        (np.linalg.slogdet(down)[1] - np.linalg.slogdet(up)[1]) / (2 * distance)
        for up, down, distance in moved(theta)
    ]
    before = inverse(theta)
    theta[optimum.free] -= spread @ np.array(slopes)
    # One step of a skewed likelihood may overshoot.
    sizes = np.abs(optimum.theta)
    theta = np.clip(theta, -_LARGEST_STEP * sizes, np.minimum(_LARGEST_STEP * sizes, LARGEST))
    theta[np.array(system.diagonal, dtype=bool)] = np.maximum(theta, 0.0)[
        np.array(system.diagonal, dtype=bool)
    ]
    change = tuple((up - down) / distance for up, down, distance in moved(theta))
    covariance = optimum.covariance[:p, :p] + inverse(theta) - before
    return covariance, Curvature(theta, 1.0, tuple(optimum.free.tolist()), spread, change)
