"""One thread for many small matrix products and factorisations.

A Cholesky factor of a few hundred rows takes a millisecond. On a machine whose cores are busy, the
threads of the BLAS library wait for each other, and the same takes a hundred times as long.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import OpenBLASController, threadpool_limits

_LOCK = threading.Lock()
_inside = 0
_limits: threadpool_limits | None = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit linear algebra to one thread inside the block.

    The limit is the whole process's. Several threads may be inside: the first to enter sets it, the
    last to leave restores what was before.

    Examples:
        >>> import numpy as np
        >>> with one_thread():
        ...     float(np.linalg.cholesky(np.eye(2))[0, 0])
        1.0
    """
    global _inside, _limits
    with _LOCK:
        if _limits is None:
            _limits = threadpool_limits(limits=1, user_api="blas")
        _inside += 1
    try:
        yield
    finally:
        with _LOCK:
            _inside -= 1
            if _inside == 0 and _limits is not None:
                # threadpoolctl listens only to the thread that set a limit; the last to leave may
                # be another.
                OpenBLASController.clear_controlling_thread(force=True)
                _limits.restore_original_limits()
                OpenBLASController.clear_controlling_thread()
                _limits = None
