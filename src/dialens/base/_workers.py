"""Work that waits for others, several pieces at a time, and that Ctrl-C ends at once."""

import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import TypeVar

T = TypeVar("T")

_LOOK_S = 0.2
_ENDING_S = 1.0


def work_through(
    items: Sequence[T],
    work: Callable[[T], None],
    *,
    at_once: int,
    stop: threading.Event | None = None,
    ended: Callable[[], None] = lambda: None,
) -> None:
    """Do a piece of work for each item in threads, and wait for all of them.

    The first failure ends it, as Ctrl-C does: what is under way gets a second to come to its end.
    Waiting looks up every now and then, because some libraries (Polars among them) let the system
    take up a wait again after a signal, and Python would not hear of it.

    Args:
        items: Taken in order.
        work: Done for each.
        at_once: How many are under way at a time.
        stop: Set when no more is to be begun, also for those who look at it during their work.
        ended: Called in the waiting thread after each.

    Examples:
        >>> done = []
        >>> work_through([3, 1, 2], done.append, at_once=2)
        >>> sorted(done)
        [1, 2, 3]
    """
    stopped = stop or threading.Event()
    waiting: queue.SimpleQueue[T] = queue.SimpleQueue()
    for item in items:
        waiting.put(item)
    results: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    def run() -> None:
        while not stopped.is_set():
            try:
                item = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                work(item)
            except BaseException as error:  # raised again in the thread that waits
                results.put(error)
                return
            results.put(None)

    threads = [threading.Thread(target=run, daemon=True) for _ in range(min(at_once, len(items)))]
    for thread in threads:
        thread.start()
    try:
        for _ in items:
            failure = _next(results)
            if failure is not None:
                raise failure
            ended()
    finally:
        stopped.set()
        latest = time.monotonic() + _ENDING_S
        for thread in threads:
            thread.join(max(latest - time.monotonic(), 0.0))


def _next(results: "queue.SimpleQueue[BaseException | None]") -> BaseException | None:
    while True:
        try:
            return results.get(timeout=_LOOK_S)
        except queue.Empty:
            continue
