"""The one kind of error a user is meant to read, and what goes into its message."""

import difflib
import errno
from collections.abc import Iterable
from pathlib import Path

from dialens.base._redaction import without_secrets


class DialensError(Exception):
    """Something the user can mend: what was seen, where, and the remedy, in one message.

    The command line prints it without a traceback and exits with status 2. Whatever it quotes, no
    secret of this process stands in it.
    """

    def __init__(self, *given: object) -> None:
        """With what is to be said."""
        super().__init__(*(without_secrets(one) if isinstance(one, str) else one for one in given))

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


def not_written(error: OSError, path: Path | str | None = None) -> str:
    """What the operating system refuses, as a sentence with a remedy.

    Examples:
        >>> not_written(PermissionError(13, "Permission denied", "/sys/x"))
        '/sys/x cannot be read or written: permission denied. Name another place, or see to its \
rights.'
        >>> not_written(OSError(28, "No space left on device"), "out")
        'out cannot be written: no space left on device. Name another place, or make room.'
    """
    place = path if path is not None else error.filename or "The output"
    room = error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
    remedy = "make room" if room else "see to its rights"
    why = (error.strerror or type(error).__name__).lower()
    what = "read or written" if path is None else "written"
    return f"{place} cannot be {what}: {why}. Name another place, or {remedy}."
