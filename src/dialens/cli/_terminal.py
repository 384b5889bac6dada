"""The terminal: a console that prints text as it is, and tables without lines."""

from collections.abc import Iterable

from rich.console import Console
from rich.table import Column, Table

_WIDEST = 10_000


def plain_console(*, stderr: bool = False) -> Console:
    """A console that takes nothing in a text for markup.

    Names of agents and qualities are the user's: `llama[instruct]` and `bot :fire:` are printed
    like that, where rich would read a style and an emoji.

    Examples:
        >>> plain_console().print("llama[instruct] [/b] :fire:")
        llama[instruct] [/b] :fire:
    """
    return Console(stderr=stderr, markup=False, emoji=False)


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
