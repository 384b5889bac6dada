"""Arrow IPC, batch by batch: the streams that `datasets` writes, and files.

Polars reads a stream as a whole. A stream is a sequence of messages, each with the length of its
body, so it can be cut before it is read: the schema (and dictionaries) with one batch at a time is
a small stream by itself. The layout is that of the Arrow columnar format, 1.5, "Encapsulated
message format", and of FlatBuffers.
"""

import io
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import polars as pl

_CONTINUATION = b"\xff\xff\xff\xff"
_END = _CONTINUATION + b"\x00\x00\x00\x00"
FILE_MAGIC = b"ARROW1"
_SCHEMA, _DICTIONARY, _BATCH = 1, 2, 3
_HEADER_TYPE, _HEADER, _BODY_LENGTH = 1, 2, 3
_FILE_START = 8


def arrow_batches(path: Path) -> Iterator[pl.DataFrame]:
    """The record batches of an Arrow stream or file, one after another.

    Raises:
        ValueError: The stream ends within a message, or is none.
        pl.exceptions.PolarsError: A message cannot be understood.
    """
    with path.open("rb") as stream:
        if stream.read(len(FILE_MAGIC)) == FILE_MAGIC:
            yield from pl.scan_ipc(path).collect_batches(chunk_size=2_000, maintain_order=True)
            return
        stream.seek(0)
        start = b""
        for kind, raw in _messages(stream):
            if kind == _BATCH:
                yield pl.read_ipc_stream(io.BytesIO(start + raw + _END))
            elif kind in (_SCHEMA, _DICTIONARY):
                start += raw
        if not start:
            raise ValueError("it holds no schema")


def is_arrow_stream(head: bytes) -> bool:
    """Whether bytes begin an Arrow stream or file.

    Examples:
        >>> out = io.BytesIO()
        >>> pl.DataFrame({"a": [1]}).write_ipc_stream(out)
        >>> is_arrow_stream(out.getvalue()), is_arrow_stream(b"A: hello")
        (True, False)
    """
    if head.startswith(FILE_MAGIC):
        return True
    if not head.startswith(_CONTINUATION) or len(head) < 16:
        return False
    try:
        return _kind_and_body(head[8:])[0] == _SCHEMA
    except struct.error:
        return False


def arrow_sizes(path: Path) -> Iterator[tuple[int, int]]:
    """The cells of every batch and the bytes that its buffers unpack to, from its description.

    Raises:
        ValueError: The stream ends within a message, or is none.
        struct.error: A message cannot be understood.
    """
    with path.open("rb") as stream:
        if stream.read(len(FILE_MAGIC)) == FILE_MAGIC:
            stream.seek(_FILE_START)  # from here on a file is a stream, with a table of contents
        else:
            stream.seek(0)
        while len(prefix := stream.read(8)) == 8 and prefix != _END:
            if prefix[:4] != _CONTINUATION:
                raise ValueError("a message does not begin where it should")
            metadata = _exactly(stream, struct.unpack_from("<i", prefix, 4)[0])
            kind, length = _kind_and_body(metadata)
            if length < 0:
                raise ValueError("a message ends before it begins")
            body = stream.tell()
            if kind in (_DICTIONARY, _BATCH):
                yield _batch_size(metadata, stream, body, dictionary=kind == _DICTIONARY)
            stream.seek(body + length)


def _batch_size(
    metadata: bytes, stream: IO[bytes], body: int, *, dictionary: bool
) -> tuple[int, int]:
    """The cells of a batch, and the bytes of its buffers when they are unpacked."""
    message: int = struct.unpack_from("<I", metadata, 0)[0]
    batch = _below(metadata, message, _HEADER)
    if dictionary:
        batch = _below(metadata, batch, 1)
    row_count = _place(metadata, batch, 0)
    rows = struct.unpack_from("<q", metadata, row_count)[0] if row_count else 0
    cells, size = rows, 0
    for length, _ in _pairs(metadata, batch, 1):
        cells += max(length, 0)
    packed = _place(metadata, batch, 3)
    for offset, length in _pairs(metadata, batch, 2):
        if packed and length >= 8 and offset >= 0:
            stream.seek(body + offset)
            unpacked = struct.unpack("<q", stream.read(8))[0]
            length = length if unpacked < 0 else unpacked
        size += max(length, 0)
    return max(cells, 0), size


def _place(data: bytes, table: int, number: int) -> int:
    """Where a field of a table stands; 0 if it has none."""
    offsets = table - struct.unpack_from("<i", data, table)[0]
    size: int = struct.unpack_from("<H", data, offsets)[0]
    entry = 4 + 2 * number
    within = struct.unpack_from("<H", data, offsets + entry)[0] if entry < size else 0
    return table + within if within else 0


def _below(data: bytes, table: int, number: int) -> int:
    """Where the table or vector begins that a field points to."""
    place = _place(data, table, number)
    if not place:
        raise ValueError("a batch has no description")
    at: int = place + struct.unpack_from("<I", data, place)[0]
    return at


def _pairs(data: bytes, table: int, number: int) -> Iterator[tuple[int, int]]:
    """The entries of a vector of pairs of numbers."""
    if not _place(data, table, number):
        return
    at = _below(data, table, number)
    for index in range(struct.unpack_from("<I", data, at)[0]):
        first, second = struct.unpack_from("<qq", data, at + 4 + 16 * index)
        yield first, second


def _messages(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """The type and the bytes of each message."""
    while prefix := stream.read(8):
        if prefix == _END:
            return
        if len(prefix) < 8 or prefix[:4] != _CONTINUATION:
            raise ValueError("a message does not begin where it should")
        metadata = _exactly(stream, struct.unpack_from("<i", prefix, 4)[0])
        try:
            kind, length = _kind_and_body(metadata)
        except struct.error:
            raise ValueError("it ends within a message") from None
        body = _exactly(stream, length)
        yield kind, prefix + metadata + body


def _exactly(stream: IO[bytes], length: int) -> bytes:
    """So many bytes; a length that the file does not have is not made room for."""
    here = stream.tell()
    if not 0 <= length <= stream.seek(0, io.SEEK_END) - here:
        raise ValueError("it ends within a message")
    stream.seek(here)
    return stream.read(length)


def _kind_and_body(metadata: bytes) -> tuple[int, int]:
    """What a message is, and how long its body is, from its table of fields."""
    table: int = struct.unpack_from("<I", metadata, 0)[0]
    kind, length = _place(metadata, table, _HEADER_TYPE), _place(metadata, table, _BODY_LENGTH)
    return (
        struct.unpack_from("<B", metadata, kind)[0] if kind else 0,
        struct.unpack_from("<q", metadata, length)[0] if length else 0,
    )
