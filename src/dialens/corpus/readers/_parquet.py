"""Parquet and Arrow in our columns, with the same rules as CSV; errors name the row."""

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl

from dialens.corpus._checks import LINE
from dialens.corpus._intake import Intake
from dialens.corpus._source import Source
from dialens.corpus._tables import Tables
from dialens.corpus._tabular import read_rows
from dialens.corpus.readers._arrow_stream import arrow_batches, is_arrow_stream
from dialens.corpus.readers._row_files import DECODING, damaged

_MAGIC = b"PAR1"


@dataclass(frozen=True)
class ParquetReader:
    """Reads one Parquet or Arrow file."""

    name: str = "parquet"
    summary: str = (
        "Parquet or Arrow in our columns: dialog, text, role or speaker; others are filled in"
    )
    example: str = "(a Parquet file with the columns of the csv example)\n"

    def recognises(self, source: Source) -> bool:
        """Whether the file begins as Parquet or Arrow does."""
        return source.head.startswith(_MAGIC) or is_arrow_stream(source.head)

    def read(self, source: Source, intake: Intake) -> Iterator[Tables]:
        """Whole dialogues in batches."""
        rows, _ = rows_in(source)
        yield from read_rows(numbered(rows), source, intake, unit="row")


def rows_in(source: Source) -> tuple[pl.LazyFrame, pl.Schema]:
    """The rows of a file, and its columns.

    Raises:
        DamagedFile: It is not whole.
    """
    kind = "Parquet" if source.head.startswith(_MAGIC) else "Arrow"
    try:
        if kind == "Parquet":
            rows = pl.scan_parquet(source.path, glob=False, hive_partitioning=False)
        else:
            rows = pl.concat(arrow_batches(source.path)).lazy()
        return rows, rows.collect_schema()
    except DECODING as error:
        raise damaged(source, kind, error) from error


def numbered(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Rows with their numbers from 1, and names of columns in small letters."""
    names = {name: name.strip().lower() for name in rows.collect_schema()}
    counted = rows.rename(names).with_row_index(LINE, offset=1)
    return counted.with_columns(pl.col(LINE).cast(pl.Int64))


PARQUET = ParquetReader()
