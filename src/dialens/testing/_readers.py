"""What every reader promises."""

import bz2
import gzip
import lzma
import re
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import polars as pl

from dialens.base import DialensError
from dialens.corpus import Intake, OnError, Reader, Source
from dialens.corpus.readers import readers
from dialens.testing._promise import promise

_ROLES = ("agent", "partner")
_PACKINGS: dict[str, Callable[[bytes], bytes]] = {
    "gz": gzip.compress,
    "bz2": bz2.compress,
    "xz": lzma.compress,
}
_ANY_SCRIPT = "Grüße, 你好 👩‍👩‍👧! مرحبا — e\u0301clair"
_NEVER_EMPTY = ("created_at", "reply_to", "meta")


def check_reader(reader: Reader, *sources: str | Path) -> None:
    """Check that a reader keeps its promises.

    It recognises its example, before any reader of ours that is asked earlier, and reads turns from
    it. Texts in any script and empty ones are read as they are; packed files, byte order marks and
    carriage returns change nothing; a record that cannot be read is named with file and line, or
    left out and counted.

    Args:
        reader: To check.
        sources: Files or folders in its format; its own `example`, as a file, if none is given.
            Of folders and binary files, only the turns and their columns are checked.

    Raises:
        AssertionError: Says which promise is broken.

    Examples:
        >>> from dialens.corpus.readers import READERS
        >>> check_reader(READERS["openai"])
    """
    promise(
        re.fullmatch(r"[a-z0-9_-]+", reader.name),
        f"The reader {reader.name!r}: a name has small letters, digits, hyphens and underscores.",
    )
    promise(reader.summary, f"The reader {reader.name} has no summary.")
    promise(reader.example, f"The reader {reader.name} has no example.")
    with tempfile.TemporaryDirectory() as folder:
        example = Path(folder) / "example"
        example.write_text(reader.example, "utf-8")
        for source in map(Path, sources or (example,)):
            _check_recognised(reader, source)
            _check_turns(reader, source)
            if source.is_file() and _is_text(source.read_bytes()):
                _check_file(reader, source.read_bytes(), source.name)


def _check_recognised(reader: Reader, path: Path) -> None:
    who = f"The reader {reader.name}"
    source = Source(path)
    promise(reader.recognises(source), f"{who} does not recognise {path.name}.")
    for other in readers()[:-2]:  # plain transcripts and folders of files are asked last
        if other.name == reader.name:
            return
        promise(
            not other.recognises(source),
            f"{who}: {path.name} is taken for {other.name}, which is asked before.",
        )


def _check_turns(reader: Reader, path: Path) -> None:
    who = f"The reader {reader.name}"
    turns = _turns(reader, path)
    promise(turns.height, f"{who} reads no turn from {path.name}.")
    roles = set(turns["role"])
    promise(roles <= set(_ROLES), f"{who} gives the roles {sorted(roles)}; known are {_ROLES}.")
    for name in turns.columns:
        promise(
            name in _NEVER_EMPTY or not turns[name].null_count(),
            f"{who} leaves the column {name} empty somewhere.",
        )
    promise(turns.equals(_turns(reader, path)), f"{who} reads other turns the second time.")


def _check_file(reader: Reader, data: bytes, name: str) -> None:
    """What holds for a file of text: it is changed a little and read again."""
    who = f"The reader {reader.name}"
    with _written(data, name) as path:
        turns = _turns(reader, path)
        said = turns["text"].to_list()
        promise(
            any(text and text.encode() in data for text in said),
            f"{who} reads no text as it stands in {name}.",
        )
        for packing, pack in _PACKINGS.items():
            path.write_bytes(pack(data))
            promise(
                _texts(reader, path) == said, f"{who} reads a file packed as {packing} differently."
            )
        packed = gzip.compress(data, mtime=0)
        path.write_bytes(packed[:-12])
        promise(_refusal(reader, path), f"{who} does not notice that a packed file is cut off.")
        path.write_bytes(b"\xef\xbb\xbf" + data.replace(b"\n", b"\r\n"))
        promise(
            _texts(reader, path) == said,
            f"{who} reads a file with a byte order mark and carriage returns differently.",
        )
        places = _only_once(data, said)
        for place in places[-1:]:
            _check_text(reader, path, data, said, place, _ANY_SCRIPT)
            _check_broken_text(reader, path, data, said[place])
        # What was said before may stand in one text, where an empty line is nothing.
        for place in [place for place in places if turns["role"][place] == "agent"][-1:]:
            _check_text(reader, path, data, said, place, "")


def _check_text(
    reader: Reader, path: Path, data: bytes, said: list[str], place: int, other: str
) -> None:
    """Another text in the place of one is read as it is."""
    path.write_bytes(data.replace(said[place].encode(), other.encode()))
    wanted = [*said[:place], other, *said[place + 1 :]]
    promise(
        _texts(reader, path) == wanted,
        f"The reader {reader.name} does not read the text {other!r} as it is.",
    )


def _check_broken_text(reader: Reader, path: Path, data: bytes, text: str) -> None:
    """Bytes that are no text are refused with their place, or left out and counted."""
    who = f"The reader {reader.name}"
    path.write_bytes(data.replace(text.encode(), b"\xff\xfe" + text.encode()))
    refused = _refusal(reader, path)
    promise(refused, f"{who} reads bytes that are not UTF-8.")
    promise(
        re.match(rf"{re.escape(str(path))}, (line|row) \d+: ", refused),
        f"{who} does not begin with file and line when a record cannot be read: {refused}",
    )
    intake = Intake(OnError.SKIP)
    _turns(reader, path, intake)
    promise(intake.rejected, f"{who} does not count a record that it leaves out.")


def _is_text(data: bytes) -> bool:
    try:
        return "\0" not in data.decode()
    except UnicodeDecodeError:
        return False


def _only_once(data: bytes, said: list[str]) -> list[int]:
    """The turns whose text stands in the file as it is, and nowhere else."""
    return [
        place
        for place, text in enumerate(said)
        if len(text) > 3 and data.count(text.encode()) == 1 == said.count(text)
    ]


def _turns(reader: Reader, path: Path, intake: Intake | None = None) -> pl.DataFrame:
    parts = [part.turns for part in reader.read(Source(path), intake or Intake())]
    return pl.concat(parts) if parts else pl.DataFrame()


def _texts(reader: Reader, path: Path) -> list[str]:
    try:
        turns = _turns(reader, path)
    except DialensError as error:
        return [f"refused: {error}"]
    return turns["text"].to_list() if turns.height else []


def _refusal(reader: Reader, path: Path) -> str:
    """What is said when the file is refused; empty if it is read."""
    try:
        _turns(reader, path)
    except DialensError as error:
        return str(error)
    return ""


@contextmanager
def _written(data: bytes, name: str) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_bytes(data)
        yield path
