from ._latex import accuracies_latex, best_latex, correlations_latex, increments_latex
from ._page import write_validation
from ._words import ceiling_text, corrected_p, judged, parting_text

__all__ = [
    "accuracies_latex",
    "best_latex",
    "ceiling_text",
    "corrected_p",
    "correlations_latex",
    "increments_latex",
    "judged",
    "parting_text",
    "write_validation",
]
