from ._page import write_validation
from ._tables import correlations_latex, increments_latex

__all__ = [
    "correlations_latex",
    "increments_latex",
    "write_validation",
]
