"""Processes that work for a run, and end when it does, however it ends."""

import multiprocessing
import os
import signal
import threading
import time
from concurrent.futures import ProcessPoolExecutor
from types import FrameType

_ENDING_S = 1.0


def begin_worker() -> None:
    """Let this process end with the one that started it; the initialiser of a pool.

    A pool whose parent was killed (kill -9, out of memory) would wait for work for ever. Ctrl-C is
    the parent's to hear: it asks processes to stop, and files that are not whole are cleared away.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, _stopped)
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def end_workers(pool: ProcessPoolExecutor) -> None:
    """Stop the processes of a pool: at once, and by force where that takes longer than a second."""
    workers = list((getattr(pool, "_processes", None) or {}).values())  # public from 3.14 on
    pool.shutdown(wait=False, cancel_futures=True)
    for worker in workers:
        worker.terminate()
    latest = time.monotonic() + _ENDING_S
    for worker in workers:
        worker.join(max(latest - time.monotonic(), 0.0))
        if worker.is_alive():
            worker.kill()


def _stopped(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)  # not a traceback, where no work is under way


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # nobody is left to report to, and files are whole or not there
