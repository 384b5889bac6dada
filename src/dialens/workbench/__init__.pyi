from ._catalogue import KINDS, Catalogue, Item, Source
from ._finding import find
from ._workbench import Workbench

__all__ = [
    "KINDS",
    "Catalogue",
    "Item",
    "Source",
    "Workbench",
    "find",
]
