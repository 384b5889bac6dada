"""Which numbers may be trusted: intervals and comparisons.

May import `metrics` and everything below; `report` and the command line build on it.
"""

from dialens.stats.comparison import COMPARISONS, INTERVALS, RESAMPLES, compare, intervals

__all__ = ["COMPARISONS", "INTERVALS", "RESAMPLES", "compare", "intervals"]
