"""A folder opened: what was found, the index of its conversations, and the notebook beside it."""

import hashlib
import json
import os
import shutil
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import polars as pl

import dialens
from dialens.base import DialensError, atomic_folder, room_on_disk
from dialens.metrics import default_folder
from dialens.workbench._building import ABOUT, build_index
from dialens.workbench._catalogue import Catalogue
from dialens.workbench._conversations import Collection, collections_of
from dialens.workbench._corrected import Analyses
from dialens.workbench._finding import find
from dialens.workbench._index import Index, in_use
from dialens.workbench._live import live_of
from dialens.workbench._notebook import Notebook
from dialens.workbench._running import Runs
from dialens.workbench._studied import SAID, Studied

Report = Callable[[str], None]
_LAYOUT = 1
_KEPT_INDEXES = 8
_LOOK_AGAIN_S = 3.0


def _silent(_: str) -> None:
    """Say nothing."""


@dataclass
class Workbench:
    """Everything that the pages show of a folder.

    Attributes:
        folder: The folder.
        catalogue: What was found in it.
        index: Its conversations with all their columns.
        notebook: Flags, notes, code book and saved views.
        cache: Where indexes are kept.
        said: Ratings of people and judges in the folder's studies, in the columns of `RATINGS` and
            `source`; those of the corpora themselves are the index's.
        studied: Reads them.
        runs: Commands that were started from its pages.
        trouble: Why the folder, which has changed, cannot be shown as it is now; empty if it can.
    """

    folder: Path
    catalogue: Catalogue
    index: Index
    notebook: Notebook
    cache: Path
    _key: str = ""
    said: tuple[pl.DataFrame, ...] = ()
    studied: Studied = field(default_factory=Studied)
    _analyses: Analyses = field(default_factory=Analyses)
    _seen: tuple[object, ...] = ()
    runs: Runs = field(init=False)
    trouble: str = ""
    _last: Index | None = None
    _looked: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _refreshing: threading.Lock = field(default_factory=threading.Lock)
    _finding: threading.Lock = field(default_factory=threading.Lock)

    def __post_init__(self) -> None:
        """Make what belongs to one open folder."""
        self.runs = Runs(self.folder, lambda: self._look_again(0.0))

    @classmethod
    def open(cls, folder: Path, *, report: Report | None = None, cache: Path | None = None) -> Self:
        """Find what a folder holds and make the index, or take the one that was made before.

        Args:
            folder: With corpora, score folders, studies and so on.
            report: Called with a sentence on each step that takes time.
            cache: Where indexes are kept; `workbench` in the user's cache folder if not given.

        Raises:
            DialensError: There is nothing of ours, or no place for the index.
        """
        catalogue = find(folder)
        notebook = Notebook(catalogue.folder)
        cache = cache or default_folder() / "workbench"
        key, place = _indexed(catalogue, cache, report or _silent)
        bench = cls(catalogue.folder, catalogue, Index(place), notebook, cache, key)
        bench.follow()
        return bench

    def refresh(self, report: Report | None = None) -> bool:
        """Look again, and make another index where it is needed; whether anything is another now.

        Pages go on with the index that there is until the new one is made.
        """
        with self._refreshing:
            changed = self._find()
            self._reindex(report or _silent)
        self.follow()
        return changed

    def look(self) -> None:
        """See what the folder holds now; another index is made in the background if it must be."""
        self._find()
        self._look_again(0.0)

    def _look_again(self, after: float) -> None:
        """Refresh in the background, where the last time is a while ago; never waits."""
        now = time.monotonic()
        if now - self._looked >= after and not self._refreshing.locked():
            self._looked = now
            threading.Thread(target=self._refresh_quietly, daemon=True).start()

    def _refresh_quietly(self) -> None:
        try:
            with self._refreshing:
                self._find()
                self._reindex(_silent)
            self.trouble = ""
        except DialensError as error:
            self.trouble = f"{error} What is shown is as it was before."

    def _find(self) -> bool:
        with self._finding:  # one after the other, so that the last to look is right
            catalogue = find(self.folder)
            changed = catalogue != self.catalogue
            self.catalogue = catalogue
            return changed

    def _reindex(self, report: Report) -> None:
        key, place = _indexed(self.catalogue, self.cache, report)
        with self._lock:
            if key != self._key:
                # A page may still be reading the last index, but not the one before.
                if self._last is not None:
                    self._last.close()
                self._last, self.index = self.index, Index(place)
                self._key, self._seen = key, ()

    def follow(self) -> None:
        """Take in flags, notes and ratings that came since, from whomever."""
        self._look_again(_LOOK_AGAIN_S)
        with self._lock:
            said, answered = self.studied.said(self.catalogue)
            corrected, analysed = self._analyses.follow(self.catalogue)
            seen = (self.notebook.version(), answered, analysed)
            if seen == self._seen:
                return
            book, self.said = self.notebook, tuple(said)
            ratings = [self.index.ratings(), *said]
            self.index.set_live(
                live_of(ratings, book.flags(), book.notes(), book.codes(), corrected)
            )
            self._seen = seen

    def ratings(self) -> pl.DataFrame:
        """All ratings that there are: the corpora's own, and those of studies and judges."""
        own = self.index.ratings().select(SAID.names())
        return pl.concat([own, *self.said])

    def close(self) -> None:
        """Stop what was started, and close all files."""
        self.runs.close()
        with self._refreshing, self._lock:
            if self._last is not None:
                self._last.close()
            self.index.close()
        self.notebook.close()


