from ._texts import LANGUAGES, Texts

__all__ = [
    "LANGUAGES",
    "Texts",
]
