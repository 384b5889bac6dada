"""CSV and TSV in our columns, with ratings and references in files beside them.

Required are `dialog`, `text`, and `role` or `speaker`. What is missing is filled: `turn` by the
order of the rows, `role` from the speakers' names as in a transcript, `agent` from the agent's
speaker, `system` from the file's name. Columns that are not ours go to `meta`. An empty cell is
an empty text under `text` and nothing anywhere else. A time without a zone is taken to be UTC.

`NAME.ratings.csv` and `NAME.references.csv` beside `NAME.csv` are read with it.
"""

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import polars as pl

from dialens.base import DialensError
from dialens.corpus._checks import FLAW, LINE, MARKS
from dialens.corpus._columns import column_names, turn_columns
from dialens.corpus._intake import Intake, RecordError, message
from dialens.corpus._missing_header import first_table_rows, is_data, no_header
from dialens.corpus._source import Source
from dialens.corpus._tables import RATINGS, REFERENCES, TURNS, Tables
from dialens.corpus._tabular import gathered, read_rows
from dialens.corpus.readers._cells import csv_rows, note_escapes

_ROWS = 50_000
_BESIDE = {"ratings": RATINGS, "references": REFERENCES}
_NEEDED = {"ratings": ("dialog", "quality", "value"), "references": ("dialog", "turn", "text")}


@dataclass(frozen=True)
class DelimitedReader:
    """Reads text tables whose cells one of `delimiters` divides."""

    name: str
    summary: str
    example: str
    delimiters: str

    def recognises(self, source: Source) -> bool:
        """Whether the first line names columns of ours, or such as can be taken for them."""
        if {"prompt", "response"} & source.options.columns.keys():
            return False
        header = _header(source, self._delimiter(source))
        if len(header) < 2:
            return False
        ours = [name for name in header if name.lower() in TURNS]
        known = len(ours) > 1 and any(name.lower() in ("dialog", "text") for name in ours)
        return known or column_names(header, source.options).is_turns

    def read(self, source: Source, intake: Intake) -> Iterator[Tables]:
        """Whole dialogues in batches, then the ratings and references beside the file."""
        delimiter = self._delimiter(source)
        flaws: dict[int, RecordError] = {}
        header, frames = _table(source, delimiter, flaws)
        if not column_names(header, source.options).is_turns:
            _refuse_data(source, delimiter)
        turn_columns(header, source, intake)
        note_escapes(source, intake)
        size = source.path.stat().st_size
        with gathered(frames, _schema(header), size=size) as rows:
            yield from read_rows(rows, source, intake, flaws=flaws)
        for kind, schema in _BESIDE.items():
            path = beside(source.path, kind)
            if path.exists():
                yield from _read_beside(Source(path), kind, schema, delimiter, intake)

    def frames(self, source: Source, flaws: dict[int, RecordError]) -> Iterator[pl.DataFrame]:
        """The rows as text with `MARKS`; what is wrong with a row comes into `flaws`, by its line.

        Raises:
            DialensError: The header cannot be read, or names a column twice.
        """
        yield from _table(source, self._delimiter(source), flaws)[1]

    def _delimiter(self, source: Source) -> str:
        def matching(delimiter: str) -> tuple[int, int]:
            header = _header(source, delimiter)
            return sum(name.lower() in TURNS for name in header), len(header)

        return max(self.delimiters, key=matching)


def beside(path: Path, kind: str) -> Path:
    """Where the ratings or references of a CSV stand.

    Examples:
        >>> beside(Path("talks.csv.gz"), "ratings").name
        'talks.ratings.csv'
    """
    stem, dot, ending = path.name.removesuffix(".gz").rpartition(".")
    return path.with_name(f"{stem}.{kind}.{ending}" if dot else f"{ending}.{kind}.csv")


def _header(source: Source, delimiter: str) -> list[str]:
    """The names of the columns, as far as the file's first piece shows them.

    A name may hold a line feed in quotes; where a quote is left open, the first line counts.
    """
    text = source.head.decode(errors="replace")
    line = text.partition("\n")[0].rstrip("\r")
    if "\x00" in line:
        return []
    for rows, strict in ((io.StringIO(text, newline=""), True), ([line], False)):
        try:
            cells = next(csv.reader(rows, delimiter=delimiter, strict=strict), [])
        except csv.Error:
            continue
        return [cell.strip() for cell in cells]
    return []


def _refuse_data(source: Source, delimiter: str) -> None:
    """Refuse a table without a header."""
    rows = first_table_rows(source, delimiter)
    if rows and is_data(rows[0], rows[1:]):
        raise DialensError(f"{source.path} {no_header(rows[0])}")


def _schema(header: list[str]) -> pl.Schema:
    return pl.Schema([*((name, pl.String()) for name in header), *MARKS.items()])


