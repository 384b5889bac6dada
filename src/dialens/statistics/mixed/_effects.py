"""Fixed effects with interval and test, as every kind of mixed model reports them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from dialens.base import DialensError, Estimate
from dialens.statistics._bootstrap import Floats


@dataclass(frozen=True, kw_only=True)
class FixedEffect(Estimate):
    """A fixed effect, or a combination of several.

    Attributes:
        name: The term, e.g. `anchor[numerical]`.
        value: In units of the response; log odds in a logistic model.
        error: Standard error.
        degrees: Degrees of freedom; infinite for a Wald test.
        t: Estimate by standard error (z where the degrees of freedom are infinite).
        p: Two-sided, uncorrected.
        low: Lower end of the interval.
        high: Upper end.
    """

    name: str
    value: float
    low: float
    high: float
    p: float
    error: float
    degrees: float
    t: float


def named_effect(
    fixed: Sequence[FixedEffect], dropped: Mapping[str, str], name: str
) -> FixedEffect:
    """One fixed effect by name; where there is none, say why."""
    for effect in fixed:
        if effect.name == name:
            return effect
    known = ", ".join(effect.name for effect in fixed)
    why = f" It was left out: {dropped[name]}." if name in dropped else ""
    raise DialensError(f"The model has no fixed effect {name!r}.{why} Fixed effects: {known}.")


def weights_of(
    fixed: Sequence[FixedEffect], dropped: Mapping[str, str], weights: Mapping[str, float]
) -> Floats:
    """A combination of fixed effects as a vector."""
    vector = np.zeros(len(fixed))
    for name, weight in weights.items():
        vector[fixed.index(named_effect(fixed, dropped, name))] = weight
    return vector


def tested(name: str, value: float, error: float, degrees: float, confidence: float) -> FixedEffect:
    """An estimate with its interval and test from the t distribution.

    Args:
        name: Of the effect.
        value: The estimate.
        error: Its standard error.
        degrees: Degrees of freedom; infinite for the normal distribution.
        confidence: Confidence level of the interval.

    Examples:
        >>> effect = tested("agent[b]", 1.0, 0.5, float("inf"), 0.95)
        >>> round(effect.low, 2), round(effect.p, 4)
        (0.02, 0.0455)
    """
    # At infinitely many degrees of freedom the t distribution is the normal one.
    shape = max(degrees, 1.0) if np.isfinite(degrees) else np.inf
    t = value / error if error > 0 else float("nan")
    reach = float(stats.t.ppf(0.5 + confidence / 2, shape)) * error
    return FixedEffect(
        name=name,
        value=value,
        low=value - reach,
        high=value + reach,
        p=float(2 * stats.t.sf(abs(t), shape)),
        error=error,
        degrees=degrees,
        t=t,
    )
