"""One dump into shards: Parquet files of bounded size, each with a marker when it is whole.

A shard is a fixed number of blocks, and blocks end where the content says (see
`_dump`): the same dump gives the same shards, byte for byte, whatever the number of workers and
however often a run was cut short. The marker of a shard depends on the dump, the layout and the
shard's number; one that is missing, damaged or stale lets it be made again.
"""

import json
import threading
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import Future
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

import polars as pl

from dialens.base import DialensError, atomic_file, read_marker, sha256_file, step_key, write_marker
from dialens.corpus import OnError, message
from dialens.engagement.curation import _reddit_text as reddit_text
from dialens.engagement.curation._dump import (
    Block,
    Position,
    blocks,
    map_in_threads,
    prefetched,
    unpacked,
)
from dialens.engagement.curation._dump_records import Problem, decode
from dialens.engagement.curation._ingest_rows import comment_rows, submission_rows
from dialens.engagement.curation._word_counter import WordCounter
from dialens.engagement.curation._work_folder import (
    COMMENTS_FOLDER,
    DONE_FOLDER,
    REJECTS_FOLDER,
    SUBMISSIONS_FOLDER,
)
from dialens.engagement.curation._writing import writing_to
from dialens.text import VERSION, stop_words

SHARD_BLOCKS: Final = 12
"""Blocks in a shard: at most about 96 MiB of a dump and 240,000 records."""
SOURCE_MARKER: Final = "source-{key}.json"
_SHARD: Final = "part-{key}-{number:05d}"
_ROW_GROUP: Final = 32_768
"""Rows together in a file: whoever reads one holds the texts of a group, some 8 MB."""
_NAMED_BY: Final = 12
_THREADS: Final = 3


def layout() -> str:
    """What the bytes of a shard depend on besides the dump; shards of two layouts do not mix.

    Examples:
        >>> layout().split()[0]
        'shards-4'
    """
    return f"shards-4 {reddit_text.VERSION} {VERSION} {stop_words().sha256[:12]}"


@dataclass(frozen=True)
class Dump:
    """A file to read, known by its content.

    Attributes:
        path: The file.
        size: In bytes, as packed.
        sha256: Of the file; None if that is computed while it is read.
    """

    path: Path
    size: int
    sha256: str | None

    @property
    def key(self) -> str:
        """What its shards are named by."""
        assert self.sha256 is not None, "a dump is hashed before its shards are named"
        return self.sha256[:_NAMED_BY]


@dataclass
class _Shard:
    """What has been read of a shard, or of a part of it."""

    number: int
    first_line: int
    last_line: int = 0
    comments: list[pl.DataFrame] = field(default_factory=list)
    submissions: list[pl.DataFrame] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    damaged: dict[str, Any] | None = None

    def add(self, part: "_Shard") -> None:
        """Append what was read next."""
        self.last_line = part.last_line
        self.comments += part.comments
        self.submissions += part.submissions
        self.problems += part.problems
        self.damaged = part.damaged


def shard_markers(work: Path, key: str) -> dict[int, Mapping[str, Any]]:
    """What the markers of a dump's finished shards say, by number; their files are complete.

    Examples:
        >>> shard_markers(Path("nowhere"), "0123456789ab")
        {}
    """
    finished = {}
    for path in sorted((work / DONE_FOLDER).glob(f"part-{key}-*.json")):
        marker = read_marker(path)
        if marker is None:
            continue
        content = marker.content
        fresh = marker.key == _shard_key(content["sha256"], content["shard"])
        files = content["files"].items()
        if fresh and all(_size(work / name) == about["bytes"] for name, about in files):
            finished[int(content["shard"])] = content
    return finished


def _shard_key(sha256: str | None, number: int) -> str:
    return step_key([layout(), sha256, number])


def _size(path: Path) -> int:
    return path.stat().st_size if path.is_file() else -1


def ingest_dump(
    dump: Dump, work: Path, *, on_error: OnError, position: Position | None = None
) -> dict[str, Any]:
    """Make the shards of a dump that are not there yet; return the source's own marker.

    Args:
        dump: The file; if it has no hash yet, none of its shards may be there.
        work: The folder to write to.
        on_error: At a record that cannot be read, stop, or leave it out and list it; at damage of
            the archive, stop, or take what is whole and say in the marker where it breaks off.
        position: Called with the number of bytes of the file that have been read.

    Raises:
        DialensError: The dump cannot be read, or the shards cannot be written; those that are
            finished stay.
    """
    finished = {} if dump.sha256 is None else shard_markers(work, dump.key)
    shard: _Shard | None = None
    shards = 0
    hashed = _hashed(dump)
    with closing(_read(dump, finished, on_error, position)) as read:
        for part in read:
            shards = part.number + 1
            if shard is not None and shard.number != part.number:
                _write(shard, hashed(), work)
                shard = None
            if part.number in finished:
                continue
            shard = shard or _Shard(part.number, part.first_line)
            shard.add(part)
            if on_error is OnError.STOP and shard.problems:
                problem = shard.problems[0]
                raise DialensError(message(dump.path, problem.line, problem.error))
    if shard is not None:
        _write(shard, hashed(), work)
    return _finish(hashed(), work, on_error, shards)


