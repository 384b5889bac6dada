from ._page import ANALYSIS, write_study

__all__ = [
    "ANALYSIS",
    "write_study",
]
