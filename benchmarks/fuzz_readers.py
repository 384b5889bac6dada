"""Files of every format, damaged at random: how many are read, refused, or break a reader.

    python benchmarks/fuzz_readers.py                        100,000 cases
    python benchmarks/fuzz_readers.py --minutes 15           as many as that takes
    python benchmarks/fuzz_readers.py --seed 7 --only csv    other cases, of formats named so

The cases are those of `tests/corpus/mutations.py`, drawn at random rather than by Hypothesis. A
case that raises anything but our own error, says nothing of the file, leaves something half written
or takes ten seconds of processor time is kept under --keep, with the damages that made it. At the
end stands how much memory the process took at most: the files are small, so it should be, too.
"""

import argparse
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter, defaultdict
from pathlib import Path
from types import FrameType

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # many small files, one after another
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.corpus.mutations import KINDS, TARGETS, Mutation, damaged, outcome

_SECONDS = 10
_COUNTS = (1, 1, 2, 3)
_SIZES = (0, 1, 2, 5, 20, 100)


class TooLong(BaseException):
    """A case took more processor time than any file of its size should."""


def drawn(rng: random.Random) -> list[Mutation]:
    """The damages of one case."""
    return [
        Mutation(rng.choice(KINDS), rng.random(), rng.choice(_SIZES), rng.randrange(1_000))
        for _ in range(rng.choice(_COUNTS))
    ]


def stop(number: int, frame: FrameType | None) -> None:
    """End a case that takes too long."""
    raise TooLong


def place_of(error: BaseException) -> str:
    """The kind of an error and the last line of ours on its way."""
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "dialens" in frame.filename] or frames
    return f"{type(error).__name__} at {Path(ours[-1].filename).name}:{ours[-1].lineno}"


def main() -> None:
    """Run the cases, and print the outcomes by format."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="Part of the names of the formats.")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-faults"))
    asked = parser.parse_args()
    signal.signal(signal.SIGPROF, stop)
    rng = random.Random(asked.seed)
    targets = [target for target in TARGETS if asked.only in target.name]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    faults = Counter[str]()
    began, number = time.monotonic(), 0
    with tempfile.TemporaryDirectory(prefix="dialens-") as folder:
        roots = {target.name: Path(folder) / str(at) for at, target in enumerate(targets)}
        places = {target.name: target.put(roots[target.name]) for target in targets}
        whole = {name: file.read_bytes() for name, (_, file) in places.items()}
        for number in range(asked.cases):
            if time.monotonic() - began > 60 * asked.minutes:
                break
            name = targets[number % len(targets)].name
            source, file = places[name]
            data, damages = whole[name], drawn(rng)
            for mutation in damages:
                data = damaged(data, mutation)
            file.write_bytes(data)
            out = roots[name].with_suffix(".out")
            signal.setitimer(signal.ITIMER_PROF, _SECONDS)
            try:
                writes = number % 4 == 0
                result = outcome(source, file, out, skip=rng.random() < 0.5, writes=writes)
                signal.setitimer(signal.ITIMER_PROF, 0)
            except KeyboardInterrupt:
                raise
            except BaseException as error:
                signal.setitimer(signal.ITIMER_PROF, 0)
                result = "fault"
                fault = place_of(error)
                faults[fault] += 1
                if faults[fault] == 1:
                    asked.keep.mkdir(parents=True, exist_ok=True)
                    (asked.keep / f"{asked.seed}-{number}-{file.name}").write_bytes(data)
                    print(f"{name}, case {number}: {fault}: {str(error)[:200]}\n  {damages}")
            counts[name][result] += 1
            for left in out.iterdir():
                left.unlink()
    _print(counts, faults, time.monotonic() - began)


def _print(counts: dict[str, Counter[str]], faults: Counter[str], seconds: float) -> None:
    heads = ("read", "refused", "fault")
    print(f"{'format':<36}" + "".join(f"{head:>9}" for head in heads))
    for name, found in sorted(counts.items()):
        print(f"{name:<36}" + "".join(f"{found[head]:>9,}" for head in heads))
    total = sum(counts.values(), Counter[str]())
    print(f"{'all':<36}" + "".join(f"{total[head]:>9,}" for head in heads))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"\n{total.total():,} cases in {seconds:,.0f} s; at most {peak:,.0f} MiB of memory.")
    for fault, count in faults.most_common():
        print(f"{count:>6,} × {fault}")


if __name__ == "__main__":
    main()
