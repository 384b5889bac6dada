from ._correlation import (
    COEFFICIENTS,
    Correlations,
    centred,
    correlate,
    pearson_replicates,
    standard_scores,
)
from ._difference import correlation_difference
from ._partial import partial_correlation

__all__ = [
    "COEFFICIENTS",
    "Correlations",
    "centred",
    "correlate",
    "correlation_difference",
    "partial_correlation",
    "pearson_replicates",
    "standard_scores",
]
