"""How often our tests err and our intervals hold, by simulation: false positives and coverage.

    python benchmarks/inference.py                            everything, 400 simulations a line
    python benchmarks/inference.py --only compare people      some parts
    python benchmarks/inference.py --runs 1000 --json out.json

Every line simulates one design many times, with no effect (the share of p < .05 should be .05) or
with a known one (the share of 95 % intervals that hold it should be 95 %), through the function
that the command calls. Where a method refuses, the line counts how often. Nothing here asserts
anything; the figures are in docs/inference.md.
"""

import argparse
import importlib
import json
import os
import pkgutil
import sys
from pathlib import Path

for variable in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")  # many small systems: threads only wait for each other
sys.path.insert(0, str(Path(__file__).resolve().parent))

import inference_parts  # noqa: E402
from inference_parts.lines import HEADER, Line  # noqa: E402


def parts() -> list[str]:
    """The modules of `inference_parts` that simulate something: those with a `lines`."""
    names = [module.name for module in pkgutil.iter_modules(inference_parts.__path__)]
    return [name for name in names if name != "lines"]


def main() -> None:
    """Print a line a design."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=parts(), default=parts(), help="some parts")
    parser.add_argument("--runs", type=int, default=400, help="simulations a line (400)")
    parser.add_argument("--seed", type=int, default=0, help="random seed")
    parser.add_argument("--json", type=Path, help="also write the lines to a file")
    options = parser.parse_args()
    lines: list[Line] = []
    for name in options.only:
        print(f"\n{name}\n{HEADER}", flush=True)
        for line in importlib.import_module(f"inference_parts.{name}").lines(
            options.runs, options.seed
        ):
            print(line, flush=True)
            lines.append(line)
    if options.json:
        options.json.write_text(json.dumps([vars(line) for line in lines], indent=1) + "\n")


if __name__ == "__main__":
    main()
