"""Several dumps side by side: a process each, which ends when the run does, however it ends."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing.queues import SimpleQueue
from multiprocessing.synchronize import Event
from pathlib import Path
from typing import Final

from dialens.base import Advance, DialensError
from dialens.corpus import OnError
from dialens.engagement.curation._dump import Position
from dialens.engagement.curation._ingest_shards import Dump, ingest_dump
from dialens.engagement.curation._worker_process import end_with_parent

_THREADS: Final = "POLARS_MAX_THREADS"


class _Told:
    """What a worker process was given at its start: where to tell progress, when to stop."""

    progress: "SimpleQueue[int | None]"
    stop: Event


def steps(advance: Advance, stopped: Callable[[], bool] = lambda: False) -> Position:
    """Positions in a file as the steps between them; raises once the run is stopped.

    Examples:
        >>> seen = []
        >>> told = steps(seen.append)
        >>> told(10), told(25), seen
        (None, None, [10, 15])
    """
    before = 0

    def tell(position: int) -> None:
        nonlocal before
        if stopped():
            raise DialensError("Stopped, because another dump could not be read.")
        if position > before:
            advance(position - before)
            before = position

    return tell


def read_side_by_side(
    dumps: Sequence[Dump], work: Path, on_error: OnError, workers: int, advance: Advance
) -> None:
    """Ingest dumps in processes of their own; the first error stops them all, after its shards.

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
            _threads_each(max(1, (os.cpu_count() or 1) // workers)),
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
                pool.shutdown(cancel_futures=True)
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
def _threads_each(threads: int) -> Iterator[None]:
    """Let processes started meanwhile share the processors rather than take all of them each."""
    before = os.environ.get(_THREADS)
    os.environ[_THREADS] = before or str(threads)
    try:
        yield
    finally:
        if before is None:
            del os.environ[_THREADS]


def _begin(progress: "SimpleQueue[int | None]", stop: Event) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent takes it, and stops us
    _Told.progress, _Told.stop = progress, stop
    end_with_parent()


def _ingest(dump: Dump, work: Path, on_error: OnError) -> None:
    position = steps(_Told.progress.put, _Told.stop.is_set)
    ingest_dump(dump, work, on_error=on_error, position=position)
