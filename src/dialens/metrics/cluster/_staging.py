"""The folder that driver and workers share: the plan, and a file for every batch that is scored.

A file of a batch appears when it is whole, so that it is its own marker: a run that was killed
computes only the batches that have none. Its name is a key of everything that the numbers depend
on, so that no other run takes it for its own. It holds pickles: whoever may write into the folder
may run code as the user who scores.
"""

import glob
import hashlib
import io
import os
import pickle
import shutil
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import zstandard

import dialens
from dialens.base import DialensError, atomic_file, make_folder, step_key, take_lock
from dialens.metrics._engine import ScoredBatch
from dialens.metrics._family import ScorerContext
from dialens.metrics._given import GivenValues
from dialens.metrics._parts import ScoringPlan
from dialens.metrics._scorers import ScorerSet
from dialens.metrics.cluster._batches import Batches
from dialens.metrics.cluster._source import ClusterCorpus

_KEY_LENGTH = 16
_SUFFIX = ".staging"
_PLAN, _REFERENCES, _FILES, _LOCK = "plan.pickle", "references.parquet", "files", "lock"
_ROWS_OF_REFERENCES = 20_000


@dataclass(frozen=True)
class Job:
    """What a worker is told.

    Attributes:
        plan: What is computed, with scorers that are not opened yet.
        signatures: Of its metrics, as the driver has them.
        failures: Why metrics have no values, as the driver has it.
        batches: Which rows are a batch.
        columns: Of turns that are read.
        most_words: Words that a worker remembers.
        whole_turns: Whether replies that were cut off are left out.
        reads_references: Whether a metric reads references.
    """

    plan: ScoringPlan
    signatures: tuple[str, ...]
    failures: dict[str, str]
    batches: Batches
    columns: tuple[str, ...]
    most_words: int
    whole_turns: bool
    reads_references: bool


class Staging:
    """The folder of one run.

    Args:
        folder: Beside the output, where all machines see it.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def beside(cls, output: Path, source: ClusterCorpus, job: Job) -> "Staging":
        """The folder of a run that writes `output`, the same for every start of it."""
        given = [
            hashlib.sha256(_as_bytes(feature.table)).hexdigest()
            for feature in job.plan.features.values()
            if isinstance(feature, GivenValues)
        ]
        key = step_key(
            [
                dialens.__version__,
                source.identity,
                job.signatures,
                job.failures,
                job.plan.prompt,
                job.batches.starts,
                job.columns,
                job.whole_turns,
                given,
            ]
        )
        place = Path(os.path.realpath(output))
        return cls(place.with_name(f".{place.name}.{key[:_KEY_LENGTH]}{_SUFFIX}"))

    def open(self) -> Any:
        """Make the folder, and take its lock for as long as the file that comes back is open."""
        make_folder(self.folder)
        lock = (self.folder / _LOCK).open("w")
        try:
            take_lock(
                lock.fileno(),
                f"Another process is scoring the same into {self.folder}. Wait for it, or end it.",
            )
        except DialensError:
            lock.close()
            raise
        return lock

    def remove(self, *, unless_begun: bool = False) -> None:
        """Delete the folder; with `unless_begun`, only if no batch in it is finished."""
        if not (unless_begun and self.finished()):
            shutil.rmtree(self.folder, ignore_errors=True)

    def finished(self) -> int:
        """How many batches are there."""
        return sum(1 for _ in self.folder.glob("batch-*.zst"))

    def write_job(self, job: Job, threads: int) -> None:
        """Leave the plan for the workers, with the user's own models and weights beside it."""
        context = self._shared_context(job.plan.scorers.context, threads)
        with atomic_file(self.folder / _PLAN) as scratch, scratch.open("wb") as file:
            pickle.dump(dialens.__version__, file)
            _pickler(file, context).dump(job)

    def read_job(self) -> Job:
        """What the driver left.

        Raises:
            DialensError: It has another version of dialens.
        """
        with (self.folder / _PLAN).open("rb") as file:
            version = pickle.load(file)
            if version != dialens.__version__:
                raise DialensError(
                    f"dialens {dialens.__version__} is installed here and {version} where the "
                    f"command runs. Install {version} on all machines."
                )
            job: Job = pickle.load(file)
            return job

    def write_references(self, references: pl.DataFrame, dialogs: pl.LazyFrame) -> None:
        """Leave references for the workers, in the order of batches (columns dialog, batch)."""
        placed = references.lazy().join(dialogs, on="dialog", how="left", maintain_order="left")
        with atomic_file(self.folder / _REFERENCES) as scratch:
            placed.sort("batch", maintain_order=True).sink_parquet(
                scratch, row_group_size=_ROWS_OF_REFERENCES
            )

    def references(self, batch: int | None = None) -> pl.LazyFrame:
        """The references of a batch, or of all, in their order."""
        table = pl.scan_parquet(self.folder / _REFERENCES)
        kept = table if batch is None else table.filter(pl.col("batch") == batch)
        return kept.select("dialog", "turn", "text")

    def write(self, batch: int, scored: ScoredBatch) -> None:
        """Leave a batch that is scored; whoever comes second finds it there."""
        data = pickle.dumps(scored, protocol=pickle.HIGHEST_PROTOCOL)
        with atomic_file(self.path(batch)) as scratch:
            scratch.write_bytes(zstandard.compress(data, 1))

    def read(self, batch: int) -> ScoredBatch:
        """A batch that a worker left."""
        data = zstandard.decompress(self.path(batch).read_bytes())
        scored: ScoredBatch = pickle.loads(data)
        return scored

    def path(self, batch: int) -> Path:
        """The file of a batch; it is whole where it is there."""
        return self.folder / f"batch-{batch:07d}.zst"

    def missing(self, batches: Batches) -> list[int]:
        """The batches that are not finished, in their order."""
        there = {path.name for path in self.folder.glob("batch-*.zst")}
        return [batch for batch in range(len(batches)) if self.path(batch).name not in there]

    def _shared_context(self, context: ScorerContext, threads: int) -> ScorerContext:
        """The same choices with paths that all machines see, and as many threads as a task has."""
        own = {
            task: self._shared("models", task, place) for task, place in context.models.own.items()
        }
        weights = {
            n: str(self._shared("weights", n, place)) for n, place in context.weights.items()
        }
        models = replace(context.models, own=own)
        return replace(context, models=models, weights=weights, threads=threads)

    def _shared(self, kind: str, name: str, place: str | Path) -> str | Path:
        """A folder or file of the user's, linked or copied once; names of models stay names."""
        source = Path(place)
        if not source.exists():
            return place
        target = self.folder / _FILES / kind / name / source.resolve().name
        if not target.exists():
            scratch = target.with_name(f"{target.name}.partial")
            shutil.rmtree(scratch, ignore_errors=True)
            make_folder(target.parent)
            if source.is_dir():
                shutil.copytree(source, scratch, copy_function=_link)
            else:
                _link(str(source), str(scratch))
            scratch.rename(target)
        return target


