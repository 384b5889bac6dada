from ._drift import drift_sentences
from ._page import ANALYSIS, write_study

__all__ = [
    "ANALYSIS",
    "drift_sentences",
    "write_study",
]
