"""Processes that work for a run, and end when it does, however it ends."""

import multiprocessing
import os
import threading


def end_with_parent() -> None:
    """Let this process end when the one that started it is gone; the initialiser of a pool.

    A pool whose parent was killed (kill -9, out of memory) would wait for work for ever.
    """
    threading.Thread(target=_wait_for_parent, daemon=True).start()


def _wait_for_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)  # nobody is left to report to, and files are whole or not there