def remove_staging(output: Path) -> None:
    """Delete what workers left for an output that is whole now, unless a run is still at it.

    That of runs with other options, which never came to an end, is deleted too.
    """
    place = Path(os.path.realpath(output))
    for folder in place.parent.glob(f".{glob.escape(place.name)}.{'?' * _KEY_LENGTH}{_SUFFIX}"):
        staging = Staging(folder)
        with suppress(DialensError), staging.open():
            staging.remove()


def _link(source: str, target: str) -> None:
    """A second name for a file, or a copy where there can be none."""
    place = Path(source).resolve()
    with suppress(OSError):
        Path(target).hardlink_to(place)
        return
    shutil.copy2(place, target)


def _pickler(file: Any, context: ScorerContext) -> Any:
    """Pickles a plan: its functions as Spark does, its scorers as what they are opened with."""
    from pyspark import cloudpickle

    pickler: Any = cloudpickle.Pickler

    class PlanPickler(pickler):  # type: ignore[misc]
        def reducer_override(self, value: Any) -> Any:
            if isinstance(value, ScorerSet):
                return ScorerSet, (context,)
            return super().reducer_override(value)

    return PlanPickler(file)


def _as_bytes(table: pl.DataFrame) -> bytes:
    buffer = io.BytesIO()
    table.write_ipc(buffer)
    return buffer.getvalue()


def batch_of_dialogs(turns: pl.LazyFrame, starts: Sequence[int]) -> pl.LazyFrame:
    """For each dialogue the batch that it is in.

    Examples:
        >>> turns = pl.LazyFrame({"dialog": ["x", "x", "y", "z"]})
        >>> batch_of_dialogs(turns, [0, 3, 4]).collect().rows()
        [('x', 0), ('y', 0), ('z', 1)]
    """
    firsts = pl.LazyFrame({"row": list(starts[:-1]), "batch": range(len(starts) - 1)})
    firsts = firsts.cast({"row": pl.UInt32, "batch": pl.Int64}).set_sorted("row")
    rows = (
        turns.select("dialog")
        .with_row_index("row")
        .filter(pl.col("dialog").ne_missing(pl.col("dialog").shift()))
    )
    placed = rows.set_sorted("row").join_asof(firsts, on="row", strategy="backward")
    return placed.select("dialog", "batch")
