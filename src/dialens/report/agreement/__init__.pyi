from ._page import write_agreement

__all__ = [
    "write_agreement",
]
