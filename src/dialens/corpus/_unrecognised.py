"""What to say of a source that no reader recognises: what it seems to be, and what would help."""

from dialens.corpus._columns import column_names, wrong_columns
from dialens.corpus._missing_header import first_table_rows, is_data, no_header
from dialens.corpus._source import Source

_KNOWN = (
    (
        b"PK\x03\x04",
        "an Excel or another zipped file",
        "Save the sheet as CSV (UTF-8) or Parquet; unpack an archive, and name the folder.",
    ),
    (b"\xd0\xcf\x11\xe0", "an old Excel or Word file", "Save the sheet as CSV (UTF-8)."),
    (b"%PDF", "a PDF", "Save the conversations as text, a line a turn: `Name: words`."),
    (b"SQLite format 3", "a SQLite database", "Export its table of messages as CSV or Parquet."),
    (b"\x89PNG", "a picture", "Name the file with the conversations."),
    (b"\xff\xd8\xff", "a picture", "Name the file with the conversations."),
)
_LIST = "Name the format with --format; `dialens formats` lists them with examples."


def unrecognised(source: Source) -> str:
    r"""The message about a source in no known format.

    Examples:
        >>> import tempfile
        >>> from pathlib import Path
        >>> path = Path(tempfile.mkdtemp()) / "x.csv"
        >>> _ = path.write_text("when,amount\n1,2\n3,4\n")
        >>> "Columns: when, amount." in unrecognised(Source(path))
        True
    """
    if source.is_folder:
        return f"{source.path} holds no file with conversations.\n{_LIST}"
    for magic, what, remedy in _KNOWN:
        if source.head.startswith(magic):
            return f"{source.path} is {what}, which dialens does not read. {remedy}"
    if b"\x00" in source.head:
        return f"{source.path} is a binary file in no format that dialens recognises.\n{_LIST}"
    rows = [list(source.first)] if source.first is not None else first_table_rows(source)
    if rows:
        header, *below = rows
        found = column_names(header, source.options)
        if not found.is_turns:
            if below and is_data(header, below):
                return f"{source.path} {no_header(header)}\nOr: {_LIST}"
            return f"{source.path} {wrong_columns(header, found)}\nOr: {_LIST}"
    begins = source.head[:80].decode(errors="replace")
    return (
        f"{source.path} is in no format that dialens recognises. It begins with: {begins!r}.\n"
        f"{_LIST}"
    )
