r"""Quotes escaped by a backslash, as Spark, MySQL and Redshift write them, doubled as in RFC 4180.

In a quoted cell a backslash stands before a quote, a backslash, the end of a line or a delimiter
that belongs to the text; before anything else, and in a cell without quotes, it is itself.
"""

import csv
import re
from collections.abc import Iterable, Iterator

_INSIDE = re.compile(r'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
"""A quoted cell up to its closing quote, or as much of it as a line holds."""

_BACKSLASH = "\udc5c"
"""Stands for an escaped one: half of a surrogate pair, which no text has that was decoded."""


def doubled_quotes(lines: Iterable[str], delimiter: str) -> Iterator[str]:
    r"""Lines, with their line feeds, of which the same cells are read with quotes doubled.

    Raises:
        csv.Error: A cell goes on after its closing quote, as it does where quotes are doubled.

    Examples:
        >>> [line] = doubled_quotes(['C:\\,"C:\\\\","Say \\"Go!\\" now"\n'], ",")
        >>> line
        'C:\\,"C:\\","Say ""Go!"" now"\n'
    """
    mark = re.escape(delimiter)
    opening = re.compile(rf'(?:^|{mark})"')
    closed = re.compile(rf"{mark}|\r?\n|$")
    is_inside = False
    for line in lines:
        if not is_inside and '"' not in line:
            yield line
            continue
        parts = []
        at = 0
        while at < len(line):
            if is_inside:
                text = _INSIDE.match(line, at)
                end = text.end() if text else at
                parts.append(_doubled(line[at:end], delimiter))
                if end < len(line):
                    is_inside = False
                    parts.append('"')
                    end += 1
                    if not closed.match(line, end):
                        raise csv.Error(f"{delimiter!r} expected after '\"'")
            else:
                quote = opening.search(line, at)
                end = quote.end() if quote else len(line)
                parts.append(line[at:end])
                is_inside = quote is not None
            at = end
        yield "".join(parts)


def _doubled(text: str, delimiter: str) -> str:
    """A piece of a quoted cell without what escapes, and with doubled quotes."""
    if "\\" not in text:
        return text
    text = text.replace("\\\\", _BACKSLASH).replace('\\"', '""')
    if "\\" in text:
        for one in ("\r", "\n", delimiter):
            text = text.replace(f"\\{one}", one)
    return text.replace(_BACKSLASH, "\\")
