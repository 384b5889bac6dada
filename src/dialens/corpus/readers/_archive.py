"""Members of a zip file, those packed with Zstandard too (method 93).

Python's `zipfile` knows that method from 3.14 on. Before that it still reads the directory, which
says where a member's bytes begin; they are unpacked as any other Zstandard file is.
"""

import io
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dialens.base import DialensError
from dialens.corpus._unpacking import DAMAGE, refuse_bomb, unpacked_pieces

MAGIC = b"PK\x03\x04"
_ZSTANDARD = 93
_LOCAL_HEADER = struct.Struct("<4s5HIIIHH")


class Archive:
    """A zip file that is open for reading."""

    def __init__(self, path: Path, file: zipfile.ZipFile) -> None:
        """Over an open zip file; `path` is for messages."""
        self.path = path
        self._file = file

    @property
    def names(self) -> list[str]:
        """What the members are called."""
        return list(dict.fromkeys(self._file.namelist()))

    def read(self, name: str) -> bytes:
        """A member, unpacked and checked; the last of those of one name, as zip files have it."""
        entry = self._file.getinfo(name)
        try:
            if entry.compress_type != _ZSTANDARD:
                return self._file.read(entry)
            return self._unpacked(entry)
        except (*DAMAGE, zipfile.BadZipFile, NotImplementedError, struct.error) as error:
            raise DialensError(
                f"{self.path} is damaged: its member {name} cannot be unpacked ({error}). "
                "It was probably cut off while copying: fetch it again."
            ) from error

    def _unpacked(self, entry: zipfile.ZipInfo) -> bytes:
        with self.path.open("rb") as stream:
            stream.seek(entry.header_offset)
            parts = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
            stream.seek(parts[-2] + parts[-1], io.SEEK_CUR)
            packed = stream.read(entry.compress_size)
        content = b"".join(unpacked_pieces(io.BytesIO(packed), "zstandard"))
        if zlib.crc32(content) != entry.CRC:
            raise zipfile.BadZipFile("its checksum is another one")
        return content


@contextmanager
def opened(path: Path) -> Iterator[Archive]:
    """A zip file; one that is broken is an error that names it."""
    try:
        file = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, NotImplementedError, ValueError) as error:
        raise DialensError(
            f"{path} is not a whole zip file ({error}). It was probably cut off while copying, or "
            "is still being written: fetch it again."
        ) from error
    with file:
        refuse_bomb(path, file)
        yield Archive(path, file)
