from ._compare import LikelihoodRatio, likelihood_ratio
from ._effects import FixedEffect
from ._fit import MixedFit, fit_mixed
from ._formula import parse_formula
from ._inference import RESIDUAL, VarianceComponent
from ._latent import LatentFit, fit_binomial, fit_ordinal
from ._profile import profile_intervals
from ._terms import INTERCEPT

__all__ = [
    "INTERCEPT",
    "RESIDUAL",
    "FixedEffect",
    "LatentFit",
    "LikelihoodRatio",
    "MixedFit",
    "VarianceComponent",
    "fit_binomial",
    "fit_mixed",
    "fit_ordinal",
    "likelihood_ratio",
    "parse_formula",
    "profile_intervals",
]
