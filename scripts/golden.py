"""Golden results: what the command line computes, kept so that a rearrangement can be checked.

    python scripts/golden.py write OUT                 run the commands and keep their tables
    python scripts/golden.py diff BEFORE AFTER         compare two such folders cell by cell
    python scripts/golden.py diff BEFORE AFTER --ignore signature --ignore '*/metrics.json'

Only the command line is used, so that the script works in any layout of the package. Pages are not
kept, nor what differs from run to run: times, versions, paths. `diff` is exact; it exits with 1 if
anything differs.
"""

import argparse
import csv
import gzip
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from fnmatch import fnmatch
from itertools import islice
from pathlib import Path
from typing import Any

import polars as pl

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
RATED = ("usr_personachat", "better", "conture_dial")
UNITS = 60
DUMPS = ("RC_2006-01.bz2", "RC_2006-02.bz2", "RS_2006-01.bz2", "RS_2006-02.bz2")
VARYING = {
    *("arguments", "commit", "dialens", "packages", "platform", "python", "started", "ended"),
    *("seconds", "time", "created", "created_at", "written", "output", "source_path", "paths"),
    *("path", "files", "memory", "threads", "machine", "measured_at", "versions", "cores"),
}
SHOWN = 3


def commands(work: Path) -> Iterator[tuple[str, ...]]:
    """The commands to run in `work`, in order; the inputs are prepared on the way."""
    yield ("demo", "-o", "demo")
    yield ("compare", "demo", "--resamples", "500", "--seed", "1")
    for name in RATED:
        source = DATA / "human_judgements" / f"{name}.jsonl.gz"
        if not source.exists():
            print(f"skipped: {name} (no {source})")
            continue
        rated = f"{name}.jsonl"
        with gzip.open(source, "rt", encoding="utf-8") as lines:
            (work / rated).write_text("".join(islice(lines, UNITS)), "utf-8")
        size = "default" if name == RATED[0] else "none"
        yield ("score", rated, "-o", name, "-m", "all", "--models", size, "--no-cache")
        yield ("compare", name, "--resamples", "500", "--seed", "1")
        metrics = "emotion,style,surface,automatic"
        validation = ("validate", rated, name, "-o", f"{name}_validation", "-m", metrics)
        yield (*validation, "--resamples", "200", "--seed", "1")
        if name == RATED[0]:
            yield ("agreement", rated, "-o", "agreement", "--resamples", "200", "--seed", "1")
            fitted = ("power", rated, "-q", "Overall", "-o", "power_fitted", "--effect", "0.3")
            yield (*fitted, "--simulations", "100", "--seed", "1")
    stated = ("--item-sd", "0.5", "--dialog-sd", "0.4", "--rater-sd", "0.4", "--residual-sd", "0.8")
    yield ("power", *stated, "--effect", "0.3", "--simulations", "100", "-o", "power")
    yield ("study", "new", "-t", "anchoring2020", "-o", "anchoring")
    yield ("study", "simulate", "anchoring", "-n", "24", "--anchor-pull", "0.3", "--seed", "1")
    yield ("study", "analyze", "anchoring", "-o", "analysis", "--resamples", "200", "--seed", "1")
    dumps = [DATA / "reddit" / name for name in DUMPS]
    if all(dump.exists() for dump in dumps):
        paths = map(str, dumps)
        yield ("engagement", "ingest", *paths, "-o", "ingested", "--on-error", "skip")
        label = ("engagement", "label", "ingested", "-o", "labelled", "--toxicity", "none")
        yield (*label, "--emotion", "lexicon")
    else:
        print(f"skipped: engagement (no {DATA / 'reddit'})")


def write(out: Path) -> int:
    """Run every command and keep its tables under `out`; how many commands failed."""
    if out.exists():
        raise SystemExit(f"{out} exists: name another place.")
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for command in commands(work):
            begin = time.monotonic()
            done = subprocess.run(
                [sys.executable, "-m", "dialens", *command],
                cwd=work,
                capture_output=True,
                text=True,
                env={**os.environ, "NO_COLOR": "1"},
            )
            print(f"{time.monotonic() - begin:6.1f} s  dialens {' '.join(command)}", flush=True)
            if done.returncode:
                failed += 1
                print(done.stdout[-2000:], done.stderr[-2000:])
        keep(work, out)
    return failed


def keep(work: Path, out: Path) -> None:
    """Copy every table below `work` to `out`, as Parquet and in canonical order."""
    parts: dict[Path, list[pl.DataFrame]] = {}
    for file in sorted(work.rglob("*")):
        name = file.relative_to(work)
        hidden = any(part.startswith(".") for part in name.parts) or "done" in name.parts
        if hidden or not file.is_file() or len(name.parts) == 1:
            continue
        table = read(file)
        if table is not None:
            whole = name.parent / "part" if file.name.startswith("part-") else name
            parts.setdefault(whole, []).append(table)
    for name, tables in parts.items():
        target = out / f"{name}.golden"
        target.parent.mkdir(parents=True, exist_ok=True)
        canonical(pl.concat(tables, how="diagonal_relaxed")).write_parquet(target)
    print(f"{len(parts)} tables in {out}")


