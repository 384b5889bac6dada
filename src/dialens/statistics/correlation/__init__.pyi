from ._correlation import (
    COEFFICIENTS,
    ClusterDraws,
    Correlations,
    Estimate,
    Mask,
    correlate,
    pearson_replicates,
    standard_scores,
)
from ._difference import correlation_difference
from ._partial import partial_correlation

__all__ = [
    "COEFFICIENTS",
    "ClusterDraws",
    "Correlations",
    "Estimate",
    "Mask",
    "correlate",
    "correlation_difference",
    "partial_correlation",
    "pearson_replicates",
    "standard_scores",
]
