"""Runs the steps of labelling on an engine, resuming where an earlier run was killed.

Everything an engine makes lies on disk as Parquet, in a folder a table, so that finished steps
can be found again and are the same for every engine. A step depends on the shards, the options and
all statements up to its own.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

import polars as pl

from dialens.base import Advance, StepChain
from dialens.engagement.curation._label_cycles import write_cycles
from dialens.engagement.curation._label_options import EngineOptions
from dialens.engagement.curation._label_output import parts_of, posts_a_slice, write_places
from dialens.engagement.curation._shard_scoring import Scorer, ShardPlan
from dialens.engagement.curation._steps import BY_NAME, statement
from dialens.engagement.curation._writing import writing_to


@dataclass(frozen=True)
class Partition:
    """Rows are written to a folder ``column=value`` for every value of a column, in any order.

    Attributes:
        column: Whose values are whole numbers.
        count: How many different ones there are.
    """

    column: str
    count: int


class Engine(Protocol):
    """DuckDB or Spark."""

    name: str

    def table(self, name: str, parts: Sequence[Path]) -> None:
        """Name Parquet files as a table."""

    def view(self, name: str, sql: str) -> None:
        """Name a query, to be computed where it is used."""

    def write(self, sql: str, folder: Path, by: Partition | None = None) -> None:
        """Run a query into Parquet files; ``ORDER BY`` holds over the files in order of names."""

    def score(
        self,
        texts: Sequence[Path],
        scorer: Scorer,
        plan: ShardPlan,
        folder: Path,
        advance: Advance,
    ) -> None:
        """Score texts (text_key, text; in the order of keys) into files (text_key, micro)."""

    def versions(self) -> dict[str, str]:
        """Versions of what computes."""

    def close(self) -> None:
        """Release memory and processes."""


def open_engine(options: EngineOptions, scratch: Path) -> Engine:
    """Start an engine.

    Args:
        options: Which, and with what.
        scratch: A folder for what does not fit in memory.

    Raises:
        DialensError: A package or Java is missing, or the cluster cannot be reached.
    """
    if options.engine == "spark":
        from dialens.engagement.curation._spark_engine import SparkEngine

        return SparkEngine(options, scratch)
    from dialens.engagement.curation._duckdb_engine import DuckdbEngine

    return DuckdbEngine(options, scratch)


@dataclass(frozen=True)
class FinishedTable:
    """A finished table: its rows, the time it took, and whether an earlier run had made it."""

    rows: int
    seconds: float
    reused: bool


@dataclass
class Runner:
    """Steps of one labelling.

    Attributes:
        engine: What computes.
        chain: Where tables and markers are kept, and what they depend on so far.
        tables: Finished ones by name.
        slices: The number of slices that posts fall into, once they are numbered.
    """

    engine: Engine
    chain: StepChain
    tables: dict[str, FinishedTable] = field(default_factory=dict)
    slices: int = 0

    def step(self, name: str, parameters: Mapping[str, object]) -> None:
        """Run a statement unless it is done; a view is only named."""
        sql = statement(name, parameters)
        self.chain.extend(name, sql)
        if BY_NAME[name].kind == "view":
            self.engine.view(name, sql)
            return
        column = BY_NAME[name].by
        by = None if column is None else Partition(column, self.slices)
        self._table(name, lambda folder: self.engine.write(sql, folder, by))

    def find_cycles(self, name: str, source: str) -> None:
        """Find the comments of a table that are part of a cycle."""
        self.chain.extend(name)
        self._table(name, lambda folder: write_cycles(self.parts(source), folder))

    def number_posts(self, name: str, source: str) -> None:
        """Number the posts of a table that is in their order, and divide them into slices."""
        posts = self.tables[source].rows
        rows = posts_a_slice(posts)
        self.slices = -(-posts // rows)
        self.chain.extend(name, rows)
        self._table(name, lambda folder: write_places(self.parts(source), folder, rows))

    def score(self, name: str, texts: str, scorer: Scorer | None, advance: Advance) -> None:
        """Score the texts of a table; without a scorer the table of scores is empty."""
        plan = ShardPlan.of(self.tables[texts].rows)
        self.chain.extend(name, scorer.signature if scorer else None, plan.digits)

        def write(folder: Path) -> None:
            if scorer is None or plan.texts == 0:
                empty = pl.DataFrame(schema={"text_key": pl.String, "micro": pl.Int64})
                empty.write_parquet(folder / "part-00000.parquet")
            else:
                self.engine.score(self.parts(texts), scorer, plan, folder, advance)

        self._table(name, write)

    def read(self, name: str) -> list[dict[str, Any]]:
        """The rows of a small table."""
        return pl.concat([pl.read_parquet(part) for part in self.parts(name)]).to_dicts()

    def folder(self, name: str) -> Path:
        """The folder of a table."""
        return self.chain.folder / name

    def parts(self, name: str) -> list[Path]:
        """The Parquet files of a table, in their order."""
        return parts_of(self.folder(name))

    def _table(self, name: str, write: Callable[[Path], None]) -> None:
        def work(folder: Path) -> dict[str, int]:
            write(folder)
            return {"rows": pl.scan_parquet(parts_of(folder)).select(pl.len()).collect().item()}

        with writing_to(self.chain.folder, kept="steps"):
            result = self.chain.run(name, work)
        self.tables[name] = FinishedTable(**result.content, reused=result.reused)
        self.engine.table(name, self.parts(name))
