from ._compare import COMPARISONS, INTERVALS, RESAMPLES, compare, intervals, values_only

__all__ = [
    "COMPARISONS",
    "INTERVALS",
    "RESAMPLES",
    "compare",
    "intervals",
    "values_only",
]
