from ._fit import RESIDUAL, FixedEffect, MixedFit, fit_mixed

__all__ = ["RESIDUAL", "FixedEffect", "MixedFit", "fit_mixed"]
