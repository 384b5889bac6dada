"""A folder of chat logs: any mix of the other formats, in sub-folders too.

Files are read in the order of their paths, each in the format its content shows. A conversation
without an id is named after its file, with the folders before it; so is the system of a file that
names none. But where every file holds one conversation (no two with the same id) and none names
its system, the files are chats and not systems: all of them belong to one, named after the folder.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dialens.base import DialensError
from dialens.corpus._intake import Intake, OnError, RecordError
from dialens.corpus._names import named
from dialens.corpus._reading import Reader, choose
from dialens.corpus._source import Source
from dialens.corpus._tables import Tables
from dialens.corpus.readers._delimited import beside

_NOT_CHATS = re.compile(r"^[._]|^(readme|licen[cs]e|notice|changelog)\b", re.IGNORECASE)
_MOST_BYTES_OF_A_CHAT = 64 * 1024 * 1024
_COMPANIONS = (".ratings.csv", ".references.csv", ".ratings.tsv", ".references.tsv", ".metadata")


@dataclass(frozen=True)
class FilesReader:
    """Reads every file of a folder with the reader that recognises it."""

    readers: Callable[[], Sequence[Reader]]
    name: str = "files"
    summary: str = "A folder of chat logs in any of these formats, in sub-folders too"
    example: str = "logs/\n  monday.txt\n  tuesday.jsonl\n  more/wednesday.csv.gz\n"

    def recognises(self, source: Source) -> bool:
        """Whether it is a folder with anything in it."""
        return source.is_folder and next(_sources(source, self._folders()), None) is not None

    def read(self, source: Source, intake: Intake) -> Iterator[Tables]:
        """Whole dialogues in batches, file after file."""
        readers = [reader for reader in self.readers() if reader.name != self.name]
        parts = list(_sources(source, self._folders()))
        system = self._system_of_all(source, parts, readers)
        if system is not None and source.options.system is None:
            intake.note(
                f"{source.path.name} holds one conversation a file ({len(parts):,} files), so all "
                f"of them count as one system: {system}. To tell some apart, name their folders "
                "one by one."
            )
        for part in parts:
            part = replace(part, system=system)
            try:
                reader = choose(part, None, readers)
                yield from named(reader.read(part, intake), part, intake)
            except DialensError as error:
                if intake.on_error is OnError.STOP:
                    raise
                what = str(error).removeprefix(str(part.path)).lstrip(",: ")
                intake.reject(part.path, 0, RecordError(what, unit="file"))

    def _system_of_all(
        self, source: Source, parts: Sequence[Source], readers: Sequence[Reader]
    ) -> str | None:
        """The folder's name if its files are chats of one system, else None."""
        if len(parts) < 2:
            return None
        seen: set[str] = set()
        for part in parts:
            try:
                dialogs = _dialogs_without_system(part, choose(part, None, readers))
            except DialensError:
                continue  # said when the file is read
            if dialogs is None or len(dialogs) > 1 or dialogs & seen:
                return None
            seen |= dialogs
        return source.stem if seen else None

    def _folders(self) -> list[Reader]:
        return [reader for reader in self.readers() if reader.name != self.name]


def _dialogs_without_system(part: Source, reader: Reader) -> set[str] | None:
    """The ids of a file's conversations, two at least if there are many; None if it is no chat.

    A file that names its system is none, nor is one too large to be looked at.
    """
    if part.is_folder or part.path.stat().st_size > _MOST_BYTES_OF_A_CHAT:
        return None
    dialogs: set[str] = set()
    for tables in reader.read(part, Intake(OnError.SKIP)):
        dialogs.update(tables.turns["dialog"].unique())
        if (tables.turns["system"] != part.stem).any():
            return None
        if len(dialogs) > 1:
            break
    return dialogs


def _sources(source: Source, folders: Sequence[Reader]) -> Iterator[Source]:
    """The files, sorted; a folder that is a corpus by itself is one source."""
    for part in _walk(source.path, source.path, folders):
        yield replace(part, options=source.options)


def _walk(folder: Path, root: Path, folders: Sequence[Reader]) -> Iterator[Source]:
    for path in sorted(folder.iterdir()):
        if _NOT_CHATS.match(path.name) or _belongs_to_another(path):
            continue
        label = path.relative_to(root).as_posix()
        if path.is_dir():
            part = Source(path, label)
            if any(reader.recognises(part) for reader in folders):
                yield part
            else:
                yield from _walk(path, root, folders)
        elif path.is_file() and path.stat().st_size:
            before, _, name = label.rpartition("/")
            stem = name.split(".")[0]
            yield Source(path, f"{before}/{stem}" if before else stem)


def _belongs_to_another(path: Path) -> bool:
    if not path.name.endswith(_COMPANIONS):
        return False
    return path.name.endswith(".metadata") or any(
        beside(other, kind) == path
        for kind in ("ratings", "references")
        for other in path.parent.iterdir()
    )
