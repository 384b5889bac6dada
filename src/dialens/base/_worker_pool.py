"""A pool of processes that report how far they are, and end when the run does."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Event
from typing import Final

from dialens.base._allocator import ALLOCATOR, keep_freed_memory
from dialens.base._progress import Advance
from dialens.base._worker_process import begin_worker, end_workers

_THREADS: Final = "POLARS_MAX_THREADS"


class _Worker:
    """What a worker process receives at its start: where to report progress, and when to stop."""

    progress: "SimpleQueue[int | None]"
    stop: Event


@contextmanager
def worker_pool(workers: int, advance: Advance) -> Iterator[ProcessPoolExecutor]:
    """A pool of processes; a block that fails stops them at once, one that ends waits for them.

    Args:
        workers: How many processes.
        advance: Called in a thread of this process with the steps that `report_step` is given in
            the workers.
    """
    context = multiprocessing.get_context("spawn")  # Polars does not survive a fork
    progress: SimpleQueue[int | None] = context.SimpleQueue()
    stop = context.Event()
    listener = threading.Thread(target=_listen, args=(progress, advance), daemon=True)
    listener.start()
    try:
        with (
            worker_environment(max(1, (os.cpu_count() or 1) // workers)),
            ProcessPoolExecutor(
                workers, mp_context=context, initializer=_begin, initargs=(progress, stop)
            ) as pool,
        ):
            try:
                yield pool
            except BaseException:
                stop.set()
                end_workers(pool)
                raise
    finally:
        progress.put(None)
        listener.join()


def report_step(step: int) -> None:
    """In a worker of `worker_pool`: say that so much more is done."""
    _Worker.progress.put(step)


def is_stopped() -> bool:
    """In a worker of `worker_pool`: whether the run was stopped, so that work is in vain."""
    return _Worker.stop.is_set()


def progress_steps(
    advance: Advance, stopped: Callable[[], None] = lambda: None
) -> Callable[[int], None]:
    """Positions in a file as the steps between them.

    Args:
        advance: Called with each step forward; going back is no step.
        stopped: Called with every position; raises once the run is stopped.

    Examples:
        >>> seen = []
        >>> report = progress_steps(seen.append)
        >>> report(10), report(25), report(5), seen
        (None, None, None, [10, 15])
    """
    before = 0

    def report(position: int) -> None:
        nonlocal before
        stopped()
        if position > before:
            advance(position - before)
            before = position

    return report


@contextmanager
def worker_environment(threads: int) -> Iterator[None]:
    """Set Polars' threads and allocator for processes started in the block.

    Settings of the user's own stay, and this process has its old ones back afterwards.

    Examples:
        >>> with worker_environment(2):
        ...     {"POLARS_MAX_THREADS", "_RJEM_MALLOC_CONF"} <= os.environ.keys()
        True
    """
    before = {name: os.environ.get(name) for name in (_THREADS, ALLOCATOR)}
    os.environ[_THREADS] = before[_THREADS] or str(threads)
    keep_freed_memory(os.environ)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value


def _listen(progress: "SimpleQueue[int | None]", advance: Advance) -> None:
    while (step := progress.get()) is not None:
        advance(step)


def _begin(progress: "SimpleQueue[int | None]", stop: Event) -> None:
    _Worker.progress, _Worker.stop = progress, stop
    begin_worker()
