"""Reads dumps into a work folder, each into shards of its own, several dumps in parallel.

Dumps named later are added to the folder. A dump is identified by its content, so one that was read
before, under whatever name, is not read again.
"""

import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from dialens.base import (
    Advance,
    DialensError,
    Recorder,
    progress_steps,
    read_marker,
    sha256_file,
    versions,
)
from dialens.corpus import OnError
from dialens.engagement.curation._dump import packing
from dialens.engagement.curation._ingest_pool import ingest_in_processes
from dialens.engagement.curation._ingest_shards import (
    SOURCE_MARKER,
    Dump,
    ingest_dump,
    layout,
    shard_markers,
)
from dialens.engagement.curation._work_folder import (
    COMMENTS_FOLDER,
    DONE_FOLDER,
    INGEST_RECORD,
    REJECTS_FOLDER,
    SUBMISSIONS_FOLDER,
)
from dialens.engagement.curation._writing import writing_to

_PACKAGES: Final = ("msgspec", "zstandard")
_FOLDERS: Final = (DONE_FOLDER, COMMENTS_FOLDER, SUBMISSIONS_FOLDER, REJECTS_FOLDER)
_DECODER_BYTES: Final = 3 * 2**30
_LARGE: Final = 64 * 2**20
_WORTH_A_PROCESS: Final = 16 * 2**20  # to start one takes a second
_WORTH_THE_ALLOCATOR: Final = 128 * 2**20  # what it saves, 7 %, is more than a second


@dataclass(frozen=True)
class Ingested:
    """The result of :func:`ingest`.

    Attributes:
        sources: The marker of every dump in the folder, by name.
        read: Names of the dumps read now, from the beginning or where an earlier run stopped.
        known: Names of the dumps that were there already.
        seconds: Wall-clock time.
    """

    sources: list[dict[str, Any]]
    read: list[str]
    known: list[str]
    seconds: float

    def total(self, name: str) -> int:
        """The sum over the sources of `comments`, `submissions`, `rejects` or `shards`."""
        return sum(source[name] for source in self.sources)


def ingest(
    dumps: Sequence[Path],
    work: Path,
    *,
    on_error: OnError = OnError.STOP,
    workers: int | None = None,
    advance: Advance = lambda _: None,
) -> Ingested:
    """Read dumps into the tables of `work`, resuming where an earlier run was interrupted.

    Args:
        dumps: Files of comments or submissions, packed in any of the known ways.
        work: The folder; made if need be. It is finished when it holds the run record.
        on_error: At a record that cannot be read, stop, or leave it out and list it.
        workers: Processes, at most one a dump, by default as many as processors and memory allow;
            1 reads all dumps in this process.
        advance: Called with the number of bytes of the dumps, as packed, that were read.

    Raises:
        DialensError: A dump or the folder cannot be used; finished shards are kept.

    Examples:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> dump = folder / "RC_2006-01"
        >>> _ = dump.write_text('{"id": "b", "parent_id": "t3_a", "link_id": "t3_a", "body": "Hi"}')
        >>> done = ingest([dump], folder / "work")
        >>> done.total("comments"), ingest([dump], folder / "work").known
        (1, ['RC_2006-01'])
    """
    recorder = Recorder("engagement ingest", {"on_error": str(on_error)})
    clock = time.perf_counter()
    check_work(work)
    named, pending, markers = _pending_dumps(dumps, work, on_error)
    advance(sum(dump.size for dump in named) - sum(dump.size for dump in pending))
    record = work / INGEST_RECORD
    if pending:
        record.unlink(missing_ok=True)
        _prepare_folders(work)
        with recorder.step("read"):
            _read_all(pending, work, on_error, workers, advance)
        markers = source_markers(work)
    done = Ingested(
        sorted(markers.values(), key=lambda marker: (marker["source"], marker["sha256"])),
        read=sorted(dump.path.name for dump in pending),
        known=sorted(dump.path.name for dump in named if dump not in pending),
        seconds=time.perf_counter() - clock,
    )
    if not record.exists():
        _write_record(recorder, record, done)
    return done


def _pending_dumps(
    dumps: Sequence[Path], work: Path, on_error: OnError
) -> tuple[list[Dump], list[Dump], dict[str, dict[str, Any]]]:
    """All dumps, those that are to be read, the longest first, and the markers of those that were.

    Nothing is hashed here if nothing was read before and no two dumps can be the same.
    """
    named = [_dump(path) for path in dumps]
    begun = any((work / DONE_FOLDER).glob("*.json"))
    if begun or len({dump.size for dump in named}) < len(named):
        named = [replace(dump, sha256=sha256_file(dump.path)) for dump in named]
        sources = {dump.key: dump for dump in reversed(named)}  # of equal ones the first
        markers = source_markers(work)
        _check_shards(work, sources, markers, on_error)
        pending = [dump for dump in sources.values() if dump.key not in markers]
    else:
        markers, pending = {}, list(named)
    pending.sort(key=lambda dump: (-dump.size, dump.sha256 or ""))
    return named, pending, markers


