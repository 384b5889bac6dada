"""Bytes of a source, whatever it is packed in, and the records in them with their line numbers."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path

import msgspec

from dialens.base import DialensError, as_text
from dialens.corpus._damage import DamagedFile, until_damage
from dialens.corpus._encoding import UTF8, as_utf8, encoding_of, with_line_feeds
from dialens.corpus._frame_json import frame_rows, may_be_frame
from dialens.corpus._intake import RecordError
from dialens.corpus._read_options import ReadOptions
from dialens.corpus._row_bombs import refuse_row_bomb
from dialens.corpus._unpacking import (
    DAMAGE,
    MAGIC_BYTES,
    Bomb,
    packing_of,
    remedy_of,
    unpacked_pieces,
)

MAX_RECORD_BYTES = 64 * 1024 * 1024
UNDECODABLE = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""What decoding JSON may raise: it is none, is not UTF-8, or is nested too deeply."""
_ZIP = b"PK\x03\x04"
_HEAD = 1 << 16
_SNIFFED = 20


@dataclass(frozen=True)
class Record:
    """The bytes of one record and the line on which it begins (from 1)."""

    line: int
    raw: bytes
    problem: RecordError | None = None
    number: int = 0
    """The place among the file's records (from 1), for those that have no id of their own."""


@dataclass(frozen=True)
class Source:
    """A file or folder to read conversations from.

    Attributes:
        path: Where it is.
        label: Replaces the stem where files of the same name are read from several folders.
        system: The name of its system where the source gives none; the stem if not given.
        agent: The name of its agent where the source gives none; that of the system if not given.
        options: What the user says of it.
        watch: Called with the position in the file, packed as it is, while it is read.
    """

    path: Path
    label: str | None = None
    system: str | None = None
    agent: str | None = None
    options: ReadOptions = field(default_factory=ReadOptions)
    watch: Callable[[int], None] | None = field(default=None, compare=False, repr=False)

    @cached_property
    def is_folder(self) -> bool:
        """Whether it is a folder."""
        return self.path.is_dir()

    @cached_property
    def stem(self) -> str:
        """The name without its endings, which ids and systems get where the source has none."""
        return as_text(self.label or self.path.name.split(".")[0] or self.path.name)

    @property
    def fallback_system(self) -> str:
        """The system's name where the source gives none."""
        return self.system or self.stem

    @property
    def fallback_agent(self) -> str:
        """The agent's name where the source gives none."""
        return self.agent or self.options.system or self.fallback_system

    @cached_property
    def head(self) -> bytes:
        """The first 64 KiB, unpacked, without a byte order mark; empty for a folder.

        Raises:
            DialensError: It is a table that holds far more than its file.
        """
        if self.is_folder:
            return b""
        head = next(self.chunks(), b"")[:_HEAD]
        refuse_row_bomb(self.path, head)
        return head

    @cached_property
    def first(self) -> dict[str, object] | None:
        """The first JSON object in the file (in its top-level array, if it is one), or None.

        Records that cannot be decoded are passed over: what they are wrong in is said later, by
        the reader of the format that the others show. A file that begins with something else (a
        log line) counts as JSON if half of its first lines are objects.
        """
        if self.is_folder or self.head.startswith(_ZIP):  # what it holds may stand there unpacked
            return None
        if self.head.lstrip()[:1] in (b"{", b"["):
            found = until_damage(islice(json_records(self), _SNIFFED))
            records = (_object(record.raw) for record in found)
            return next(filter(None, records), None)
        rows = [_object(row) for row in self.head.splitlines() if row.strip()]
        objects = [row for row in rows if row]
        return objects[0] if 2 * len(objects) >= len(rows) > 0 else None

    @cached_property
    def encoding(self) -> str:
        """How its text is encoded."""
        return UTF8 if self.is_folder else encoding_of(until_damage(self._bytes()))

    @cached_property
    def escapes_quotes(self) -> dict[str, bool]:
        """Whether a backslash escapes quotes in its cells, by delimiter, as far as is known yet."""
        return {}

    def chunks(self) -> Iterator[bytes]:
        """The unpacked text as UTF-8 in pieces; a damaged archive is an error that says where."""
        return with_line_feeds(as_utf8(self._bytes(), self.encoding))

    def _bytes(self) -> Iterator[bytes]:
        try:
            stream = self.path.open("rb")
        except OSError as error:
            raise DialensError(f"{self.path} cannot be read: {error.strerror}.") from error
        with stream:
            packing = packing_of(stream.read(MAGIC_BYTES))
            stream.seek(0)
            pieces = unpacked_pieces(stream, packing)
            done = 0
            while True:
                try:
                    chunk = next(pieces, None)
                except DAMAGE as error:
                    what = f"is damaged after {done:,} bytes of content ({error})"
                    if isinstance(error, Bomb):
                        raise DialensError(f"{self.path} {what}. {remedy_of(error)}") from error
                    # What is not just cut off was found out by a checksum after what it sums.
                    if done and not isinstance(error, EOFError):
                        what += ", and what was read of it may be wrong"
                    raise DamagedFile(self.path, what, remedy_of(error)) from error
                if chunk is None:
                    return
                done += len(chunk) or 1
                if self.watch is not None:
                    self.watch(stream.tell())
                yield chunk


