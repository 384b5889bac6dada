"""Dumps as bytes: unpacked in a thread ahead of the reader, and split into blocks of whole lines.

Where a block ends depends on the content alone (the first line end after a number of bytes, or a
number of lines), never on how the bytes arrived, so that shards are the same however often a run
was interrupted.
"""

import queue
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np

from dialens.base import DialensError
from dialens.corpus import DAMAGE, MAGIC_BYTES, packing_of, remedy_of, unpacked_pieces

BLOCK_BYTES = 8 * 1024 * 1024
BLOCK_LINES = 20_000
MAX_LINE_BYTES = 64 * 1024 * 1024
_POLL_S = 0.2
_LINE_FEED = 10
_AT_ONCE = 2**17

Item = TypeVar("Item")
Result = TypeVar("Result")
Position = Callable[[int], None]


class DamagedArchive(DialensError):
    """An archive cannot be unpacked to its end."""

    def __init__(self, message: str, why: str = "") -> None:
        """`why` is the part of the message that says how far it could be read, and what came then.

        It has a default because errors travel between processes without it, and get it back later.
        """
        super().__init__(message)
        self.why = why


@dataclass(frozen=True)
class Block:
    """Whole lines of a dump.

    Attributes:
        number: Which block of the source it is, from 0.
        first_line: The number of its first line, from 1.
        data: The lines, each with its line feed except perhaps the last of the file.
        damage: Set on the last block of an archive that could not be unpacked any further: where,
            and why. That block has no lines.
    """

    number: int
    first_line: int
    data: bytes
    damage: str | None = None

    @cached_property
    def lines(self) -> int:
        """How many there are, the last of the file included if it has no line feed."""
        whole = not self.data or self.data.endswith(b"\n")
        return line_feeds(self.data) + (not whole)


def line_feeds(data: bytes) -> int:
    r"""Count line feeds; three times as fast as `bytes.count`, and every byte is counted here.

    Examples:
        >>> line_feeds(b"one\ntwo\n")
        2
    """
    view = np.frombuffer(data, np.uint8)
    # In parts, so that what comparing makes stays in the processor's cache.
    return sum(
        int(np.count_nonzero(view[start : start + _AT_ONCE] == _LINE_FEED))
        for start in range(0, len(view), _AT_ONCE)
    )


def packing(path: Path) -> str:
    """How a file is packed, told by its first bytes: gzip, bzip2, xz, zstandard or plain.

    Examples:
        >>> import gzip, tempfile
        >>> file = Path(tempfile.mkdtemp()) / "a.json"
        >>> _ = file.write_bytes(gzip.compress(b"{}"))
        >>> packing(file)
        'gzip'
    """
    try:
        with path.open("rb") as file:
            magic = file.read(MAGIC_BYTES)
    except IsADirectoryError as error:
        raise DialensError(
            f"{path} is a folder. Name the dumps in it, for example {path}/*.zst."
        ) from error
    except OSError as error:
        raise DialensError(
            f"{path} cannot be read: {error.strerror}. Check the name and the permissions."
        ) from error
    return packing_of(magic)


def unpacked(path: Path, position: Position | None = None) -> Iterator[bytes]:
    """The unpacked bytes in pieces; `position` is called with the bytes of the packed file read.

    Raises:
        DamagedArchive: The archive is cut off or broken; says after how many bytes of content.
    """
    kind = packing(path)
    done = 0
    with path.open("rb") as raw:
        pieces = unpacked_pieces(raw, kind)
        while True:
            try:
                piece = next(pieces, None)
            except DAMAGE as error:
                why = f"after {done:,} bytes of content ({error})"
                raise DamagedArchive(
                    f"{path} is damaged {why}. {remedy_of(error)} Or take what is whole with "
                    "--on-error skip. Finished shards are kept.",
                    why,
                ) from error
            if piece is None:
                return
            if not done:
                piece = piece.removeprefix(b"\xef\xbb\xbf")
            done += len(piece)
            if position is not None:
                position(raw.tell())
            yield piece


