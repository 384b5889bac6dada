from ._latex import correlation_table, increment_table
from ._page import ValidationSummary, write_validation
from ._words import interval, number, p_text

__all__ = [
    "ValidationSummary",
    "correlation_table",
    "increment_table",
    "interval",
    "number",
    "p_text",
    "write_validation",
]
