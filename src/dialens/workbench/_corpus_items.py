"""Conversations: corpus folders, and files that nothing was made of yet."""

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from dialens.base import RUN, DialensError, counted, first_line
from dialens.corpus import (
    Corpus,
    Intake,
    OnError,
    ReadOptions,
    UnreadableRecord,
    is_corpus_folder,
    read,
    recognised,
)
from dialens.workbench._catalogue import Unread
from dialens.workbench._command_lines import shown_path
from dialens.workbench._drafts import (
    SELF,
    Draft,
    Input,
    changed_at,
    damage_of,
    options_of,
    read_json,
    whole,
    written_by_us,
)
from dialens.workbench._walking import Place

MANIFEST = "manifest.json"
_UTTERANCES = "utterances.jsonl"
_ENDINGS = (".jsonl", ".json", ".csv", ".tsv", ".txt", ".parquet", ".eval", ".zip")
_PACKED = (".gz", ".zst", ".bz2", ".xz")
_NOT_CONVERSATIONS = (
    ".schema.json",
    ".rejects.jsonl",
    "package.json",
    "package-lock.json",
    "tsconfig.json",
    "requirements.txt",
    "constraints.txt",
    "readme.txt",
    "license.txt",
    "codebook.json",
    "drawn.json",
    "run.json",
    "manifest.json",
)
_ASKED = re.compile(r"""--(?:role|column) \w+=(?:"(?:[^"\\]|\\.)*"|[^\s'"().,]+)|--on-error skip""")
_MOST_READ = 4 * 1_048_576
_MOST_LOOKED_AT = 200


def corpus_items(place: Place) -> list[Draft]:
    """The corpus that a folder is, if it is one."""
    path = place.path
    if place.has(MANIFEST):
        if is_corpus_folder(path):
            return [_corpus(path)]
        if place.has("turns.parquet"):
            damage = f"{MANIFEST} cannot be read."
            return [Draft("corpus", path, "Conversations", damage=damage)]
    if place.has(_UTTERANCES) and recognised(path):
        return [Draft("corpus", path, "Conversations (convokit)", made=changed_at(path))]
    return []


def _corpus(path: Path) -> Draft:
    manifest = read_json(path / MANIFEST) or {}
    numbers = manifest.get("counts")
    counts = _counts(numbers if isinstance(numbers, Mapping) else {})
    files = manifest.get("files")
    said = manifest.get("source")
    source = said if isinstance(said, Mapping) else {}
    asked = source.get("options")
    return Draft(
        "corpus",
        path,
        corpus_title(counts),
        counts=counts,
        made=changed_at(path / MANIFEST),
        inputs=_origin(source),
        damage=damage_of(path, map(str, files if isinstance(files, Mapping) else ())),
        options=options_of(asked),
        asked={
            name: str(asked[name])
            for name in ("format", "on_error")
            if isinstance(asked, Mapping) and asked.get(name)
        },
    )


def _origin(source: Mapping[str, Any]) -> tuple[Input, ...]:
    """The file that a corpus was converted from; folders are not followed."""
    if not source.get("sha256") or not source.get("name"):
        return ()
    return (Input(str(source["name"]), {SELF: str(source["sha256"])}, "the conversations"),)


def _counts(said: Mapping[str, Any]) -> dict[str, int]:
    names = {"dialogs": "conversations", "agents": "agents", "turns": "turns", "ratings": "ratings"}
    return {ours: whole(said.get(name)) for name, ours in names.items() if whole(said.get(name))}


def corpus_title(counts: Mapping[str, int], format: str = "") -> str:
    """What a corpus is, as far as it was counted.

    Examples:
        >>> corpus_title({"conversations": 42, "agents": 3, "turns": 379})
        '42 conversations of 3 agents, 379 turns'
        >>> corpus_title({}, "openai")
        'Conversations (openai)'
    """
    if "conversations" not in counts:
        return f"Conversations ({format})" if format else "Conversations"
    parts = [
        f"{counted(counts['conversations'], 'conversation')} of "
        f"{counted(counts.get('agents', 0), 'agent')}",
        *(counted(counts[name], name[:-1]) for name in ("turns", "ratings") if counts.get(name)),
    ]
    return ", ".join(parts)


