"""Dumps read in processes of their own, which end when the run does, however it ends."""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Final

from dialens.base import ALLOCATOR, Advance, DialensError, keep_freed_memory
from dialens.corpus import OnError
from dialens.engagement.curation._dump import Position
from dialens.engagement.curation._ingest_shards import Dump, ingest_dump
from dialens.engagement.curation._worker_process import begin_worker, end_workers

_THREADS: Final = "POLARS_MAX_THREADS"


class _Worker:
    """What a worker process receives at its start: where to report progress, and when to stop."""

    progress: "SimpleQueue[int | None]"
    stop: Event


def progress_steps(advance: Advance, stopped: Callable[[], bool] = lambda: False) -> Position:
    """Positions in a file as the steps between them; raises once the run is stopped.

    Examples:
        >>> seen = []
        >>> report = progress_steps(seen.append)
        >>> report(10), report(25), seen
        (None, None, [10, 15])
    """
    before = 0

    def report(position: int) -> None:
        nonlocal before
        if stopped():
            raise DialensError("Stopped, because another dump could not be read.")
        if position > before:
            advance(position - before)
            before = position

    return report


def ingest_in_processes(
    dumps: Sequence[Dump], work: Path, on_error: OnError, workers: int, advance: Advance
) -> None:
    """Ingest dumps in processes of their own; the first error stops them all.

    Finished shards are kept.

    Raises:
        DialensError: What was wrong with a dump, or that a process was killed.
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
                running = [pool.submit(_ingest, dump, work, on_error) for dump in dumps]
                for finished in as_completed(running):
                    finished.result()
            except BaseException:
                stop.set()
                end_workers(pool)
                raise
    except BrokenProcessPool as error:
        raise DialensError(
            "A process that was reading a dump was killed, probably because the memory was full "
            "(the decoder of a .zst archive holds 2 GB). Run the same command again with "
            "--workers 1: finished shards are kept."
        ) from error
    finally:
        progress.put(None)
        listener.join()


def _listen(progress: "SimpleQueue[int | None]", advance: Advance) -> None:
    while (step := progress.get()) is not None:
        advance(step)


@contextmanager
def worker_environment(threads: int) -> Iterator[None]:
    """Set Polars' threads and allocator for processes started in the block.

    Settings of the user's own stay, and this process has its old ones back afterwards.

    Examples:
        >>> with worker_environment(2):
        ...     "dirty_decay_ms:10000" in os.environ["_RJEM_MALLOC_CONF"]
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


def _begin(progress: "SimpleQueue[int | None]", stop: Event) -> None:
    _Worker.progress, _Worker.stop = progress, stop
    begin_worker()


def _ingest(dump: Dump, work: Path, on_error: OnError) -> None:
    position = progress_steps(_Worker.progress.put, _Worker.stop.is_set)
    ingest_dump(dump, work, on_error=on_error, position=position)
