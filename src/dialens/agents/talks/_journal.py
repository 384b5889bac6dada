"""Conversations kept as they end, so that an interrupted collection goes on where it was."""

import os
import shutil
import threading
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from dialens.base import DialensError

JOURNAL = "collected.jsonl"
_KIND = "dialens-agents-collected"


class Spoken(msgspec.Struct, frozen=True, omit_defaults=True):
    """A turn that was said, and what that took."""

    role: str
    text: str
    at: str
    seconds: float = 0.0
    attempts: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a conversation did not come to its end."""

    who: str
    turn: int
    kind: str
    reason: str
    attempts: int = 1


class Held(msgspec.Struct, frozen=True, omit_defaults=True):
    """A conversation that was held, or tried."""

    dialog: str
    fingerprint: str
    turns: tuple[Spoken, ...]
    failure: Failure | None = None


class _Head(msgspec.Struct):
    kind: str = ""
    version: int = 0


_HELD = msgspec.json.Decoder(Held)


class Journal:
    """The file in which conversations are kept, one a line, each on disk before it counts.

    Args:
        folder: Where the file is; made if it is not there.

    Examples:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp()) / "work"
        >>> with Journal(folder) as journal:
        ...     journal.add(Held("d1", "f", ()))
        >>> with Journal(folder) as journal:
        ...     list(journal.held)
        ['d1']
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / JOURNAL
        self._lock = threading.Lock()
        folder.mkdir(parents=True, exist_ok=True)
        self._file = self.path.open("ab")
        try:
            _alone(self._file.fileno(), folder)
            self.held = self._read()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        """The journal itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file."""
        self._file.close()

    def add(self, held: Held) -> None:
        """Keep a conversation; it is on disk when this returns. A later one of its id counts."""
        line = msgspec.json.encode(held) + b"\n"
        with self._lock:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
            self.held[held.dialog] = held

    def _read(self) -> dict[str, Held]:
        """What is there; a last line that was cut off by a crash is taken away."""
        raw = self.path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        if len(whole) < len(raw):
            self._file.truncate(len(whole))
        if not whole:
            self._file.write(msgspec.json.encode({"kind": _KIND, "version": 1}) + b"\n")
            self._file.flush()
            return {}
        return read_journal(self.path, whole)


def read_journal(path: Path, raw: bytes | None = None) -> dict[str, Held]:
    """The conversations of a journal by id, the last of each."""
    head, *lines = (path.read_bytes() if raw is None else raw).splitlines()
    found: dict[str, Held] = {}
    number = 1
    try:
        if msgspec.json.decode(head, type=_Head).kind != _KIND:
            raise msgspec.ValidationError("another kind of file")
        for line in lines:
            number += 1
            held = _HELD.decode(line)
            found[held.dialog] = held
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DialensError(
            f"{path}:{number}: this is no journal of `dialens agents collect` ({error}). It was "
            "changed or damaged: name another place, or begin anew with --fresh."
        ) from error
    return found


def write_journal(path: Path, held: Mapping[str, Held]) -> None:
    """Write conversations as a journal, in the order given."""
    with path.open("wb") as file:
        file.write(msgspec.json.encode({"kind": _KIND, "version": 1}) + b"\n")
        for one in held.values():
            file.write(msgspec.json.encode(one) + b"\n")


def work_folder(target: Path) -> Path:
    """Where conversations wait until all are there.

    Examples:
        >>> work_folder(Path("out/talks")).as_posix()
        'out/talks.collecting'
    """
    return target.with_name(f"{target.name}.collecting")


def take_up(target: Path, *, fresh: bool) -> Path:
    """The folder of the journal of a target, with what an earlier run left of it."""
    work = work_folder(target)
    if fresh:
        shutil.rmtree(work, ignore_errors=True)
    elif not (work / JOURNAL).exists() and (target / JOURNAL).is_file():
        work.mkdir(parents=True, exist_ok=True)
        scratch = work / f"{JOURNAL}.partial"
        shutil.copyfile(target / JOURNAL, scratch)
        scratch.replace(work / JOURNAL)
    return work


def _alone(file: int, folder: Path) -> None:
    """Refuse to go on where another run is at work; its lock ends with its process."""
    try:
        import fcntl
    except ImportError:  # Windows
        return
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise DialensError(
            f"Another run is collecting into {folder} at this moment. Wait for it, or name "
            "another place."
        ) from error
