"""What was said in the studies of a folder: read while they run, and only what came since.

Databases are looked into, never opened to write: a study that is being answered does not notice.
"""

import json
import sqlite3
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from dialens.base import DialensError, first_line
from dialens.corpus import RATINGS
from dialens.studies import STUDY, Study, load_study
from dialens.studies.export import tables
from dialens.studies.judges import LEDGER, Ledger, judge_ratings
from dialens.studies.store import ANSWERS, SessionStanding, Standings, Store, look_into
from dialens.workbench._catalogue import Catalogue, Item
from dialens.workbench._drawn import sources_of

SAID = pl.Schema([*RATINGS.items(), ("source", pl.String())])
"""The columns of ratings, and the collection that they are of, where it is known."""

_FIRST = ("study.db", "simulated.db")
_MANY = 50
_SETTLED_NS = 200_000_000
_FAULTS = (DialensError, sqlite3.Error, OSError, ValueError, KeyError, TypeError)
Stamp = tuple[tuple[str, int, int], ...]


@dataclass
class Studied:
    """Ratings of people and judges in all studies of a folder, kept up to date.

    Attributes:
        notes: What cannot be read and why, by path.
    """

    notes: dict[Path, str] = field(default_factory=dict)
    _read: dict[Path, "_File"] = field(default_factory=dict)

    def said(self, catalogue: Catalogue) -> tuple[list[pl.DataFrame], tuple[object, ...]]:
        """Tables of ratings in the columns of `SAID`, and what changes whenever there are more.

        A file that cannot be read at the moment keeps what was read of it before. People who are
        in two databases, a backup for instance, count once.
        """
        files = list(_files(catalogue))
        self._read = {file.path: self._read.get(file.path, file) for file in files}
        self.notes = {}
        found, token = [], []
        known: set[str] = set()
        seen = pl.DataFrame(schema={"rater": pl.String, "study": pl.String})
        for file in self._read.values():
            try:
                file.follow(known)
            except _FAULTS as error:
                self.notes[file.path] = f"{file.path.name} cannot be read: {first_line(error)}"
            known |= file.hashes
            token.append((str(file.path), file.edition))
            own = file.ratings.join(seen, on=["rater", "study"], how="anti", nulls_equal=True)
            if own.height:
                found.append(own)
                seen = pl.concat([seen, own.select("rater", "study").unique()])
        return found, tuple(token)


@dataclass
class _File(ABC):
    """A file with ratings.

    Attributes:
        path: The file.
        ratings: What was read of it.
        hashes: Of the versions of studies whose ratings it holds.
        edition: Counts how often there was something new.
    """

    path: Path
    ratings: pl.DataFrame = field(default_factory=SAID.to_frame)
    hashes: frozenset[str] = frozenset()
    edition: int = 0
    _stamp: tuple[Stamp, frozenset[str]] | None = None

    def follow(self, known: set[str]) -> None:
        """Read what came since, if the file is another now.

        Args:
            known: Hashes of the versions that other files have.
        """
        stamp = stamp_of(self.path)
        if (stamp, self._needed(known)) == self._stamp:
            return
        ratings = self.take(known)
        if not ratings.equals(self.ratings):
            self.ratings, self.edition = ratings, self.edition + 1
        # Two commits within a tick of the clock may look the same: so young a file is read again.
        youngest = max((time_ns for _, _, time_ns in stamp), default=0)
        settled = time.time_ns() - youngest > _SETTLED_NS
        self._stamp = (stamp, self._needed(known)) if settled else None

    def _needed(self, known: set[str]) -> frozenset[str]:
        """What of the other files plays a part here."""
        return frozenset()

    @abstractmethod
    def take(self, known: set[str]) -> pl.DataFrame:
        """All ratings of the file, in the columns of `SAID`."""


@dataclass
class _Database(_File):
    """A study's database."""

    _standings: dict[str, dict[str, tuple[SessionStanding, ...]]] = field(default_factory=dict)
    _parts: dict[str, pl.DataFrame] = field(default_factory=dict)

    def take(self, known: set[str]) -> pl.DataFrame:
        """What people said who are not excluded; only of those who went on is anything read."""
        store = look_into(self.path)
        try:
            records = store.studies()
            for record in records:
                self._take_version(store, record.hash)
            self.hashes = frozenset(record.hash for record in records)
        finally:
            store.close()
        parts = [part for name, part in self._parts.items() if name in self.hashes]
        return _with_sources(pl.concat([RATINGS.to_frame(), *parts]), self.path.parent)

    def _take_version(self, store: Store, version: str) -> None:
        standings = Standings(store.database)
        people: dict[str, list[SessionStanding]] = {}
        for one in standings.all(version):
            people.setdefault(one.participant, []).append(one)
        now = {name: tuple(sessions) for name, sessions in people.items()}
        before = self._standings.get(version, {})
        changed = {name for name, sessions in now.items() if before.get(name) != sessions}
        gone = before.keys() - now.keys()
        if not changed and not gone and version in self._parts:
            return
        part = self._parts.get(version, RATINGS.to_frame())
        if len(changed) > _MANY:
            answers, part = store.answers_frame(version), RATINGS.to_frame()
        else:
            found = (
                standings.answers(session.id) for name in changed for session in now[name]
            )  # one short transaction each
            answers = pl.concat([ANSWERS.to_frame(), *(two[1] for two in found if two is not None)])
            part = part.filter(~pl.col("rater").is_in([*changed, *gone]))
        made = tables(answers.filter(~pl.col("excluded")))[0].select(RATINGS.names())
        self._parts[version] = pl.concat([part, made.cast(RATINGS)])
        self._standings[version] = now


