from ._page import write_agreement
from ._words import number

__all__ = [
    "number",
    "write_agreement",
]
