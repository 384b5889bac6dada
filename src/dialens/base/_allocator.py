"""Allocators of memory: that of Polars, set in the environment before it is loaded, and glibc."""

import ctypes
import functools
import os
import sys
from collections.abc import MutableMapping
from typing import Final

ALLOCATOR: Final = "_RJEM_MALLOC_CONF"
_DECAY: Final = "dirty_decay_ms"
_KEEP: Final = f"{_DECAY}:10000"


def keep_freed_memory(environment: MutableMapping[str, str]) -> None:
    """Let Polars keep freed memory for ten seconds, unless the user has decided about it.

    By default it soon gives memory back to the system, only to ask for it again. Keeping it saves
    a third of the page faults of a Reddit dump and a tenth of the time of scoring a million turns.
    For processes of our own only: the commands, and the workers they start.

    Examples:
        >>> environment = {}
        >>> keep_freed_memory(environment)
        >>> environment
        {'_RJEM_MALLOC_CONF': 'dirty_decay_ms:10000'}
    """
    settings = environment.get(ALLOCATOR, "")
    of_polars = "polars" in sys.modules  # it writes its own before the user's; the last one counts
    if settings.count(_DECAY) <= of_polars:
        environment[ALLOCATOR] = ",".join(filter(None, (settings, _KEEP)))


def release_freed_memory() -> None:
    """Give memory that NumPy and Python freed back to the system, where that is glibc's to do.

    It keeps what lies between pieces that are in use, and over many batches that becomes a quarter
    of a long run's memory.

    Examples:
        >>> release_freed_memory()
    """
    trim = getattr(_c_library(), "malloc_trim", None)
    if trim is not None:
        trim(0)


@functools.cache
def _c_library() -> object:
    return ctypes.CDLL(None) if os.name == "posix" else None