def check_work(work: Path) -> None:
    """Refuse a folder that holds something else.

    Raises:
        DialensError: `work` is a file, or a folder with files but none of ours.

    Examples:
        >>> check_work(Path("a folder that is not there yet"))
    """
    if not work.exists():
        return
    if not work.is_dir():
        raise DialensError(f"{work} is a file. Name a folder for the shards.")
    if any(work.iterdir()) and not (work / DONE_FOLDER).is_dir():
        raise DialensError(
            f"{work} holds files that were not written by `dialens engagement ingest` (it has no "
            f"folder {DONE_FOLDER}). Name another folder."
        )


def default_workers(dumps: Sequence[Dump]) -> int:
    """One process for two processors, which it keeps busy; fewer for little data or memory.

    Examples:
        >>> default_workers([])
        1
    """
    # A zstandard decoder of a real archive holds its window of 2 GiB.
    large = any(dump.size > _LARGE and packing(dump.path) == "zstandard" for dump in dumps)
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    fitting = memory // _DECODER_BYTES if large else len(dumps)
    worth = sum(dump.size for dump in dumps) // _WORTH_A_PROCESS
    return max(1, min(len(dumps), fitting, worth, (os.cpu_count() or 1) // 2))


def _dump(path: Path) -> Dump:
    packing(path)  # says so if it cannot be read
    return Dump(path, path.stat().st_size, None)


def source_markers(work: Path) -> dict[str, dict[str, Any]]:
    """What the markers of completely read dumps say, by key."""
    finished = {}
    for path in sorted((work / DONE_FOLDER).glob(SOURCE_MARKER.format(key="*"))):
        marker = read_marker(path)
        key = path.stem.removeprefix("source-")
        if marker is not None and len(shard_markers(work, key)) == marker.content["shards"]:
            finished[key] = dict(marker.content)
    return finished


def _check_shards(
    work: Path,
    sources: Mapping[str, Dump],
    markers: Mapping[str, dict[str, Any]],
    on_error: OnError,
) -> None:
    """Refuse shards that cannot be combined with those of this run."""
    for path in sorted((work / DONE_FOLDER).glob("part-*.json")):
        key = path.stem.split("-")[1]
        shard = read_marker(path)
        if shard is None and key in sources:  # it is made again
            continue
        marker = {} if shard is None else shard.content
        if marker.get("layout") != layout():
            raise DialensError(
                f"{work} holds shards of another version ({marker.get('layout')}; this one writes "
                f"{layout()}). Name another folder, and read all dumps again."
            )
        if key not in markers and key not in sources:
            raise DialensError(
                f"{work} holds an unfinished dump ({path.stem}; SHA-256 {marker['sha256'][:12]}…) "
                "that is not named now. Name that dump too, so that it is read to its end, or name "
                "another folder."
            )
        if on_error is OnError.SKIP or key not in sources:
            continue
        if damaged := marker.get("damaged"):
            raise DialensError(
                f"{work} holds shards of {sources[key].path}, which is damaged and breaks off "
                f"after line {damaged['after_line']:,}. Fetch it again and name another folder, or "
                "add --on-error skip to go on with what is whole."
            )
        if marker["rejects"]:
            raise DialensError(
                f"{work} holds shards of {sources[key].path} from which {marker['rejects']:,} "
                "records were left out. Add --on-error skip, or name another folder."
            )


def _prepare_folders(work: Path) -> None:
    """Make the folders, and delete the unfinished files of a killed run."""
    try:
        for folder in _FOLDERS:
            (work / folder).mkdir(parents=True, exist_ok=True)
            for partial in (work / folder).glob(".*.partial*"):
                partial.unlink()
    except OSError as error:
        raise DialensError(
            f"{work} cannot be written to: {error.strerror}. Name another folder."
        ) from error


def _read_all(
    pending: Sequence[Dump], work: Path, on_error: OnError, workers: int | None, advance: Advance
) -> None:
    processes = min(workers or default_workers(pending), len(pending))
    large = sum(dump.size for dump in pending) >= _WORTH_THE_ALLOCATOR
    if processes > 1 or (workers != 1 and large):
        ingest_in_processes(pending, work, on_error, processes, advance)
    else:
        for dump in pending:
            ingest_dump(dump, work, on_error=on_error, position=progress_steps(advance))


def _write_record(recorder: Recorder, path: Path, done: Ingested) -> None:
    counts = {name: done.total(name) for name in ("comments", "submissions", "rejects", "shards")}
    recorder.observe(
        counts=counts,
        packages=versions(*_PACKAGES),
        details={"sources": done.sources, "layout": layout()},
    )
    with writing_to(path.parent, kept="shards"):
        recorder.finish(path)
