"""A folder of chat logs: any mix of the other formats, in sub-folders too.

Files are read in the order of their paths, each in the format its content shows. A conversation
without an id is named after its file, with the folders before it; so is the system of a file that
names none.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from dialens.base import DialensError
from dialens.corpus._intake import Intake, OnError, RecordError
from dialens.corpus._reading import Reader, choose
from dialens.corpus._source import Source
from dialens.corpus._tables import Tables
from dialens.corpus.readers._delimited import beside

_NOT_CHATS = re.compile(r"^[._]|^(readme|licen[cs]e|notice|changelog)\b", re.IGNORECASE)
_FOLDERS = ("corpus", "convokit", "dataset")
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
        for part in _sources(source, self._folders()):
            try:
                reader = choose(part, None, readers)
                yield from reader.read(part, intake)
            except DialensError as error:
                if intake.on_error is OnError.STOP:
                    raise
                what = str(error).removeprefix(str(part.path)).lstrip(",: ")
                intake.reject(part.path, 0, RecordError(what))

    def _folders(self) -> list[Reader]:
        return [reader for reader in self.readers() if reader.name in _FOLDERS]


def _sources(source: Source, folders: Sequence[Reader]) -> Iterator[Source]:
    """The files, sorted; a folder that is a corpus by itself is one source."""
    yield from _walk(source.path, source.path, folders)


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
