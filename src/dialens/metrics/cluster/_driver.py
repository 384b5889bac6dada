"""The driver: starts Spark, lets workers score what is missing, takes their batches in order."""

import errno
import math
import os
import re
import shutil
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from dialens.base import (
    Advance,
    DialensError,
    DialensWarning,
    counted,
    is_spark_error,
    not_written,
    spark_reason,
    start_spark,
    without_pandas_warning,
)
from dialens.metrics._engine import ScoredBatch
from dialens.metrics._parts import ScoringPlan
from dialens.metrics._scoring import BatchReading
from dialens.metrics.cluster._batches import Batches, pieces_of, tasks_of
from dialens.metrics.cluster._fetching import Fetched, fetch
from dialens.metrics.cluster._source import ClusterCorpus
from dialens.metrics.cluster._staging import Job, Staging, batch_of_dialogs
from dialens.metrics.cluster._worker import RESULT, score_task

_LOOKS_EVERY_S = 0.1
_APPEARS_WITHIN_S = 60.0  # a shared disk may show a file late
_LONELY_AFTER_S = 30.0
_LOOKS_FOR_WORKERS_EVERY_S = 1.0
_NO_PACKAGE = re.compile(r"ModuleNotFoundError: No module named '([^']+)'")
_NO_PROGRAM = re.compile(r'Cannot run program "([^"]+)"')
_FULL = "No space left on device"
_OURS = re.compile(r"dialens\.DialensError: (.+)")
_LEAST_HEAP = 512 * 2**20  # Spark refuses less than 450 MiB
_JAVA = "-XX:TieredStopAtLevel=1"
"""Java only moves rows here: compiling its code twice costs more than it brings."""
_PIECES = "bucket bigint, start bigint, end bigint, batch bigint, task int"


