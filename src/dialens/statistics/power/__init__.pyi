from ._curve import SIMULATIONS, power_curve
from ._design import Design, VarianceParts
from ._fitting import FittedParts, fitted_parts

__all__ = ["SIMULATIONS", "Design", "FittedParts", "VarianceParts", "fitted_parts", "power_curve"]
