"""Text that is not UTF-8: UTF-16 by its mark, Windows-1252 by what its bytes cannot be."""

import codecs
import re
from collections.abc import Iterable, Iterator
from itertools import islice

UTF8 = "utf-8"
_MARKS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_LOOKED_AT = 64  # pieces; of a larger file that has been ASCII so far no other is expected
_SEQUENCE = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_BEYOND_ASCII = re.compile(rb"[\x80-\xff]")
# Letters, quotation marks, dashes and signs that people type; not the five bytes without meaning,
# nor \xfe and \xff, which are what damaged and binary files are full of.
_TYPED = re.compile(
    rb"[\x80\x82\x84\x85\x8a\x8c\x8e\x91-\x97\x99\x9a\x9c\x9e-\xa9\xab\xae\xb0\xb2-\xb5\xb7"
    rb"\xb9-\xd6\xd8-\xdd\xdf-\xf6\xf8-\xfd]"
)


def encoding_of(pieces: Iterable[bytes]) -> str:
    r"""The encoding of a text that comes in pieces.

    UTF-8 unless there is a mark of UTF-16, or bytes that no UTF-8 has and every one of which is
    what someone would type in Windows-1252 (of which Latin-1 is a part). One damaged record in a
    file with good UTF-8 does not make it another.

    Examples:
        >>> encoding_of(["Größe".encode("cp1252")]), encoding_of(["Größe".encode()])
        ('cp1252', 'utf-8')
        >>> encoding_of([b"\xff\xfeH\x00i\x00"])
        'utf-16-le'
    """
    for number, piece in enumerate(islice(pieces, _LOOKED_AT)):
        if number == 0:
            for mark, name in _MARKS.items():
                if piece.startswith(mark):
                    return name
        if piece.isascii():
            if b"\x00" in piece:
                return UTF8
            continue
        if b"\x00" in piece or _SEQUENCE.search(piece):
            return UTF8
        beyond = len(_BEYOND_ASCII.findall(piece))
        return "cp1252" if beyond == len(_TYPED.findall(piece)) else UTF8
    return UTF8


def as_utf8(pieces: Iterable[bytes], encoding: str) -> Iterator[bytes]:
    """The same text in UTF-8, without a byte order mark."""
    if encoding == UTF8:
        first = True
        for piece in pieces:
            yield piece.removeprefix(codecs.BOM_UTF8) if first else piece
            first = False
        return
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    text = ""
    for number, piece in enumerate(pieces):
        text = decoder.decode(piece)
        yield (text.removeprefix("\ufeff") if number == 0 else text).encode()
    yield decoder.decode(b"", final=True).encode()


def with_line_feeds(pieces: Iterable[bytes]) -> Iterator[bytes]:
    r"""The same text with line feeds, where its lines end in carriage returns alone.

    Its first piece tells: text that has the one and not the other.

    Examples:
        >>> b"".join(with_line_feeds([b"A: hi\rB: ho\r"]))
        b'A: hi\nB: ho\n'
    """
    alone = False
    for number, piece in enumerate(pieces):
        if number == 0:
            alone = b"\r" in piece and b"\n" not in piece and b"\x00" not in piece
        yield piece.replace(b"\r", b"\n") if alone else piece
