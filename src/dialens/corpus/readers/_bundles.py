"""Exports that come as several files: an unpacked folder, or the zip archive as it was fetched."""

import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from dialens.base import DialensError
from dialens.corpus._damage import leaving_out
from dialens.corpus._intake import Intake
from dialens.corpus._reading import RecordReader
from dialens.corpus._source import Source
from dialens.corpus._tables import Tables
from dialens.corpus._unpacking import DAMAGE, refuse_bomb

_ZIP = b"PK\x03\x04"
_DAMAGED = (*DAMAGE, zipfile.BadZipFile, NotImplementedError, RuntimeError)
_PIECE = 1 << 20
_CHATS = r"[^._].*\.(json|jsonl|csv|tsv|txt|parquet)(\.gz)?"
_COMPANIONS = re.compile(
    r"(user|message_feedback|shared_conversations|model_comparisons|group_chats|projects|memories|"
    r"export_manifest|readme|sora|tasks)",
    re.IGNORECASE,
)
"""What exports of assistants hold beside the conversations."""


@dataclass(frozen=True)
class Member(Source):
    """A file inside a zip archive, read without unpacking the archive to disk.

    Its `path` names archive and file, for messages; `archive` is what is opened.
    """

    archive: Path = Path()
    inner: str = ""

    @cached_property
    def is_folder(self) -> bool:
        """Never: folders of an archive are no sources."""
        return False

    def _bytes(self) -> Iterator[bytes]:
        """The bytes in pieces; a damaged archive is an error that says so."""
        try:
            with zipfile.ZipFile(self.archive) as archive, archive.open(self.inner) as stream:
                while piece := stream.read(_PIECE):
                    yield piece
        except _DAMAGED as error:
            raise _damaged(self.path, error) from error


def _damaged(path: Path, error: Exception) -> DialensError:
    return DialensError(
        f"{path} cannot be unpacked ({error}). If the archive has a password, unpack it and read "
        "the folder; otherwise it was probably cut off while copying: fetch it again."
    )


@dataclass(frozen=True)
class Bundle:
    """The files of a folder or a zip archive, by their names from its top on."""

    source: Source
    members: dict[str, str] | None = None
    """Of an archive: what a name is called in it."""

    def names(self, pattern: str) -> list[str]:
        """The files whose whole name matches, sorted; at most one folder deep.

        A pattern without a slash looks at the top alone, which is cheap in any folder.
        """
        wanted = re.compile(pattern, re.IGNORECASE)
        if self.members is not None:
            names: list[str] = list(self.members)
        else:
            top = sorted(self.source.path.iterdir())
            names = [path.name for path in top if path.is_file()]
            if "/" in pattern:
                folders = [path for path in top if path.is_dir()]
                names += [f"{one.name}/{path.name}" for one in folders for path in one.iterdir()]
        return sorted(name for name in names if wanted.fullmatch(name))

    def file(self, name: str) -> Source:
        """One of the files, with the label and the options of the whole."""
        whole = self.source
        path = whole.path / name
        if self.members is None:
            return replace(whole, path=path, label=whole.stem)
        shared = {key: getattr(whole, key) for key in whole.__dataclass_fields__ if key != "path"}
        return Member(
            path,
            **{**shared, "label": whole.stem},
            archive=whole.path,
            inner=self.members[name],
        )


def bundle_of(source: Source) -> Bundle | None:
    """The files of a folder or of a zip archive; None for any other file."""
    if source.is_folder:
        return Bundle(source)
    if isinstance(source, Member) or not source.head.startswith(_ZIP):
        return None
    try:
        with zipfile.ZipFile(source.path) as archive:
            refuse_bomb(source.path, archive)
            inside = [entry.filename for entry in archive.infolist() if not entry.is_dir()]
    except _DAMAGED as error:
        raise _damaged(source.path, error) from error
    inside = [name for name in inside if not name.startswith("__MACOSX/")]
    tops = {name.partition("/")[0] for name in inside}
    wrapped = len(tops) == 1 and all("/" in name for name in inside)
    return Bundle(source, {name.partition("/")[2] if wrapped else name: name for name in inside})


@dataclass(frozen=True)
class BundledReader:
    """A reader of records whose files may also stand in a folder or a zip archive."""

    records: RecordReader
    pattern: str
    """The names of those files there, as a regular expression."""

    @property
    def name(self) -> str:
        """What `--format` takes."""
        return self.records.name

    @property
    def summary(self) -> str:
        """One line."""
        return self.records.summary

    @property
    def example(self) -> str:
        """A small complete file."""
        return self.records.example

    def recognises(self, source: Source) -> bool:
        """Whether the file, or the first of the files inside, looks like this format."""
        return any(map(self.records.recognises, files_of(source, self.pattern)[:1]))

    def read(self, source: Source, intake: Intake) -> Iterator[Tables]:
        """Whole dialogues in batches, file after file."""
        for file in files_of(source, self.pattern, intake):
            if not source.is_folder:
                yield from self.records.read(file, intake)
                continue
            with leaving_out(file.path, intake) as kept:
                for part in self.records.read(file, intake):
                    kept.anything = kept.anything or part.turns.height > 0
                    yield part


def files_of(source: Source, pattern: str, intake: Intake | None = None) -> list[Source]:
    """The source itself if it is a plain file, else those of its files whose name matches.

    With an `intake`, other files of a folder that might hold conversations are noted there.
    """
    bundle = bundle_of(source)
    if bundle is None:
        return [source]
    names = bundle.names(pattern)
    if intake is not None and source.is_folder:
        others = [name for name in bundle.names(_CHATS) if name not in names]
        others = [name for name in others if not _COMPANIONS.match(name)]
        if others:
            more = f" and {len(others) - 3:,} more" if len(others) > 3 else ""
            intake.note(
                f"{source.path.name} was read as one export ({', '.join(names)}); not read: "
                f"{', '.join(others[:3])}{more}. Give those as inputs of their own."
            )
    return [bundle.file(name) for name in names]
