from ._catalogue import KINDS, Catalogue, Item, Source
from ._finding import find
from ._words import KIND_WORDS, sentence
from ._workbench import Workbench

__all__ = [
    "KINDS",
    "KIND_WORDS",
    "Catalogue",
    "Item",
    "Source",
    "Workbench",
    "find",
    "sentence",
]
