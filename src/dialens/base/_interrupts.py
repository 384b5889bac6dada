"""Ctrl-C that is heard while the program waits."""

import signal


def hear_interrupts() -> None:
    """Let Ctrl-C end waits for locks, queues and threads, as Python has it.

    Importing Polars installs a handler that lets the system take up such a wait again, and Python
    would not hear of the signal until the wait is over, which may be never. So Polars is imported
    here, and what it set is taken back; its own work can still be interrupted.
    """
    import polars  # noqa: F401

    if hasattr(signal, "siginterrupt"):  # not on Windows, where nothing is taken up again
        signal.siginterrupt(signal.SIGINT, True)