def _hashed(dump: Dump) -> Callable[[], Dump]:
    """Gives the dump with its hash, which is computed while it is read if it is not known."""
    if dump.sha256 is not None:
        return lambda: dump
    sha256: Future[str] = Future()

    def hash_it() -> None:
        try:
            sha256.set_result(sha256_file(dump.path))
        except OSError as error:  # raised again where the hash is needed
            sha256.set_exception(error)

    # Nobody waits for it if reading fails.
    threading.Thread(target=hash_it, daemon=True).start()
    return lambda: replace(dump, sha256=sha256.result())


def _read(
    dump: Dump, finished: Mapping[int, object], on_error: OnError, position: Position | None
) -> Generator[_Shard]:
    """Parts of shards in order: unpacked ahead, decoded and made into rows by several threads.

    Nearly all of it releases Python's global lock, so that the threads run in parallel.
    """
    pieces = unpacked(dump.path, position)
    cut = prefetched(blocks(pieces, name=str(dump.path), salvage=on_error is OnError.SKIP))
    counter = WordCounter()

    def with_rows(block: Block) -> _Shard:
        part = _Shard(block.number // SHARD_BLOCKS, block.first_line)
        part.last_line = block.first_line + block.lines - 1
        if part.number in finished:
            return part
        decoded = decode(block)
        part.problems += decoded.problems
        if block.damage is not None:
            part.damaged = {"after_line": part.last_line, "why": block.damage}
        if decoded.comments.height:
            part.comments.append(comment_rows(decoded.comments, counter))
        if decoded.submissions.height:
            part.submissions.append(submission_rows(decoded.submissions))
        return part

    return prefetched(map_in_threads(with_rows, cut, _THREADS))


def _write(shard: _Shard, dump: Dump, work: Path) -> None:
    name = _SHARD.format(key=dump.key, number=shard.number)
    files = {}
    rows = {COMMENTS_FOLDER: 0, SUBMISSIONS_FOLDER: 0}
    with writing_to(work, kept="shards"):
        for folder, parts in (
            (COMMENTS_FOLDER, shard.comments),
            (SUBMISSIONS_FOLDER, shard.submissions),
        ):
            if parts:
                table = pl.concat(parts)
                rows[folder] = table.height
                path = work / folder / f"{name}.parquet"
                with atomic_file(path) as scratch:
                    _write_table(table, scratch)
                # No hash of its own: a shard follows from the dump's, the layout and its number.
                files[f"{folder}/{path.name}"] = {"bytes": path.stat().st_size}
        _write_rejects(shard.problems, dump, work / REJECTS_FOLDER / f"{name}.jsonl")
        marker = {
            "layout": layout(),
            "sha256": dump.sha256,
            "shard": shard.number,
            "first_line": shard.first_line,
            "last_line": shard.last_line,
            **rows,
            "rejects": len(shard.problems),
            "damaged": shard.damaged,
            "files": files,
        }
        key = _shard_key(dump.sha256, shard.number)
        write_marker(work / DONE_FOLDER / f"{name}.json", key, marker)


def _write_table(table: pl.DataFrame, path: Path) -> None:
    # To pack texts takes longer than all the rest of writing, and again at every reading.
    table.write_parquet(
        path, compression="uncompressed", statistics=False, row_group_size=_ROW_GROUP
    )


def _write_rejects(problems: list[Problem], dump: Dump, path: Path) -> None:
    path.unlink(missing_ok=True)
    if not problems:
        return
    with atomic_file(path) as scratch, scratch.open("w", encoding="utf-8") as file:
        for problem in problems:
            reject = {
                "file": dump.path.name,
                "line": problem.line,
                "field": problem.error.field,
                "reason": problem.error.what,
            }
            file.write(json.dumps(reject, ensure_ascii=False) + "\n")


def _finish(dump: Dump, work: Path, on_error: OnError, shards: int) -> dict[str, Any]:
    """Count what the shards hold, and mark the source as read to its end."""
    markers = shard_markers(work, dump.key)
    totals = {
        name: sum(marker[name] for marker in markers.values())
        for name in (COMMENTS_FOLDER, SUBMISSIONS_FOLDER, REJECTS_FOLDER)
    }
    if not any(totals.values()) and on_error is OnError.STOP:
        raise DialensError(
            f"{dump.path} is empty: it holds no record. Fetch it again, or leave it out."
        )
    marker = {
        "layout": layout(),
        "source": dump.path.name,
        "size": dump.size,
        "sha256": dump.sha256,
        "shards": shards,
        "lines": max((marker["last_line"] for marker in markers.values()), default=0),
        **totals,
        "damaged": next(filter(None, (shard["damaged"] for shard in markers.values())), None),
    }
    with writing_to(work, kept="shards"):
        key = step_key([layout(), dump.sha256])
        write_marker(work / DONE_FOLDER / SOURCE_MARKER.format(key=dump.key), key, marker)
    return marker
