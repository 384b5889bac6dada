"""Rows of a CSV file as dictionaries, for exports whose columns are not ours."""

import csv
from collections.abc import Iterator
from itertools import islice

from dialens.corpus._intake import Intake, RecordError, not_utf8
from dialens.corpus._source import MAX_RECORD_BYTES, Source, all_lines


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
    rows = csv.reader(_texts(source, broken), delimiter=delimiter, strict=True)
    limit = csv.field_size_limit(MAX_RECORD_BYTES)
    try:
        while True:
            line = rows.line_num + 1
            try:
                cells = next(rows)
            except StopIteration:
                return
            except csv.Error as error:
                broken.append(
                    RecordError(
                        f"cannot be taken apart into cells ({error})",
                        remedy="A quote inside a quoted cell is written twice, and every quoted "
                        "cell is closed. Mend the row, or leave it out with --on-error skip.",
                    )
                )
                cells = []
            problem = broken[0] if broken else None
            broken.clear()
            if cells or problem is not None:
                yield line, cells, problem
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
