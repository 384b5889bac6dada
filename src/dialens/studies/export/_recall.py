"""Taking people out of exports that were made before they were forgotten.

What still lies where dialens wrote it is rewritten without their rows. What cannot be reached, or
is not a table, is named, with the pseudonym to look for.
"""

import hashlib
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
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
        found = _taken_out(export)
        gone = [one.participant for one in found if not one.left]
        written, place = any(one.rows for one in found), export.place
        if gone or written:
            now = None
            if place is not None and written:
                now = folder_hash(place) if place.is_dir() else sha256_file(place)
            log.settle(export.number, gone, sha256=now)
        done += [one for one in found if one.rows or one.left]
    return tuple(done)


def _taken_out(export: KnownExport) -> list[Recall]:
    """Take all who are recalled out of an export at once; what became of each of them.

    At once, for a file is known by its hash: after the first rewriting it would be another one.
    """
    people = export.recalled
    try:
        rows, left = _rewritten(export)
    except (OSError, DialensError, pl.exceptions.PolarsError) as error:
        rows, left = (
            Counter(),
            dict.fromkeys(people, f"it cannot be changed ({error}). Delete it, or make it again."),
        )
    return [Recall(export, who, rows[who], left[who]) for who in people]


def _rewritten(export: KnownExport) -> tuple[Counter[str], dict[str, str]]:
    """How many rows were taken out of an export, and what is left in it, by person."""
    place, people = export.place, export.recalled
    if place is None:
        why = "it was downloaded. Whoever has it deletes it, or the rows with this name."
    elif place.is_dir() and listed_files(place) is not None:
        return _from_folder(place, people)
    elif place.is_file() and sha256_file(place) == export.sha256:
        return _from_csv(place, people), dict.fromkeys(people, "")
    elif place.exists():
        why = "it was changed since. Delete the rows with this name."
    else:
        why = "it is not there any more. Whoever moved it deletes it, or makes it again."
    return Counter(), dict.fromkeys(people, why)


def _from_folder(folder: Path, people: Sequence[str]) -> tuple[Counter[str], dict[str, str]]:
    rows: Counter[str] = Counter()
    named: dict[str, list[str]] = {who: [] for who in people}
    files = {folder / name for name in listed_files(folder) or ()}
    corpora = {one for one in {file.parent for file in files} if is_corpus_folder(one)}
    for file in sorted(files):
        if file.name == FILES or file.parent in corpora or not file.is_file():
            continue
        if file.suffix == ".parquet":
            rows += _from_parquet(file, people)
        elif file.suffix == ".csv":
            rows += _from_csv(file, people)
        else:
            for who in _named_in(file, people):
                named[who].append(file.relative_to(folder).as_posix())
    for corpus in sorted(corpora):
        rows += _from_corpus(corpus, people)
    if rows:
        for card in folder.rglob(_CARD):
            _say_on_card(card)
    left = {
        who: f"it is still named in {listed(where)}. Make it again, or delete it." if where else ""
        for who, where in named.items()
    }
    return rows, left


def _from_parquet(file: Path, people: Sequence[str]) -> Counter[str]:
    kept, gone = _without(pl.read_parquet(file), people)
    if gone:
        with _private(file) as scratch:
            kept.write_parquet(scratch)
    return gone


def _from_csv(file: Path, people: Sequence[str]) -> Counter[str]:
    if not _named_in(file, people):
        return Counter()
    kept, gone = _without(pl.read_csv(file, infer_schema=False), people)
    if gone:
        with _private(file) as scratch:
            kept.write_csv(scratch)
    return gone


def _from_corpus(folder: Path, people: Sequence[str]) -> Counter[str]:
    """A corpus is checked by its manifest, and so written again as a whole."""
    corpus = Corpus.open(folder)
    parts = [
        _without(one.collect(), people) for one in (corpus.turns, corpus.ratings, corpus.references)
    ]
    gone = sum((part for _, part in parts), Counter[str]())
    if gone:
        source = corpus.manifest["source"]
        scratch = folder.with_name(f".{folder.name}.partial")
        shutil.rmtree(scratch, ignore_errors=True)
        write_corpus([Tables(*(kept for kept, _ in parts))], scratch, source=source)
        for file in scratch.iterdir():
            file.chmod(0o600)
            file.replace(folder / file.name)
        scratch.rmdir()
    return gone


def _without(table: pl.DataFrame, people: Sequence[str]) -> tuple[pl.DataFrame, Counter[str]]:
    """The rows that have nothing to do with people, and how many each of them had.

    Names of conversations begin with the name of whoever had them.
    """
    texts = [name for name, kind in table.schema.items() if kind == pl.String]
    if not texts:
        return table, Counter()
    cells = pl.col(texts).str
    held = {
        who: pl.any_horizontal(cells.contains(who, literal=True).fill_null(value=False))
        for who in people
    }
    counts = table.select(one.sum().alias(who) for who, one in held.items()).row(0, named=True)
    gone = Counter({who: rows for who, rows in counts.items() if rows})
    if not gone:
        return table, gone
    return table.filter(~pl.any_horizontal(held[who] for who in gone)), gone


def _named_in(file: Path, people: Sequence[str]) -> list[str]:
    content = file.read_bytes()
    return [who for who in people if who.encode() in content]


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
