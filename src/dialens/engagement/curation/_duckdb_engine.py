"""DuckDB as the engine of labelling: one machine, out of core, memory capped."""

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import polars as pl

from dialens.base import Advance, DialensError, first_line
from dialens.engagement.curation._label_options import EngineOptions
from dialens.engagement.curation._label_output import MOST_SLICES
from dialens.engagement.curation._label_run import Partition
from dialens.engagement.curation._shard_scoring import Scorer, ShardPlan, cut, score_shards

_BATCH = 32_768
_ROWS_IN_HAND = 81_920  # of all folders together that rows are dealt out to
_GROUP_OF_A_FOLDER = 4_096
_DICTIONARY = 2_000
_SHARE = 5
_REST = 4 * 2**30
"""DuckDB gets one part in `_SHARE` of the memory that is allowed, or all but `_REST` where that is
more, and spills what does not fit. On top come Python, the buffers of Parquet files and what
allocators keep for later; and a slice of the posts at a time, which Polars sorts and writes."""


class DuckdbEngine:
    """Statements run in DuckDB; models in a pool of processes."""

    name = "duckdb"

    def __init__(self, options: EngineOptions, scratch: Path) -> None:
        """Open a database in memory that spills into `scratch`."""
        self._threads = options.threads
        self._read: list[Path] = []
        self._scores = scratch / "scores"
        spill = scratch / "spill"
        self._connection = duckdb.connect(
            config={
                "memory_limit": f"{max(options.memory // _SHARE, options.memory - _REST)}B",
                "threads": options.threads,
                "temp_directory": str(spill),
                # Rows without ORDER BY may come in any order: nothing is buffered to keep it.
                "preserve_insertion_order": False,
            }
        )
        for name, value in {
            "enable_progress_bar": "false",
            "partitioned_write_max_open_files": MOST_SLICES,
        }.items():
            self._connection.execute(f"SET {name} = {value}")

    def table(self, name: str, parts: Sequence[Path]) -> None:
        """Name Parquet files as a table."""
        self._read.extend(parts)
        files = ", ".join(_quoted(part) for part in parts)
        self.view(name, f"SELECT * FROM read_parquet([{files}])")

    def view(self, name: str, sql: str) -> None:
        """Name a query."""
        self._run(f"CREATE OR REPLACE VIEW {name} AS {sql}")

    def write(self, sql: str, folder: Path, by: Partition | None = None) -> None:
        """Run a query into one Parquet file, or into a folder for each value of a column."""
        # Ids and texts do not repeat: no dictionary of them is begun that would be thrown away. The
        # files are read once or twice and go: to pack them takes longer than to write them.
        how = f"FORMAT parquet, COMPRESSION uncompressed, DICTIONARY_SIZE_LIMIT {_DICTIONARY}"
        if by is None:
            self._run(f"COPY ({sql}) TO {_quoted(folder / 'part-00000.parquet')} ({how})")
        else:
            in_hand = _ROWS_IN_HAND // by.count
            self._run(f"SET partitioned_write_flush_threshold = {in_hand}")
            how += f", PARTITION_BY ({by.column}), OVERWRITE, ROW_GROUP_SIZE {_GROUP_OF_A_FOLDER}"
            self._run(f"COPY ({sql}) TO {_quoted(folder)} ({how})")

    def score(
        self,
        texts: Sequence[Path],
        scorer: Scorer,
        plan: ShardPlan,
        folder: Path,
        advance: Advance,
    ) -> None:
        """Score texts in a pool of processes; shards scored before are not done again."""
        shards = cut(_batches(texts, plan.texts), plan.digits)
        paths = score_shards(shards, scorer, self._scores, processes=self._threads, advance=advance)
        for number, path in enumerate(paths):
            shutil.copyfile(path, folder / f"part-{number:05d}.parquet")

    def versions(self) -> dict[str, str]:
        """The version of DuckDB."""
        return {"duckdb": duckdb.__version__}

    def close(self) -> None:
        """Close the database."""
        self._connection.close()

    def _run(self, sql: str) -> None:
        try:
            self._connection.execute(sql)
        except duckdb.OutOfMemoryException as error:
            raise DialensError(
                f"DuckDB needs more memory than --memory allows: {_cause(error)}. Give more, "
                "or fewer --threads, and run the same command again: finished steps are kept."
            ) from error
        except duckdb.IOException as error:
            raise DialensError(
                f"Labelling cannot go on: {_cause(error)}. Make room on the disk, and run the "
                "same command again: finished steps are kept."
            ) from error
        except (duckdb.ParserException, duckdb.BinderException, duckdb.CatalogException):
            raise  # a fault of ours
        except duckdb.Error as error:
            raise DialensError(
                f"{self._damaged() or 'A table'} cannot be read: {_cause(error)}. If a file "
                "is damaged, delete it and run `dialens engagement ingest` again, which makes what "
                "is missing, and then `dialens engagement label --force`."
            ) from error

    def _damaged(self) -> Path | None:
        """The first file that cannot be read to its end; DuckDB does not always name it."""
        for part in self._read:
            try:
                values = f"SELECT max(hash(COLUMNS(*))) FROM read_parquet({_quoted(part)})"
                self._connection.execute(values)
            except duckdb.Error:
                return part
        return None


def _batches(parts: Sequence[Path], rows: int) -> Iterator[pl.DataFrame]:
    table = pl.scan_parquet(list(parts))
    for start in range(0, rows, _BATCH):
        yield table.slice(start, _BATCH).collect()


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _cause(error: Exception) -> str:
    """What DuckDB says; of a text that it quotes, the beginning."""
    return textwrap.shorten(first_line(error), 300, placeholder=" …").rstrip(". ")