def _table(
    source: Source, delimiter: str, flaws: dict[int, RecordError]
) -> tuple[list[str], Iterator[pl.DataFrame]]:
    """The header, and the rows as text; what is wrong with a row comes into `flaws`, by its line.

    Raises:
        DialensError: The header cannot be read, or names a column twice.
    """
    rows = delimited_rows(source, delimiter, flaws)
    line, cells = next(rows, (1, []))
    if line in flaws:
        raise DialensError(message(source.path, line, flaws[line]))
    header = [cell.strip() for cell in cells]
    repeated, count = Counter(map(str.lower, header)).most_common(1)[0] if header else ("", 0)
    if count > 1:
        error = RecordError("stands twice in the header", field=repeated, seen=", ".join(header))
        raise DialensError(message(source.path, line, error))
    return header, _frames(rows, header, flaws)


def _frames(
    rows: Iterator[tuple[int, list[str]]], header: list[str], flaws: dict[int, RecordError]
) -> Iterator[pl.DataFrame]:
    width = len(header)
    schema = _schema(header)
    while some := list(islice(rows, _ROWS)):
        for line, cells in some:
            if len(cells) != width:
                flaws.setdefault(line, _ragged(len(cells), width))
                cells[:] = [*cells[:width], *[""] * (width - len(cells))]
        lines, table = zip(*some, strict=True)
        columns: list[Iterable[object]] = list(zip(*table, strict=True))
        marks = [line in flaws for line in lines]
        yield pl.DataFrame([*columns, lines, marks], schema=schema, orient="col")


def _ragged(cells: int, width: int) -> RecordError:
    return RecordError(
        f"has {cells} cells where the header has {width}",
        remedy="Put quotes around cells that hold the delimiter, or leave such dialogs out "
        "with --on-error skip.",
    )


def delimited_rows(
    source: Source, delimiter: str, flaws: dict[int, RecordError]
) -> Iterator[tuple[int, list[str]]]:
    """The line and the cells of each row, the header's first; what is wrong comes into `flaws`."""
    for line, cells, problem in csv_rows(source, delimiter):
        if problem is not None:
            flaws[line] = problem
        yield line, cells


def _read_beside(
    source: Source, kind: str, schema: pl.Schema, delimiter: str, intake: Intake
) -> Iterator[Tables]:
    flaws: dict[int, RecordError] = {}
    frames = _table(source, delimiter, flaws)[1]
    note_escapes(source, intake)
    for frame in frames:
        frame = frame.rename(str.lower)
        for column in _NEEDED[kind]:
            if column not in frame.columns:
                error = RecordError("is missing", field=column, seen=", ".join(frame.columns))
                raise DialensError(message(source.path, 1, error))
        columns = [name for name in frame.columns if name in schema]
        frame = frame.with_columns(
            pl.when(pl.col(name) != "").then(name) for name in columns if name != "text"
        )
        typed = frame.with_columns(
            _typed(name, dtype) if name in columns else pl.lit(None, dtype).alias(name)
            for name, dtype in schema.items()
        )
        known = intake.known(frame["dialog"].drop_nulls().unique())
        strange = frame["dialog"].is_not_null() & ~frame["dialog"].is_in(known)
        bad = {name: frame[name].is_not_null() & typed[name].is_null() for name in columns}
        bad["dialog"] |= strange
        wrong = frame[FLAW]
        for name, rows in bad.items():
            for line, seen in frame.filter(rows & ~wrong).select(LINE, name).iter_rows():
                what = "is not in the turns" if name == "dialog" else "cannot be understood"
                intake.reject(source.path, line, RecordError(what, field=name, seen=seen))
            wrong |= rows
        for line in frame.filter(frame[FLAW])[LINE]:
            intake.reject(source.path, line, flaws[line])
        good = typed.filter(~wrong).select(schema.names())
        yield Tables.of(ratings=good) if kind == "ratings" else Tables.of(references=good)


def _typed(name: str, dtype: pl.DataType) -> pl.Expr:
    if isinstance(dtype, pl.Datetime):
        return pl.col(name).str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%:z", time_unit="us", strict=False)
    return pl.col(name).cast(dtype, strict=False)


_EXAMPLE = (
    ("dialog", "role", "speaker", "text"),
    ("d1", "partner", "Ann", "Hello!"),
    ("d1", "agent", "Bot", "Hello, how are you?"),
)

CSV = DelimitedReader(
    name="csv",
    summary="CSV in our columns: dialog, text, role or speaker; others are filled in",
    example="".join(",".join(f'"{cell}"' for cell in row) + "\n" for row in _EXAMPLE),
    delimiters=",;",
)
TSV = DelimitedReader(
    name="tsv",
    summary="As csv, with tabs",
    example="".join("\t".join(row) + "\n" for row in _EXAMPLE),
    delimiters="\t",
)
