"""Spark as the engine of labelling: the same statements on a cluster, or on this machine.

The shards and the output folder must be where every worker can read and write them, and dialens
must be installed on the workers for the models.
"""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import polars as pl

from dialens.base import (
    Advance,
    DialensError,
    is_spark_error,
    spark_reason,
    start_spark,
    without_pandas_warning,
)
from dialens.engagement.curation._label_options import EngineOptions
from dialens.engagement.curation._label_run import Partition
from dialens.engagement.curation._shard_scoring import Scorer, ShardPlan, cut, scored

if TYPE_CHECKING:
    import pyarrow as pa

_ROWS_A_PARTITION: Final = 250_000
_LEAST_PARTITIONS: Final = 4
_SCORES: Final = "text_key string, micro bigint"


class SparkEngine:
    """Statements run in Spark SQL; models in Spark's Python workers, by ``mapInArrow``."""

    name = "spark"

    def __init__(self, options: EngineOptions, scratch: Path) -> None:
        """Connect to the master, or start Spark on this machine."""
        self._session = _session(options, scratch)

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
        with without_pandas_warning():
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
                f"Spark could not finish a step: {spark_reason(error)}. Mend that, and run the "
                "same command again: finished steps are kept."
            ) from error
        except Exception as error:
            if not is_spark_error(error):
                raise
            raise DialensError(
                f"Spark could not finish a step: {spark_reason(error)}. Is there room on the disk "
                "and enough --memory? Run the same command again: finished steps are kept."
            ) from error


def _session(options: EngineOptions, scratch: Path) -> Any:
    return start_spark(
        "dialens engagement label",
        master=options.master or f"local[{options.threads}]",
        memory=options.memory,
        scratch=scratch,
        otherwise="--engine duckdb",
        settings={
            "spark.sql.session.timeZone": "UTC",
            "spark.sql.execution.arrow.pyspark.enabled": "true",
            "spark.sql.parquet.compression.codec": "lz4_raw",
            # Whole numbers as DuckDB has them: an overflow is an error, not another number.
            "spark.sql.ansi.enabled": "true",
        },
    )


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
