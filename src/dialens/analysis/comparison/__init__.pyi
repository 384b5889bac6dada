from ._compare import COMPARISONS, RESAMPLES, compare, intervals, values_only

__all__ = [
    "COMPARISONS",
    "RESAMPLES",
    "compare",
    "intervals",
    "values_only",
]
