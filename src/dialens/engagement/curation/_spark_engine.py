"""Spark as the engine of labelling: the same statements on a cluster, or on this machine.

The shards and the output folder must be where every worker can read and write them, and dialens
must be installed on the workers for the models.
"""

import os
import re
import shutil
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from dialens.base import Advance, DialensError
from dialens.engagement.curation._label_options import EngineOptions
from dialens.engagement.curation._label_run import Partition
from dialens.engagement.curation._shard_scoring import Scorer, ShardPlan, cut, scored

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

_LEAST_JAVA: Final = 17
_ROWS_A_PARTITION: Final = 250_000
_LEAST_PARTITIONS: Final = 4
_VERSION: Final = re.compile(r'version "(\d+)')
_WORKERS_PYTHON: Final = "PYSPARK_PYTHON"
_LOGGING: Final = """\
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = Spark: %p %c{1}: %m%n
"""
"""Errors only: what Spark says at its start is not for users of a command line."""
_SCORES: Final = "text_key string, micro bigint"


class SparkEngine:
    """Statements run in Spark SQL; models in Spark's Python workers, by ``mapInArrow``."""

    name = "spark"

    def __init__(self, options: EngineOptions, scratch: Path) -> None:
        """Connect to the master, or start Spark on this machine."""
        try:
            with _without_pandas_warning():
                import pyarrow  # noqa: F401, Spark hands texts to models through it
                from pyspark.sql import SparkSession
        except ImportError as error:
            raise DialensError(
                f"--engine spark needs packages that are not installed ({error.name}): pip "
                f"install 'dialens[spark]'. Spark runs on Java {_LEAST_JAVA} or later."
            ) from error
        check_java()
        self._scratch = scratch
        self._session = _session(SparkSession, options, scratch)

    def table(self, name: str, parts: Sequence[Path]) -> None:
        """Name Parquet files as a table."""
        if name == "raw_comments":
            self._fit_shuffles(parts)
        self._read(parts).createOrReplaceTempView(name)

    def view(self, name: str, sql: str) -> None:
        """Name a query."""
        self._session.sql(sql).createOrReplaceTempView(name)

    def write(self, sql: str, folder: Path, by: Partition | None = None) -> None:
        """Run a query into Parquet files, named in the order of partitions."""
        column = by.column if by else None
        self._guarded(lambda: self._save(self._session.sql(sql), folder, column))

    def score(
        self,
        texts: Sequence[Path],
        scorer: Scorer,
        plan: ShardPlan,
        folder: Path,
        advance: Advance,
    ) -> None:
        """Score texts on the workers, each shard as a whole, so that batches are the same."""
        shards = 16**plan.digits
        spread = self._read(texts).selectExpr(
            "text_key", "text", f"substr(text_key, 1, {plan.digits}) AS shard"
        )
        spread = spread.repartition(min(shards, 4_096), "shard").sortWithinPartitions(
            "shard", "text_key"
        )
        with _without_pandas_warning():
            scores = spread.mapInArrow(_mapper(scorer, plan.digits), _SCORES)
        self._guarded(lambda: self._save(scores, folder))
        advance(plan.texts)

    def versions(self) -> dict[str, str]:
        """Versions of Spark and of its Java."""
        import pyspark

        java = self._session.sparkContext._jvm
        version = java.java.lang.System.getProperty("java.version") if java else "unknown"
        return {"pyspark": pyspark.__version__, "java": str(version)}

    def close(self) -> None:
        """Stop Spark."""
        self._session.stop()

    def _read(self, parts: Sequence[Path]) -> Any:
        return self._session.read.parquet(*(_address(part) for part in parts))

    def _save(self, frame: Any, folder: Path, by: str | None = None) -> None:
        target = _address(folder)
        if by is None:
            frame.write.mode("append").parquet(target)
        else:  # together first: or else every partition would leave a file in every folder
            frame.repartition(by).write.mode("append").partitionBy(by).parquet(target)

    def _fit_shuffles(self, parts: Sequence[Path]) -> None:
        rows = pl.scan_parquet(list(parts)).select(pl.len()).collect().item()
        partitions = max(_LEAST_PARTITIONS, -(-rows // _ROWS_A_PARTITION))
        self._session.conf.set("spark.sql.shuffle.partitions", str(partitions))

    def _guarded(self, work: Callable[[], None]) -> None:
        from pyspark.errors import PySparkException

        try:
            work()
        except PySparkException as error:
            raise DialensError(
                f"Spark could not finish a step: {_reason(error)}. Mend that, and run the same "
                "command again: finished steps are kept."
            ) from error
        except Exception as error:
            if type(error).__module__.partition(".")[0] != "py4j":
                raise
            raise DialensError(
                f"Spark could not finish a step: {_reason(error)}. Is there room on the disk and "
                "enough --memory? Run the same command again: finished steps are kept."
            ) from error


def check_java() -> None:
    """Make sure that there is a Java that Spark runs on.

    Raises:
        DialensError: There is none, or it is too old.
    """
    home = os.environ.get("JAVA_HOME")
    program = str(Path(home) / "bin" / "java") if home else "java"
    if shutil.which(program) is None:
        seen = f"JAVA_HOME is {home}" if home else "no java on the PATH"
        raise DialensError(
            f"--engine spark needs Java {_LEAST_JAVA} or later; {seen}. Install it (Debian: "
            "apt-get install openjdk-17-jre-headless), or use --engine duckdb."
        )
    printed = subprocess.run([program, "-version"], capture_output=True, text=True, check=False)
    match = _VERSION.search(printed.stderr + printed.stdout)
    if match is not None and int(match[1]) < _LEAST_JAVA:
        raise DialensError(
            f"--engine spark needs Java {_LEAST_JAVA} or later; {program} is Java {match[1]}. "
            "Install a later one or set JAVA_HOME to it."
        )


def _session(builder: "type[SparkSession]", options: EngineOptions, scratch: Path) -> Any:
    memory = f"{max(1, options.memory // 2**20)}m"
    settings = {
        "spark.driver.memory": memory,
        "spark.executor.memory": memory,
        "spark.ui.enabled": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.parquet.compression.codec": "lz4_raw",
        "spark.local.dir": str((scratch / "spill").absolute()),
        "spark.ui.showConsoleProgress": "false",
        # Whole numbers as DuckDB has them: an overflow is an error, not another number.
        "spark.sql.ansi.enabled": "true",
    }
    logging = scratch / "log4j2.properties"
    logging.write_text(_LOGGING, encoding="utf-8")
    settings["spark.driver.extraJavaOptions"] = (
        f"-Dlog4j2.configurationFile={logging.absolute().as_uri()}"
    )
    making = builder.builder.master(options.master or f"local[{options.threads}]")
    making = making.appName("dialens engagement label")
    if options.master is None or options.master.startswith("local"):
        settings["spark.driver.host"] = settings["spark.driver.bindAddress"] = "127.0.0.1"
    for name, value in settings.items():
        making = making.config(name, value)
    try:
        with _workers_python(), _without_pandas_warning():
            return making.getOrCreate()
    except Exception as error:
        raise DialensError(
            f"Spark did not start on {options.master or 'this machine'}: {_reason(error)}."
        ) from error


@contextmanager
def _without_pandas_warning() -> Iterator[None]:
    """Spark warns of pandas 3, which nothing here goes through."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "PySpark does not yet", FutureWarning)
        yield


@contextmanager
def _workers_python() -> Iterator[None]:
    """Let Spark's workers run this Python, unless the user has named another."""
    named = os.environ.get(_WORKERS_PYTHON)
    os.environ[_WORKERS_PYTHON] = named or sys.executable
    try:
        yield
    finally:
        if named is None:
            del os.environ[_WORKERS_PYTHON]


def _mapper(
    scorer: Scorer, digits: int
) -> "Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]":
    """What a worker does with the batches of its shards."""

    def score_batches(batches: "Iterator[pa.RecordBatch]") -> "Iterator[pa.RecordBatch]":
        import pyarrow as pa

        frames = (_frame(batch) for batch in batches if batch.num_rows)
        for _, table in cut(frames, digits):
            scores = scored(scorer, table)
            yield pa.record_batch(
                [
                    pa.array(scores["text_key"].to_list(), pa.string()),
                    pa.array(scores["micro"].to_numpy(), pa.int64()),
                ],
                names=["text_key", "micro"],
            )

    return score_batches


def _address(path: Path) -> str:
    """A path as Spark reads it: with the scheme, and nothing in it written as %20 or %3D."""
    return f"file://{path.absolute()}"


def _frame(batch: "pa.RecordBatch") -> pl.DataFrame:
    return pl.DataFrame(
        {
            "text_key": pl.Series(batch.column("text_key").to_pylist(), dtype=pl.String),
            "text": pl.Series(batch.column("text").to_pylist(), dtype=pl.String),
        }
    )


def _reason(error: Exception) -> str:
    """The line that says it: the last one of a worker's traceback, or else the first."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    lines = [line for line in lines if not line.startswith(("SQLSTATE", "at "))]
    if not lines:
        return type(error).__name__
    traced = any(line.startswith("Traceback") or "Traceback (" in line for line in lines)
    return (lines[-1] if traced else lines[0]).rstrip(".")
