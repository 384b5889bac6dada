"""Rows of logs as objects, whether they stand in JSON, JSONL, CSV or Parquet.

Tools export the same record in all of them. In CSV and often in Parquet, nested values are JSON in
a string; `_payloads.decoded` opens those.
"""

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
import polars as pl

from dialens.corpus._damage import DamagedFile
from dialens.corpus._intake import RecordError
from dialens.corpus._reading import UNREADABLE, as_record_error
from dialens.corpus._source import Record, Source, json_records
from dialens.corpus.readers._cells import csv_rows

_PARQUET = b"PAR1"
_OBJECT = msgspec.json.Decoder(dict[str, Any])


@dataclass(frozen=True)
class Row:
    """One object of a source, or why it cannot be read."""

    line: int
    content: dict[str, Any]
    problem: RecordError | None = None
    number: int = 0


def columns(source: Source) -> list[str]:
    """What the rows of a source are named: keys of the first object, or columns of a table."""
    if source.is_folder or not source.head:
        return []
    if source.head.startswith(_PARQUET):
        try:
            return list(pl.read_parquet_schema(source.path))
        except (pl.exceptions.PolarsError, OSError):
            return []
    if source.first is not None:
        return list(source.first)
    return header(source)


def header(source: Source) -> list[str]:
    """The cells of a CSV's first row; empty for what is no CSV."""
    line = source.head.split(b"\n", 1)[0].decode(errors="replace").rstrip("\r")
    if "\x00" in line or line[:1] in ("{", "["):
        return []
    try:
        return next(csv.reader([line]), [])
    except csv.Error:
        return []


def rows(source: Source) -> Iterator[Row]:
    """Every object of a source, in order."""
    if source.head.startswith(_PARQUET):
        return _parquet_rows(source)
    if source.head.lstrip()[:1] in (b"{", b"[") or source.first is not None:
        return _json_rows(source)
    return _csv_rows(source)


def _json_rows(source: Source) -> Iterator[Row]:
    for record in documents(source):
        try:
            if record.problem:
                raise record.problem
            yield Row(record.line, _OBJECT.decode(record.raw), number=record.number)
        except UNREADABLE as error:
            yield Row(record.line, {}, as_record_error(error, record), record.number)


def documents(source: Source) -> Iterator[Record]:
    """The JSON values of a file; one that is the whole file may be of any size.

    A log of an evaluation is one object with all samples in it, and not one conversation.
    """
    for record in json_records(source):
        if record.number == 1 and record.problem and not record.raw:
            whole = b"".join(source.chunks())
            try:
                msgspec.json.decode(whole, type=msgspec.Raw)
            except UNREADABLE:
                yield record
                continue
            yield Record(1, whole, number=1)
            return
        yield record


def _csv_rows(source: Source) -> Iterator[Row]:
    names: list[str] | None = None
    number = 0
    for line, cells, problem in csv_rows(source):
        if names is None:
            names = [cell.strip() for cell in cells]
            continue
        number += 1
        if problem is None and len(cells) != len(names):
            problem = RecordError(f"has {len(cells)} cells where the header has {len(names)}")
        yield Row(line, dict(zip(names, cells, strict=False)), problem, number)


def _parquet_rows(source: Source) -> Iterator[Row]:
    try:
        frames = pl.scan_parquet(source.path).collect_batches(chunk_size=1000, maintain_order=True)
        number = 0
        for frame in frames:
            for content in frame.iter_rows(named=True):
                number += 1
                yield Row(number, content, number=number)
    except (pl.exceptions.PolarsError, OSError) as error:
        raise DamagedFile(
            source.path,
            f"is not a whole Parquet file ({error})",
            "It was probably cut off while copying: fetch it again.",
        ) from error


def unit(source: Source) -> str:
    """What the place of a row counts."""
    return "row" if source.head.startswith(_PARQUET) else "line"
