from ._page import ANALYSIS, StudySummary, write_study
from ._remarks import Remark

__all__ = [
    "ANALYSIS",
    "Remark",
    "StudySummary",
    "write_study",
]
