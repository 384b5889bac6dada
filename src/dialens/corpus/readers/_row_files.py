"""Files of rows: Parquet, Arrow, CSV and JSON as a sample and a stream of rows, all alike.

Nothing is read as a whole. Of Parquet and Arrow only the columns of the shape and plain columns are
read: an image or an embedding beside a conversation is not carried along.
"""

import struct
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice

import msgspec
import polars as pl

from dialens.corpus._damage import DamagedFile, until_damage
from dialens.corpus._intake import RecordError
from dialens.corpus._read_options import ReadOptions
from dialens.corpus._reading import UNREADABLE, as_record_error
from dialens.corpus._source import Record, Source, json_records
from dialens.corpus.readers._arrow_stream import arrow_batches, is_arrow_stream
from dialens.corpus.readers._delimited import delimited_rows
from dialens.corpus.readers._shapes import Row, Shape, may_hold_conversations, shape_of

DECODING = (
    ValueError,
    OSError,
    struct.error,
    pl.exceptions.PolarsError,
    pl.exceptions.PanicException,
)
"""What decoding a damaged file of columns may raise, a panic of Polars among it."""
_SAMPLED = 20
_DELIMITERS = ",;\t"


@dataclass(frozen=True)
class RowFile:
    """A file of rows.

    Attributes:
        columns: Their names; of JSON, those of the first records.
        sample: The first rows.
        rows: Gives the place (row or line, from 1) of each row, and the row or what is wrong with
            it; it is told which columns are read.
        unit: What places count.
        options: What the user says of the columns.
    """

    columns: tuple[str, ...]
    sample: tuple[Row, ...]
    rows: Callable[[Sequence[str]], Iterator[tuple[int, Row | RecordError]]]
    unit: str
    options: ReadOptions

    @property
    def shape(self) -> Shape | None:
        """What its columns are, if they hold conversations."""
        return shape_of(self.columns, self.sample, self.options)


def row_file(source: Source) -> RowFile | None:
    """A file as rows, or None if it is no table and no JSON."""
    if source.head.startswith(b"PAR1"):
        return _parquet(source)
    if is_arrow_stream(source.head):
        return _arrow(source)
    if source.first is not None or source.head.lstrip()[:1] in (b"{", b"["):
        return _json(source)
    return _delimited(source)


def _parquet(source: Source) -> RowFile:
    from dialens.corpus.readers._parquet_rows import is_plain, parquet_rows, parquet_types

    try:
        types = parquet_types(source.path)
        sample = tuple(parquet_rows(source.path, types, list(types), limit=_SAMPLED))
    except ValueError as error:
        raise damaged(source, "Parquet", error) from error

    def rows(used: Sequence[str]) -> Iterator[tuple[int, Row | RecordError]]:
        plain = [name for name, kind in types.items() if name in used or is_plain(kind)]
        try:
            yield from enumerate(parquet_rows(source.path, types, plain), start=1)
        except ValueError as error:
            raise damaged(source, "Parquet", error) from error

    return RowFile(tuple(types), sample, rows, "row", source.options)


def _arrow(source: Source) -> RowFile:
    frames = _arrow_frames(source)
    first = next(frames, pl.DataFrame())

    def rows(used: Sequence[str]) -> Iterator[tuple[int, Row | RecordError]]:
        number = 0
        for frame in _arrow_frames(source):
            for row in plain_columns(frame, used).iter_rows(named=True):
                number += 1
                yield number, row

    sample = tuple(first.head(_SAMPLED).to_dicts())
    return RowFile(tuple(first.columns), sample, rows, "row", source.options)


def _arrow_frames(source: Source) -> Iterator[pl.DataFrame]:
    try:
        yield from arrow_batches(source.path)
    except DECODING as error:
        raise damaged(source, "Arrow", error) from error


def plain_columns(frame: pl.DataFrame, used: Sequence[str]) -> pl.DataFrame:
    """The columns that are read, and those of numbers, texts and times."""
    plain = [
        name
        for name, dtype in frame.schema.items()
        if name in used or not (dtype.is_nested() or dtype in (pl.Binary, pl.Object))
    ]
    return frame.select(plain)


def damaged(source: Source, what: str, error: BaseException) -> DamagedFile:
    """The message about a file that is not whole."""
    reason = str(error).splitlines()[0] if str(error) else type(error).__name__
    return DamagedFile(
        source.path,
        f"is not a whole {what} file ({reason})",
        "It was probably cut off while copying: fetch it again.",
    )


def _json(source: Source) -> RowFile:
    found = map(_decoded, until_damage(islice(json_records(source), _SAMPLED)))
    sample = [row for row in found if not isinstance(row, RecordError)]

    def rows(used: Sequence[str]) -> Iterator[tuple[int, Row | RecordError]]:
        for record in json_records(source):
            yield record.line, _decoded(record)

    columns = dict.fromkeys(key for row in sample for key in row)
    return RowFile(tuple(columns), tuple(sample), rows, "line", source.options)


def _decoded(record: Record) -> Row | RecordError:
    if record.problem:
        return record.problem
    try:
        return _OBJECT.decode(record.raw)
    except UNREADABLE as error:
        return as_record_error(error, record)


_OBJECT = msgspec.json.Decoder(dict[str, object])


def _delimited(source: Source) -> RowFile | None:
    line = source.head.split(b"\n", 1)[0].decode(errors="replace")
    for delimiter in _DELIMITERS:
        names = [cell.strip(' "\r') for cell in line.split(delimiter)]
        if not may_hold_conversations(names, source.options):
            continue
        header, sample = _delimited_sample(source, delimiter)
        if shape_of(header, sample, source.options) is not None:
            rows = partial(_delimited_rows, source, delimiter)
            return RowFile(tuple(header), tuple(sample), rows, "line", source.options)
    return None


def _delimited_sample(source: Source, delimiter: str) -> tuple[list[str], list[Row]]:
    flaws: dict[int, RecordError] = {}
    cells = until_damage(delimited_rows(source, delimiter, flaws))
    header = [cell.strip() for cell in next(cells, (1, []))[1]]
    return header, [_cells(header, row) for _, row in islice(cells, _SAMPLED)]


def _cells(header: Sequence[str], cells: Sequence[str]) -> Row:
    """A row by its columns; one without a name is the index that pandas writes."""
    return {name: cell for name, cell in zip(header, cells, strict=False) if name}


def _delimited_rows(
    source: Source, delimiter: str, used: Sequence[str]
) -> Iterator[tuple[int, Row | RecordError]]:
    flaws: dict[int, RecordError] = {}
    rows = delimited_rows(source, delimiter, flaws)
    header = [cell.strip() for cell in next(rows, (1, []))[1]]
    for line, cells in rows:
        flaw = flaws.pop(line, None)
        if flaw is None and len(cells) != len(header):
            flaw = RecordError(
                f"has {len(cells)} cells where the header has {len(header)}",
                remedy="Put quotes around cells that hold the delimiter, or leave such rows out "
                "with --on-error skip.",
            )
        yield line, flaw or _cells(header, cells)
