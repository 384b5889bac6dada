"""A folder of chat logs: any mix of the other formats, in sub-folders too.

Files are read in the order of their paths, each in the format its content shows. A conversation
without an id is named after its file, with the folders before it; so is the system of a file that
names none. But where every file holds one conversation (no two with the same id) and none names
its system, the files are chats and not systems: all of them belong to one, named after the folder.
"""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from dialens.base import DialensError
from dialens.corpus._damage import leaving_out
from dialens.corpus._intake import Intake, OnError
from dialens.corpus._names import named
from dialens.corpus._reading import Reader, ReadFile, choose, is_recognised, tables_of
from dialens.corpus._source import Source
from dialens.corpus._tables import Tables
from dialens.corpus.readers._delimited import beside
from dialens.corpus.readers._table_parts import TablePartsReader

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
        if not source.is_folder:
            return False
        return next(_sources(source, self._folders(), _PassedOver()), None) is not None

    def read(self, source: Source, intake: Intake) -> Iterator[Tables]:
        """Whole dialogues in batches, file after file."""
        return self.read_joined(source, intake, lambda file, intake: None)

    def files(self, source: Source) -> list[Source]:
        """The files, in the order of their paths."""
        return list(_sources(source, self._folders(), _PassedOver()))

    def beside(self, file: Source) -> list[Path]:
        """The tables of ratings and references that belong to a file."""
        if file.is_folder:
            return []
        paths = (beside(file.path, kind) for kind in ("ratings", "references"))
        return [path for path in paths if path.exists()]

    def read_file(self, file: Source, intake: Intake) -> Iterator[Tables]:
        """What a file holds, by the reader that recognises it."""
        return tables_of(choose(file, None, self._folders()), file, intake)

    def read_joined(self, source: Source, intake: Intake, read: ReadFile) -> Iterator[Tables]:
        """Whole dialogues in batches, file after file, as they are read now or were read before."""
        passed = _PassedOver()
        parts = list(_sources(source, self._folders(), passed))
        if passed.again:
            intake.note(
                f"{source.path.name}: links lead a second time to what was read already, which "
                f"counts once: {_some(passed.again, source.path)}."
            )
        if passed.empty:
            files = "a file without a byte" if len(passed.empty) == 1 else "files without a byte"
            intake.note(f"{source.path.name} holds {files}: {_some(passed.empty, source.path)}.")
        if passed.no_files:
            intake.note(
                f"{source.path.name}: not read, since neither files nor folders, or links to "
                f"nothing: {_some(passed.no_files, source.path)}."
            )
        for folder, why in passed.locked.items():
            with leaving_out(folder, intake):
                raise DialensError(f"{folder} cannot be read: {why}. See to its rights.")
        system = self._system_of_all(source, parts, read)
        if system is not None and source.options.system is None:
            intake.note(
                f"{source.path.name} holds one conversation a file ({len(parts):,} files), so all "
                f"of them count as one system: {system}. To tell some apart, name their folders "
                "one by one."
            )
        renamed = intake.renamed_dialogs
        for part in parts:
            part = replace(part, system=system)
            before = read(part, intake)
            with leaving_out(part.path, intake) as kept:
                tables = self.read_file(part, intake) if before is None else before
                for table in named(tables, part, intake):
                    kept.anything = kept.anything or table.turns.height > 0
                    yield table
        if intake.renamed_dialogs > renamed and TablePartsReader(self.readers).might_be(source):
            intake.note(
                f"{source.path.name}: files use the same ids. If they are parts of one table, so "
                "that a conversation may be in several of them, read it with --format parts."
            )

    def _system_of_all(self, source: Source, parts: Sequence[Source], read: ReadFile) -> str | None:
        """The folder's name if its files are chats of one system, else None."""
        if len(parts) < 2:
            return None
        seen: set[str] = set()
        for part in parts:
            try:
                dialogs = self._dialogs_without_system(part, read)
            except DialensError:
                continue  # said when the file is read
            if dialogs is None or len(dialogs) > 1 or dialogs & seen:
                return None
            seen |= dialogs
        return source.stem if seen else None

    def _dialogs_without_system(self, part: Source, read: ReadFile) -> set[str] | None:
        """The ids of a file's conversations, two at least if there are many; None if it is no chat.

        A file that names its system is none, nor is one too large to be looked at.
        """
        look = Intake(OnError.SKIP)
        reader = choose(part, None, self._folders())
        if part.is_folder or part.path.stat().st_size > _MOST_BYTES_OF_A_CHAT:
            return None
        dialogs: set[str] = set()
        kept = read(part, look)
        for tables in tables_of(reader, part, look) if kept is None else kept:
            dialogs.update(tables.turns["dialog"].unique())
            if (tables.turns["system"] != part.stem).any():
                return None
            if len(dialogs) > 1:
                break
        return dialogs

    def _folders(self) -> list[Reader]:
        return [reader for reader in self.readers() if reader.name != self.name]


@dataclass
class _PassedOver:
    """Files that are not read.

    Attributes:
        again: Links to what was met already. They may lead in a circle, and conversations that are
            read twice would count twice.
        empty: Files without a byte.
        no_files: Pipes, sockets, and links to nothing.
        locked: Folders that cannot be listed, and why.
    """

    again: list[Path] = field(default_factory=list)
    empty: list[Path] = field(default_factory=list)
    no_files: list[Path] = field(default_factory=list)
    locked: dict[Path, str] = field(default_factory=dict)


def _some(paths: Sequence[Path], folder: Path) -> str:
    """The first of some paths in a folder."""
    shown = ", ".join(str(path.relative_to(folder)) for path in paths[:_SHOWN])
    return f"{shown} and {len(paths) - _SHOWN:,} more" if len(paths) > _SHOWN else shown


def _sources(
    source: Source, folders: Sequence[Reader], passed_over: _PassedOver
) -> Iterator[Source]:
    """The files, sorted; a folder that is a corpus by itself is one source."""
    root = source.path
    met = {os.path.realpath(root)}
    waiting = _chats(root)[::-1]
    while waiting:
        path = waiting.pop()
        place = os.path.realpath(path)  # `resolve` raises where links lead in a circle
        if place in met:
            passed_over.again.append(path)
            continue
        met.add(place)
        label = path.relative_to(root).as_posix()
        if path.is_dir():
            part = Source(path, label, options=source.options)
            try:
                inside = _chats(path)
            except OSError as error:
                passed_over.locked[path] = error.strerror or str(error)
                continue
            if any(is_recognised(reader, part) for reader in folders):
                yield part
            else:
                waiting += inside[::-1]
        elif path.is_file():
            if not path.stat().st_size:
                passed_over.empty.append(path)
                continue
            before, _, name = label.rpartition("/")
            stem = name.split(".")[0]
            yield Source(path, f"{before}/{stem}" if before else stem, options=source.options)
        else:
            passed_over.no_files.append(path)


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
