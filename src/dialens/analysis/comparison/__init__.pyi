from ._compare import RESAMPLES, compare, intervals, values_only
from ._tables import COMPARISONS, by_size, cards_as_compared, families_tested, note_on_tests

__all__ = [
    "COMPARISONS",
    "RESAMPLES",
    "by_size",
    "cards_as_compared",
    "compare",
    "families_tested",
    "intervals",
    "note_on_tests",
    "values_only",
]
