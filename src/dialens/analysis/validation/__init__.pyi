from ._matrix import MetricMatrix
from ._units import RatedUnits, human_ratings, rated_units
from ._validate import ALL_AUTOMATIC, ALL_PSYCHOLOGICAL, Validation, validate

__all__ = [
    "ALL_AUTOMATIC",
    "ALL_PSYCHOLOGICAL",
    "MetricMatrix",
    "RatedUnits",
    "Validation",
    "human_ratings",
    "rated_units",
    "validate",
]
