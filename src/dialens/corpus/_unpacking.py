"""Archives as pieces of bytes; the packing is detected by content, not by name.

No file is trusted with memory or disk: pieces are small however well they were packed, and an
archive that unpacks to hundreds of times its size (98 kB can become 3 GB) is refused.
"""

import bz2
import gzip
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import zstandard

from dialens.base import DialensError

DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error, zstandard.ZstdError)
"""What reading a broken archive raises."""

MAGIC_BYTES = 6
_UNPACKED = 1 << 20
_ZSTD_READ = 1 << 11  # one block of four bytes may become 128 KiB
_ZSTD_WRITE = 1 << 15
_MOST_RATIO = 500
"""Conversations pack to a third or a tenth; the same line over and over to a two hundredth."""
ANY_RATIO = 1 << 28
"""Bytes that any file may unpack to."""
_ZSTD_WINDOW = 2**31  # the window of real Reddit dumps; a decoder holds about as much
_PACKINGS = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"\x28\xb5\x2f\xfd": "zstandard",
}
_SKIPPABLE_FRAME = range(0x184D2A50, 0x184D2A60)  # pzstd begins its archives with one


def packing_of(magic: bytes) -> str:
    r"""The packing that begins with these bytes, or `plain`.

    Examples:
        >>> packing_of(b"BZh9"), packing_of(b'{"id"')
        ('bzip2', 'plain')
    """
    if int.from_bytes(magic[:4], "little") in _SKIPPABLE_FRAME:
        return "zstandard"
    return next((name for mark, name in _PACKINGS.items() if magic.startswith(mark)), "plain")


class Bomb(OSError):
    """An archive that unpacks to far more than conversations would."""


def remedy_of(damage: Exception) -> str:
    """What to do about an archive that raised one of `DAMAGE`."""
    if isinstance(damage, Bomb):
        return "If it is meant to be that large, unpack it and read what comes out."
    return "It was probably cut off while copying: fetch it again."


def refuse_ratio(content: int, packed: int) -> None:
    """Refuse content that is out of all proportion to the file that holds it."""
    if content > max(ANY_RATIO, _MOST_RATIO * packed):
        raise Bomb(f"it unpacks to more than {_MOST_RATIO} times its size")


def refuse_bomb(path: Path, archive: zipfile.ZipFile) -> None:
    """Refuse a zip file whose members are together far larger than the file.

    Members may share their bytes, so it is the whole that counts.
    """
    try:
        refuse_ratio(sum(entry.file_size for entry in archive.infolist()), path.stat().st_size)
    except Bomb as error:
        raise DialensError(f"{path} is not read: {error}. {remedy_of(error)}") from error


def unpacked_pieces(raw: IO[bytes], packing: str) -> Iterator[bytes]:
    """The content in pieces; an archive that is cut off, or a bomb, raises one of `DAMAGE`."""
    if packing == "plain":
        while piece := raw.read(_UNPACKED):
            yield piece
        return
    content = 0
    for piece in _frames(raw) if packing == "zstandard" else _stream(raw, packing):
        content += len(piece)
        refuse_ratio(content, raw.tell())
        yield piece


def _stream(raw: IO[bytes], packing: str) -> Iterator[bytes]:
    # The file is the caller's to close, and these hold nothing else. `read1` gives what is there,
    # where `read` would lose what it had gathered before it came to a damage.
    opened: dict[str, Callable[[IO[bytes]], gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile]] = {
        "gzip": lambda file: gzip.GzipFile(fileobj=file),
        "bzip2": bz2.BZ2File,
        "xz": lzma.LZMAFile,
    }
    stream = opened[packing](raw)
    while piece := stream.read1(_UNPACKED):
        yield piece


def _frames(raw: IO[bytes]) -> Iterator[bytes]:
    # Frame by frame, because zstandard's own reader takes the end of a cut-off archive for its end.
    decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    frame = decoder.decompressobj(write_size=_ZSTD_WRITE)
    begun = False
    gathered: list[bytes] = []
    size = 0
    # What comes out is not bounded, so little goes in at a time.
    while packed := raw.read(_ZSTD_READ):
        while packed:
            piece = frame.decompress(packed)
            begun = True
            gathered.append(piece)
            size += len(piece)
            if size >= _UNPACKED:
                yield b"".join(gathered)
                gathered, size = [], 0
            if not frame.eof:
                break
            packed = frame.unused_data
            frame = decoder.decompressobj(write_size=_ZSTD_WRITE)
            begun = False
    if size:
        yield b"".join(gathered)
    if begun:
        raise EOFError("the archive ends before its last frame does")