@dataclass
class _Judges(_File):
    """The answers of judges."""

    def _needed(self, known: set[str]) -> frozenset[str]:
        return frozenset(known)

    def take(self, known: set[str]) -> pl.DataFrame:
        """What judges said; of versions that no database holds, the study file's own."""
        parts = [RATINGS.to_frame()]
        with Ledger.look_into(self.path) as ledger:
            for study in self._studies(ledger.frame()["study"].unique().to_list()):
                made = judge_ratings(study, ledger)
                named = made.with_columns(rater=pl.coalesce("judge", "rater"))
                parts.append(named.select(RATINGS.names()).cast(RATINGS))
        return _with_sources(pl.concat(parts), self.path.parent)

    def _studies(self, judged: list[str]) -> Iterator[Study]:
        """The versions that were judged, as far as they are still known."""
        found: dict[str, Study] = {}
        if (self.path.parent / STUDY).is_file():
            own = load_study(self.path.parent)
            found[own.hash] = own
        for path in _databases(self.path.parent):
            store = look_into(path)
            found |= {r.hash: r.study for r in store.studies() if r.hash not in found}
            store.close()
        return (study for name, study in found.items() if name in judged)


@dataclass
class _Export(_File):
    """Ratings that were exported; those whose database is at hand are not read."""

    def _needed(self, known: set[str]) -> frozenset[str]:
        return frozenset(known)

    def take(self, known: set[str]) -> pl.DataFrame:
        """The ratings of people who are not excluded, and of judges."""
        versions = _exported(self.path.with_name("codebook.json"))
        if versions and versions <= known:
            return SAID.to_frame()
        table = pl.read_parquet(self.path)
        if "excluded" in table.columns:
            table = table.filter(~pl.col("excluded").fill_null(value=False))
        if "judge" in table.columns:
            table = table.with_columns(rater=pl.coalesce("judge", "rater"))
        missing = [name for name in RATINGS.names() if name not in table.columns]
        table = table.with_columns(pl.lit(None).alias(name) for name in missing)
        made = table.select(RATINGS.names()).cast(RATINGS)
        return made.with_columns(source=pl.lit(None, pl.String))


def _files(catalogue: Catalogue) -> Iterator[_File]:
    """Databases first: what was exported from one of them is not read again."""
    for item in catalogue.of("study"):
        yield from (_Database(path) for path in databases_of(item))
    for folder in dict.fromkeys(_home(item) for item in catalogue.of("study", "judges")):
        if (folder / LEDGER).is_file():
            yield _Judges(folder / LEDGER)
    for item in catalogue.of("export"):
        yield _Export(item.path / "ratings.parquet")


def databases_of(item: Item) -> list[Path]:
    """The databases of a study, those that it is served from and simulated in first."""
    return _databases(item.path) if item.path.is_dir() else [item.path]


def _databases(folder: Path) -> list[Path]:
    found = [path for path in folder.glob("*.db") if path.name != LEDGER and path.is_file()]
    return sorted(found, key=lambda path: (path.name not in _FIRST, path.name != _FIRST[0], path))


def _home(item: Item) -> Path:
    return item.path if item.path.is_dir() else item.path.parent


def _exported(book: Path) -> set[str]:
    try:
        versions = json.loads(book.read_text("utf-8")).get("versions", {})
    except (OSError, ValueError, AttributeError):
        return set()
    return set(versions.values()) if isinstance(versions, Mapping) else set()


def _with_sources(ratings: pl.DataFrame, folder: Path) -> pl.DataFrame:
    """Ratings with the collections that their units were drawn from."""
    drawn = sources_of(folder)
    keys = ["agent", "dialog", "turn"]
    return ratings.join(drawn, on=keys, how="left", nulls_equal=True, maintain_order="left").select(
        SAID.names()
    )


def stamp_of(path: Path) -> Stamp:
    """Sizes and times of a database and of the log beside it: another after each commit."""
    stamp = []
    for end in ("", "-wal", "-journal"):
        try:
            found = Path(f"{path}{end}").stat()
        except OSError:
            continue
        stamp.append((end, found.st_size, found.st_mtime_ns))
    return tuple(stamp)
