from ._latex import correlation_table, increment_table
from ._page import ValidationSummary, write_validation
from ._words import label

__all__ = [
    "ValidationSummary",
    "correlation_table",
    "increment_table",
    "label",
    "write_validation",
]
