"""One thread for many small matrix products and factorisations.

A Cholesky factor of a few hundred rows takes a millisecond. On a machine whose cores are busy, the
threads of the BLAS library wait for each other, and the same takes a hundred times as long.
"""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from threadpoolctl import LibController, OpenBLASController, ThreadpoolController

_LOCK = threading.Lock()
_inside = 0
_libraries: list[LibController] = []
_before: list[tuple[LibController, int]] = []


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit linear algebra to one thread inside the block.

    Most libraries have one limit for the process: of several threads inside, the first to enter
    sets it, and the last to leave restores what was before. A library that runs on OpenMP has a
    limit for each thread, which each thread sets and restores for itself.

    Examples:
        >>> import numpy as np
        >>> with one_thread():
        ...     float(np.linalg.cholesky(np.eye(2))[0, 0])
        1.0
    """
    global _inside, _libraries
    with _LOCK:
        if _inside == 0:
            _libraries = ThreadpoolController().select(user_api="blas").lib_controllers
            _before.extend(_limited(lib for lib in _libraries if not _is_per_thread(lib)))
        _inside += 1
        own = _limited(lib for lib in _libraries if _is_per_thread(lib))
    try:
        yield
    finally:
        _restore(own)
        with _LOCK:
            _inside -= 1
            if _inside == 0:
                # threadpoolctl listens only to the thread that set a limit; the last to leave may
                # be another.
                OpenBLASController.clear_controlling_thread(force=True)
                _restore(_before)
                OpenBLASController.clear_controlling_thread()
                _before.clear()


def _is_per_thread(library: LibController) -> bool:
    return getattr(library, "threading_layer", None) == "openmp"


def _limited(libraries: Iterable[LibController]) -> list[tuple[LibController, int]]:
    """Limit libraries to one thread; what the limits were before."""
    before = [(library, library.num_threads) for library in libraries]
    for library, _ in before:
        library.set_num_threads(1)
    return before


def _restore(before: Iterable[tuple[LibController, int]]) -> None:
    for library, number in before:
        library.set_num_threads(number)
