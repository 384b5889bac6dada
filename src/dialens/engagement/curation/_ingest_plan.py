"""What an ingest would do, estimated from the first megabytes of each dump; writes nothing."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dialens.base import DialensError
from dialens.corpus import OnError, message
from dialens.engagement.curation._dump import Block, DamagedArchive, blocks, packing, unpacked
from dialens.engagement.curation._dump_records import decode
from dialens.engagement.curation._ingest import check_work, default_workers, source_markers
from dialens.engagement.curation._ingest_rows import comment_rows, submission_rows
from dialens.engagement.curation._ingest_shards import Dump


@dataclass(frozen=True)
class PlannedDump:
    """What is known of a dump before it is read.

    Attributes:
        path: The file.
        size: In bytes, as packed.
        packing: gzip, bzip2, xz, zstandard or plain.
        kinds: `comments`, `submissions`, or both.
        rows: How many records it holds, estimated from how well its beginning is packed.
        seconds: How long one process takes, estimated from how long its beginning took.
        problem: The first error in the part that was read, if any: it would stop the run or be
            left out.
        known: A dump of this name and size is in the folder already.
    """

    path: Path
    size: int
    packing: str
    kinds: str
    rows: int
    seconds: float
    problem: str | None
    known: bool


@dataclass(frozen=True)
class IngestPlan:
    """All dumps, and how many processes will read them."""

    dumps: list[PlannedDump]
    workers: int

    @property
    def seconds(self) -> float:
        """The estimated time of the whole: the work shared out, but no less than the longest."""
        each = [dump.seconds for dump in self.dumps if not dump.known]
        return max(sum(each) / self.workers, *each, 0.0) if each else 0.0


def plan_ingest(
    dumps: Sequence[Path],
    work: Path,
    *,
    on_error: OnError = OnError.STOP,
    workers: int | None = None,
    timer: Callable[[], float] = time.perf_counter,
) -> IngestPlan:
    """Look at the beginning of every dump and estimate the rest.

    A bad record is reported as the dump's problem; an archive that is damaged in its beginning, and
    one without a record, are refused unless `on_error` is to skip.

    Examples:
        >>> import tempfile
        >>> dump = Path(tempfile.mkdtemp()) / "RS_2006-01"
        >>> _ = dump.write_text('{"id": "a", "title": "Why?"}')
        >>> planned = plan_ingest([dump], dump.parent / "work")
        >>> [(dump.kinds, dump.rows, dump.packing) for dump in planned.dumps]
        [('submissions', 1, 'plain')]
    """
    check_work(work)
    known = {(marker["source"], marker["size"]) for marker in source_markers(work).values()}
    planned = [_planned(path, known, on_error, timer) for path in dumps]
    # By name: the content is hashed when it is read.
    pending = [Dump(dump.path, dump.size, str(dump.path)) for dump in planned if not dump.known]
    return IngestPlan(planned, workers or default_workers(pending))


def _planned(
    path: Path, known: set[tuple[str, int]], on_error: OnError, timer: Callable[[], float]
) -> PlannedDump:
    packed = packing(path)
    size = path.stat().st_size
    reached = seen = 0
    damage: str | None = None
    skip = on_error is OnError.SKIP

    def position(now: int) -> None:
        nonlocal reached
        reached = now

    def pieces() -> Iterator[bytes]:
        nonlocal seen, damage
        try:
            for piece in unpacked(path, position):
                seen += len(piece)
                yield piece
        except DamagedArchive as error:
            damage = f"what {path} holds {error.why}"
            raise

    started = timer()
    first = next(blocks(pieces(), name=str(path), salvage=skip), Block(0, 1, b""))
    unpacking = timer()
    decoded = decode(first)
    comment_rows(decoded.comments)
    submission_rows(decoded.submissions)
    ended = timer()
    rows = {"comments": decoded.comments.height, "submissions": decoded.submissions.height}
    if not any(rows.values()) and not decoded.problems and not skip:
        raise DialensError(f"{path} is empty: it holds no record. Fetch it again, or leave it out.")
    wrong = decoded.problems[0] if decoded.problems else None
    # A piece may hold more than the block, and the packed file more than the piece.
    files = size / max(reached, 1)
    times = files * seen / max(len(first.data), 1)
    return PlannedDump(
        path=path,
        size=size,
        packing=packed,
        kinds=" and ".join(name for name, count in rows.items() if count),
        rows=round(sum(rows.values()) * times),
        seconds=(unpacking - started) * files + (ended - unpacking) * times,
        problem=message(path, wrong.line, wrong.error) if wrong else damage,
        known=(path.name, size) in known,
    )
