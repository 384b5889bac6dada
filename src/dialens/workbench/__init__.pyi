from ._catalogue import KINDS, Catalogue, Item, Source
from ._columns import Column
from ._conversations import Collection, collections_of
from ._finding import find
from ._index import Histogram, Index, TablePage
from ._live import Live, live_of
from ._notebook import NOTEBOOK, WHOLE, Code, Notebook, SavedView, Unit
from ._text_search import Search
from ._view import Range, View
from ._words import KIND_WORDS, sentence
from ._workbench import Workbench

__all__ = [
    "KINDS",
    "KIND_WORDS",
    "NOTEBOOK",
    "WHOLE",
    "Catalogue",
    "Code",
    "Collection",
    "Column",
    "Histogram",
    "Index",
    "Item",
    "Live",
    "Notebook",
    "Range",
    "SavedView",
    "Search",
    "Source",
    "TablePage",
    "Unit",
    "View",
    "Workbench",
    "collections_of",
    "find",
    "live_of",
    "sentence",
]
