from ._counts import Texts, as_tokens, count_matrix, ngrams, scale_rows
from ._topics import (
    CARD_FILE,
    SHIPPED,
    TABLE_FILE,
    TopicTable,
    checked_card,
    from_entries,
    load,
    save,
)

__all__ = [
    "CARD_FILE",
    "SHIPPED",
    "TABLE_FILE",
    "Texts",
    "TopicTable",
    "as_tokens",
    "checked_card",
    "count_matrix",
    "from_entries",
    "load",
    "ngrams",
    "save",
    "scale_rows",
]
