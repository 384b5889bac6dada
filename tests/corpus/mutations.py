"""Files that are almost right: valid samples of every format, damaged in the ways files are.

A mutation is a few small numbers, so that Hypothesis can shrink one and a benchmark can draw
millions. What it does to a file depends on the file alone: bytes are flipped, cut, repeated;
values of JSON are replaced, renamed, dropped; lines get strangers between them.
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import zstandard

from dialens.base import DialensError
from dialens.corpus import TURNS, Intake, OnError, convert, read
from dialens.corpus.readers import READERS
from tests.corpus.export_samples import EXPORT_SAMPLES
from tests.corpus.nested_samples import FILES as NESTED_FILES
from tests.corpus.nested_samples import SHAPES
from tests.corpus.samples import TALKS, Sample
from tests.corpus.text_samples import PARQUET, TEXT_SAMPLES, corpus_folder
from tests.corpus.trace_samples import FILES, TRACE_SAMPLES

Place = tuple[str | int, ...]

ODD_BYTES = (
    b"\xff", b"\xfe\xff", b"\x00", b"\xed\xa0\x80", b"\xc3", b"\r", b"\n", b'"', b'""', b"\\",
    b"{", b"}", b"[", b"]", b",", b":", b";", b"\t", b"\x1b]0;x\x07", b"\xe2\x80\xa8",
    b"2024-05-01 12:00 server restarted\n", b"null\n", b"[1]\n", b"\\ud800", b"[" * 3000,
)  # fmt: skip
ODD_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 5, 2**70, 1.5, 1e308, -1e308, "", " ", "x", "0", "\x00", "a\nb",
    "\ud800", "🤖", "2024-13-45", "nan", "=1+1", [], [None], [[]], [1, "a"], {}, {"": None},
    {"a": {"b": [1]}}, {"type": "text"}, {"role": "x"}, {"id": 7}, "[/x]",
)  # fmt: skip
STRANGERS = (
    "2024-05-01 12:00 server restarted", "[INFO] saved", "null", "true", '"hello" there', "7",
    "{", "}", "[]", "{}", '{"a":', "<html>", "\x00\x01", "#", ",,,,", '"', "\t",
    '{"x":' + "[" * 5000 + "]" * 5000 + "}",
)  # fmt: skip
PACKINGS: tuple[Callable[[bytes], bytes], ...] = (
    lambda data: gzip.compress(data, mtime=0),
    bz2.compress,
    lzma.compress,
    lambda data: zstandard.ZstdCompressor().compress(data),
)


@dataclass(frozen=True)
class Mutation:
    """One damage: its kind, how far into the file (0 to 1), and two numbers that vary it."""

    kind: str
    place: float
    size: int
    choice: int


def damaged(data: bytes, mutation: Mutation) -> bytes:
    """The same bytes with a damage."""
    at = int(mutation.place * len(data))
    end = at + 1 + mutation.size
    match mutation.kind:
        case "flip" if data:
            at = min(at, len(data) - 1)
            return data[:at] + bytes([data[at] ^ (1 + mutation.choice % 255)]) + data[at + 1 :]
        case "drop":
            return data[:at] + data[end:]
        case "cut":
            return data[:at]
        case "repeat":
            return data[:end] + data[at:]
        case "insert":
            return data[:at] + ODD_BYTES[mutation.choice % len(ODD_BYTES)] + data[at:]
        case "swap":
            return data[:at] + data[end : end + mutation.size] + data[at:end] + data[end:]
        case "line ends":
            return data.replace(b"\n", (b"\r", b"\r\n", b"\n\n")[mutation.choice % 3])
        case "stranger":
            lines = data.split(b"\n")
            stranger = STRANGERS[mutation.choice % len(STRANGERS)].encode()
            lines.insert(int(mutation.place * len(lines)), stranger)
            return b"\n".join(lines)
        case "utf-16":
            return data.decode("utf-8", "replace").encode("utf-16")
        case "value" | "key" | "without" | "twice":
            return _changed_json(data, mutation)
        case "cell":
            return _changed_cell(data, mutation)
        case "column" if data.startswith(b"PAR1"):
            return _changed_column(data, mutation)
        case "packed":
            packed = PACKINGS[mutation.choice % len(PACKINGS)](data)
            if mutation.size % 3:
                return damaged(packed, Mutation("flip", mutation.place, 0, mutation.choice))
            return packed
    return data


KINDS = (
    "flip", "drop", "cut", "repeat", "insert", "swap", "line ends", "stranger", "utf-16", "value",
    "value", "value", "value", "key", "without", "twice", "cell", "column", "packed",
)  # fmt: skip


def _changed_json(data: bytes, mutation: Mutation) -> bytes:
    """The JSON values of a file, one of them changed; other files stay as they are."""
    try:
        whole = json.loads(data)
    except (ValueError, RecursionError):
        lines = data.split(b"\n")
        if not lines:
            return data
        number = int(mutation.place * len(lines))
        try:
            value = json.loads(lines[number])
        except (ValueError, RecursionError, IndexError):
            return data
        lines[number] = json.dumps(_changed(value, mutation)).encode()
        return b"\n".join(lines)
    return json.dumps(_changed(whole, mutation), indent=1 if mutation.size % 2 else None).encode()


def _changed(value: Any, mutation: Mutation) -> Any:
    """A value with something in it replaced, renamed, left out or repeated."""
    places = list(_places(value))
    if not places:
        return ODD_VALUES[mutation.choice % len(ODD_VALUES)]
    *way, last = places[(mutation.choice * 31 + mutation.size) % len(places)]
    home: Any = value
    for step in way:
        home = home[step]
    odd = ODD_VALUES[mutation.choice % len(ODD_VALUES)]
    match mutation.kind:
        case "without":
            del home[last]
        case "key" if isinstance(home, dict):
            home[str(odd)[:20]] = home.pop(last)
        case "twice" if isinstance(home, list) and isinstance(last, int):
            home.insert(0, home[last])
        case _:
            home[last] = odd
    return value


def _places(value: Any, way: Place = ()) -> list[Place]:
    """The ways to everything in a value."""
    entries: Any = ()
    if isinstance(value, dict):
        entries = value.items()
    elif isinstance(value, list):
        entries = enumerate(value)
    found = []
    for step, below in entries:
        found += [(*way, step), *_places(below, (*way, step))]
    return found


def _changed_cell(data: bytes, mutation: Mutation) -> bytes:
    """Of a text with rows, one cell that is something else."""
    rows = data.split(b"\n")
    number = int(mutation.place * len(rows))
    for delimiter in (b"\t", b",", b";"):
        cells = rows[number].split(delimiter) if number < len(rows) else []
        if len(cells) > 1:
            odd = ODD_VALUES[mutation.choice % len(ODD_VALUES)]
            cells[mutation.size % len(cells)] = str(odd).encode("utf-8", "surrogatepass")
            rows[number] = delimiter.join(cells)
            break
    return b"\n".join(rows)


def _changed_column(data: bytes, mutation: Mutation) -> bytes:
    """A Parquet table with a column of another type."""
    try:
        frame = pl.read_parquet(io.BytesIO(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        return data
    name = frame.columns[mutation.size % frame.width]
    column = pl.Series([None if value is None else str(value) for value in frame[name]])
    others: tuple[Callable[[], pl.Series], ...] = (
        lambda: column.cast(pl.Binary),
        lambda: column.implode().new_from_index(0, frame.height),
        lambda: pl.Series([{"a": value} for value in column]),
        lambda: pl.Series([b"\xff\x00"] * frame.height),
        lambda: pl.Series([[[1.5]]] * frame.height),
        lambda: pl.Series([None] * frame.height),
        lambda: pl.Series([1e308] * frame.height),
        lambda: pl.Series([2**62] * frame.height),
        lambda: pl.Series([True] * frame.height),
        lambda: pl.datetime_range(
            pl.datetime(2024, 1, 1), pl.datetime(2024, 1, 2), "1h", eager=True
        ).head(frame.height),
    )
    other = others[mutation.choice % len(others)]()
    if other.len() != frame.height:
        return data
    out = io.BytesIO()
    name = name if mutation.choice % 7 else "another"
    frame.with_columns(other.alias(name)).write_parquet(out)
    return out.getvalue()


@dataclass(frozen=True)
class Target:
    """A valid source that is to be damaged: where it is put, and which of its files."""

    name: str
    put: Callable[[Path], tuple[Path, Path]]
    """Writes it into an empty folder; what to read, and the file to damage."""


def _sample(sample: Sample) -> Target:
    return Target(sample.name, lambda root: sample.build(root, TALKS))


def _file(path: Path) -> Target:
    def put(root: Path) -> tuple[Path, Path]:
        root.mkdir(parents=True, exist_ok=True)
        copy = root / path.name
        copy.write_bytes(path.read_bytes())
        return copy, copy

    return Target(path.name, put)


def _in_folder(name: str, file: str, build: Callable[[Path], Path]) -> Target:
    def put(root: Path) -> tuple[Path, Path]:
        folder = build(root)
        return folder, folder / file

    return Target(f"{name} {file}", put)


def _convokit(root: Path) -> Path:
    sample = next(sample for sample in TEXT_SAMPLES if sample.name == "convokit")
    folder, _ = sample.build(root, TALKS)
    about = {"d1": {"meta": {"topic": "rain", "dialens": {"system": "s", "agent": "bot"}}}}
    (folder / "conversations.json").write_text(json.dumps(about))
    machines = {"bot": {"meta": {"is_ai": True, "ai_meta": {"role": "assistant"}}}}
    (folder / "speakers.json").write_text(json.dumps(machines))
    return folder


def _own_convokit(root: Path) -> Path:
    convert(corpus_folder(root / "from"), root / "own", to="convokit")
    return root / "own"


def _nested(name: str) -> Target:
    """A data set with conversations in a column, as one of the files that hold such."""

    def put(root: Path) -> tuple[Path, Path]:
        root.mkdir(parents=True, exist_ok=True)
        path = NESTED_FILES[name](SHAPES["LMSYS-Chat-1M"], root)
        if path.is_file():
            return path, path
        return path, next(file for file in sorted(path.rglob("*")) if file.is_file())

    return Target(f"data set, {name}", put)


def _example(name: str) -> Target:
    def put(root: Path) -> tuple[Path, Path]:
        root.mkdir(parents=True, exist_ok=True)
        path = root / "example"
        path.write_text(READERS[name].example, "utf-8")
        return path, path

    return Target(name, put)


def _archive(root: Path) -> tuple[Path, Path]:
    sample = next(sample for sample in EXPORT_SAMPLES if sample.name == "chatgpt")
    root.mkdir(parents=True, exist_ok=True)
    path = root / "export.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", sample.encode(TALKS))
        archive.writestr("user.json", "{}")
    return path, path


def _with_ratings(root: Path) -> tuple[Path, Path]:
    root.mkdir(parents=True, exist_ok=True)
    path = root / "talks.csv"
    path.write_text("dialog,role,text\nd1,partner,Hello\nd1,agent,Hi\n")
    ratings = root / "talks.ratings.csv"
    ratings.write_text("dialog,turn,rater,quality,value\nd1,1,r1,fun,3\nd1,1,r2,fun,4.5\n")
    return path, ratings


TARGETS = (
    *map(_sample, (*TEXT_SAMPLES, PARQUET, *TRACE_SAMPLES, *EXPORT_SAMPLES)),
    *map(_file, sorted(FILES.iterdir())),
    *map(_nested, NESTED_FILES),
    _example("subtitles"),
    Target("chatgpt, zip", _archive),
    Target("csv, ratings beside", _with_ratings),
    _in_folder("corpus", "manifest.json", corpus_folder),
    _in_folder("corpus", "turns.parquet", corpus_folder),
    _in_folder("convokit", "conversations.json", _convokit),
    _in_folder("convokit", "speakers.json", _convokit),
    _in_folder("own convokit", "conversations.json", _own_convokit),
    _in_folder("own convokit", "utterances.jsonl", _own_convokit),
)


def outcome(source: Path, file: Path, out: Path, *, skip: bool, writes: bool) -> str:
    """Read a source, or convert it into `out`: `read` or `refused`; anything else is raised.

    What is read obeys the rules of the tables. A refusal names the source or its damaged file, and
    leaves nothing in `out`.
    """
    out.mkdir(exist_ok=True)
    mode = OnError.SKIP if skip else OnError.STOP
    try:
        if writes:
            convert(source, out / "talks.jsonl", to="openai", intake=Intake(mode))
            return "read"
        corpus = read(source, intake=Intake(mode))
        turns = corpus.turns.collect()
        repr(corpus)
    except DialensError as error:
        said = str(error)
        assert source.name in said or file.name in said, said
        assert "Traceback" not in said
        assert not list(out.iterdir()), "something is left half written"
        return "refused"
    assert turns.schema == TURNS
    assert turns.height
    assert set(turns["role"]) <= {"agent", "partner"}
    assert not any(turns[name].null_count() for name in ("system", "agent", "dialog", "text"))
    return "read"