def read(file: Path) -> pl.DataFrame | None:
    """A file's table: JSON as a row a value, text as a row a line; None for what is not kept."""
    if file.suffix == ".parquet":
        return pl.read_parquet(file)
    if file.suffix == ".csv":
        with file.open(encoding="utf-8", newline="") as opened:
            rows = list(csv.DictReader(opened))
        return pl.DataFrame(rows, infer_schema_length=None).select(pl.all().cast(pl.String))
    if file.suffix == ".json":
        cells = list(flat(json.loads(file.read_text("utf-8"))))
        schema = {"place": pl.String, "text": pl.String, "number": pl.Float64}
        return pl.DataFrame(cells, schema, orient="row")
    if file.suffix in {".tex", ".yaml", ".md"}:
        lines = file.read_text("utf-8").splitlines()
        return pl.DataFrame({"line": range(len(lines)), "text": lines})
    return None


def flat(value: Any, place: str = "") -> Iterator[tuple[str, str | None, float | None]]:
    """Every leaf of a JSON document with its place, but for what varies from run to run."""
    if isinstance(value, dict):
        for key in sorted(value.keys() - VARYING):
            yield from flat(value[key], f"{place}/{key}")
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield from flat(item, f"{place}/{number}")
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        yield place, None, float(value)
    else:
        yield place, None if value is None else str(value), None


def canonical(table: pl.DataFrame) -> pl.DataFrame:
    """Nested columns and bytes as text, columns by name, rows in the order of their keys."""
    scalar = [
        pl.col(name)
        if not dtype.is_nested() and dtype != pl.Binary
        else pl.col(name).map_elements(_as_text, return_dtype=pl.String)
        for name, dtype in table.schema.items()
    ]
    table = table.select(scalar).select(sorted(table.columns))
    floats = [name for name, dtype in table.schema.items() if dtype.is_float()]
    keys = [name for name in table.columns if name not in floats]
    return table.sort(keys + floats, nulls_last=True) if table.width else table


def _as_text(value: Any) -> str:
    if isinstance(value, pl.Series):
        value = value.to_list()
    return json.dumps(value, default=lambda cell: bytes(cell).hex() if cell else "", sort_keys=True)


def diff(before: Path, after: Path, ignored: list[str]) -> int:
    """Print every difference of two golden folders; how many tables differ."""
    left, right = ({str(f.relative_to(d)) for f in d.rglob("*.golden")} for d in (before, after))
    names = {name for name in left | right if not _matches(name.removesuffix(".golden"), ignored)}
    differing = 0
    for name in sorted(names):
        if name not in left or name not in right:
            lines = [f"only in {before if name in left else after}"]
        else:
            old, new = (pl.read_parquet(folder / name) for folder in (before, after))
            lines = list(compare(old, new, ignored))
        differing += bool(lines)
        for line in lines:
            print(f"{name.removesuffix('.golden')}: {line}")
    print(f"{differing} of {len(names)} tables differ")
    return differing


def compare(a: pl.DataFrame, b: pl.DataFrame, ignored: list[str]) -> Iterator[str]:
    """What differs between two tables, a line a fact."""
    a, b = (t.drop(c for c in t.columns if _matches(c, ignored)) for t in (a, b))
    for one_sided, side in ((a.columns, b), (b.columns, a)):
        for name in sorted(set(one_sided) - set(side.columns)):
            yield f"column {name} only {'before' if side is b else 'after'}"
    shared = [name for name in a.columns if name in b.columns]
    a, b = canonical(a.select(shared)), canonical(b.select(shared))
    keys = [c for c in shared if not (a[c].dtype.is_float() or b[c].dtype.is_float())]
    if a.height != b.height:
        yield f"{a.height} rows before, {b.height} after"
        if keys:
            for label, table, other in (("before", a, b), ("after", b, a)):
                extra = table.join(other, on=keys, how="anti", nulls_equal=True).select(keys)
                for row in extra.head(SHOWN).rows():
                    yield f"row only {label}: {row}"
        return
    for name in shared:
        x, y = a[name], b[name]
        if x.dtype != y.dtype:
            yield f"column {name}: {x.dtype} before, {y.dtype} after"
        rows = x.ne_missing(y.cast(x.dtype, strict=False)).arg_true().to_list()
        if not rows:
            continue
        size = ""
        if x.dtype.is_numeric():
            size = f", largest difference {(x - y.cast(x.dtype, strict=False)).abs().max()!s}"
        yield f"column {name}: {len(rows)} of {a.height} rows differ{size}"
        for row in rows[:SHOWN]:
            where = {c: a[c][row] for c in keys if c != name and a[c][row] is not None}
            yield f"    {x[row]!r} → {y[row]!r} at {where}"


def _matches(name: str, patterns: list[str]) -> bool:
    return any(fnmatch(name, pattern) for pattern in patterns)


def main() -> int:
    """Read the arguments and do what they say."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    modes = parser.add_subparsers(dest="mode", required=True)
    modes.add_parser("write").add_argument("out", type=Path)
    differ = modes.add_parser("diff")
    differ.add_argument("before", type=Path)
    differ.add_argument("after", type=Path)
    differ.add_argument("--ignore", action="append", default=[], help="column or table, * allowed")
    options = parser.parse_args()
    if options.mode == "write":
        return min(write(options.out.resolve()), 1)
    return min(diff(options.before, options.after, options.ignore), 1)


if __name__ == "__main__":
    sys.exit(main())
