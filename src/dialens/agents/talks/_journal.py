"""A journal of conversations, written as each ends, so that an interrupted collection resumes."""

import os
import shutil
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Self

import msgspec

from dialens.agents.users import MOST_TURNS
from dialens.base import DialensError, make_folder, take_lock

JOURNAL = "collected.jsonl"
_KIND = "dialens-agents-collected"

OVER_BUDGET, INTERRUPTED = "over_budget", "interrupted"
"""Kinds of failure that are nobody's: conversations that wait for the next run."""


class RecordedTurn(msgspec.Struct, frozen=True, omit_defaults=True):
    """A turn of a conversation, when it was said, and what the reply took."""

    role: str
    text: str
    at: str
    seconds: float = 0.0
    attempts: int = 0
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None
    finish: str = ""
    model: str = ""
    fingerprint: str | None = None
    thought: str = ""
    note: str = ""
    before: tuple[dict[str, Any], ...] = ()
    ends: str = ""


class Failure(msgspec.Struct, frozen=True, omit_defaults=True):
    """Why a conversation did not come to its end."""

    who: str
    turn: int
    kind: str
    reason: str
    attempts: int = 1
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost: float | None = None


class Conversation(msgspec.Struct, frozen=True, omit_defaults=True):
    """A conversation that took place, or was tried; `ended` says why it went no further.

    `unsaid` is what was spent on an answer by which somebody ended it without a word.
    """

    dialog: str
    fingerprint: str
    turns: tuple[RecordedTurn, ...]
    failure: Failure | None = None
    ended: str = MOST_TURNS
    unsaid: Failure | None = None

    @property
    def in_vain(self) -> list[Failure]:
        """What was spent on answers that are not among the turns."""
        return [one for one in (self.failure, self.unsaid) if one is not None]

    @property
    def paused(self) -> bool:
        """Whether nobody failed: the next run goes on from what was said."""
        return self.failure is not None and self.failure.kind in (OVER_BUDGET, INTERRUPTED)


class _Head(msgspec.Struct):
    kind: str = ""
    version: int = 0


_CONVERSATION = msgspec.json.Decoder(Conversation)


class Journal:
    """A file of conversations, one a line, each on disk before it counts.

    Args:
        folder: Where the file is; made if it is not there.

    Examples:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp()) / "work"
        >>> with Journal(folder) as journal:
        ...     journal.add(Conversation("d1", "f", ()))
        >>> with Journal(folder) as journal:
        ...     list(journal.conversations)
        ['d1']
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / JOURNAL
        self._lock = threading.Lock()
        make_folder(folder)
        self._file = self.path.open("ab")
        try:
            take_lock(
                self._file.fileno(),
                f"Another run is collecting into {folder} at this moment. Wait for it, or name "
                "another place.",
            )
            self.tries = self._read()
            self.conversations = {one.dialog: one for one in self.tries}
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        """The journal itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self._file.close()

    @property
    def earlier(self) -> list[Conversation]:
        """Tries that were begun anew; those that were gone on with stand in the later ones."""
        last = self.conversations
        return [one for one in self.tries if one is not last[one.dialog] and not one.paused]

    def add(self, conversation: Conversation) -> None:
        """Write a conversation; it is on disk when this returns. The last one of an id counts."""
        line = msgspec.json.encode(conversation) + b"\n"
        with self._lock:
            self._file.write(line)
            self._file.flush()
            os.fsync(self._file.fileno())
            self.tries.append(conversation)
            self.conversations[conversation.dialog] = conversation

    def _read(self) -> list[Conversation]:
        """Read the file; a last line that was cut off by a crash is removed."""
        raw = self.path.read_bytes()
        whole = raw[: raw.rfind(b"\n") + 1]
        if len(whole) < len(raw):
            self._file.truncate(len(whole))
        if not whole:
            self._file.write(msgspec.json.encode({"kind": _KIND, "version": 1}) + b"\n")
            self._file.flush()
            return []
        return read_journal(self.path, whole)


def read_journal(path: Path, raw: bytes | None = None) -> list[Conversation]:
    """The conversations of a journal in the order in which they ended; the last of an id counts."""
    head, *lines = (path.read_bytes() if raw is None else raw).splitlines()
    conversations: list[Conversation] = []
    number = 1
    try:
        if msgspec.json.decode(head, type=_Head).kind != _KIND:
            raise msgspec.ValidationError("another kind of file")
        for line in lines:
            number += 1
            conversations.append(_CONVERSATION.decode(line))
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise DialensError(
            f"{path}:{number}: this is no journal of `dialens agents collect` ({error}). It was "
            "changed or damaged: name another place, or begin anew with --fresh."
        ) from error
    return conversations


def write_journal(path: Path, conversations: Iterable[Conversation]) -> None:
    """Write conversations as a journal, in the order given."""
    with path.open("wb") as file:
        file.write(msgspec.json.encode({"kind": _KIND, "version": 1}) + b"\n")
        for conversation in conversations:
            file.write(msgspec.json.encode(conversation) + b"\n")


def work_folder(target: Path) -> Path:
    """Return the folder that holds the journal until all conversations have taken place.

    Examples:
        >>> work_folder(Path("out/talks")).as_posix()
        'out/talks.collecting'
    """
    return target.with_name(f"{target.name}.collecting")


def resume_folder(target: Path, *, fresh: bool) -> Path:
    """Return the folder of a target's journal, with what an earlier run left of it."""
    work = work_folder(target)
    if fresh:
        shutil.rmtree(work, ignore_errors=True)
    elif not (work / JOURNAL).exists() and (target / JOURNAL).is_file():
        work.mkdir(parents=True, exist_ok=True)
        scratch = work / f"{JOURNAL}.partial"
        shutil.copyfile(target / JOURNAL, scratch)
        scratch.replace(work / JOURNAL)
    return work