@contextmanager
def open_cluster(master: str, *, memory: int, scratch: Path) -> "Iterator[SparkCluster]":
    """Connect to a Spark master, or start Spark on this machine, for as long as the block takes.

    Args:
        master: `local[2]`, `spark://host:7077`, or another that Spark knows.
        memory: Bytes of the driver and of each executor. Java gets a quarter: what takes memory
            is the Python beside it.
        scratch: A folder for what Spark writes beside its results.

    Raises:
        DialensError: A package or Java is missing, or the master does not answer.
    """
    settings = {
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.adaptive.enabled": "false",  # how rows are spread is known
        "spark.sql.execution.arrow.maxRecordsPerBatch": "20000",
        # A task has as many cores as Spark says; what runs in it must not take all.
        "spark.executorEnv.POLARS_MAX_THREADS": "1",
        "spark.executorEnv.OMP_NUM_THREADS": "1",
    }
    session = start_spark(
        "dialens score",
        master=master,
        memory=max(_LEAST_HEAP, memory // 4),
        scratch=scratch,
        otherwise="--engine local",
        settings=settings,
        java_options=_JAVA,
        silent=True,
    )
    try:
        yield SparkCluster(session, master)
    finally:
        with suppress(Exception):  # Java may be gone already, and what broke down is told
            session.stop()
        shutil.rmtree(scratch, ignore_errors=True)


@dataclass
class SparkCluster:
    """A connection to Spark.

    Attributes:
        session: Of Spark.
        master: What the user called it.
    """

    session: Any
    master: str

    def fetch(self, address: str, folder: Path, advance: Advance) -> Fetched:
        """Copy what lies at an address to a folder of this machine that all machines see."""
        return fetch(self.session, address, folder, advance)

    def has_workers(self) -> bool:
        """Whether somebody is there to score: on this machine, or executors that have come."""
        known = self.session._jsc.sc().getExecutorMemoryStatus().size()  # the driver is one
        return self.master.startswith("local") or known > 1

    def name_of_driver(self) -> str:
        """What workers call this machine."""
        return str(self.session.sparkContext.getConf().get("spark.driver.host"))

    def versions(self) -> dict[str, str]:
        """Versions of Spark and of its Java."""
        java = self.session._jvm.java.lang.System.getProperty("java.version")
        return {"pyspark": self.session.version, "java": str(java)}

    def scored(
        self,
        plan: ScoringPlan,
        reading: BatchReading,
        advance: Advance,
        *,
        source: ClusterCorpus,
        output: Path,
        whole_turns: bool,
        say: Callable[[str], None] = lambda sentence: None,
    ) -> Iterator[ScoredBatch]:
        """The batches of a corpus in their order, as workers finish them.

        Args:
            plan: What is computed; its scorers are open.
            reading: How it reads the corpus.
            advance: Called with the number of turns just done.
            source: What is scored.
            output: The folder that will be written; what workers leave lies beside it.
            whole_turns: Whether replies that were cut off are left out.
            say: Called with a sentence on what an earlier run has scored.
        """
        batches = Batches.of(source, reading.rows)
        job = Job(
            plan,
            tuple(metric.signature for metric in plan.metrics),
            plan.failures,
            batches,
            reading.columns,
            reading.most_words,
            whole_turns,
            reading.references is not None,
        )
        staging = Staging.beside(output, source, job)
        lock = staging.open()
        try:
            wanted = staging.missing(batches)
            if known := len(batches) - len(wanted):
                were = "was" if known == 1 else "were"
                say(f"{known:,} of {len(batches):,} batches {were} scored before.")
            if len(batches) == 1:
                say("All turns are one batch, which one worker scores.")
            elif wanted:
                say(f"Spark has {len(wanted):,} batches to score; its workers start.")
            run = None
            if wanted:
                if reading.references is not None:
                    dialogs = batch_of_dialogs(source.corpus.turns, batches.starts)
                    staging.write_references(reading.references, dialogs)
                staging.write_job(job, threads=1)
                run = _Run(self, partial(self._task_rows, source, job, wanted), staging)
            for batch in range(len(batches)):
                if run is not None:
                    run.wait_for(staging.path(batch), output)
                yield staging.read(batch)
                advance(batches.height(batch))
        except BaseException:
            with suppress(Exception):  # Java may be gone already
                self.session.sparkContext.cancelAllJobs()
            staging.remove(unless_begun=True)
            if done := staging.finished():
                are = "is" if done == 1 else "are"
                warnings.warn(
                    f"{counted(done, 'finished batch', 'finished batches')} of {len(batches):,} "
                    f"{are} kept in {staging.folder}: the same command computes only the rest. "
                    "Delete that folder if it is not wanted.",
                    DialensWarning,
                    stacklevel=2,
                )
            raise
        finally:
            lock.close()

    def _task_rows(self, source: ClusterCorpus, job: Job, wanted: Sequence[int]) -> Any:
        """The rows of the batches that are wanted, whole batches a partition, in order."""
        from pyspark.sql import functions

        tasks = tasks_of(job.batches, wanted, self.session.sparkContext.defaultParallelism)
        pieces = [tuple(vars(piece).values()) for piece in pieces_of(job.batches, tasks)]
        table = self.session.createDataFrame(pieces, _PIECES)
        columns = list(dict.fromkeys([*job.columns, *(["meta"] if job.whole_turns else [])]))
        read = self.session.read.parquet(source.address)
        rows = read.select(*columns, functions.col("_metadata.row_index").alias("row"))
        rows = rows.withColumn("bucket", functions.expr(f"row div {job.batches.rows}"))
        rows = rows.join(functions.broadcast(table), "bucket").where("row >= start AND row < end")
        rows = rows.select(*columns, "row", "batch", "task")
        spread = rows.repartitionById(max(tasks.values()) + 1, "task").drop("task")
        return spread.sortWithinPartitions("row")


class _Run:
    """A Spark job in a thread, while the driver takes what it leaves."""

    def __init__(self, cluster: SparkCluster, rows: Callable[[], Any], staging: Staging) -> None:
        self._cluster = cluster
        self._looked_at = self._seen_at = time.monotonic()
        self._rows, self._folder = rows, str(staging.folder)
        self._error: BaseException | None = None
        self._thread = threading.Thread(target=self._collect, daemon=True)
        self._thread.start()

    def _collect(self) -> None:
        try:
            with without_pandas_warning():  # to find out the columns is a job of its own
                scored = self._rows().mapInArrow(partial(score_task, self._folder), RESULT)
            scored.collect()
        except BaseException as error:  # raised where the driver waits
            self._error = error

    def wait_for(self, path: Path, output: Path) -> None:
        """Wait until a file is there; the output is named where a disk is full.

        Raises:
            DialensError: Spark gave up, and why.
        """
        deadline = None
        while not path.exists():
            self._thread.join(_LOOKS_EVERY_S)
            if self._thread.is_alive():
                self._say_if_lonely()
                continue
            if self._error is not None:
                raise _explained(self._error, output) from self._error
            deadline = deadline or time.monotonic() + _APPEARS_WITHIN_S
            if time.monotonic() > deadline:
                raise DialensError(
                    f"The workers say that they wrote {path}, and it is not here. Choose an output "
                    "(-o) on a disk that all machines share."
                )
            time.sleep(_LOOKS_EVERY_S)

    def _say_if_lonely(self) -> None:
        """Say that no worker is there; Spark itself would wait for one without a word."""
        now = time.monotonic()
        if now - self._looked_at < _LOOKS_FOR_WORKERS_EVERY_S:
            return
        self._looked_at = now
        if self._cluster.has_workers():
            self._seen_at = now
        elif now - self._seen_at > _LONELY_AFTER_S:
            self._seen_at = math.inf  # once is enough, until some come and go again
            warnings.warn(
                f"The Spark master {self._cluster.master} has no worker for us. One is waited "
                "for; are its workers running, with a core and as much memory as --memory asks? "
                f"Do they find this machine as {self._cluster.name_of_driver()}? If not, set "
                "SPARK_LOCAL_IP to an address that they reach; executors that start and end at "
                "once say why in their stderr, beside the workers' logs.",
                DialensWarning,
                stacklevel=2,
            )


def _explained(error: BaseException, output: Path) -> BaseException:
    """What broke down, in a sentence with a remedy."""
    if isinstance(error, ConnectionError):
        return DialensError(
            "Spark has ended before it was done: its Java process is gone. Run the same command "
            "again."
        )
    if not is_spark_error(error):
        return error
    said = str(error)
    ours = _OURS.findall(said)
    if ours:
        return DialensError(ours[-1])
    if _FULL in said:
        return DialensError(not_written(OSError(errno.ENOSPC, _FULL), output))
    missing = _NO_PROGRAM.search(said)
    if missing is not None:
        return DialensError(
            f"Spark's workers cannot run {missing[1]}. Name a Python that is installed on all "
            "machines, with dialens[spark], in the environment variable PYSPARK_PYTHON."
        )
    package = _NO_PACKAGE.search(said)
    if package is not None:
        python = os.environ.get("PYSPARK_PYTHON", sys.executable)
        return DialensError(
            f"Spark's workers have no package {package[1].partition('.')[0]}: they run {python}. "
            "Install dialens[spark] for it on all machines, or name a Python that has it in the "
            "environment variable PYSPARK_PYTHON."
        )
    return DialensError(
        f"Spark could not finish: {spark_reason(error)}. Mend that (memory, disk, lost machines) "
        "and run the same command again."
    )
