from ._accuracy import Pairs, SegmentAccuracy, segment_accuracy, system_accuracy
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
from ._selection import chosen_elsewhere

__all__ = [
    "COEFFICIENTS",
    "Correlations",
    "Pairs",
    "SegmentAccuracy",
    "centred",
    "chosen_elsewhere",
    "correlate",
    "correlation_difference",
    "partial_correlation",
    "pearson_replicates",
    "segment_accuracy",
    "standard_scores",
    "system_accuracy",
]
