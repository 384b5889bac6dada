"""How fast a folder of logs becomes a corpus, beside programs that only decode the same files.

    python benchmarks/scale.py convert                       8 files of 250,000 turns each, twice
    python benchmarks/scale.py convert --turns 20000         smaller: does it run?

Files of OpenAI's JSONL and Parquet tables with a row a turn are generated from a seed. Then, each
in processes of its own, one after another, `--rounds` times, of which the best counts:

- decode: msgspec decodes every line (JSONL), Polars reads every table (Parquet), and that is all
- convert: `dialens convert` in one process and in `--threads` processes
- restart: the same, killed (SIGKILL) when half of the files were read, and started again

Memory is the proportional share (PSS) of all processes together at its highest. The projection to
100 GB takes the measured rate as it is. Nothing here asserts anything.
"""

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from scale_parts.talks import count

_LOOK_S = 0.05
_PROJECTED = 100e9
_WORDS = """
the of and to in is you that it was for on are as with they at be this have from or had by but not
what all were we when your can said there use an each which do how their if will up other about out
many then them these so some would make like into time has look two more see
"""
_DECODE = {
    "jsonl": """
import sys, msgspec
turns = 0
for path in sys.argv[1:]:
    with open(path, "rb") as file:
        for line in file:
            turns += len(msgspec.json.decode(line)["messages"])
""",
    "parquet": """
import sys, polars as pl
for path in sys.argv[1:]:
    pl.read_parquet(path)
""",
}


@dataclass(frozen=True)
class Run:
    """What a command took."""

    seconds: float
    processor_s: float
    peak_mb: float


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="scale.py convert", description=__doc__.split("\n")[0])
    parser.add_argument("--files", type=int, default=8)
    parser.add_argument("--turns", type=count, default=250_000, help="turns a file")
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--formats", nargs="+", choices=list(_DECODE), default=list(_DECODE))
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="dialens-scale-") as folder:
        for form in options.formats:
            _measure(Path(folder), form, options)


def _measure(folder: Path, form: str, options: argparse.Namespace) -> None:
    logs = folder / form
    turns = generate(logs, form, options.files, options.turns)
    files = sorted(logs.iterdir())
    size = sum(path.stat().st_size for path in files)
    print(f"\n{form}: {options.files} files, {turns:,} turns, {size / 1e6:,.0f} MB")
    print(f"{'':24}{'seconds':>9}{'cpu s':>9}{'turns/s':>11}{'MB/s':>8}{'peak MB':>9}")
    decode = [sys.executable, "-c", _DECODE[form], *map(str, files)]
    commands = {"decode only": decode}
    for threads in sorted({1, options.threads}):
        convert = _convert(logs, folder / "out", threads)
        commands[f"convert, {threads} process{'es' if threads > 1 else ''}"] = convert
    best: dict[str, Run] = {}
    for _ in range(options.rounds):
        for name, command in commands.items():
            shutil.rmtree(folder / "out", ignore_errors=True)
            run = measured(command)
            if name not in best or run.seconds < best[name].seconds:
                best[name] = run
    for name, run in best.items():
        rates = f"{turns / run.seconds:>11,.0f}{size / 1e6 / run.seconds:>8.1f}"
        print(f"{name:24}{run.seconds:>9.1f}{run.processor_s:>9.1f}{rates}{run.peak_mb:>9,.0f}")
    first, *converted = best.values()
    print(
        f"convert : decode only in processor seconds, one process: "
        f"{converted[0].processor_s / first.processor_s:.1f}; "
        f"faster with {options.threads}: {converted[0].seconds / converted[-1].seconds:.2f} times"
    )
    hours = [_PROJECTED / size * run.seconds / 3600 for run in converted]
    print(f"projected to 100 GB: {hours[0]:.1f} h, {hours[-1]:.1f} h with {options.threads}")
    shutil.rmtree(folder / "out", ignore_errors=True)
    rest = _restarted(logs, folder / "out", options.threads, options.files // 2)
    whole = converted[-1].seconds
    print(
        f"killed when {options.files // 2} of {options.files} files were read, then started again: "
        f"{rest.seconds:.1f} s instead of {whole:.1f} s"
    )
    shutil.rmtree(logs)
    shutil.rmtree(folder / "out")


def _convert(logs: Path, target: Path, threads: int) -> list[str]:
    said = ["convert", str(logs), str(target), "--threads", str(threads)]
    return [sys.executable, "-m", "dialens", *said]


def _restarted(logs: Path, target: Path, threads: int, files: int) -> Run:
    """What the rest takes after a run was killed."""
    state = target.with_name(f".{target.name}.converting")
    child = subprocess.Popen(
        _convert(logs, target, threads), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    while child.poll() is None and len(list(state.glob("[0-9a-f]*.json"))) <= files:
        time.sleep(_LOOK_S)  # the marker of the state folder is one more
    child.send_signal(signal.SIGKILL)
    child.wait()
    return measured(_convert(logs, target, threads))


def measured(command: list[str]) -> Run:
    """Run a command; its seconds, the processor seconds and the memory of all its processes."""
    before = os.times()
    started = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    peak = 0.0
    while child.poll() is None:
        peak = max(peak, sum(map(_share_kb, _family(child.pid))))
        time.sleep(_LOOK_S)
    seconds = time.perf_counter() - started
    if child.returncode:
        raise SystemExit(f"{' '.join(command[:6])} ended with {child.returncode}")
    after = os.times()
    processor = (after.children_user + after.children_system) - (
        before.children_user + before.children_system
    )
    return Run(seconds, processor, peak / 1024)


def _family(pid: int) -> list[int]:
    """A process and those that it started (Linux)."""
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return []
    return [pid, *(member for child in children for member in _family(int(child)))]


def _share_kb(pid: int) -> float:
    try:
        rows = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((float(row.split()[1]) for row in rows if row.startswith("Pss:")), 0.0)


def generate(folder: Path, form: str, files: int, turns: int) -> int:
    """Write logs; how many turns they hold."""
    folder.mkdir(parents=True)
    draw, words = random.Random(0), _WORDS.split()
    talks = total = 0
    for number in range(files):
        records = []
        written = 0
        while written < turns:
            count = draw.choice((2, 4, 6, 8, 10, 12))
            texts = [" ".join(draw.choices(words, k=draw.randint(3, 40))) for _ in range(count)]
            records.append((f"c{talks}", f"bot-{talks % 3}", texts))
            talks += 1
            written += count
        total += written
        path = folder / f"day-{number:03}.{form}"
        if form == "jsonl":
            path.write_text("".join(map(_line, records)), encoding="utf-8")
        else:
            rows = [
                (talk, agent, place, ("user", "assistant")[place % 2], text)
                for talk, agent, texts in records
                for place, text in enumerate(texts)
            ]
            names = ["dialog", "agent", "turn", "role", "text"]
            pl.DataFrame(rows, schema=names, orient="row").write_parquet(path)
    return total


def _line(record: tuple[str, str, list[str]]) -> str:
    talk, agent, texts = record
    messages = [
        {"role": ("user", "assistant")[place % 2], "content": text}
        for place, text in enumerate(texts)
    ]
    return json.dumps({"id": talk, "model": agent, "messages": messages}) + "\n"


if __name__ == "__main__":
    main(sys.argv[1:])
