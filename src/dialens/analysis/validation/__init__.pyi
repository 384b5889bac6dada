from ._best import APART, beside
from ._ceiling import mean_ratings
from ._joined_ratings import RatedCorpus, with_ratings
from ._matrix import MetricMatrix
from ._own_scores import OwnScores, joined, own_scores
from ._references import without_references
from ._rows import ALL_AUTOMATIC, ALL_PSYCHOLOGICAL
from ._scopes import BETWEEN, POOLED, WITHIN, correlations_by_scope
from ._units import RatedUnits, human_ratings, rated_units
from ._validate import Validation, validate

__all__ = [
    "ALL_AUTOMATIC",
    "ALL_PSYCHOLOGICAL",
    "APART",
    "BETWEEN",
    "POOLED",
    "WITHIN",
    "MetricMatrix",
    "OwnScores",
    "RatedCorpus",
    "RatedUnits",
    "Validation",
    "beside",
    "correlations_by_scope",
    "human_ratings",
    "joined",
    "mean_ratings",
    "own_scores",
    "rated_units",
    "validate",
    "with_ratings",
    "without_references",
]
