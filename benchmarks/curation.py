"""Time and memory of making a Reddit Engagement Dataset, as ratios measured in one run.

    python benchmarks/curation.py                          a million comments
    python benchmarks/curation.py --comments 5M 10M        more of them
    python benchmarks/curation.py --spark                  also Spark on two cores of this machine
    python benchmarks/curation.py --quick                  20,000 comments: does it run?

Dumps in the real format are generated once and kept in `--folder`. Then, without the neural steps,
each in a process of its own, one after another:

- parse: unpack the comments and decode them into typed records with msgspec
- ingest: `dialens engagement ingest`
- label: `dialens engagement label` with 4 GB and with 2 GB, and on Spark
- pandas: the relational steps in pandas, from the same shards, compared row by row with ours

All of it twice, one round after the other, and the better of each counts: a machine in the cloud is
now faster and now slower. Wall-clock seconds tell little on a machine that others use, so processor
seconds stand beside them, halved: what the work takes if it keeps two cores busy. Nothing here
asserts anything.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
import zstandard

# The rest is imported where it is used: a contestant pays for its own packages, and no other's.
CORES = 2
_READ = 8 * 2**20
_POLL_S = 0.02
_SCALE = {"K": 10**3, "M": 10**6}


class Comment(msgspec.Struct, gc=False):
    """What labelling needs to know of a comment, typed."""

    id: str
    parent_id: str
    link_id: str
    subreddit: str
    created_utc: int
    retrieved_on: int
    score: int
    controversiality: int
    edited: bool | float
    author: str
    body: str


@dataclass(frozen=True)
class Place:
    """Where a contestant finds its dumps and leaves what it makes."""

    comments: Path
    submissions: Path
    folder: Path

    @property
    def work(self) -> Path:
        """The shards."""
        return self.folder / "work"


def make(place: Place, comments: str, seed: str) -> None:
    """Generate the dumps; in a process of its own, since it takes memory."""
    from curation_dumps import make_dumps

    make_dumps(place.comments, place.submissions, int(comments), seed=int(seed))


def parse(place: Place) -> None:
    """Unpack and decode, and keep nothing: no reader in Python can be faster."""
    decoder = msgspec.json.Decoder(Comment)
    unpacker = zstandard.ZstdDecompressor(max_window_size=2**31)
    rest = b""
    with place.comments.open("rb") as raw, unpacker.stream_reader(raw) as file:
        while piece := file.read(_READ):
            whole, _, after = piece.rpartition(b"\n")
            decoder.decode_lines(rest + whole)
            rest = after


def ingest(place: Place) -> None:
    """Read the dumps as the command does."""
    from dialens.engagement.curation import ingest as read_dumps

    read_dumps([place.comments, place.submissions], place.work)


def label(place: Place, engine: str, memory: str) -> None:
    """Label as the command does with `--emotion none --toxicity none`."""
    from dialens.base import read_memory
    from dialens.engagement.curation import EngineOptions, Models
    from dialens.engagement.curation import label as make_labels

    how = EngineOptions(engine, read_memory(memory), CORES)  # type: ignore[arg-type]
    red = place.folder / f"{engine}-{memory}"
    make_labels(place.work, red, models=Models(None, None), engine=how)


def in_pandas(place: Place) -> None:
    """Label in pandas."""
    from curation_pandas import label_with_pandas

    label_with_pandas(place.work, place.folder / "pandas")


CONTESTANTS: dict[str, Callable[..., None]] = {
    "make": make,
    "parse": parse,
    "ingest": ingest,
    "label": label,
    "pandas": in_pandas,
}


@dataclass(frozen=True)
class Taken:
    """What a process took: seconds by the clock and of the processor, and memory at its peak."""

    wall: float
    processor: float
    peak_gb: float

    @property
    def shared(self) -> float:
        """Processor seconds on each of two cores."""
        return self.processor / CORES


def measure(*arguments: str) -> Taken:
    """Run a contestant; memory is the largest sum over the process and all it started."""
    start = time.perf_counter()
    command = [sys.executable, __file__, "--contestant", *arguments]
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=said)
        watched = _Watched()
        ended = threading.Event()
        watcher = threading.Thread(target=_watch, args=(process.pid, watched, ended))
        watcher.start()
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - start
        ended.set()
        watcher.join()
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            said.seek(0)
            sys.exit(f"{arguments[0]} failed:\n{said.read()[-3000:].decode()}")
    # Nobody waits for Spark's Java, so that its time is not in the usage. Peaks are not taken from
    # `ru_maxrss`: it remembers the memory of the process that started this one.
    processor = max(usage.ru_utime + usage.ru_stime, sum(watched.seconds.values()))
    return Taken(wall, processor, watched.peak / 1e9)


@dataclass
class _Watched:
    """The largest sum of memory seen, and the processor seconds of every process seen."""

    peak: int = 0
    seconds: dict[int, float] = field(default_factory=dict)


def _watch(pid: int, watched: _Watched, ended: threading.Event) -> None:
    while not ended.wait(_POLL_S):
        watched.peak = max(watched.peak, _look(pid, watched.seconds))


def _look(pid: int, seconds: dict[int, float]) -> int:
    """Bytes in memory of a process and its descendants; 0 once it is gone."""
    try:
        about = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        children = []
        for task in Path(f"/proc/{pid}/task").iterdir():
            children += (task / "children").read_text().split()
    except (OSError, IndexError):
        return 0
    seconds[pid] = (int(about[11]) + int(about[12])) / os.sysconf("SC_CLK_TCK")
    own = int(about[21]) * os.sysconf("SC_PAGE_SIZE")
    return own + sum(_look(int(child), seconds) for child in children)


def compare(red: Path, theirs: Path) -> str:
    """How far two labellings differ, row by row."""
    import polars as pl

    said = []
    for name in ("posts", "train", "validation"):
        ours, other = (pl.read_parquet(folder / f"{name}.parquet") for folder in (red, theirs))
        if ours["id"].to_list() != other["id"].to_list():
            return f"{name}: other rows"
        off = 0.0
        for column in other.columns:
            left, right = ours[column], other[column]
            if left.dtype == pl.String:
                differ = int(left.ne_missing(right).sum())
            else:
                left, right = left.cast(pl.Float64), right.cast(pl.Float64).fill_nan(None)
                differ = int((left.is_null() != right.is_null()).sum())
                off = max(off, float((left - right).abs().max() or 0))  # type: ignore[arg-type]
            if differ:
                return f"{name}.{column}: {differ:,} rows differ"
        said.append(f"{ours.height:,} {name}")
    ours = pl.read_parquet(red / "rejected")
    other = pl.read_parquet(theirs / "rejected.parquet")
    if not ours.equals(other.select(ours.columns).cast(ours.schema)):
        return "rejected: other rows or reasons"
    return f"equal row by row: {', '.join(said)}, {ours.height:,} rejected; numbers to {off:.0e}"


def run(comments: int, options: argparse.Namespace) -> None:
    name = f"{comments}_{options.seed}.zst"
    folder = options.folder / f"run-{comments}"
    dumps = (options.folder / f"RC_{name}", options.folder / f"RS_{name}")
    place = tuple(str(path) for path in (*dumps, folder))
    if not all(path.exists() for path in dumps):
        measure("make", *place, str(comments), str(options.seed))
    size = dumps[0].stat().st_size / 1e6
    print(f"\n{comments:,} comments ({size:,.0f} MB packed)")
    print(f"  {'':34} {'wall':>8} {'CPU/2':>8} {'× parse':>8} {'(CPU)':>7} {'peak':>8}")
    rounds = [_round(folder, place, options) for _ in range(options.rounds)]
    taken = {name: best([one[name] for one in rounds]) for name in rounds[0]}
    base = taken.pop("parse")
    labelled = taken[f"label, DuckDB, {options.memory[0]}"]
    both = Taken(
        taken["ingest"].wall + labelled.wall,
        taken["ingest"].processor + labelled.processor,
        max(taken["ingest"].peak_gb, labelled.peak_gb),
    )
    # Parsing keeps one core busy, so its processor seconds are not halved.
    print(_line("unpack and decode (msgspec)", base, base, base.processor))
    for name, one in (*taken.items(), (f"ingest + label, {options.memory[0]}", both)):
        print(_line(name, one, base, one.shared))
    for name in ("parse", "ingest", f"label, DuckDB, {options.memory[0]}"):
        clocks = " and ".join(f"{one[name].wall:.1f}" for one in rounds)
        print(f"  {name} in each round: {clocks} s by the clock")
    if options.pandas:
        slow = taken["the same steps in pandas"]
        print(
            f"  label against pandas: {slow.wall / labelled.wall:.1f} × faster by the clock, "
            f"{slow.processor / labelled.processor:.1f} × fewer processor seconds"
        )
        print(f"  {compare(folder / f'duckdb-{options.memory[0]}', folder / 'pandas')}")
    if not options.keep:
        shutil.rmtree(folder)


def _round(folder: Path, place: tuple[str, ...], options: argparse.Namespace) -> dict[str, Taken]:
    """What every contestant takes, once."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    taken = {name: measure(name, *place) for name in ("parse", "ingest")}
    for memory in options.memory:
        taken[f"label, DuckDB, {memory}"] = measure("label", *place, "duckdb", memory)
    if options.spark:
        taken["label, Spark local[2], 4GB"] = measure("label", *place, "spark", "4GB")
    if options.pandas:
        taken["the same steps in pandas"] = measure("pandas", *place)
    return taken


