from ._catalogue import KINDS, Catalogue, Item, Source
from ._coding import CodeCount, code_counts, coded_ratings
from ._columns import Column
from ._conversations import Collection, collections_of
from ._finding import find
from ._index import Histogram, Index, TablePage
from ._live import Live, live_of
from ._notebook import NOTEBOOK, WHOLE, Code, Notebook, SavedView, Unit
from ._running import COMMANDS, Runs, StartedRun
from ._text_search import Search
from ._view import Range, View
from ._words import KIND_WORDS, sentence
from ._workbench import Workbench

__all__ = [
    "COMMANDS",
    "KINDS",
    "KIND_WORDS",
    "NOTEBOOK",
    "WHOLE",
    "Catalogue",
    "Code",
    "CodeCount",
    "Collection",
    "Column",
    "Histogram",
    "Index",
    "Item",
    "Live",
    "Notebook",
    "Range",
    "Runs",
    "SavedView",
    "Search",
    "Source",
    "StartedRun",
    "TablePage",
    "Unit",
    "View",
    "Workbench",
    "code_counts",
    "coded_ratings",
    "collections_of",
    "find",
    "live_of",
    "sentence",
]
