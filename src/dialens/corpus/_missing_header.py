"""Tables whose first row is data: the names of their columns are missing."""

import csv
import io
import re
from collections.abc import Sequence
from itertools import islice

from dialens.corpus._intake import shorten
from dialens.corpus._source import Source

_LOOKED_AT = 6
_DELIMITERS = ",;\t|"
_NUMBER = re.compile(r"[-+]?\d+(?:[.,]\d+)?(?:[eE][-+]?\d+)?")
_TIME = re.compile(r"(?:\d{4}-\d{1,2}-\d{1,2}|\d{1,2}[./]\d{1,2}[./]\d{2,4})\b.*", re.DOTALL)


def first_table_rows(source: Source, delimiters: str = _DELIMITERS) -> list[list[str]]:
    """The first rows of a text, header first, if all have as many cells, else nothing."""
    text = source.head.decode(errors="replace")
    for delimiter in delimiters:
        try:
            rows = list(islice(csv.reader(io.StringIO(text), delimiter=delimiter), _LOOKED_AT))
        except csv.Error:
            continue
        rows = [[cell.strip() for cell in row] for row in rows if row]
        if len(rows) > 1 and len({len(row) for row in rows}) == 1 and len(rows[0]) > 1:
            return rows
    return []


def is_data(first: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether the first row of a table holds numbers, times, or what stands below it again.

    Examples:
        >>> is_data(["c1", "0", "user", "Hi!"], [["c1", "1", "assistant", "Hello."]])
        True
        >>> is_data(["chat", "n", "who", "words"], [["c1", "1", "assistant", "Hello."]])
        False
    """
    columns = zip(first, *below, strict=True)
    return any(
        _NUMBER.fullmatch(cell) or _TIME.fullmatch(cell) or (cell and cell in others)
        for cell, *others in columns
    )


def no_header(first: Sequence[str]) -> str:
    """What to say of a table whose first row is data."""
    return (
        "is a table that seems to have no header: its first row looks like data "
        f"({shorten(', '.join(first))}).\n"
        "Write the names of the columns as the first line, or have them written (in Spark: "
        '.option("header", True)). Needed are text, and speaker or role; dialog tells '
        "conversations apart, turn says their order, and other columns may have any names."
    )
