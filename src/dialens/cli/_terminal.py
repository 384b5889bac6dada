"""The terminal: text is printed as it is, steers nothing, and tables have no lines.

Names of agents, systems and qualities are the user's, or those of whoever wrote the file. Markup
is read in none of them: `llama[instruct]` and `bot :fire:` are printed like that. Nor does a
sequence in one reach the terminal: rich prints through the consoles made here, everything else
through the streams that `guard_streams` puts in place, and both write it as an escape. Both leave
secrets out.
"""

import sys
from collections.abc import Iterable
from typing import Any, TextIO, cast

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

from dialens.base import printable, without_secrets

_WIDEST = 10_000


class _GuardedConsole(Console):
    """A console in whose texts and cells nothing steers the terminal."""

    def render_str(self, text: str, **options: Any) -> Text:
        """Text as rich prints it."""
        return super().render_str(printable(without_secrets(text)), **options)


class GuardedStream:
    """A stream of text for `print`; rich, which has sequences of its own, writes to `original`."""

    def __init__(self, original: TextIO) -> None:
        """Over the stream that is written to."""
        self.original = original
        self.rich_proxied_file = original

    def write(self, text: str) -> int:
        """Write, with escapes for what would steer the terminal or cannot be encoded."""
        encoding = self.original.encoding or "utf-8"
        safe = (
            printable(without_secrets(text)).encode(encoding, "backslashreplace").decode(encoding)
        )
        self.original.write(safe)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        """Everything else is the stream's."""
        return getattr(self.original, name)


def guard_streams() -> None:
    """Let nothing that is printed steer the terminal."""
    sys.stdout = cast("TextIO", GuardedStream(sys.stdout))
    sys.stderr = cast("TextIO", GuardedStream(sys.stderr))


def plain_console(*, stderr: bool = False) -> Console:
    r"""A console that takes nothing in a text for markup.

    Examples:
        >>> plain_console().print("llama[instruct] [/b] :fire: \x1b[2J")
        llama[instruct] [/b] :fire: \x1b[2J
    """
    return _GuardedConsole(stderr=stderr, markup=False, emoji=False)


def marked_console(*, stderr: bool = False) -> Console:
    """A console for texts of our own with markup; what comes from elsewhere is to be escaped."""
    return _GuardedConsole(stderr=stderr, emoji=False)


def print_whole(table: Table) -> None:
    """Print a table; where it goes into a file or a pipe, however wide it is, without cuts.

    Examples:
        >>> table = plain_table("cell")
        >>> table.add_row("x" * 200)
        >>> print_whole(table)  # doctest: +ELLIPSIS
        cell...
        xxx...xxx
    """
    console = plain_console()
    if not console.is_terminal:
        console.width = max(console.width, _WIDEST)
    console.print(table)


def plain_table(*heads: str | Column, numbers: Iterable[str] = ()) -> Table:
    """A table without lines; the heads of columns with numbers, which stand to the right, last.

    Examples:
        >>> table = plain_table("agent", numbers=["turns"])
        >>> table.add_row("blunt", "12")
        >>> plain_console().print(table)
        agent  turns
        blunt     12
    """
    right = (Column(head, justify="right") for head in numbers)
    return Table(*heads, *right, box=None, pad_edge=False)
