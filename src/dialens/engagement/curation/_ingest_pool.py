"""Dumps read in processes of their own, which end when the run does, however it ends."""

from collections.abc import Sequence
from concurrent.futures import as_completed
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path

from dialens.base import (
    Advance,
    DialensError,
    is_stopped,
    progress_steps,
    report_step,
    worker_pool,
)
from dialens.corpus import OnError
from dialens.engagement.curation._ingest_shards import Dump, ingest_dump


def ingest_in_processes(
    dumps: Sequence[Dump], work: Path, on_error: OnError, workers: int, advance: Advance
) -> None:
    """Ingest dumps in processes of their own; the first error stops them all.

    Finished shards are kept.

    Raises:
        DialensError: What was wrong with a dump, or that a process was killed.
    """
    try:
        with worker_pool(workers, advance) as pool:
            running = [pool.submit(_ingest, dump, work, on_error) for dump in dumps]
            for finished in as_completed(running):
                finished.result()
    except BrokenProcessPool as error:
        raise DialensError(
            "A process that was reading a dump was killed, probably because the memory was full "
            "(the decoder of a .zst archive holds 2 GB). Run the same command again with "
            "--workers 1: finished shards are kept."
        ) from error


def _ingest(dump: Dump, work: Path, on_error: OnError) -> None:
    position = progress_steps(report_step, _refuse_stopped)
    ingest_dump(dump, work, on_error=on_error, position=position)


def _refuse_stopped() -> None:
    if is_stopped():
        raise DialensError("Stopped, because another dump could not be read.")
