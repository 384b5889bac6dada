from ._delimited import (
    NEEDED,
    from_json,
    header_of,
    is_wrong_table,
    line_of,
    no_rows,
    no_table,
    ragged,
    read_cells,
    without_decimal_commas,
)
from ._layouts import ONLY_QUALITY
from ._participants import with_participants
from ._readable import readable
from ._recognised import check_mapping, columns_of, foreign
from ._taken import LAYOUTS, PLACE, Cells, Taken, renamed
from ._values import NOMINAL, NOT_GIVEN, Place, Reading, leading_number, read_values

__all__ = [
    "LAYOUTS",
    "NEEDED",
    "NOMINAL",
    "NOT_GIVEN",
    "ONLY_QUALITY",
    "PLACE",
    "Cells",
    "Place",
    "Reading",
    "Taken",
    "check_mapping",
    "columns_of",
    "foreign",
    "from_json",
    "header_of",
    "is_wrong_table",
    "leading_number",
    "line_of",
    "no_rows",
    "no_table",
    "ragged",
    "read_cells",
    "read_values",
    "readable",
    "renamed",
    "with_participants",
    "without_decimal_commas",
]
