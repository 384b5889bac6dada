from ._compare import RESAMPLES, compare, intervals, values_only
from ._tables import COMPARISONS, note_on_tests

__all__ = [
    "COMPARISONS",
    "RESAMPLES",
    "compare",
    "intervals",
    "note_on_tests",
    "values_only",
]