def lines(source: Source) -> Iterator[Record]:
    r"""The lines that are not blank. One that is too long has a `problem` instead of bytes.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.txt"
        >>> _ = path.write_bytes(b"one\n\ntwo")
        >>> [(record.line, record.raw) for record in lines(Source(path))]
        [(1, b'one'), (3, b'two')]
    """
    count = 0
    for line, raw, problem in all_lines(source):
        if problem or (raw and not raw.isspace()):
            count += 1
            yield Record(line, raw.removesuffix(b"\r"), problem, count)


def all_lines(source: Source) -> Iterator[tuple[int, bytes, RecordError | None]]:
    """Every line, blank ones too, with its number; only the line feed at its end is taken off."""
    number = 1
    parts: list[bytes] = []
    size = dropped = 0
    for chunk in source.chunks():
        *ended, rest = chunk.split(b"\n")
        for piece in ended:
            parts.append(piece)
            yield number, *_joined(parts, dropped)
            parts, size, dropped = [], 0, 0
            number += 1
        parts.append(rest)
        size += len(rest)
        if size > MAX_RECORD_BYTES:
            parts, size, dropped = [], 0, dropped + size
    yield number, *_joined(parts, dropped)


def _joined(parts: list[bytes], dropped: int) -> tuple[bytes, RecordError | None]:
    raw = parts[0] if len(parts) == 1 else b"".join(parts)
    size = dropped + len(raw)
    return (b"", too_long(size)) if dropped or size > MAX_RECORD_BYTES else (raw, None)


def json_records(source: Source) -> Iterator[Record]:
    r"""The JSON values of a file: one a line, one after another, or the elements of one array.

    A data frame that pandas wrote as one object is given row by row.

    A value cut off by the end of the file is given as it is; decoding it says so.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "a.json"
        >>> _ = path.write_text('[{"a": 1},\n {"a": "]"}]')
        >>> [(record.line, record.raw) for record in json_records(Source(path))]
        [(1, b'{"a": 1}'), (2, b'{"a": "]"}')]
    """
    start = source.head.lstrip()
    rows = frame_rows(b"".join(source.chunks())) if may_be_frame(start) else None
    if rows is not None:
        encoded = enumerate(map(msgspec.json.encode, rows), start=1)
        return (Record(1, raw, number=number) for number, raw in encoded)
    if _STRAY_BRACKET.match(start) or _a_list_a_line(start):
        return lines(source)
    if start.startswith(b"[") or (start.startswith(b"{") and _spread_over_lines(start)):
        return json_values(source, depth=1 if start.startswith(b"[") else 0)
    return lines(source)


