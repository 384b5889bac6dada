"""Tables that are small as files and fill memory: rows that are only claimed, or all the same.

A dictionary and run lengths make a billion rows of a few kilobytes, compressed pages and buffers
say to what they unpack, and one long text may stand in every row. The file's own description and
the lengths of its texts tell before anything is read.
"""

import struct
from collections.abc import Iterator
from pathlib import Path

from dialens.base import DialensError
from dialens.corpus._unpacking import ANY_RATIO, Bomb, refuse_ratio

_PARQUET = b"PAR1"
_CELL_BYTES = 16
"""Of a text or a number in memory, beside the letters of the text."""


def refuse_row_bomb(path: Path, head: bytes) -> None:
    """Refuse a file of Parquet or Arrow that holds hundreds of times its size.

    A file that cannot be understood is left to its reader, which says what is wrong with it.
    """
    from dialens.corpus.readers import arrow_sizes, is_arrow_stream

    if head.startswith(_PARQUET):
        sizes = _parquet_sizes(path)
    elif is_arrow_stream(head):
        sizes = (cells * _CELL_BYTES + size for cells, size in arrow_sizes(path))
    else:
        return
    content = 0
    try:
        for size in sizes:
            content += size
            refuse_ratio(content, path.stat().st_size)
    except Bomb as error:
        raise row_bomb(path, error) from error
    except (ValueError, OSError, OverflowError, struct.error):
        return


def row_bomb(path: Path, error: Bomb) -> DialensError:
    """What is said of a table that holds far more than its file."""
    return DialensError(
        f"{path} is not read: {error}. If it is meant to be that large, write it as JSON lines "
        "and read those."
    )


def _parquet_sizes(path: Path) -> Iterator[int]:
    from dialens.corpus.readers import parquet_chunks, text_bytes

    chunks = parquet_chunks(path)
    yield sum(chunk.values * _CELL_BYTES + chunk.unpacked for chunk in chunks)
    # One text of a dictionary may stand in every row. How often is known by looking.
    if sum(chunk.values * chunk.unpacked for chunk in chunks if chunk.repeats) > ANY_RATIO:
        yield text_bytes(path)
