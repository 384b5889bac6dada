from ._latex import correlation_table, increment_table
from ._page import ValidationSummary, write_validation

__all__ = [
    "ValidationSummary",
    "correlation_table",
    "increment_table",
    "write_validation",
]
