"""The reader of logs that hold one record a call: what all of them share."""

import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

from dialens.corpus._damage import DamagedFile, leaving_out
from dialens.corpus._dialogue import Dialogue, batches
from dialens.corpus._intake import Intake, RecordError
from dialens.corpus._reading import UNREADABLE, as_record_error, check
from dialens.corpus._source import Record, Source
from dialens.corpus._tables import Tables
from dialens.corpus.readers._calls import Call, dialogue, talks_of
from dialens.corpus.readers._cells import note_escapes
from dialens.corpus.readers._failures import FailedCall, Failures
from dialens.corpus.readers._rows import Row, rows, unit

_NOT_LOGS = re.compile(r"^[._]|^(readme|licen[cs]e|notice|changelog)\b", re.IGNORECASE)

Item = Call | FailedCall | RecordError


@dataclass(frozen=True)
class CallReader:
    """Reads files whose rows are calls of a model, and folders of such files as one log.

    `parse` gets a row and its source and gives calls, or raises `RecordError`. Where one row holds
    many calls (a page of an API, a batch of spans), it may give a `RecordError` in the place of a
    call, and the others are read. A call that failed is a `FailedCall`: it is counted and left
    out, as is an exchange without any reply.

    A folder all of whose files are in this format is one log: a session may go on in the next
    file, and what stands in two files belongs together.
    """

    name: str
    summary: str
    example: str
    recognises_file: Callable[[Source], bool]
    parse: Callable[[Row, Source], Iterable[Item]]
    rows: Callable[[Source], Iterator[Row]] = rows
    complete: Callable[[list[Call | FailedCall], list[Source]], list[Item]] | None = None
    """Joins what stands in different records, when all of them were read."""
    joint: bool = True
    """Whether the files of a folder may belong together; else each is read by itself."""

    def recognises(self, source: Source) -> bool:
        """Whether it is such a file, or a folder of nothing else."""
        if not source.is_folder:
            return self.recognises_file(source)
        if not self.joint:
            return False
        found = False
        for path in _files(source.path):
            try:
                if not self.recognises_file(Source(path)):
                    return False
            except DamagedFile:
                continue  # what the others are is clear enough
            found = True
        return found

    def read(self, source: Source, intake: Intake) -> Iterator[Tables]:
        """Whole dialogues in batches; bad records go to `intake`."""
        return batches(self._dialogues(source, intake))

    def _dialogues(self, source: Source, intake: Intake) -> Iterator[Dialogue]:
        parts = [source]
        if source.is_folder:
            parts = [Source(path, _label(path, source.path)) for path in _files(source.path)]
        read: list[Call | FailedCall] = []
        places: dict[int, Path] = {}
        for part in parts:
            with leaving_out(part.path, intake) if source.is_folder else nullcontext():
                calls_of_part = list(self._calls(part, intake))
                read += calls_of_part
                places |= dict.fromkeys(map(id, calls_of_part), part.path)
        items: list[Item] = self.complete(read, parts) if self.complete else [*read]
        calls = [item for item in items if isinstance(item, Call)]
        failures = Failures(source.path)
        for item in items:
            if isinstance(item, RecordError):
                intake.reject(parts[0].path, 0, item)
            elif isinstance(item, FailedCall):
                failures.add(item)
        anything_said = False
        for talk in talks_of(calls, source.stem):
            path = next((places[id(c)] for c in talk.calls if id(c) in places), source.path)
            if talk.turns and not any(turn.role == "agent" for turn in talk.turns):
                failures.add(FailedCall(trace=talk.calls[0].trace))
                continue
            if not talk.turns and failures.holds(talk.calls[0].trace):
                continue
            try:
                if not talk.turns:
                    raise _nothing_said(talk.calls[0])
                found = dialogue(talk, source.stem)
                check(found)
                intake.claim(found.dialog, path, talk.line)
            except RecordError as error:
                intake.reject(path, talk.line, error)
                continue
            anything_said = True
            yield found
        failures.finish(intake, anything_said=anything_said)

    def _calls(self, source: Source, intake: Intake) -> Iterator[Call | FailedCall]:
        known: dict[str, int] = {}
        for row in self.rows(source):
            try:
                if row.problem:
                    raise row.problem
                items = list(self.parse(row, source))
            except UNREADABLE as error:
                items = [as_record_error(error, Record(row.line, b""))]
            for item in items:
                if isinstance(item, RecordError):
                    item.unit = unit(source)
                    intake.reject(source.path, row.line, item)
                    continue
                if isinstance(item, FailedCall):
                    yield item
                    continue
                if item.id is not None and item.id in known:
                    again = _again(item.id, known[item.id])
                    again.unit = unit(source)
                    intake.reject(source.path, row.line, again)
                    continue
                if item.id is not None:
                    known[item.id] = row.line
                item.line = row.line
                yield item
        note_escapes(source, intake)


def _again(name: str, line: int) -> RecordError:
    return RecordError(
        f"is a duplicate: the same call already stands in line {line}", field="id", seen=name
    )


def _nothing_said(call: Call) -> RecordError:
    return RecordError(
        "holds no message that can be read, neither in itself nor in other records of its trace",
        seen=call.kept or call.trace,
        remedy="A text, or a list of messages with roles, is read. Leave other records out with "
        "--on-error skip.",
    )


def _files(folder: Path) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        if _NOT_LOGS.match(path.name):
            continue
        if path.is_dir():
            yield from _files(path)
        elif path.is_file() and path.stat().st_size:
            yield path


def _label(path: Path, root: Path) -> str:
    """A name for a file that no other file of the folder has."""
    inside = path.relative_to(root)
    return (inside.parent / inside.name.split(".")[0]).as_posix()
