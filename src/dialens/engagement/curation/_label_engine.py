"""What labelling asks of a database: run a statement into Parquet files, and name tables.

Everything an engine makes lies on disk as Parquet, in a folder a table, so that finished steps
can be found again after a kill and are the same for every engine.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from dialens.base import Advance
from dialens.engagement.curation._label_options import EngineOptions
from dialens.engagement.curation._neural import Scorer, ShardPlan


@dataclass(frozen=True)
class Folders:
    """Rows are dealt out to a folder ``column=value`` for every value of a column, in any order.

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
        """Call Parquet files by a name."""

    def view(self, name: str, sql: str) -> None:
        """Call a query by a name, to be computed where it is used."""

    def write(self, sql: str, folder: Path, by: Folders | None = None) -> None:
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
        """Let go of memory and processes."""


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


def parts_of(folder: Path) -> list[Path]:
    """The Parquet files of a table, in their order."""
    return sorted(folder.rglob("*.parquet"))
