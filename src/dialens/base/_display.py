"""Small tables for results that show themselves: as text, and as HTML in a notebook."""

import re
from collections.abc import Sequence
from html import escape

# What steers a terminal (but for line feed and tab), half surrogate pairs, which cannot be printed,
# and what turns the direction of the text around it.
_STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u202a-\u202e\u2066-\u2069]")


def printable(text: str) -> str:
    r"""Text for a terminal: whatever would steer it is written as an escape.

    A name may hold a sequence that retitles the window, moves the cursor or hides what follows.

    Examples:
        >>> print(printable("bot\x1b[2J\x07"))
        bot\x1b[2J\x07
    """
    return _STEERING.sub(lambda match: match.group().encode("unicode_escape").decode(), text)


def text_table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns side by side: the first to the left, numbers to the right.

    Examples:
        >>> print(text_table(["agent", "length"], [["bot", "3.0"], ["parrot", "12.5"]]))
        agent   length
        bot        3.0
        parrot    12.5
    """
    lines = [list(heads), *(list(row) for row in rows)]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )


def html_table(lead: str, heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A sentence and a table below it; whatever the cells hold is text, never HTML.

    Examples:
        >>> html_table("One agent", ["agent"], [["<b>"]])
        '<div><p>One agent</p><table><thead><tr><th>agent</th></tr></thead><tbody><tr><td>&lt;b&gt;\
</td></tr></tbody></table></div>'
    """
    said = f"<p>{escape(lead)}</p>" if lead else ""
    if not rows:
        return f"<div>{said}</div>"
    head = "".join(f"<th>{escape(cell)}</th>" for cell in heads)
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div>{said}{table}</div>"
