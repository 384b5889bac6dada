"""Processor seconds of `score --engine spark` by those of one process, on the same corpus.

    python benchmarks/scale.py spark
    python benchmarks/scale.py spark --turns 3M --turns-with-models 20k --master 'local[4]'

Counted are user and system time of every process that a command starts: Java, Spark's Python
daemon and its workers. Reports are left out on both sides, since they are the same code, and so is
the cache of results. The tables are compared; the largest difference of a value is shown. Linux
only.
"""

import argparse
import ctypes
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from scale_parts.talks import count, generate

_SET_CHILD_SUBREAPER = 36
_LOOKS_EVERY_S = 0.05
_PLAIN = ("--any-language", "--quiet", "--no-report", "--no-cache", "--force")


@dataclass(frozen=True)
class Spent:
    """What a command took, with everything that it started."""

    processor: float
    clock: float


def spent(command: Sequence[str]) -> Spent:
    """Run a command of dialens and add up what it and all its descendants use until they end."""
    started = time.perf_counter()
    begun = subprocess.Popen([sys.executable, "-m", "dialens", *command])
    used: dict[int, float] = {}
    clock = 0.0
    while descendants := _descendants(os.getpid()):
        used |= descendants
        if begun.poll() is not None and not clock:
            clock = time.perf_counter() - started
            if begun.returncode:
                raise SystemExit(f"dialens {' '.join(command)} failed.")
        while clock and _reaped():  # Java outlives its Python by a moment; orphans come to us
            pass
        time.sleep(_LOOKS_EVERY_S)
    return Spent(sum(used.values()), clock)


def _reaped() -> bool:
    try:
        return os.waitpid(-1, os.WNOHANG)[0] > 0
    except ChildProcessError:
        return False


def _descendants(root: int) -> dict[int, float]:
    """Processor seconds so far of every process below one, by its id; those of children aside."""
    parents: dict[int, int] = {}
    seconds: dict[int, float] = {}
    for place in Path("/proc").iterdir():
        if place.name.isdigit():
            try:
                text = (place / "stat").read_text(errors="replace")
            except OSError:
                continue  # it has just ended
            fields = text[text.rindex(")") + 2 :].split()
            parents[int(place.name)] = int(fields[1])
            seconds[int(place.name)] = sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")
    below = {root}
    while more := {pid for pid, parent in parents.items() if parent in below} - below:
        below |= more
    return {pid: seconds[pid] for pid in below - {root}}


def compare(corpus: Path, chosen: Sequence[str], master: str) -> tuple[Spent, Spent, float]:
    """Score a corpus in one process and on Spark; what each took, and how the values differ."""
    local, spark = corpus.with_name("local"), corpus.with_name("spark")
    common = ["score", str(corpus), *chosen, *_PLAIN]
    alone = spent([*common, "-o", str(local)])
    there = spent([*common, "-o", str(spark), "--engine", "spark", "--master", master])
    return alone, there, largest_difference(local, spark)


def largest_difference(local: Path, spark: Path) -> float:
    """By how much a value differs at most; everything but values must be equal."""
    ours, theirs = (pl.read_parquet(out / "scores.parquet") for out in (spark, local))
    if not ours.drop("value").equals(theirs.drop("value")):
        raise SystemExit("scores.parquet differs between Spark and one process.")
    missing = ours["value"].is_null() != theirs["value"].is_null()
    if missing.any():
        raise SystemExit("Values are missing on Spark, or in one process.")
    difference = (ours["value"] - theirs["value"]).abs().max()
    return float(difference) if isinstance(difference, float) else 0.0


def main(arguments: list[str]) -> None:
    """Measure with and without models."""
    parser = argparse.ArgumentParser(prog="scale.py spark", description=__doc__.split("\n")[0])
    parser.add_argument("--turns", type=count, default=1_000_000, help="without models")
    parser.add_argument("--turns-with-models", type=count, default=20_000)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument(
        "--folder", type=Path, help="where to generate; a temporary one if not given"
    )
    asked = parser.parse_args(arguments)
    ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    print(f"| score, {asked.master} | one process | Spark | × processor | × clock | difference |")
    print("|---|--:|--:|--:|--:|--:|")
    sizes = {"none": asked.turns, "small": asked.turns_with_models}
    for models, turns in sizes.items():
        if not turns:
            continue
        with tempfile.TemporaryDirectory(dir=asked.folder) as scratch:
            corpus = Path(scratch) / "corpus"
            generate(corpus, turns)
            alone, there, apart = compare(corpus, ["--models", models], asked.master)
        times = f"{alone.processor:.1f} s | {there.processor:.1f} s"
        ratios = f"{there.processor / alone.processor:.2f} | {there.clock / alone.clock:.2f}"
        print(
            f"| {turns:,} turns, --models {models} | {times} | {ratios} | {apart:.1g} |", flush=True
        )


if __name__ == "__main__":
    main(sys.argv[1:])
