"""A folder of chat logs: any mix of the other formats, in sub-folders too.

Files are read in the order of their paths, each in the format its content shows. A conversation
without an id is named after its file, with the folders before it; so is the system of a file that
names none. But where every file holds one conversation (no two with the same id) and none names
its system, the files are chats and not systems: all of them belong to one, named after the folder.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dialens.base import DialensError
from dialens.corpus._intake import Intake, OnError, RecordError
from dialens.corpus._names import named
from dialens.corpus._reading import Reader, choose, tables_of
from dialens.corpus._source import Source
from dialens.corpus._tables import Tables
from dialens.corpus.readers._delimited import beside

_NOT_CHATS = re.compile(r"^[._]|^(readme|licen[cs]e|notice|changelog)\b", re.IGNORECASE)
_MOST_BYTES_OF_A_CHAT = 64 * 1024 * 1024
_SHOWN = 3
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
        return source.is_folder and next(_sources(source, self._folders(), []), None) is not None

    def read(self, source: Source, intake: Intake) -> Iterator[Tables]:
        """Whole dialogues in batches, file after file."""
        readers = [reader for reader in self.readers() if reader.name != self.name]
        again: list[Path] = []
        parts = list(_sources(source, self._folders(), again))
        if again:
            shown = ", ".join(str(path.relative_to(source.path)) for path in again[:_SHOWN])
            more = f" and {len(again) - _SHOWN:,} more" if len(again) > _SHOWN else ""
            intake.note(
                f"{source.path.name}: links lead a second time to what was read already, which "
                f"counts once: {shown}{more}."
            )
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
                yield from named(tables_of(reader, part, intake), part, intake)
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
    for tables in tables_of(reader, part, Intake(OnError.SKIP)):
        dialogs.update(tables.turns["dialog"].unique())
        if (tables.turns["system"] != part.stem).any():
            return None
        if len(dialogs) > 1:
            break
    return dialogs


def _sources(source: Source, folders: Sequence[Reader], again: list[Path]) -> Iterator[Source]:
    """The files, sorted; a folder that is a corpus by itself is one source.

    Links that lead to what was met already come into `again` and are not followed: they may lead
    in a circle, and conversations that are read twice would count twice.
    """
    root = source.path
    met = {os.path.realpath(root)}
    waiting = _chats(root)[::-1]
    while waiting:
        path = waiting.pop()
        place = os.path.realpath(path)  # `resolve` raises where links lead in a circle
        if place in met:
            again.append(path)
            continue
        met.add(place)
        label = path.relative_to(root).as_posix()
        if path.is_dir():
            part = Source(path, label, options=source.options)
            if any(reader.recognises(part) for reader in folders):
                yield part
            else:
                waiting += _chats(path)[::-1]
        elif path.is_file() and path.stat().st_size:
            before, _, name = label.rpartition("/")
            stem = name.split(".")[0]
            yield Source(path, f"{before}/{stem}" if before else stem, options=source.options)


def _chats(folder: Path) -> list[Path]:
    """What may be conversations in a folder, sorted: ratings belong to the file beside them."""
    paths = sorted(path for path in folder.iterdir() if not _NOT_CHATS.match(path.name))
    companions: set[Path] = set()
    if any(path.name.endswith(_COMPANIONS) for path in paths):
        companions = {beside(path, kind) for path in paths for kind in ("ratings", "references")}
    return [
        path
        for path in paths
        if not path.name.endswith(".metadata")
        and not (path.name.endswith(_COMPANIONS) and path in companions)
    ]
