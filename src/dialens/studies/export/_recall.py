"""Taking people out of exports that were made before they were forgotten.

What still lies where dialens wrote it is rewritten without their rows. What cannot be reached, or
is not a table, is named, with the pseudonym to look for.
"""

import hashlib
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import polars as pl

from dialens.base import (
    FILES,
    DialensError,
    atomic_file,
    counted,
    listed,
    listed_files,
    sha256_file,
)
from dialens.corpus import Corpus, Tables, is_corpus_folder, write_corpus
from dialens.studies.store import ExportLog, KnownExport, Store, StoreUnavailable

_CARD = "card.md"


@dataclass(frozen=True)
class Recall:
    """What became of somebody in an export.

    Attributes:
        export: The export.
        participant: The pseudonym.
        rows: How many rows were taken out.
        left: What still holds them, in words; empty if nothing does.
    """

    export: KnownExport
    participant: str
    rows: int
    left: str

    def __str__(self) -> str:
        if not self.left:
            return (
                f"{self.participant} is taken out of the {self.export}: {counted(self.rows, 'row')}"
            )
        return (
            f"The {self.export}, number {self.export.number}, may still hold {self.participant}: "
            f"{self.left}"
        )


def remember_folder(
    log: ExportLog, study: str, kind: str, folder: Path, *, people: int, now: datetime
) -> None:
    """Write down that a folder was exported; where nothing can be written, nobody is forgotten."""
    try:
        log.remember(study, kind, folder, sha256=folder_hash(folder), people=people, now=now)
    except StoreUnavailable:
        return


def folder_hash(folder: Path) -> str:
    """One hash for the files of a folder that dialens wrote."""
    names = sorted(name for name in listed_files(folder) or () if (folder / name).is_file())
    lines = "".join(f"{sha256_file(folder / name)}  {name}\n" for name in names)
    return hashlib.sha256(lines.encode()).hexdigest()


def recall(store: Store) -> tuple[Recall, ...]:
    """Take everybody who was deleted out of all exports that hold them.

    Gives what was done, and what is left to do by hand.
    """
    log = ExportLog(store.database, "command")
    done = []
    for export in log.recalled():
        found = [Recall(export, who, *_taken_out(export, who)) for who in export.recalled]
        gone = [one.participant for one in found if not one.left]
        if gone:
            place = export.place
            now = None
            if place is not None and any(one.rows for one in found):
                now = folder_hash(place) if place.is_dir() else sha256_file(place)
            log.settle(export.number, gone, sha256=now)
        done += [one for one in found if one.rows or one.left]
    return tuple(done)


def _taken_out(export: KnownExport, who: str) -> tuple[int, str]:
    """How many rows of somebody were taken out of an export, and what is left of them."""
    place = export.place
    if place is None:
        return 0, "it was downloaded. Whoever has it deletes it, or the rows with this name."
    try:
        if place.is_dir() and listed_files(place) is not None:
            return _from_folder(place, who)
        if place.is_file() and sha256_file(place) == export.sha256:
            return _from_csv(place, who), ""
    except (OSError, DialensError, pl.exceptions.PolarsError) as error:
        return 0, f"it cannot be changed ({error}). Delete it, or make it again."
    if place.exists():
        return 0, "it was changed since. Delete the rows with this name."
    return 0, "it is not there any more. Whoever moved it deletes it, or makes it again."


def _from_folder(folder: Path, who: str) -> tuple[int, str]:
    rows, left = 0, []
    files = {folder / name for name in listed_files(folder) or ()}
    corpora = {one for one in {file.parent for file in files} if is_corpus_folder(one)}
    for file in sorted(files):
        if file.name == FILES or file.parent in corpora or not file.is_file():
            continue
        if file.suffix == ".parquet":
            rows += _from_parquet(file, who)
        elif file.suffix == ".csv":
            rows += _from_csv(file, who)
        elif _mentions(file, who):
            left.append(file.relative_to(folder).as_posix())
    rows += sum(_from_corpus(corpus, who) for corpus in sorted(corpora))
    if rows:
        for card in folder.rglob(_CARD):
            _say_on_card(card)
    if not left:
        return rows, ""
    return rows, f"it is still named in {listed(left)}. Make it again, or delete it."


def _from_parquet(file: Path, who: str) -> int:
    table = pl.read_parquet(file)
    kept = _without(table, who)
    if kept.height < table.height:
        with _private(file) as scratch:
            kept.write_parquet(scratch)
    return table.height - kept.height


def _from_csv(file: Path, who: str) -> int:
    if not _mentions(file, who):
        return 0
    table = pl.read_csv(file, infer_schema=False)
    kept = _without(table, who)
    with _private(file) as scratch:
        kept.write_csv(scratch)
    return table.height - kept.height


def _from_corpus(folder: Path, who: str) -> int:
    """A corpus is checked by its manifest, and so written again as a whole."""
    corpus = Corpus.open(folder)
    parts = [one.collect() for one in (corpus.turns, corpus.ratings, corpus.references)]
    kept = [_without(part, who) for part in parts]
    gone = sum(part.height for part in parts) - sum(part.height for part in kept)
    if gone:
        source = corpus.manifest["source"]
        scratch = folder.with_name(f".{folder.name}.partial")
        shutil.rmtree(scratch, ignore_errors=True)
        write_corpus([Tables(*kept)], scratch, source=source)
        for file in scratch.iterdir():
            file.chmod(0o600)
            file.replace(folder / file.name)
        scratch.rmdir()
    return gone


def _without(table: pl.DataFrame, who: str) -> pl.DataFrame:
    """The rows that have nothing to do with somebody; names of conversations begin with theirs."""
    texts = [name for name, kind in table.schema.items() if kind == pl.String]
    if not texts:
        return table
    named = pl.any_horizontal(pl.col(texts).str.contains(who, literal=True).fill_null(value=False))
    return table.filter(~named)


def _mentions(file: Path, who: str) -> bool:
    return who.encode() in file.read_bytes()


def _say_on_card(card: Path) -> None:
    """The numbers of a card are those of before."""
    said = "Somebody asked to be deleted, and was taken out of the tables after this was written."
    text = card.read_text("utf-8")
    if said not in text:
        with _private(card) as scratch:
            scratch.write_text(f"{text.rstrip()}\n\n{said}\n", "utf-8")


@contextmanager
def _private(file: Path) -> Iterator[Path]:
    """A file that is replaced, and may be read by the same people as before."""
    with atomic_file(file) as scratch:
        scratch.chmod(file.stat().st_mode & 0o777)
        yield scratch
