"""Archives as pieces of bytes; the packing is detected by content, not by name.

No file is trusted with memory or disk: pieces are small however well they were packed, and an
archive that unpacks to hundreds of times its size (98 kB can become 3 GB) is refused.
"""

import bz2
import lzma
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Protocol

import zstandard

from dialens.base import DialensError

DAMAGE = (EOFError, OSError, lzma.LZMAError, zlib.error, zstandard.ZstdError)
"""What reading a broken archive raises."""

MAGIC_BYTES = 6
_UNPACKED = 1 << 20
_PACKED = 1 << 11  # one block of four bytes may become 128 KiB in zstandard
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


class _Decoder(Protocol):
    """Unpacks one member of an archive."""

    @property
    def eof(self) -> bool:
        """Whether its end was met."""
        ...

    @property
    def unused_data(self) -> bytes:
        """What follows it."""
        ...

    def decompress(self, data: bytes, /) -> bytes:
        """The content of the next bytes."""
        ...


def _zstandard() -> _Decoder:
    decoder = zstandard.ZstdDecompressor(max_window_size=_ZSTD_WINDOW)
    return decoder.decompressobj(write_size=_ZSTD_WRITE)


_DECODERS: dict[str, Callable[[], _Decoder]] = {
    "gzip": lambda: zlib.decompressobj(wbits=31),  # with gzip's header and checksum
    "bzip2": bz2.BZ2Decompressor,
    "xz": lzma.LZMADecompressor,
    "zstandard": _zstandard,
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
    for piece in _gathered(_members(raw, packing)):
        content += len(piece)
        refuse_ratio(content, raw.tell())
        yield piece


def _gathered(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Small pieces as larger ones; what came before a damage is given out before it is raised."""
    gathered: list[bytes] = []
    size = 0
    try:
        for piece in pieces:
            gathered.append(piece)
            size += len(piece)
            if size >= _UNPACKED:
                yield b"".join(gathered)
                gathered, size = [], 0
    except DAMAGE:
        if size:
            yield b"".join(gathered)
        raise
    if size:
        yield b"".join(gathered)


def _members(raw: IO[bytes], packing: str) -> Iterator[bytes]:
    """The content of all members that follow each other in an archive.

    One by one, because the readers of `zstandard`, `bz2` and `lzma` take a cut-off or damaged
    member for the end of the archive. What comes out is not bounded and a damage takes all that
    went in with it, so little goes in at a time.
    """
    new = _DECODERS[packing]
    decoder = new()
    begun = False
    while packed := raw.read(_PACKED):
        while packed:
            if not begun:
                packed = packed.lstrip(b"\0")  # tapes and `xz` fill up with zeros
                begun = bool(packed)
                continue
            yield from _content(decoder, packed)
            if not decoder.eof:
                break
            packed = decoder.unused_data
            decoder = new()
            begun = False
    if begun:
        raise EOFError("it ends before its content does")


def _content(decoder: _Decoder, packed: bytes) -> Iterator[bytes]:
    if isinstance(decoder, bz2.BZ2Decompressor | lzma.LZMADecompressor):
        yield decoder.decompress(packed, _UNPACKED)
        while not (decoder.eof or decoder.needs_input):
            yield decoder.decompress(b"", _UNPACKED)
    else:
        yield decoder.decompress(packed)
