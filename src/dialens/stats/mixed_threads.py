"""One thread for many small factorisations.

A Cholesky factor of a few hundred rows takes a millisecond. On a machine whose cores are busy,
OpenBLAS's threads wait for each other, and the same takes a hundred times as long. NumPy's and
SciPy's wheels bring OpenBLAS along and offer no way to say so except its own functions.
"""

import ctypes
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import numpy as np
import scipy

_PREFIXES = ("scipy_openblas_", "openblas_")
_SUFFIXES = ("64_", "")


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep linear algebra to one thread inside the block, where it can be told to.

    Examples:
        >>> with one_thread():
        ...     float(np.linalg.cholesky(np.eye(2))[0, 0])
        1.0
    """
    before = [read() for read, _ in _controls()]
    for _, write in _controls():
        write(1)
    try:
        yield
    finally:
        for (_, write), count in zip(_controls(), before, strict=True):
            write(count)


@cache
def _controls() -> list[tuple[Callable[[], int], Callable[[int], None]]]:
    """How many threads each OpenBLAS uses, and how to change it; empty for other libraries."""
    found: list[tuple[Callable[[], int], Callable[[int], None]]] = []
    for package in (np, scipy):
        home = Path(str(package.__file__)).parent
        for folder in (home.with_name(f"{home.name}.libs"), home / ".dylibs"):
            for path in sorted(folder.glob("*openblas*")) if folder.is_dir() else []:
                found += _functions(path)
    return found


def _functions(path: Path) -> list[tuple[Callable[[], int], Callable[[int], None]]]:
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