class LooseFiles:
    """Looks whether files are conversations, so many of them and no more."""

    def __init__(self, notes: list[str]) -> None:
        """What was not looked at is added to `notes`.

        Files that could not be read are kept in `known` where a format was recognised, in `unknown`
        where none was.
        """
        self.known: list[Unread] = []
        self.unknown: list[Unread] = []
        self._notes = notes
        self._ours: set[Path] = set()
        self._looked_at = 0
        self._read = 0

    def items(self, place: Place) -> list[Draft]:
        """The files of a folder that are conversations, those that dialens wrote left out.

        Folders are to come before those below them, whose files the lists of above may name.
        """
        ours = written_by_us(place.path)
        self._ours |= {place.path / name for name in ours or ()}
        if ours is None and place.has(RUN):
            return []
        files = [place.path / name for name in place.files if _may_be(name)]
        looked = [self._look(path) for path in files if path not in self._ours]
        return [draft for draft in looked if draft is not None]

    def _look(self, path: Path) -> Draft | None:
        self._looked_at += 1
        if self._looked_at > _MOST_LOOKED_AT:
            if self._looked_at == _MOST_LOOKED_AT + 1:
                self._notes.append(
                    f"More than {_MOST_LOOKED_AT} files may be conversations; from {path} on they "
                    "were not looked at. `dialens score FILE -o FOLDER` takes them all the same."
                )
            return None
        return self.conversations(path)

    def conversations(
        self, path: Path, *, used: bool = False, options: ReadOptions | None = None
    ) -> Draft | None:
        """A file as conversations, counted where it is small; None if it cannot be read so.

        Args:
            path: The file.
            used: Whether something was made from it, so that it is known to be conversations.
            options: How it was read then.
        """
        format = recognised(path)
        counts: dict[str, int] = {}
        try:
            size = path.stat().st_size
            small = size <= _MOST_READ and self._read + size <= 8 * _MOST_READ
            if path.is_file() and (small or format is None):  # what no reader takes is not read
                self._read += 0 if format is None else size
                intake = Intake(OnError.STOP)
                counts = _counted(read(path, options=options, intake=intake))
        except (DialensError, OSError, pl.exceptions.PolarsError, ValueError) as error:
            some = isinstance(error, UnreadableRecord) and ".jsonl" in path.suffixes
            if used or (some and format is not None):
                damage = first_line(error) + "."
                return Draft("corpus", path, corpus_title({}, format or ""), damage=damage)
            self._unread(path, error, known=format is not None)
            return None
        return Draft(
            "corpus", path, corpus_title(counts, format or ""), counts=counts, made=changed_at(path)
        )

    def _unread(self, path: Path, error: Exception, *, known: bool) -> None:
        said = str(error).replace(str(path), path.name)
        why = (said.strip().splitlines() or [type(error).__name__])[0].rstrip(".") + "."
        (self.known if known else self.unknown).append(
            Unread(path.name, path, why, _command(path, said))
        )


def _command(path: Path, said: str) -> str | None:
    """The command that reads a file, with the options that its reader asks for."""
    asked = dict.fromkeys(found.group() for found in _ASKED.finditer(said.partition("(for ")[0]))
    if not asked:
        return None
    target = path.parent / "corpus"
    if target.exists():
        target = path.parent / f"{path.name.partition('.')[0]}-corpus"
    words = ["dialens", "convert", shown_path(path), shown_path(target)]
    return f"{shlex.join(words)} {' '.join(asked)}".replace("…", "NAME")


def _counted(corpus: Corpus) -> dict[str, int]:
    row = (
        corpus.turns.select(
            conversations=pl.struct("system", "agent", "dialog").n_unique(),
            agents=pl.struct("system", "agent").n_unique(),
            turns=pl.len(),
        )
        .collect()
        .row(0, named=True)
    )
    return {name: int(n) for name, n in row.items()}


def _may_be(name: str) -> bool:
    plain = name.lower()
    for packed in _PACKED:
        plain = plain.removesuffix(packed)
    return plain.endswith(_ENDINGS) and not plain.endswith(_NOT_CONVERSATIONS)
