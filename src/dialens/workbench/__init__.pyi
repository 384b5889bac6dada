from ._beside_ratings import (
    FEWEST_RATED,
    Association,
    Gap,
    Parting,
    Rated,
    association_of_agents,
    associations,
    mean_gap,
    parting,
    rated_units,
    said_columns,
)
from ._catalogue import KINDS, Catalogue, Item, Source
from ._coding import CodeCount, code_counts, coded_ratings
from ._columns import Column
from ._comparisons import (
    Comparison,
    compare_command,
    newest_first,
    not_compared,
    open_comparison,
)
from ._conversations import Collection, collections_of
from ._difference import Behind, Part, Parts, behind, paired_parts, source_of_run, unpaired_parts
from ._finding import find
from ._index import Histogram, Index, TablePage
from ._live import Live, live_of
from ._notebook import NOTEBOOK, WHOLE, Code, Notebook, SavedView, Unit
from ._spreads import Spread, spread_of, spreads
from ._text_search import Search
from ._view import Range, View
from ._words import KIND_WORDS, sentence
from ._workbench import Workbench

__all__ = [
    "FEWEST_RATED",
    "KINDS",
    "KIND_WORDS",
    "NOTEBOOK",
    "WHOLE",
    "Association",
    "Behind",
    "Catalogue",
    "Code",
    "CodeCount",
    "Collection",
    "Column",
    "Comparison",
    "Gap",
    "Histogram",
    "Index",
    "Item",
    "Live",
    "Notebook",
    "Part",
    "Parting",
    "Parts",
    "Range",
    "Rated",
    "SavedView",
    "Search",
    "Source",
    "Spread",
    "TablePage",
    "Unit",
    "View",
    "Workbench",
    "association_of_agents",
    "associations",
    "behind",
    "code_counts",
    "coded_ratings",
    "collections_of",
    "compare_command",
    "find",
    "live_of",
    "mean_gap",
    "newest_first",
    "not_compared",
    "open_comparison",
    "paired_parts",
    "parting",
    "rated_units",
    "said_columns",
    "sentence",
    "source_of_run",
    "spread_of",
    "spreads",
    "unpaired_parts",
]
