from ._curve import SIMULATIONS, Design, VarianceParts, power_curve
from ._fitting import FittedParts, fitted_parts

__all__ = ["SIMULATIONS", "Design", "FittedParts", "VarianceParts", "fitted_parts", "power_curve"]
