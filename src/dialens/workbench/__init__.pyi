from ._catalogue import KINDS, Catalogue, Item, Source
from ._columns import Column
from ._conversations import Collection, collections_of
from ._drawing import (
    DIALOG,
    MOST_QUANTILES,
    OPENING,
    TURN,
    Draw,
    DrawnUnit,
    Strata,
    Stratum,
    draw,
    stratum_columns,
)
from ._drawn import DRAWN, read_drawn
from ._finding import find
from ._gold import GoldSuggestion, gold_suggestions
from ._index import Histogram, Index, TablePage
from ._live import Live, live_of
from ._notebook import NOTEBOOK, WHOLE, Code, Notebook, SavedView, Unit
from ._studied import SAID, Studied, databases_of
from ._study_making import (
    JUDGED,
    MOST_ITEMS,
    NEEDED,
    GoldItem,
    PlannedStudy,
    StudyWish,
    planned_study,
    study_place,
    template_qualities,
    write_study_of,
)
from ._study_price import Price, QualityPower, known_r, powers, price, scales
from ._study_standing import StudyStanding, database_with, people_of, reports_of, standings
from ._text_search import Search
from ._view import Range, View
from ._words import KIND_WORDS, sentence
from ._workbench import Workbench

__all__ = [
    "DIALOG",
    "DRAWN",
    "JUDGED",
    "KINDS",
    "KIND_WORDS",
    "MOST_ITEMS",
    "MOST_QUANTILES",
    "NEEDED",
    "NOTEBOOK",
    "OPENING",
    "SAID",
    "TURN",
    "WHOLE",
    "Catalogue",
    "Code",
    "Collection",
    "Column",
    "Draw",
    "DrawnUnit",
    "GoldItem",
    "GoldSuggestion",
    "Histogram",
    "Index",
    "Item",
    "Live",
    "Notebook",
    "PlannedStudy",
    "Price",
    "QualityPower",
    "Range",
    "SavedView",
    "Search",
    "Source",
    "Strata",
    "Stratum",
    "Studied",
    "StudyStanding",
    "StudyWish",
    "TablePage",
    "Unit",
    "View",
    "Workbench",
    "collections_of",
    "database_with",
    "databases_of",
    "draw",
    "find",
    "gold_suggestions",
    "known_r",
    "live_of",
    "people_of",
    "planned_study",
    "powers",
    "price",
    "read_drawn",
    "reports_of",
    "scales",
    "sentence",
    "standings",
    "stratum_columns",
    "study_place",
    "template_qualities",
    "write_study_of",
]
