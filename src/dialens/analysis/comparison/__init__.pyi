from ._compare import RESAMPLES, compare, intervals, values_only
from ._tables import COMPARISONS, by_size, families_tested, note_on_tests

__all__ = [
    "COMPARISONS",
    "RESAMPLES",
    "by_size",
    "compare",
    "families_tested",
    "intervals",
    "note_on_tests",
    "values_only",
]
