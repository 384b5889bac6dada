"""Files of every format, damaged at random: how many are read, refused, or break a reader.

    python benchmarks/fuzz_readers.py                        100,000 cases
    python benchmarks/fuzz_readers.py --minutes 15           as many as that takes
    python benchmarks/fuzz_readers.py --seed 7 --only csv    other cases, of formats named so
    python benchmarks/fuzz_readers.py --json done.jsonl      goes on where an earlier run ended

The cases are those of `tests/corpus/mutations.py`, drawn at random rather than by Hypothesis. A
case that raises anything but our own error, says nothing of the file, leaves something half written
or takes ten seconds of processor time is kept under --keep, with the damages that made it. At the
end stand the longest case and how much memory the process took at most: the files are small, so
both should be, too. Cases come in blocks of a thousand, each drawn from seed and number of its own;
--json gets a line a block, and what stands there is not run again.
"""

import argparse
import json
import os
import random
import resource
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import FrameType

os.environ.setdefault("POLARS_MAX_THREADS", "1")  # many small files, one after another
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.corpus.mutations import KINDS, TARGETS, Mutation, Target, damaged, outcome

_SECONDS = 10
_BLOCK = 1_000
_COUNTS = (1, 1, 2, 3)
_SIZES = (0, 1, 2, 5, 20, 100)


@dataclass
class Block:
    """What became of the cases of one block."""

    seed: int
    only: str
    number: int
    cases: int
    outcomes: dict[str, dict[str, int]] = field(default_factory=dict)
    """By format: how many were read, refused, a fault."""
    faults: dict[str, int] = field(default_factory=dict)
    seconds: float = 0.0
    longest_s: float = 0.0
    longest: str = ""
    peak_mib: float = 0.0
    """Of the process, up to the end of the block."""


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


class Bench:
    """Valid files, ready to be damaged one after another."""

    def __init__(self, targets: list[Target], folder: Path, keep: Path) -> None:
        self._targets, self._keep = targets, keep
        self._roots = {target.name: folder / str(at) for at, target in enumerate(targets)}
        self._places = {target.name: target.put(self._roots[target.name]) for target in targets}
        self._whole = {name: file.read_bytes() for name, (_, file) in self._places.items()}

    def run(self, block: Block) -> None:
        """Run the cases of a block, and write into it what became of them."""
        rng = random.Random(f"{block.seed}/{block.number}")
        began = time.monotonic()
        for number in range(_BLOCK * block.number, _BLOCK * block.number + block.cases):
            name = self._targets[number % len(self._targets)].name
            damages, skip = drawn(rng), rng.random() < 0.5
            started = time.monotonic()
            result = self._case(block, number, name, damages, skip=skip)
            took = time.monotonic() - started
            if took > block.longest_s:
                block.longest_s, block.longest = took, f"{name}, case {number}"
            outcomes = block.outcomes.setdefault(name, {})
            outcomes[result] = outcomes.get(result, 0) + 1
        block.seconds = time.monotonic() - began
        block.peak_mib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

    def _case(
        self, block: Block, number: int, name: str, damages: list[Mutation], *, skip: bool
    ) -> str:
        source, file = self._places[name]
        data = self._whole[name]
        for mutation in damages:
            data = damaged(data, mutation)
        file.write_bytes(data)
        out = self._roots[name].with_suffix(".out")
        signal.setitimer(signal.ITIMER_PROF, _SECONDS)
        try:
            result = outcome(source, file, out, skip=skip, writes=number % 4 == 0)
            signal.setitimer(signal.ITIMER_PROF, 0)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            signal.setitimer(signal.ITIMER_PROF, 0)
            result, fault = "fault", place_of(error)
            if fault not in block.faults:
                self._keep.mkdir(parents=True, exist_ok=True)
                (self._keep / f"{block.seed}-{number}-{file.name}").write_bytes(data)
                print(f"{name}, case {number}: {fault}: {str(error)[:200]}\n  {damages}")
            block.faults[fault] = block.faults.get(fault, 0) + 1
        for left in out.iterdir():
            left.unlink()
        return result


def blocks(asked: argparse.Namespace, targets: list[Target]) -> Iterator[Block]:
    """The blocks of a run: those that the file has already, the others as they are run."""
    known: dict[tuple[int, str, int, int], Block] = {}
    if asked.json and asked.json.exists():
        for line in asked.json.read_text().splitlines():
            block = Block(**json.loads(line))
            known[block.seed, block.only, block.number, block.cases] = block
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="dialens-") as folder:
        bench = Bench(targets, Path(folder), asked.keep)
        for number, first in enumerate(range(0, asked.cases, _BLOCK)):
            cases = min(_BLOCK, asked.cases - first)
            if block := known.get((asked.seed, asked.only, number, cases)):
                yield block
                continue
            if time.monotonic() - began > 60 * asked.minutes:
                break
            block = Block(asked.seed, asked.only, number, cases)
            bench.run(block)
            if asked.json:
                with asked.json.open("a") as file:
                    file.write(json.dumps(asdict(block)) + "\n")
            yield block


def main() -> None:
    """Run the cases, and print the outcomes by format."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="Part of the names of the formats.")
    parser.add_argument("--keep", type=Path, default=Path("fuzz-faults"))
    parser.add_argument("--json", type=Path, help="A line a block of cases; a run goes on from it.")
    asked = parser.parse_args()
    signal.signal(signal.SIGPROF, stop)
    targets = [target for target in TARGETS if asked.only in target.name]
    _print(list(blocks(asked, targets)))


def _print(done: list[Block]) -> None:
    counts: dict[str, Counter[str]] = {}
    faults = Counter[str]()
    for block in done:
        faults.update(block.faults)
        for name, results in block.outcomes.items():
            counts.setdefault(name, Counter()).update(results)
    heads = ("read", "refused", "fault")
    print(f"{'format':<36}" + "".join(f"{head:>9}" for head in heads))
    for name, found in sorted(counts.items()):
        print(f"{name:<36}" + "".join(f"{found[head]:>9,}" for head in heads))
    total = sum(counts.values(), Counter[str]())
    print(f"{'all':<36}" + "".join(f"{total[head]:>9,}" for head in heads))
    slow = max(done, key=lambda block: block.longest_s)
    print(
        f"\n{total.total():,} cases in {sum(block.seconds for block in done):,.0f} s; the longest "
        f"took {slow.longest_s:.1f} s ({slow.longest}); at most "
        f"{max(block.peak_mib for block in done):,.0f} MiB of memory."
    )
    for fault, count in faults.most_common():
        print(f"{count:>6,} × {fault}")


if __name__ == "__main__":
    main()
