from ._correlation import (
    COEFFICIENTS,
    Correlations,
    correlate,
    partial_correlation,
    pearson_replicates,
    standard_scores,
)
from ._difference import correlation_difference

__all__ = [
    "COEFFICIENTS",
    "Correlations",
    "correlate",
    "correlation_difference",
    "partial_correlation",
    "pearson_replicates",
    "standard_scores",
]
