"""The files of a folder read side by side by processes, each into a folder of its own.

A file that was read leaves a marker (`dialens.base.StepChain`), so that a run that was killed does
only the rest when it is started again. The key of a marker is a hash of all that a reader's output
depends on: path, size and times of the file and of those beside it, options, formats, versions.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol, Self

from dialens.base import (
    Advance,
    DialensError,
    NoRoom,
    StepChain,
    open_state,
    progress_steps,
    rare_collections,
    read_marker,
    report_step,
    room_on_disk,
    sha256_file,
    step_key,
    take_lock,
    versions,
    worker_pool,
)
from dialens.corpus._intake import Dependent, Intake, OnError
from dialens.corpus._kept_file import FileIntake, KeptFile, keep
from dialens.corpus._reading import FolderReader
from dialens.corpus._source import Source
from dialens.corpus._tables import Tables
from dialens.corpus.readers import readers

_LOOK_S = 0.2
_WORTH_PROCESSES = 64 * 2**20
_NAME_DIGITS = 24
_MARKERS = f"{'[0-9a-f]' * _NAME_DIGITS}.json"
_PACKAGES = ("dialens", "msgspec", "polars")


class Show(Protocol):
    """Shows progress for as long as a block takes: `dialens.base.progress`."""

    def __call__(
        self, label: str, *, total: int | None = None, unit: str = "turns"
    ) -> AbstractContextManager[Advance]:
        """Gives a function to be called with what was just done."""
        ...


def usual_threads(paths: Iterable[Path]) -> int | None:
    """One process a core where the files of folders are many bytes; None where it is not worth it.

    To start a process takes a second, in which one reads ten megabytes.

    Examples:
        >>> usual_threads([Path("chats.jsonl")])
    """
    size = 0
    for path in paths:
        for file in path.rglob("*") if path.is_dir() else ():
            size += file.stat().st_size if file.is_file() else 0
            if size > _WORTH_PROCESSES:
                return os.cpu_count() or 1
    return None


@dataclass(frozen=True)
class _Task:
    """A file to be read by a process.

    Attributes:
        folder: The state folder.
        file: What to read.
        key: Of everything that the outcome depends on.
        reader: The name of the folder's reader.
        formats: The readers that this process knows; another may have been registered here alone.
        on_error: Whether the first record that cannot be read ends it.
        stamps: Size and times of the file and of those that are read with it.
        in_bytes: Whether progress is counted in bytes or in turns.
    """

    folder: Path
    file: Source
    key: str
    reader: str
    formats: tuple[str, ...]
    on_error: OnError
    stamps: list[tuple[str, int, int, int]]
    in_bytes: bool


@dataclass(frozen=True)
class _Outcome:
    """What became of a file: it was kept, or must be read again in its turn.

    Attributes:
        kept: Whether there is a marker.
        failed: Whether reading it raised an error, which will be raised again.
        no_room: Why the disk took no more.
    """

    kept: bool = False
    failed: bool = False
    no_room: str = ""


@dataclass
class FilesApart:
    """Reads the files of a folder side by side, and gives back what they hold in any order.

    Attributes:
        folder: The state folder, which remains when the run is killed.
        processes: How many files are read at once; one is read in this process.
        advance: Called with the number of turns just read.
        show: Shows progress in bytes instead, as `dialens.base.progress` does.
        say: Called with a sentence on what an earlier run has read, or is kept for a later one.
    """

    folder: Path
    processes: int
    advance: Advance = lambda count: None
    show: Show | None = None
    say: Callable[[str], None] = lambda sentence: None
    _kept: dict[Path, KeptFile] = field(default_factory=dict)
    _locked: int | None = None

    def read(self, source: Source, reader: FolderReader, on_error: OnError) -> None:
        """Read all files of a folder that an earlier run has not read.

        Raises:
            DialensError: The disk is full, a process was killed, or another run is at it. What is
                wrong with a file is raised when it is read again in its turn.
        """
        open_state(self.folder, {"work": "files of a folder, read one by one"})
        self._lock()
        tasks = self._tasks(source, reader, on_error)
        rest = [task for task in tasks if not self._take(task)]
        if known := len(tasks) - len(rest):
            were = "was" if known == 1 else "were"
            self.say(f"{known:,} of {len(tasks):,} files {were} read before.")
        side_by_side = self.processes > 1 and len(rest) > 1
        with self._shown(rest) as advance:
            outcomes = (self._in_processes if side_by_side else self._in_turn)(rest, advance)
        for outcome in outcomes:
            if outcome.no_room:
                raise DialensError(outcome.no_room)
        for task in rest:
            self._take(task)

    def tables(self, file: Source, intake: Intake) -> Iterator[Tables] | None:
        """What a file holds; None if it has to be read now."""
        kept = self._kept.get(file.path)
        if kept is None or not kept.joins(intake, file.stem):
            return None
        return kept.tables(intake)

    def sha256(self, path: Path) -> str:
        """The hash of a file, known if it was read."""
        kept = self._kept.get(path)
        known = kept.account.get("sha256") if kept is not None else None
        return known if isinstance(known, str) else sha256_file(path)

    def __enter__(self) -> Self:
        """The same."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Delete the state folder, if everything was joined or nothing is worth keeping."""
        if self._locked is None:
            return  # nothing was to be read apart, or another run is at it
        os.close(self._locked)
        kept = 0 if error is None else len(list(self.folder.glob(_MARKERS)))
        if not kept:
            shutil.rmtree(self.folder, ignore_errors=True)
            return
        are = "file that was read is" if kept == 1 else "files that were read are"
        self.say(
            f"{kept:,} {are} kept in {self.folder}: the same command reads only the rest. Delete "
            "that folder if it is not wanted."
        )

    def _lock(self) -> None:
        if self._locked is not None:
            return
        file = os.open(self.folder / "lock", os.O_CREAT | os.O_RDWR)
        try:
            take_lock(file, f"Another run is reading into {self.folder}. Wait until it has ended.")
        except DialensError:
            os.close(file)
            raise
        self._locked = file

    def _tasks(self, source: Source, reader: FolderReader, on_error: OnError) -> list[_Task]:
        formats = tuple(one.name for one in readers())
        shared = {
            "on_error": on_error,
            "formats": formats,
            "versions": versions(*_PACKAGES),
            "reader": reader.name,
        }
        tasks = []
        with self.show("Looking at the files", unit="files") if self.show else nullcontext():
            files = reader.files(source)  # some readers look into all of them for that
        for file in files:
            stamps = _stamps([file.path, *reader.beside(file)])
            if stamps is None:
                continue  # it vanished, which is said when its turn comes
            key = step_key([shared, repr(file), stamps])
            tasks.append(
                _Task(
                    self.folder,
                    file,
                    key,
                    reader.name,
                    formats,
                    on_error,
                    stamps,
                    self.show is not None,
                )
            )
        return tasks

    def _take(self, task: _Task) -> bool:
        """Remember what was kept of a file, if it was and is not stale."""
        name = _name(task.file)
        marker = read_marker(task.folder / f"{name}.json")
        if marker is None or marker.key != task.key or not (task.folder / name).is_dir():
            return False
        self._kept[task.file.path] = KeptFile(task.folder / name, marker.content)
        return True

    def _shown(self, tasks: Sequence[_Task]) -> AbstractContextManager[Advance]:
        if self.show is None:
            return nullcontext(self.advance)
        total = sum(size for task in tasks for _, size, *_ in task.stamps)
        return self.show("Reading", total=total, unit="bytes")

    def _in_turn(self, tasks: Sequence[_Task], advance: Advance) -> list[_Outcome]:
        """Read files in this process; the first that fails ends it, if errors do."""
        outcomes = []
        for task in tasks:
            outcomes.append(_read_file(task, advance))
            if outcomes[-1].no_room or (outcomes[-1].failed and task.on_error is OnError.STOP):
                break
        return outcomes

    def _in_processes(self, tasks: Sequence[_Task], advance: Advance) -> list[_Outcome]:
        """Read files in processes.

        A file that fails ends it, if errors do, once all before it are read: the error to report is
        the first in the order of files, not of time.
        """
        try:
            with worker_pool(min(self.processes, len(tasks)), advance) as pool:
                return _settled(pool, tasks)
        except _Ended as ended:
            return ended.outcomes
        except BrokenProcessPool as error:
            raise DialensError(
                "A process that was reading a file was killed, probably because the memory was "
                "full. Run the same command again with fewer --threads: files that were read are "
                "kept."
            ) from error


