"""The one kind of error a user is meant to read, and what goes into its message."""

import difflib
from collections.abc import Iterable


class DialensError(Exception):
    """Something the user can mend: what was seen, where, and the remedy, in one message.

    The command line prints it without a traceback and exits with status 2.
    """

    __module__ = "dialens"  # where users import it from, and what a traceback says


class DialensWarning(UserWarning):
    """Something the user should know that stops nothing; the command line prints it as a note."""

    __module__ = "dialens"


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A hint at the known name nearest to a mistaken one, or nothing.

    Examples:
        >>> did_you_mean("opnai", ["openai", "csv"]), did_you_mean("x", ["csv"])
        ('Did you mean openai? ', '')
    """
    near = difflib.get_close_matches(name, list(names), n=1)
    return f"Did you mean {near[0]}? " if near else ""


def first_line(error: BaseException) -> str:
    """What an error of a library says first; its name where it says nothing.

    Examples:
        >>> first_line(ValueError("no header.")), first_line(EOFError())
        ('no header', 'EOFError')
    """
    lines = str(error).strip().splitlines()
    return lines[0].rstrip(".") if lines else type(error).__name__