def _indexed(catalogue: Catalogue, cache: Path, report: Report) -> tuple[str, Path]:
    """The key of the index that fits what was found, and the folder that it lies in."""
    collections = collections_of(catalogue)
    key = _key_of(collections)
    for place in (cache, Path(tempfile.gettempdir()) / f"dialens-workbench-{os.getuid()}"):
        target = place / key
        if (target / ABOUT).exists():
            os.utime(target)
            return key, target
        try:
            place.mkdir(parents=True, exist_ok=True, mode=0o700)
            with atomic_folder(target, private=True) as scratch, room_on_disk(target):
                build_index(collections, scratch, report)
        except (DialensError, OSError) as error:
            report(f"The index cannot be written to {place}: {error}")
            continue
        _tidy(place, target)
        return key, target
    raise DialensError(
        f"There is no room for the index of {catalogue.folder.name}: neither {cache} nor the "
        "temporary folder can be written. Make room, or set XDG_CACHE_HOME to another disk."
    )


def _tidy(cache: Path, kept: Path) -> None:
    """Delete the indexes that were not used for longest, and that nobody has open."""
    others = [path for path in cache.iterdir() if path.is_dir() and path != kept]
    others = [path for path in others if not path.name.startswith(".")]
    others.sort(key=lambda path: path.stat().st_mtime, reverse=True)
    for path in others[_KEPT_INDEXES - 1 :]:
        if not in_use(path):
            shutil.rmtree(path, ignore_errors=True)


def _key_of(collections: Sequence[Collection]) -> str:
    """Changes whenever the index would."""
    content = [_LAYOUT, dialens.__version__]
    for one in collections:
        runs = [(run.name, run.record.started if run.record else "") for run in one.runs]
        files = [
            (str(run.path), *_stamp(run.path / name))
            for run in one.runs
            for name in ("scores.parquet", "dialogs.parquet", "metrics.json")
        ]
        sources = [(str(path), *_stamp(path)) for path in one.paths]
        content.append([one.name, one.key, repr(one.options), runs, files, sources])
    written = json.dumps(content, default=str)
    return hashlib.sha256(written.encode("utf-8", "surrogatepass")).hexdigest()[:24]


def _stamp(path: Path) -> tuple[int, int]:
    """Size and time of a file, or of all files of a folder."""
    try:
        files = sorted(path.rglob("*")) if path.is_dir() else [path]
        stats = [file.stat() for file in files]
    except OSError:
        return (-1, -1)
    return (sum(one.st_size for one in stats), max((one.st_mtime_ns for one in stats), default=0))