def blocks(
    pieces: Iterable[bytes],
    *,
    name: str = "",
    salvage: bool = False,
    block_bytes: int = BLOCK_BYTES,
    block_lines: int = BLOCK_LINES,
) -> Iterator[Block]:
    r"""Cut pieces of a file into blocks of whole lines.

    Args:
        pieces: The bytes, cut anywhere.
        name: Of the file, for errors.
        salvage: Give the whole lines before a damage, and say so on the last block.
        block_bytes: A block ends with the line that reaches this size,
        block_lines: or after this many lines.

    Examples:
        >>> [block.data for block in blocks([b"on", b"e\ntwo\n\nfo", b"ur"], block_bytes=5)]
        [b'one\ntwo\n', b'\nfour']
    """
    arrived: list[bytes] = []
    size = number = 0
    line = 1
    damage: str | None = None
    arriving = iter(pieces)
    ended = False
    while not ended:
        try:
            piece = next(arriving, None)
        except DamagedArchive as error:
            if not salvage:
                raise
            damage = error.why
            piece = None
            buffer = b"".join(arrived)
            arrived = [buffer[: buffer.rfind(b"\n") + 1]]  # without the line that was cut off
        ended = piece is None
        last = piece or b""
        reach, size = block_bytes - 1 - size, size + len(last)
        rest = b""
        if not ended and len(last) < block_bytes:
            # Joined up to the line feed where a block may end, so that its bytes are copied once.
            end = last.find(b"\n", max(reach, 0)) + 1 if reach < len(last) else 0
            last, rest = (last[:end], last[end:]) if end else (last, b"")
            if not end and size <= MAX_LINE_BYTES + block_bytes:
                arrived.append(last)
                continue
        buffer = b"".join((*arrived, last))
        start = 0
        while end := _end_of_block(buffer, start, block_bytes, ended=ended):
            block = Block(number, line, buffer[start:end])
            if block.lines > block_lines:
                block = Block(number, line, _first_lines(block.data, block_lines))
            yield block
            number += 1
            line += block.lines
            start += len(block.data)
        arrived = [buffer[start:], rest]
        size = len(arrived[0]) + len(rest)
        if size > MAX_LINE_BYTES + block_bytes:
            longest = line + arrived[0].count(b"\n")
            raise DialensError(
                f"{name}, line {longest:,} holds more than {MAX_LINE_BYTES // 2**20} MiB. "
                "A dump has one record a line: is this one JSON array, or another kind of file?"
            )
    if damage is not None:
        yield Block(number, line, b"", damage)


def _end_of_block(buffer: bytes, start: int, block_bytes: int, *, ended: bool) -> int:
    """Where the block that begins at `start` ends, 0 if that cannot be said yet or none is left."""
    end = buffer.find(b"\n", start + block_bytes - 1) + 1
    return end or (len(buffer) if ended and start < len(buffer) else 0)


def _first_lines(data: bytes, count: int) -> bytes:
    end = 0
    for _ in range(count):
        end = data.index(b"\n", end) + 1
    return data[:end]


def prefetched(items: Iterable[Item], depth: int = 3) -> Generator[Item]:
    """The same items, made in a thread that runs up to `depth` items ahead.

    Unpacking and Polars release Python's global lock, so stages chained with this run in parallel.

    Examples:
        >>> list(prefetched(range(3)))
        [0, 1, 2]
    """
    ready: queue.Queue[tuple[Item | None, BaseException | None]] = queue.Queue(maxsize=depth)
    stopped = threading.Event()

    def put(item: Item | None, error: BaseException | None = None) -> None:
        while not stopped.is_set():
            try:
                ready.put((item, error), timeout=_POLL_S)
            except queue.Full:
                continue
            return

    def make() -> None:
        with closing(_each(items)) as source:  # so that a stage before this one stops, too
            try:
                for item in source:
                    put(item)
                    if stopped.is_set():
                        return
                put(None, StopIteration())
            except BaseException as error:  # raised again where the items are taken
                put(None, error)

    thread = threading.Thread(target=make, daemon=True)
    thread.start()
    try:
        while True:
            item, error = ready.get()
            if isinstance(error, StopIteration):
                return
            if error is not None:
                raise error
            yield item  # type: ignore[misc]
    finally:
        stopped.set()
        thread.join()


def map_in_threads(
    function: Callable[[Item], Result], items: Iterable[Item], threads: int
) -> Generator[Result]:
    """Results of a function for each item, in their order, computed by several threads.

    The error of an item is raised after the results of all items before it.

    Examples:
        >>> list(map_in_threads(abs, [-1, 2, -3], 2))
        [1, 2, 3]
    """
    with closing(_each(items)) as source, ThreadPoolExecutor(threads) as pool:
        running: deque[Future[Result]] = deque()
        failure: Exception | None = None
        try:
            while failure is None:
                try:
                    running.append(pool.submit(function, next(source)))
                except StopIteration:
                    break
                except Exception as error:  # raised again below
                    failure = error
                if len(running) > 2 * threads:  # so that no thread waits while a result is used
                    yield running.popleft().result()
            while running:
                yield running.popleft().result()
            if failure is not None:
                raise failure
        finally:
            pool.shutdown(cancel_futures=True)


def _each(items: Iterable[Item]) -> Generator[Item]:
    yield from items
