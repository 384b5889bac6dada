"""What a Python worker of Spark does: the engine's own work, batch by batch, into files.

A worker process opens the plan and its models at the first task and keeps them for the next ones.
Batches do not depend on the worker or on each other, so that whoever does one twice, after a lost
executor or as a speculative copy, leaves the same file.
"""

import platform
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from dialens.base import DialensError, one_thread
from dialens.corpus import TURNS, Corpus
from dialens.metrics._engine import BatchScorer
from dialens.metrics.cluster._graphics_cards import take_assigned_card
from dialens.metrics.cluster._staging import Job, Staging

if TYPE_CHECKING:
    import pyarrow as pa

RESULT = "batch bigint, rows bigint"
"""What a task gives back to Spark."""

_opened: dict[str, "Worker"] = {}


def score_task(folder: str, arrived: "Iterable[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
    """Score the batches of a task, which come in order, and leave each as a file.

    Args:
        folder: The staging folder of the run.
        arrived: The rows of the batches, in order: columns of turns, `row` and `batch`.
    """
    import pyarrow as pa

    worker = _worker(folder)
    for number, turns in whole_batches(map(_frame, arrived)):
        worker.score(number, turns)
        done = [pa.array([number], pa.int64()), pa.array([turns.height], pa.int64())]
        yield pa.record_batch(done, names=["batch", "rows"])


def whole_batches(frames: Iterable[pl.DataFrame]) -> Iterator[tuple[int, pl.DataFrame]]:
    """Rows that come in any pieces, batch by batch, without the columns `row` and `batch`.

    Examples:
        >>> frame = pl.DataFrame({"batch": [3, 3, 4], "row": [0, 1, 2], "text": ["a", "b", "c"]})
        >>> [(n, rows["text"].to_list()) for n, rows in whole_batches(frame.iter_slices(1))]
        [(3, ['a', 'b']), (4, ['c'])]
    """
    waiting: list[pl.DataFrame] = []
    for frame in frames:
        for part in frame.partition_by("batch", maintain_order=True):
            if waiting and waiting[0]["batch"][0] != part["batch"][0]:
                yield _joined(waiting)
                waiting = []
            waiting.append(part)
    if waiting:
        yield _joined(waiting)


def _joined(parts: list[pl.DataFrame]) -> tuple[int, pl.DataFrame]:
    return int(parts[0]["batch"][0]), pl.concat(parts).drop("batch", "row")


def _frame(batch: "pa.RecordBatch") -> pl.DataFrame:
    frame = pl.from_arrow(batch)
    assert isinstance(frame, pl.DataFrame)
    return frame.cast({name: kind for name, kind in TURNS.items() if name in frame.columns})


def _worker(folder: str) -> "Worker":
    """The worker of this process for a run; one for another run is closed."""
    if folder not in _opened:
        from pyspark import TaskContext

        _opened.clear()
        take_assigned_card(TaskContext.get())
        _opened[folder] = Worker(Staging(Path(folder)))
    return _opened[folder]


class Worker:
    """Scores batches of a run in this process.

    Args:
        staging: The folder of the run.

    Raises:
        DialensError: The folder is not seen from here, or what is installed here differs.
    """

    def __init__(self, staging: Staging) -> None:
        try:
            job = staging.read_job()
        except OSError as error:
            raise DialensError(
                f"A worker on {platform.node()} cannot read {staging.folder} "
                f"({error.strerror}). Choose an output (-o) on a disk that all machines share."
            ) from error
        except DialensError as error:
            raise DialensError(
                f"A worker on {platform.node()}, {sys.executable}: {error}"
            ) from None
        self._staging, self._job = staging, job
        warnings.simplefilter("ignore")  # the driver has seen the same, and says it
        self._scorer = self._opened_scorer(job)

    def _opened_scorer(self, job: Job) -> BatchScorer:
        def texts() -> list[str]:
            table = self._staging.references().select("text").drop_nulls().sort("text")
            return [text for text in table.collect()["text"].to_list() if text.strip()]

        with one_thread():
            job.plan.scorers.prepare(job.plan.families.values(), texts)
            scorer = BatchScorer(job.plan, most_words=job.most_words)
        for metric, expected in zip(job.plan.metrics, job.signatures, strict=True):
            if metric.signature != expected:
                why = job.plan.failures.get(metric.name)
                raise DialensError(
                    f"A worker on {platform.node()} cannot compute {metric.name} as the driver "
                    f"would: {why or f'{metric.signature} is not {expected}'}. Install the same "
                    "packages and models on all machines."
                )
        return scorer

    def score(self, number: int, turns: pl.DataFrame) -> None:
        """Score a batch and leave it, unless it is there."""
        job = self._job
        if self._staging.path(number).exists():
            return
        expected = job.batches.height(number)
        if turns.height != expected:
            raise DialensError(
                f"Spark gave {turns.height:,} of the {expected:,} turns of batch {number:,}: a "
                "file of the corpus was changed. Run the same command again."
            )
        if job.whole_turns:
            corpus = Corpus(turns.lazy(), pl.LazyFrame(), pl.LazyFrame())
            turns = corpus.whole_turns().turns.collect()
        references = None
        if job.reads_references:
            references = self._staging.references(number).collect()
        with one_thread():
            batch = self._scorer.see(turns.select(job.columns), references)
            scored = self._scorer.score(batch)
        fresh = {n: why for n, why in scored.sums.failures.items() if n not in job.failures}
        if fresh:
            name, why = next(iter(fresh.items()))
            raise DialensError(
                f"{name} broke down on a worker on {platform.node()}: {why}. Mend that, or leave "
                "the metric out (--metrics); finished batches are kept."
            )
        self._staging.write(number, scored)
