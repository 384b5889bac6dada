"""Rows of a CSV file as dictionaries, for exports whose columns are not ours."""

import csv
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice

from dialens.base import counted
from dialens.corpus._damage import until_damage
from dialens.corpus._intake import Intake, RecordError, not_utf8
from dialens.corpus._source import MAX_RECORD_BYTES, Source, all_lines
from dialens.corpus.readers._escapes import doubled_quotes


def header_of(source: Source) -> list[str]:
    """The names of the columns, as the first line has them; empty if it is no line of text."""
    line = source.head.split(b"\n", 1)[0].rstrip(b"\r")
    try:
        return next(csv.reader([line.decode()], strict=True), [])
    except (csv.Error, UnicodeDecodeError):
        return []


def first_rows(source: Source) -> list[list[str]]:
    """The header and the first row below it, as far as the file's first piece shows them."""
    text = source.head.decode(errors="replace").replace("\r\n", "\n")
    try:
        return list(islice(csv.reader(text.splitlines(keepends=True)), 2))
    except csv.Error:
        return []


def first_row(source: Source) -> dict[str, str]:
    """The first row below the header by its columns."""
    rows = first_rows(source)
    return dict(zip(*rows, strict=False)) if len(rows) == 2 else {}


def csv_rows(
    source: Source, delimiter: str = ","
) -> Iterator[tuple[int, list[str], RecordError | None]]:
    """The line on which each row begins, its cells, and what is wrong with it; no empty rows."""
    broken: list[RecordError] = []
    texts = _texts(source, broken)
    if escapes_quotes(source, delimiter):
        texts = doubled_quotes(texts, delimiter)
    rows = csv.reader(texts, delimiter=delimiter, strict=True)
    with _long_cells():
        while True:
            line = rows.line_num + 1
            below = 0
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                below = rows.line_num - line
                broken.append(_in_pieces(error, below))
                cells = []
            problem = broken[0] if broken else None
            if problem is not None:
                problem.below = below
            broken.clear()
            if cells or problem is not None:
                yield line, cells, problem


def _in_pieces(error: csv.Error, below: int) -> RecordError:
    """What is wrong with a row of which no cells can be made, and which takes in lines below it."""
    taken = f", and takes {counted(below, 'line')} below with it" if below else ""
    return RecordError(
        f"cannot be taken apart into cells ({error}){taken}",
        remedy="A quote inside a quoted cell is written twice, or after a backslash in the whole "
        "file, and every quoted cell is closed. Mend the row, or leave it out with "
        "--on-error skip.",
    )


def escapes_quotes(source: Source, delimiter: str) -> bool:
    """Whether a backslash stands before the quotes in a file's cells, rather than another quote.

    That is so where rows as RFC 4180 has them cannot be made of the file, and all of it is rows of
    one width if backslashes escape quotes.
    """
    known = source.escapes_quotes
    if delimiter not in known:
        known[delimiter] = (
            _has_escaped_quote(source)
            and not _is_table(_texts(source, []), delimiter)
            and _is_table(doubled_quotes(_texts(source, []), delimiter), delimiter)
        )
    return known[delimiter]


def note_escapes(source: Source, intake: Intake, name: str = "") -> None:
    """Say of a file, or of a table called `name`, that it was read with escaped quotes."""
    if any(source.escapes_quotes.values()):
        intake.note(
            f"{name or source.path.name}: quotes in cells are escaped by a backslash, as Spark "
            "writes them, and were read so."
        )


def _has_escaped_quote(source: Source) -> bool:
    """Whether a backslash stands before a quote anywhere, which takes less time than reading."""
    last = b""
    for chunk in until_damage(source.chunks()):
        if b'\\"' in chunk or (last == b"\\" and chunk.startswith(b'"')):
            return True
        last = chunk[-1:] or last
    return False


def _is_table(texts: Iterable[str], delimiter: str) -> bool:
    """Whether lines, up to a damage of their file, are rows with as many cells each."""
    rows = csv.reader(texts, delimiter=delimiter, strict=True)
    try:
        with _long_cells():
            widths = (len(row) for row in until_damage(rows) if row)
            first = next(widths, 0)
            return all(width == first for width in widths)
    except csv.Error:
        return False


@contextmanager
def _long_cells() -> Iterator[None]:
    """Lets cells be as long as records."""
    limit = csv.field_size_limit(MAX_RECORD_BYTES)
    try:
        yield
    finally:
        csv.field_size_limit(limit)


def table_rows(source: Source, intake: Intake) -> Iterator[tuple[int, dict[str, str]]]:
    """Each row with the line on which it begins; rows that cannot be read go to `intake`."""
    header: list[str] | None = None
    for line, cells, problem in csv_rows(source):
        if problem is not None:
            intake.reject(source.path, line, problem)
        if header is None:
            header = cells
        elif problem is not None:
            continue
        elif len(cells) != len(header):
            what = f"has {len(cells)} cells where the header has {len(header)}"
            intake.reject(source.path, line, RecordError(what, seen=",".join(cells)))
        else:
            yield line, dict(zip(header, cells, strict=True))
    note_escapes(source, intake)


def _texts(source: Source, broken: list[RecordError]) -> Iterator[str]:
    for _, raw, problem in all_lines(source):
        try:
            if problem:
                raise problem
            yield raw.decode() + "\n"
        except UnicodeDecodeError as error:
            broken.append(not_utf8(error))
            yield raw.decode(errors="replace") + "\n"
        except RecordError as error:
            broken.append(error)
            yield "\n"
