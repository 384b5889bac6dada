"""Likelihood-ratio tests between two mixed models."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from dialens.base import DialensError, number, one_thread, p_value
from dialens.statistics._bootstrap import Floats
from dialens.statistics.mixed._fit import MixedFit
from dialens.statistics.mixed._latent import LatentFit
from dialens.statistics.mixed._terms import RandomTerm


@dataclass(frozen=True)
class LikelihoodRatio:
    """A likelihood-ratio test.

    Attributes:
        statistic: Twice the difference of the log-likelihoods.
        degrees: How many parameters the larger model has more.
        p: From the χ² distribution.
        conservative: Whether a variance is tested: zero lies on the edge of what it can be, so that
            p is too large, up to twice.
        smaller: −2 log likelihood of the smaller model, by maximum likelihood.
        larger: Of the larger.
        smaller_aic: Akaike's criterion of the smaller model.
        larger_aic: Of the larger.
    """

    statistic: float
    degrees: int
    p: float
    conservative: bool
    smaller: float
    larger: float
    smaller_aic: float
    larger_aic: float

    def __str__(self) -> str:
        edge = "; conservative, because a variance is tested" if self.conservative else ""
        p = p_value(self.p, equals=True)
        return f"χ²({self.degrees}) = {number(self.statistic)}, p {p}{edge}"


def likelihood_ratio(
    smaller: MixedFit | LatentFit, larger: MixedFit | LatentFit
) -> LikelihoodRatio:
    """Test whether a larger model explains more than one nested in it.

    Linear models are refitted by full maximum likelihood, as lme4's `anova` does: restricted
    likelihoods of different fixed parts cannot be compared.

    Args:
        smaller: A fit.
        larger: A fit of the same rows with all terms of the smaller one, and more.

    Examples:
        >>> import polars as pl
        >>> from dialens.statistics.mixed import fit_mixed
        >>> table = pl.DataFrame(
        ...     {
        ...         "rater": [f"r{at % 5}" for at in range(40)],
        ...         "agent": ["ab"[at // 5 % 2] for at in range(40)],
        ...         "value": [at % 5 + at * 7 % 3 + 2.0 * (at // 5 % 2) for at in range(40)],
        ...     }
        ... )
        >>> one = fit_mixed(table, "value ~ 1 + (1 | rater)")
        >>> two = fit_mixed(table, "value ~ agent + (1 | rater)")
        >>> result = likelihood_ratio(one, two)
        >>> result.degrees, result.p < 0.001
        (1, True)
    """
    _comparable(smaller, larger)
    low, high = _deviance(smaller), _deviance(larger)
    degrees = larger.parameters - smaller.parameters
    statistic = max(low - high, 0.0)
    return LikelihoodRatio(
        statistic=statistic,
        degrees=degrees,
        p=float(stats.chi2.sf(statistic, degrees)),
        conservative=len(_effects(larger)) > len(_effects(smaller)),
        smaller=low,
        larger=high,
        smaller_aic=low + 2 * smaller.parameters,
        larger_aic=high + 2 * larger.parameters,
    )


def _comparable(smaller: MixedFit | LatentFit, larger: MixedFit | LatentFit) -> None:
    kinds = [fit.family if isinstance(fit, LatentFit) else "linear" for fit in (smaller, larger)]
    if kinds[0] != kinds[1]:
        raise DialensError(f"A {kinds[0]} and a {kinds[1]} model cannot be compared. Fit one kind.")
    if (smaller.response, smaller.rows) != (larger.response, larger.rows):
        raise DialensError(
            f"The models explain different rows ({smaller.n:,} of {smaller.response!r}, "
            f"{larger.n:,} of {larger.response!r}), so their likelihoods cannot be compared. Fit "
            "both to one table without the rows in which a column of either is missing."
        )
    if larger.parameters <= smaller.parameters:
        raise DialensError(
            f"The first model has {smaller.parameters} parameters, the second {larger.parameters}. "
            "Give the smaller one first."
        )
    extra = [effect for effect in _effects(smaller) if effect not in _effects(larger)]
    if extra or not _within(_design(smaller), _design(larger)):
        what = f"random effects ({', '.join(extra)})" if extra else "fixed effects"
        raise DialensError(
            f"The first model has {what} that the second has not, so it is no special case of it. "
            "Give all terms of the first to the second."
        )


def _deviance(fit: MixedFit | LatentFit) -> float:
    if isinstance(fit, LatentFit) or not fit.reml:
        return fit.criterion
    with one_thread():
        return fit._system.criterion(fit._system.best(reml=False), reml=False)


def _effects(fit: MixedFit | LatentFit) -> list[str]:
    terms: list[RandomTerm] = fit._system.terms
    return [f"{effect} | {term.name}" for term in terms for effect in term.effects]


def _design(fit: MixedFit | LatentFit) -> Floats:
    return fit._system.rows.design if isinstance(fit, LatentFit) else fit._system.orthonormal


def _within(smaller: Floats, larger: Floats) -> bool:
    """Whether the columns of the one lie in the span of the other's."""
    if not smaller.size:
        return True
    basis = np.linalg.qr(larger)[0]
    rest = smaller - basis @ (basis.T @ smaller)
    return bool(np.linalg.norm(rest) <= 1e-7 * np.linalg.norm(smaller))
