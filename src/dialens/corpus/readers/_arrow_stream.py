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
_HEADER_TYPE, _BODY_LENGTH = 1, 3


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
    offsets = table - struct.unpack_from("<i", metadata, table)[0]
    size: int = struct.unpack_from("<H", metadata, offsets)[0]

    def place(number: int) -> int:
        entry = 4 + 2 * number
        within = struct.unpack_from("<H", metadata, offsets + entry)[0] if entry < size else 0
        return table + within if within else 0

    kind, length = place(_HEADER_TYPE), place(_BODY_LENGTH)
    return (
        struct.unpack_from("<B", metadata, kind)[0] if kind else 0,
        struct.unpack_from("<q", metadata, length)[0] if length else 0,
    )
