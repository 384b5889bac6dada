"""How much memory a command may take, as people write it, and what is too little."""

import re
from typing import Final

from dialens.base._errors import DialensError

MEMORY: Final = 4 * 10**9
"""Bytes that commands take at most unless told otherwise."""
_SIZE: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?\s*", re.IGNORECASE)


def read_memory(text: str, *, least: int = 0) -> int:
    """Bytes from a size as people write it.

    Args:
        text: What stands after `--memory`.
        least: Bytes below which nothing can be done.

    Raises:
        DialensError: It is no size, or too little.

    Examples:
        >>> read_memory("4GB"), read_memory("512 MiB")
        (4000000000, 536870912)
        >>> read_memory("1MB", least=10**9)
        Traceback (most recent call last):
        dialens.DialensError: --memory 1MB is too little; give 1GB or more.
    """
    match = _SIZE.fullmatch(text)
    if match is None:
        raise DialensError(f"--memory takes a size such as 4GB or 2.5GB; seen: {text!r}.")
    number, unit, binary = match.groups()
    power = " KMGT".index(unit.upper() or " ")
    size = int(float(number) * (1024 if binary else 1000) ** power)
    if size < least:
        raise DialensError(
            f"--memory {text.strip()} is too little; give {least / 10**9:g}GB or more."
        )
    return size