_STRAY_BRACKET = re.compile(rb"\[(?!\s*[{\]])[^\n]*[^,\[\s][^\S\n]*\n\s*\{")
"""A line such as ``[INFO] saved`` above a line with an object: not the beginning of an array."""


def _object(raw: bytes) -> dict[str, object] | None:
    """The JSON object in some bytes, or None."""
    try:
        value = msgspec.json.decode(raw)
    except UNDECODABLE:
        return None
    return value if isinstance(value, dict) else None


def _spread_over_lines(start: bytes) -> bool:
    first, newline, _ = start.partition(b"\n")
    if not newline:
        return False
    try:
        msgspec.json.decode(first)
    except UNDECODABLE:
        return first.rstrip()[-1:] in (b"{", b"[", b",")
    return False


def _a_list_a_line(start: bytes) -> bool:
    """Whether the first line is a whole list and another begins after it."""
    first, _, rest = start.partition(b"\n")
    if not (first.startswith(b"[") and rest.lstrip().startswith(b"[")):
        return False
    try:
        msgspec.json.decode(first)
    except UNDECODABLE:
        return False
    return True


_STRUCTURE = re.compile(rb'["\[\]{}]')
_IN_STRING = re.compile(rb'"|\\.', re.DOTALL)


def json_values(source: Source, *, depth: int) -> Iterator[Record]:
    """The objects and arrays at a nesting depth, cut out without decoding what is around them.

    At depth 1 these are the elements of an array at the top, at depth 2 those of an array in an
    object (and whatever else stands as deep), so that one long array need not fit into memory.
    """
    base, depth = depth, 0
    in_string = False
    line = 1
    count = 0
    parts: list[bytes] = []
    length = dropped = began = 0
    carry = b""
    for fresh in source.chunks():
        chunk = carry + fresh
        carry = b""
        start = at = counted = 0
        while True:
            match = (_IN_STRING if in_string else _STRUCTURE).search(chunk, at)
            if match is None:
                break
            at = match.end()
            mark = match.group()
            if mark == b'"':
                in_string = not in_string
            elif in_string:
                continue
            elif mark in b"[{":
                if depth == base:
                    start = match.start()
                    line += chunk.count(b"\n", counted, start)
                    counted = start
                    began, parts, length, dropped = line, [], 0, 0
                depth += 1
            else:
                depth -= 1
                if depth == base:
                    raw = b"".join(parts) + chunk[start:at]
                    size = dropped + len(raw)
                    large = dropped or size > MAX_RECORD_BYTES
                    count += 1
                    yield Record(
                        began, b"" if large else raw, too_long(size) if large else None, count
                    )
                    parts, length, dropped = [], 0, 0
        if in_string and chunk.endswith(b"\\") and at < len(chunk):
            chunk, carry = chunk[:-1], b"\\"  # an escape cut in two: look again with the rest
        line += chunk.count(b"\n", counted)
        if depth > base:
            parts.append(chunk[start:])
            length += len(parts[-1])
            if length > MAX_RECORD_BYTES:
                parts, length, dropped = [], 0, dropped + length
    if depth > base:
        problem = too_long(dropped + length) if dropped else None
        yield Record(began, b"" if dropped else b"".join(parts) + carry, problem, count + 1)
    elif depth > 0:
        cut = RecordError(
            "the file ends before its array is closed",
            remedy="It was probably cut off: fetch it again, or read what is whole "
            "with --on-error skip.",
        )
        yield Record(line, b"", cut, count + 1)


def too_long(size: int) -> RecordError:
    """The message about a record of `size` bytes, which is too long to be kept in memory."""
    return RecordError(
        f"holds a record of more than {MAX_RECORD_BYTES // 2**20} MiB ({size:,} bytes read)",
        remedy="One record is one conversation: split it, or leave it out with --on-error skip.",
    )
