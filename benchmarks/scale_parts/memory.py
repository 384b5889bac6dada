"""Peak memory, clock and processor seconds of score, compare and validate as corpora grow.

    python benchmarks/scale.py memory --turns 3M 10M 30M
    python benchmarks/scale.py memory --turns 3M 10M --memory 2GB --folder /data/scratch
    python benchmarks/scale.py memory --turns 3M 30M --like comments.txt --agents 40

Every command runs in a process of its own on conversations that `talks.py` generates, without
models; `×` is the peak of a command by that on the first size. Nothing here asserts anything.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from scale_parts.talks import count, generate

_RATED = 20_000
_COMMANDS = ("score", "score, no report", "compare", "validate")


@dataclass(frozen=True)
class Measured:
    """What a command took."""

    peak: float
    clock: float
    processor: float


def measured(command: Sequence[str]) -> Measured:
    """Run a command of dialens in a process of its own; its output goes nowhere.

    The peak is the largest that the process ever was. Linux counts from that of whoever started
    it, so that this process stays small: another generates the corpora.
    """
    started = os.times().elapsed
    with Path(os.devnull).open("w") as nowhere:
        process = subprocess.Popen(
            [sys.executable, "-m", "dialens", *command], stdout=nowhere, stderr=subprocess.PIPE
        )
        assert process.stderr is not None
        said = process.stderr.read()
        _, status, usage = os.wait4(process.pid, 0)
    if status:
        print(said.decode(), file=sys.stderr)
        raise SystemExit(f"dialens {' '.join(command)} failed.")
    spent = usage.ru_utime + usage.ru_stime
    return Measured(usage.ru_maxrss / 1024, os.times().elapsed - started, spent)


def measure(
    folder: Path, turns: int, memory: str, chosen: Sequence[str], like: Path | None, agents: int
) -> dict[str, Measured]:
    """Generate a corpus of a size and run the commands on it."""
    corpus, scores = folder / "corpus", folder / "scores"
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as other:
        task = other.submit(generate, corpus, turns, rated=_RATED, like=like, agents=agents)
        task.result()
    limit = ["--memory", memory]
    plain = ["score", str(corpus), "-q", "--force", "--models", "none", *limit]
    commands: Mapping[str, list[str]] = {
        "score, no report": [*plain, "-o", str(folder / "bare"), "--no-report"],
        "score": [*plain, "-o", str(scores)],
        "compare": ["compare", str(scores), "-q", *limit],
        "validate": ["validate", str(corpus), str(scores), "-o", str(folder / "valid"), *limit],
    }
    made = {}
    for name, command in commands.items():
        if name in chosen or name == "score":
            made[name] = measured(command)
            shutil.rmtree(folder / "bare", ignore_errors=True)
    for file in ("scores.parquet", "states.parquet", "dialogs.parquet", "report.html"):
        print(f"  {turns:>11,} turns: {file} {(scores / file).stat().st_size / 1e6:,.1f} MB")
    return made


def main(arguments: list[str]) -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(prog="scale.py memory", description=__doc__.split("\n")[0])
    parser.add_argument("--turns", type=count, nargs="+", default=[3_000_000, 10_000_000])
    parser.add_argument("--memory", default="4GB")
    parser.add_argument("--commands", nargs="+", choices=_COMMANDS, default=list(_COMMANDS))
    parser.add_argument("--like", type=Path, help="texts, a line each, to draw words from")
    parser.add_argument("--agents", type=int, default=4)
    parser.add_argument("--folder", type=Path, help="where to write for the time being")
    asked = parser.parse_args(arguments)
    first: dict[str, Measured] = {}
    lines = [f"{'':18}{'turns':>12}{'peak MiB':>9}{'×':>6}{'clock s':>9}{'cpu s':>8}"]
    for turns in asked.turns:
        with tempfile.TemporaryDirectory(dir=asked.folder) as folder:
            how = (asked.memory, asked.commands, asked.like, asked.agents)
            for name, seen in measure(Path(folder), turns, *how).items():
                ratio = seen.peak / first.setdefault(name, seen).peak
                lines.append(
                    f"{name:18}{turns:>12,}{seen.peak:>9,.0f}{ratio:>6.2f}{seen.clock:>9.1f}"
                    f"{seen.processor:>8.1f}"
                )
                print(lines[-1], flush=True)
    print(f"\n--memory {asked.memory}", lines[0], *sorted(lines[1:], key=_by_command), sep="\n")


def _by_command(line: str) -> int:
    return _COMMANDS.index(line[:18].strip())


if __name__ == "__main__":
    main(sys.argv[1:])
