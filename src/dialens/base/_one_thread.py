"""One thread for many small matrix products and factorisations.

A Cholesky factor of a few hundred rows takes a millisecond. On a machine whose cores are busy,
OpenBLAS's threads wait for each other, and the same takes a hundred times as long. NumPy's and
SciPy's wheels bring OpenBLAS along and offer no way to say so except its own functions.
"""

import ctypes
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

_PREFIXES = ("scipy_openblas_", "openblas_")
_SUFFIXES = ("64_", "")


_Control = tuple[Callable[[], int], Callable[[int], None]]

_LOCK = threading.Lock()
_inside = 0
_before: list[tuple[Callable[[int], None], int]] = []


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep linear algebra to one thread inside the block, where it can be told to.

    The setting is the whole process's. Several threads may be inside: the first to come sets it,
    the last to leave takes it back.

    Examples:
        >>> import numpy as np
        >>> with one_thread():
        ...     float(np.linalg.cholesky(np.eye(2))[0, 0])
        1.0
    """
    global _inside
    with _LOCK:
        if _inside == 0:
            loaded = tuple(name for name in ("numpy", "scipy") if name in sys.modules)
            for read, write in _controls(loaded):
                _before.append((write, read()))
                write(1)
        _inside += 1
    try:
        yield
    finally:
        with _LOCK:
            _inside -= 1
            if _inside == 0:
                for write, count in _before:
                    write(count)
                _before.clear()


@cache
def _controls(packages: tuple[str, ...]) -> list[_Control]:
    """How many threads each OpenBLAS uses, and how to change it; empty for other libraries."""
    found: list[_Control] = []
    for package in packages:
        home = Path(str(sys.modules[package].__file__)).parent
        for folder in (home.with_name(f"{home.name}.libs"), home / ".dylibs"):
            for path in sorted(folder.glob("*openblas*")) if folder.is_dir() else []:
                found += _functions(path)
    return found


def _functions(path: Path) -> list[_Control]:
    try:
        library = ctypes.CDLL(str(path))
    except OSError:
        return []
    for prefix in _PREFIXES:
        for suffix in _SUFFIXES:
            read = getattr(library, f"{prefix}get_num_threads{suffix}", None)
            write = getattr(library, f"{prefix}set_num_threads{suffix}", None)
            if read is not None and write is not None:
                read.restype, read.argtypes = ctypes.c_int, []
                write.restype, write.argtypes = None, [ctypes.c_int]
                return [(read, write)]
    return []
