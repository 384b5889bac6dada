"""Runs the steps one after another and remembers which are done.

Every finished table leaves a marker with a key: a hash over the shards, the options and all
statements up to its own. A run that was killed finds the markers, and does only the rest.
"""

import hashlib
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from dialens.base import Advance
from dialens.engagement.curation._label_cycles import write_cycles
from dialens.engagement.curation._label_engine import Engine, Folders, parts_of
from dialens.engagement.curation._label_slices import posts_a_slice, write_places
from dialens.engagement.curation._markers import read_marker, write_marker
from dialens.engagement.curation._neural import Scorer, ShardPlan
from dialens.engagement.curation._steps import BY_NAME, statement
from dialens.engagement.curation._writing import writing_to


@dataclass(frozen=True)
class Done:
    """A finished table: its rows, the time it took, and whether an earlier run had made it."""

    rows: int
    seconds: float
    reused: bool


@dataclass
class Runner:
    """Steps of one labelling.

    Attributes:
        engine: What computes.
        folder: Where tables and markers are kept.
        key: Of everything so far; at the beginning, of the data.
        done: Tables by name.
        slices: In how many the posts are dealt out, once they are numbered.
    """

    engine: Engine
    folder: Path
    key: str
    done: dict[str, Done] = field(default_factory=dict)
    slices: int = 0

    def step(self, name: str, parameters: Mapping[str, object]) -> Done | None:
        """Run a step unless it is done; views have nothing to show."""
        sql = statement(name, parameters)
        self._extend(name, sql)
        if BY_NAME[name].kind == "view":
            self.engine.view(name, sql)
            return None
        column = BY_NAME[name].by
        by = None if column is None else Folders(column, self.slices)
        return self._make(name, lambda folder: self.engine.write(sql, folder, by))

    def walk(self, name: str, source: str) -> Done:
        """Find the comments of a table that are part of a cycle."""
        self._extend(name)
        return self._make(name, lambda folder: write_cycles(self.parts(source), folder))

    def number(self, name: str, source: str) -> Done:
        """Number the posts of a table that is in their order, and deal them out to slices."""
        posts = self.done[source].rows
        rows = posts_a_slice(posts)
        self.slices = -(-posts // rows)
        self._extend(name, str(rows))
        return self._make(name, lambda folder: write_places(self.parts(source), folder, rows))

    def score(self, name: str, texts: str, scorer: Scorer | None, advance: Advance) -> Done:
        """Score the texts of a table; without a scorer the table of scores is empty."""
        plan = ShardPlan.of(self.done[texts].rows)
        self._extend(name, scorer.signature if scorer else "none", str(plan.digits))

        def make(folder: Path) -> None:
            if scorer is None or plan.texts == 0:
                empty = pl.DataFrame(schema={"text_key": pl.String, "micro": pl.Int64})
                empty.write_parquet(folder / "part-00000.parquet")
            else:
                self.engine.score(self.parts(texts), scorer, plan, folder, advance)

        return self._make(name, make)

    def read(self, name: str) -> list[dict[str, Any]]:
        """The rows of a small table."""
        return pl.concat([pl.read_parquet(part) for part in self.parts(name)]).to_dicts()

    def parts(self, name: str) -> list[Path]:
        """The Parquet files of a table, in their order."""
        return parts_of(self.folder / name)

    def _extend(self, *more: str) -> None:
        self.key = hashlib.sha256("\0".join((self.key, *more)).encode()).hexdigest()

    def _make(self, name: str, make: Callable[[Path], None]) -> Done:
        folder, marker = self.folder / name, self.folder / f"{name}.json"
        done = self._found(marker, folder)
        if done is None:
            started = time.perf_counter()
            partial = self.folder / f"{name}.partial"
            for old in (partial, folder):
                shutil.rmtree(old, ignore_errors=True)
            marker.unlink(missing_ok=True)
            with writing_to(self.folder, kept="steps"):
                partial.mkdir(parents=True)
                make(partial)
                partial.rename(folder)
                rows = pl.scan_parquet(parts_of(folder)).select(pl.len()).collect().item()
                done = Done(rows, time.perf_counter() - started, reused=False)
                about = {"key": self.key, "rows": done.rows, "seconds": round(done.seconds, 3)}
                write_marker(marker, about)
        self.done[name] = done
        self.engine.table(name, self.parts(name))
        return done

    def _found(self, marker: Path, folder: Path) -> Done | None:
        if not (marker.is_file() and folder.is_dir()):
            return None
        about = read_marker(marker)
        if about.get("key") != self.key:
            return None
        return Done(about["rows"], about["seconds"], reused=True)
