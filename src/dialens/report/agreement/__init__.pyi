from ._page import write_agreement
from ._words import method

__all__ = [
    "method",
    "write_agreement",
]
