from ._best import APART, beside
from ._matrix import MetricMatrix
from ._rows import ALL_AUTOMATIC, ALL_PSYCHOLOGICAL
from ._units import RatedUnits, human_ratings, rated_units
from ._validate import Validation, validate

__all__ = [
    "ALL_AUTOMATIC",
    "ALL_PSYCHOLOGICAL",
    "APART",
    "MetricMatrix",
    "RatedUnits",
    "Validation",
    "beside",
    "human_ratings",
    "rated_units",
    "validate",
]
