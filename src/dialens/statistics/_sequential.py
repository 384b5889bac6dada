"""Intervals that hold at all times at once, however often one looks and whenever one stops.

An ordinary 95 % interval holds in 95 % of studies that end at a size fixed beforehand. Who looks
after each participant, and stops when the result pleases, meets one that misses in a quarter to a
half of studies (Armitage, McPherson & Rowe 1969). A confidence sequence holds at every moment of
95 % of studies. This is Robbins's normal mixture (1970) with estimated variances: the asymptotic
confidence sequence of Waudby-Smith, Arbour, Sinha, Kennedy & Ramdas (2024, "Time-uniform central
limit theory and asymptotic confidence sequences", *Annals of Statistics* 52, Theorem 2.2). After t
observations with standard deviation σ, their mean lies within

    σ · sqrt(2(tρ² + 1) / (t²ρ²) · log(sqrt(tρ² + 1) / α))

of the truth at all t at once. σ / sqrt(t) is the standard error of the mean; for a contrast of the
means of several arms it is that of the contrast, and t counts the observations of all its arms: if
the shares of the arms settle, as they do when the next observation goes where most is gained, the
contrast is a mean of one sequence up to what vanishes. Two things are for few observations: the
factor on the standard error is carried over to Student's t at equal tail probability, with
Satterthwaite's degrees of freedom, and nobody looks before each arm has ten. How often such
intervals miss is simulated in docs/inference.md.
"""

from functools import cache

import numpy as np
from scipy import optimize, special

from dialens.statistics._bootstrap import Floats, Ints


@cache
def mixture_size(confidence: float = 0.95) -> float:
    """tρ² at which the interval of t observations is narrowest.

    Examples:
        >>> round(mixture_size(), 2)
        8.21
        >>> log = 2 * np.log(20)  # their approximation
        >>> round(float(log + np.log(log + 1)), 2)
        7.94
    """
    rest = -2 * np.log(1 - confidence)

    def width(size: float) -> float:
        return float((1 + 1 / size) * (rest + np.log1p(size)))

    return float(optimize.minimize_scalar(width, bounds=(0.1, 100), method="bounded").x)


def sequence_reach(
    weights: Floats,
    n: Ints | Floats,
    variance: Floats,
    *,
    planned: float,
    confidence: float = 0.95,
) -> Floats:
    """How far a contrast of means lies from the truth at most, at all times at once.

    Args:
        weights: Of the arms in the contrast, along the last axis; (1, −1) for a difference.
        n: Observations of each arm, two or more.
        variance: Of the observations of each arm, with n − 1 in its denominator.
        planned: Observations in all arms of the contrast at which the interval should be
            narrowest. Any number is valid, as long as it was chosen before the data were seen.
        confidence: Of the whole sequence.

    Examples:
        >>> t, deviation, rho2 = 1e6, 2.0, mixture_size() / 50
        >>> inner = 2 * (t * rho2 + 1) / (t**2 * rho2) * np.log(np.sqrt(t * rho2 + 1) / 0.05)
        >>> known = deviation * np.sqrt(inner)  # Theorem 2.2
        >>> one, square = np.array([1.0]), np.array([deviation**2])
        >>> reach = sequence_reach(one, np.array([t]), square, planned=50)
        >>> round(float(reach), 5), round(float(known), 5)
        (0.00849, 0.00849)
    """
    counts = np.asarray(n, dtype=np.float64)
    used = np.asarray(weights) != 0
    size = (counts * used).sum(axis=-1) * mixture_size(confidence) / planned
    edge = np.sqrt((1 + 1 / size) * (np.log1p(size) - 2 * np.log(1 - confidence)))
    each = np.square(weights) * variance / counts
    whole = each.sum(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        freedom = np.square(whole) / (np.square(each) / (counts - 1)).sum(axis=-1)
    freedom = np.where(np.isfinite(freedom), freedom, 1.0)
    reach: Floats = np.sqrt(whole) * -special.stdtrit(freedom, special.ndtr(-edge))
    return reach


def gains(weights: Floats, n: Ints | Floats, variance: Floats) -> Floats:
    """How much one more observation of each arm would take off the variance of contrasts.

    The next one belongs where this is largest; that leads to sizes in proportion to standard
    deviations (Neyman 1934). Variances are drawn towards their mean by as much as two observations
    say, so that an arm whose first values are all the same is not forgotten.

    Args:
        weights: Contrasts × arms; the sum of their squares says how much an arm matters.
        n: Observations of each arm, or on the way.
        variance: Of the observations of each arm.

    Examples:
        >>> found = gains(np.array([[1.0, -1.0]]), np.array([20, 20]), np.array([1.0, 4.0]))
        >>> int(found.argmax())
        1
    """
    counts = np.asarray(n, dtype=np.float64)
    shared = variance.mean(axis=-1, keepdims=True)
    steady = (variance * (counts - 1) + 2 * shared) / (counts + 1)
    found: Floats = np.square(weights).sum(axis=0) * steady / (counts * (counts + 1))
    return found
