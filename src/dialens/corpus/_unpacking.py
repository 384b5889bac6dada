"""Archives as pieces of bytes; the packing is detected by content, not by name."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from typing import IO

import zstandard

DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error, zstandard.ZstdError)
"""What reading a broken archive raises."""

MAGIC_BYTES = 6
_READ = 1 << 18
_UNPACKED = 1 << 20
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


def unpacked_pieces(raw: IO[bytes], packing: str) -> Iterator[bytes]:
    """The content in pieces; an archive that is cut off raises one of `DAMAGE`."""
    if packing == "zstandard":
        yield from _frames(raw)
        return
    # The file is the caller's to close, and these hold nothing else. `read1` gives what is there,
    # where `read` would lose what it had gathered before it came to a damage.
    opened: dict[str, Callable[[IO[bytes]], gzip.GzipFile | bz2.BZ2File | lzma.LZMAFile]] = {
        "gzip": lambda file: gzip.GzipFile(fileobj=file),
        "bzip2": bz2.BZ2File,
        "xz": lzma.LZMAFile,
    }
    read = raw.read if packing == "plain" else opened[packing](raw).read1
    while piece := read(_UNPACKED):
        yield piece


def _frames(raw: IO[bytes]) -> Iterator[bytes]:
    # Frame by frame, because zstandard's own reader takes the end of a cut-off archive for its end.
    decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    frame = decoder.decompressobj()
    begun = False
    while packed := raw.read(_READ):
        while packed:
            piece = frame.decompress(packed)
            begun = True
            if piece:
                yield piece
            if not frame.eof:
                break
            packed = frame.unused_data
            frame = decoder.decompressobj()
            begun = False
    if begun:
        raise EOFError("the archive ends before its last frame does")