class _Ended(Exception):
    """The rest need not be read; the outcomes so far."""

    def __init__(self, outcomes: list[_Outcome]) -> None:
        super().__init__()
        self.outcomes = outcomes


def _settled(pool: ProcessPoolExecutor, tasks: Sequence[_Task]) -> list[_Outcome]:
    numbers: dict[Future[_Outcome], int] = {
        pool.submit(_read_in_worker, task): number for number, task in enumerate(tasks)
    }
    outcomes: list[_Outcome] = []
    last = len(tasks)
    waiting = set(numbers)
    while any(numbers[future] < last for future in waiting):
        # Polars lets the system take up a wait again after a signal: look up now and then.
        done, waiting = wait(waiting, timeout=_LOOK_S, return_when=FIRST_COMPLETED)
        for future in done:
            outcome = future.result()
            outcomes.append(outcome)
            if outcome.no_room:
                raise _Ended(outcomes)
            if outcome.failed and tasks[numbers[future]].on_error is OnError.STOP:
                last = min(last, numbers[future])
    if waiting:
        raise _Ended(outcomes)
    return outcomes


def _read_in_worker(task: _Task) -> _Outcome:
    return _read_file(task, report_step)


def _read_file(task: _Task, advance: Advance) -> _Outcome:
    """Read one file into its folder in the state folder."""
    reader = next((one for one in readers() if one.name == task.reader), None)
    formats = tuple(one.name for one in readers())
    if not isinstance(reader, FolderReader) or formats != task.formats:
        return _Outcome()
    position = progress_steps(advance) if task.in_bytes else None
    file = replace(task.file, watch=position)

    def work(folder: Path) -> Mapping[str, Any]:
        intake = FileIntake(task.on_error)
        with rare_collections():
            parts = reader.read_file(file, intake)
            account = keep(parts if task.in_bytes else _counted(parts, advance), folder, intake)
        if _stamps([file.path, *reader.beside(file)]) != task.stamps:
            raise DialensError(f"{file.path} was changed while it was read.")
        return {**account, "sha256": None if file.is_folder else sha256_file(file.path)}

    try:
        with room_on_disk(task.folder):
            StepChain(task.folder, task.key).run(_name(task.file), work)
    except NoRoom as error:
        return _Outcome(no_room=str(error))
    except Exception as error:  # whatever it is, it is raised when the file is read in its turn
        shutil.rmtree(task.folder / f"{_name(task.file)}.partial", ignore_errors=True)
        return _Outcome(failed=not isinstance(error, Dependent))
    if position is not None:
        position(sum(size for _, size, *_ in task.stamps))
    return _Outcome(kept=True)


def _counted(parts: Iterator[Tables], advance: Advance) -> Iterator[Tables]:
    for part in parts:
        advance(part.turns.height)
        yield part


def _name(file: Source) -> str:
    """What the folder of a file is called: a hash of its path, so that files may be added."""
    return step_key(str(file.path))[:_NAME_DIGITS]


def _stamps(paths: Iterable[Path]) -> list[tuple[str, int, int, int]] | None:
    """Sizes and times of files, and of all files in folders; None if one is gone.

    Programs that copy files set the time of their content back; nobody sets that of the change.
    """
    try:
        files = [
            file
            for path in paths
            for file in (sorted(path.rglob("*")) if path.is_dir() else [path])
            if file != path or not path.is_dir()
        ]
        seen = [(file, file.stat()) for file in files]
    except OSError:
        return None
    return [(str(file), one.st_size, one.st_mtime_ns, one.st_ctime_ns) for file, one in seen]