def best(some: list[Taken]) -> Taken:
    """The least of each time, and the most memory."""
    return Taken(
        min(one.wall for one in some),
        min(one.processor for one in some),
        max(one.peak_gb for one in some),
    )


def _line(name: str, one: Taken, base: Taken, shared: float) -> str:
    return (
        f"  {name:34} {one.wall:6.1f} s {shared:6.1f} s {one.wall / base.wall:8.2f} "
        f"{shared / base.processor:7.2f} {one.peak_gb:5.2f} GB"
    )


def number(text: str) -> int:
    """Read 5M, 200K or 1000."""
    scale = _SCALE.get(text[-1:].upper(), 1)
    return int(float(text.rstrip("kKmM")) * scale)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--comments", type=number, nargs="+", default=[10**6], metavar="N")
    parser.add_argument("--memory", nargs="+", default=["4GB", "2GB"], help="DuckDB's caps")
    parser.add_argument("--spark", action="store_true", help="also label on Spark local[2]")
    parser.add_argument("--rounds", type=int, default=2, help="of which the best counts")
    parser.add_argument("--no-pandas", dest="pandas", action="store_false")
    parser.add_argument("--quick", action="store_true", help="20,000 comments")
    parser.add_argument("--keep", action="store_true", help="leave shards and labels in the folder")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path(tempfile.gettempdir()) / "dialens-curation",
        help="where dumps are kept",
    )
    parser.add_argument("--contestant", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.contestant:
        name, comments, submissions, folder, *more = options.contestant
        CONTESTANTS[name](Place(Path(comments), Path(submissions), Path(folder)), *more)
        return
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for comments in [20_000] if options.quick else options.comments:
        run(comments, options)


if __name__ == "__main__":
    main()
