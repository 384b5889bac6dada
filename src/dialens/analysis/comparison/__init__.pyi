from ._compare import COMPARISONS, INTERVALS, RESAMPLES, compare, intervals

__all__ = [
    "COMPARISONS",
    "INTERVALS",
    "RESAMPLES",
    "compare",
    "intervals",
]
