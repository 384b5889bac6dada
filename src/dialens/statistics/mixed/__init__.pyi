from ._fit import RESIDUAL, FixedEffect, MixedFit, fit_mixed
from ._latent import LatentFit, fit_binomial, fit_ordinal

__all__ = [
    "RESIDUAL",
    "FixedEffect",
    "LatentFit",
    "MixedFit",
    "fit_binomial",
    "fit_mixed",
    "fit_ordinal",
]
