from ._catalogue import KINDS, Catalogue, Item, Source
from ._coding import CodeCount, code_counts, coded_ratings
from ._columns import Column
from ._conversations import Collection, collections_of
from ._dialogue import (
    Dialog,
    Marks,
    Score,
    SpokenTurn,
    along,
    find_talk,
    marks_of,
    read_dialog,
    runs_of,
    scores_of,
)
from ._finding import find
from ._index import Histogram, Index, TablePage
from ._live import Live, live_of
from ._notebook import NOTEBOOK, WHOLE, Code, Notebook, SavedView, Unit
from ._rated import RatedQuality, Rating, ratings_of
from ._running import COMMANDS, Runs, StartedRun
from ._side_by_side import (
    MOST_AGENTS,
    Contender,
    Opening,
    Openings,
    Side,
    choose,
    contenders,
    given,
    measures,
    openings,
    sides,
    turn_spreads,
    usual_measure,
)
from ._stepping import Neighbours, neighbours
from ._text_search import Search
from ._view import Range, View
from ._words import KIND_WORDS, sentence
from ._workbench import Workbench

__all__ = [
    "COMMANDS",
    "KINDS",
    "KIND_WORDS",
    "MOST_AGENTS",
    "NOTEBOOK",
    "WHOLE",
    "Catalogue",
    "Code",
    "CodeCount",
    "Collection",
    "Column",
    "Contender",
    "Dialog",
    "Histogram",
    "Index",
    "Item",
    "Live",
    "Marks",
    "Neighbours",
    "Notebook",
    "Opening",
    "Openings",
    "Range",
    "RatedQuality",
    "Rating",
    "Runs",
    "SavedView",
    "Score",
    "Search",
    "Side",
    "Source",
    "SpokenTurn",
    "StartedRun",
    "TablePage",
    "Unit",
    "View",
    "Workbench",
    "along",
    "choose",
    "code_counts",
    "coded_ratings",
    "collections_of",
    "contenders",
    "find",
    "find_talk",
    "given",
    "live_of",
    "marks_of",
    "measures",
    "neighbours",
    "openings",
    "ratings_of",
    "read_dialog",
    "runs_of",
    "scores_of",
    "sentence",
    "sides",
    "turn_spreads",
    "usual_measure",
]
