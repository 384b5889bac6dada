"""Conversations: corpus folders, and files that nothing was made of yet."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

from dialens.base import FILES, RUN, DialensError, counted, first_line
from dialens.corpus import Corpus, is_corpus_folder, read, recognised
from dialens.workbench._drafts import SELF, Draft, Input, changed_at, read_json, whole
from dialens.workbench._walking import Place

MANIFEST = "manifest.json"
_UTTERANCES = "utterances.jsonl"
_ENDINGS = (".jsonl", ".json", ".csv", ".tsv", ".txt", ".parquet", ".eval", ".zip")
_PACKED = (".gz", ".zst", ".bz2", ".xz")
_NOT_CONVERSATIONS = (".schema.json", "package.json", "package-lock.json", "requirements.txt")
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
    said = manifest.get("counts")
    counts = _counts(said if isinstance(said, Mapping) else {})
    files = manifest.get("files")
    missing = [name for name in (files or {}) if not (path / str(name)).is_file()]
    source = manifest.get("source")
    return Draft(
        "corpus",
        path,
        corpus_title(counts),
        counts=counts,
        made=changed_at(path / MANIFEST),
        inputs=_origin(source if isinstance(source, Mapping) else {}),
        damage=f"{missing[0]} is missing." if missing else "",
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
        """What was not looked at is added to `notes`."""
        self._notes = notes
        self._ours: set[Path] = set()
        self._looked_at = 0
        self._read = 0

    def items(self, place: Place) -> list[Draft]:
        """The files of a folder that are conversations, those that dialens wrote left out.

        Folders are to come before those below them, whose files the lists of above may name.
        """
        ours = _written_by_us(place.path)
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

    def conversations(self, path: Path, *, used: bool = False) -> Draft | None:
        """A file as conversations, counted where it is small; None if it is something else.

        Args:
            path: The file.
            used: Whether something was made from it, so that it is known to be conversations.
        """
        format = recognised(path)
        if format is None:
            return None
        counts: dict[str, int] = {}
        try:
            size = path.stat().st_size
            if path.is_file() and size <= _MOST_READ and self._read + size <= 8 * _MOST_READ:
                self._read += size
                counts = _counted(read(path))
        except (DialensError, OSError, pl.exceptions.PolarsError, ValueError) as error:
            if not used and ".jsonl" not in path.suffixes:  # it only looked like conversations
                return None
            damage = first_line(error) + "."
            return Draft("corpus", path, corpus_title({}, format), damage=damage)
        return Draft(
            "corpus", path, corpus_title(counts, format), counts=counts, made=changed_at(path)
        )


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


def _written_by_us(folder: Path) -> set[str] | None:
    """Files that dialens wrote into a folder; None where no list is kept."""
    try:
        content = json.loads((folder / FILES).read_text("utf-8"))
        return {str(name) for name in content["files"]}
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None
