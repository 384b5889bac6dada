"""From a source to tables: the contract of readers, their driver, the detection of formats."""

import json
import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, runtime_checkable

import msgspec
import polars as pl

from dialens.base import DialensError, counted, did_you_mean, first_line
from dialens.corpus._damage import DamagedFile, before_damage
from dialens.corpus._dialogue import Dialogue, batches
from dialens.corpus._intake import Intake, RecordError, message, not_utf8
from dialens.corpus._source import UNDECODABLE, Record, Source, json_records
from dialens.corpus._tables import ROLES, Tables
from dialens.corpus._unrecognised import unrecognised

_MISSING = re.compile(r"missing required field `(.+)`")
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")
_NOTHING = re.compile(rb"\s*(?:\[\s*\]|\{\s*\})?\s*")
_AT = re.compile(r" - at `(?:key in )?(.+)`$")

UNREADABLE = (RecordError, *UNDECODABLE)
"""What decoding and parsing a record may raise; `as_record_error` puts it into our words."""


@runtime_checkable
class Reader(Protocol):
    """What reads one format.

    Attributes:
        name: What `--format` takes.
        summary: One line for `dialens formats`.
        example: A small complete file (or a sketch of a folder), shown by `dialens formats NAME`.
    """

    @property
    def name(self) -> str:
        """What `--format` takes."""
        ...

    @property
    def summary(self) -> str:
        """One line."""
        ...

    @property
    def example(self) -> str:
        """A small complete file."""
        ...

    def recognises(self, source: Source) -> bool:
        """Whether the content looks like this format."""
        ...

    def read(self, source: Source, intake: Intake) -> Iterator[Tables]:
        """Whole dialogues in batches; bad records go to `intake`."""
        ...


@runtime_checkable
class FolderReader(Reader, Protocol):
    """A reader of folders whose files can be read apart from each other, in any order.

    What a file gives may depend on the file, on those `beside` it, and on what the intake answers,
    and on nothing else. Readers without these methods see their files one after the other.
    """

    def files(self, source: Source) -> list[Source]:
        """What is read one by one, in its order."""
        ...

    def beside(self, file: Source) -> list[Path]:
        """The files that are read together with one."""
        ...

    def read_file(self, file: Source, intake: Intake) -> Iterator[Tables]:
        """What one of the files holds, in batches of whole dialogues."""
        ...

    def read_joined(self, source: Source, intake: Intake, read: "ReadFile") -> Iterator[Tables]:
        """As `read`, with what `read` gives for each of the files."""
        ...


ReadFile = Callable[[Source, Intake], Iterator[Tables] | None]
"""Gives what one file of a folder holds, or None where it has to be read now."""


@dataclass(frozen=True)
class RecordReader:
    """A reader for a format whose conversations stand one a record.

    `parse` gets a record and its source and gives the dialogues in it, or raises `RecordError`
    (msgspec's own validation errors are turned into one). Everything else, places, duplicates,
    roles, batches, is the same for all of them and happens here.
    """

    name: str
    summary: str
    example: str
    recognises: Callable[[Source], bool]
    parse: Callable[[Record, Source], Iterable[Dialogue]]
    records: Callable[[Source], Iterator[Record]] = json_records

    def read(self, source: Source, intake: Intake) -> Iterator[Tables]:
        """Whole dialogues in batches; bad records go to `intake`."""
        return batches(self._dialogues(source, intake))

    def _dialogues(self, source: Source, intake: Intake) -> Iterator[Dialogue]:
        remarks = Counter[str]()
        records = self.records(source)
        for record in before_damage(records, source.path, intake, place=lambda one: one.line):
            try:
                if record.problem:
                    raise record.problem
                talks = list(self.parse(record, source))
                for talk in talks:
                    check(talk)
                for talk in talks:
                    intake.claim(talk.dialog, source.path, record.line)
            except UNREADABLE as error:
                intake.reject(source.path, record.line, as_record_error(error, record))
                continue
            remarks.update(remark for talk in talks for remark in talk.remarks)
            yield from talks
        note_remarks(remarks, source, intake)


def note_remarks(remarks: Mapping[str, int], source: Source, intake: Intake) -> None:
    """Say what was remarked of the dialogues of a source, each remark once with its count."""
    for remark, count in remarks.items():
        intake.note(f"{source.path.name}: {remark} ({counted(count, 'dialogue')}).")


def check(talk: Dialogue) -> None:
    """Refuse a dialogue that breaks a rule of the hierarchy.

    Examples:
        >>> from dialens.corpus._dialogue import Turn
        >>> check(Dialogue("s", "b", "d1", [Turn("B", "narrator", "hm")]))
        Traceback (most recent call last):
        ...
        dialens.corpus._intake.RecordError: is not a role
    """
    if not talk.dialog:
        raise RecordError("is empty: a conversation needs an id", field="dialog", seen="")
    if not talk.turns:
        raise RecordError("holds no turn", field="turns", seen=talk.dialog)
    for number, turn in enumerate(talk.turns):
        if turn.role not in ROLES:
            raise RecordError(
                "is not a role",
                field=f"turns[{number}].role",
                seen=turn.role,
                remedy="Use `agent` for the one under study and `partner` for the other side, "
                "or leave such records out with --on-error skip.",
            )
    _check_judgements(talk)


def _check_judgements(talk: Dialogue) -> None:
    for number, rating in enumerate(talk.ratings):
        if rating.turn is not None and not 0 <= rating.turn < len(talk.turns):
            place = f"ratings[{number}].turn"
            raise RecordError("is not a turn of the dialogue", field=place, seen=rating.turn)
        if not math.isfinite(rating.value):
            place = f"ratings[{number}].value"
            raise RecordError("is not a number", field=place, seen=rating.value)
    for number, reference in enumerate(talk.references):
        if not 0 <= reference.turn < len(talk.turns):
            place = f"references[{number}].turn"
            raise RecordError("is not a turn of the dialogue", field=place, seen=reference.turn)


def as_record_error(error: Exception, record: Record) -> RecordError:
    """What went wrong in decoding a record, as a message for the user."""
    if isinstance(error, RecordError):
        return error
    if isinstance(error, UnicodeDecodeError):
        return not_utf8(error)
    if isinstance(error, RecursionError):
        return RecordError("is nested too deeply", seen=record.raw[:80].decode(errors="replace"))
    text = str(error)
    if isinstance(error, msgspec.ValidationError):
        return _invalid(text, record)
    if "utf-8" in text.lower():
        return RecordError(
            "holds bytes that are not UTF-8",
            seen=record.raw[:40],
            remedy="Save the file as UTF-8, or leave such records out with --on-error skip.",
        )
    if "truncated" in text and _has_half_a_pair(record.raw):
        return RecordError(
            "holds half of a surrogate pair, which is no character",
            seen=record.raw[:80].decode(errors="replace"),
            remedy="Write characters beyond U+FFFF as UTF-8 or as two \\u escapes, or leave such "
            "records out with --on-error skip.",
        )
    if "truncated" in text:
        return RecordError(
            "ends in the middle of a JSON value",
            seen=record.raw[-40:].decode(errors="replace"),
            remedy="The record, or the file, was cut off: fetch it again, or leave the record out "
            "with --on-error skip.",
        )
    return RecordError(f"is not valid JSON ({text})", seen=record.raw[:80].decode(errors="replace"))


def _invalid(text: str, record: Record) -> RecordError:
    """What msgspec found wrong: the field by its path, and what stood there."""
    place = _AT.search(text)
    path = place.group(1).removeprefix("$").removeprefix(".") if place else ""
    what = _AT.sub("", text)
    try:
        seen = _value_at(record.raw, path)
    except (ValueError, RecursionError):  # a log line: a number or a bracket, then words
        return RecordError("is not valid JSON", seen=record.raw[:80].decode(errors="replace"))
    missing = _MISSING.search(what)
    if missing:
        name = f"{path}.{missing.group(1)}" if path else missing.group(1)
        return RecordError("is missing", field=name, seen=seen)
    return RecordError(f"is wrong: {what[:1].lower()}{what[1:]}", field=path, seen=seen)


def _value_at(raw: bytes, path: str) -> object:
    """What stands at `a.b[0]`, as far as the path is plain (msgspec writes `[...]` for keys)."""
    value: object = json.loads(raw)
    for index, key in _STEP.findall(path):
        if index and isinstance(value, list) and int(index) < len(value):
            value = value[int(index)]
        elif key and isinstance(value, dict) and key in value:
            value = value[key]
        else:
            break
    return value


def _has_half_a_pair(raw: bytes) -> bool:
    """Whether the record is whole JSON but for a lone surrogate, which msgspec calls truncated."""
    try:
        json.loads(raw)
    except ValueError:
        return False
    return True


def _refuse_broken_json(source: Source) -> None:
    """Say what is wrong with the first record, where the file looks like JSON and is not."""
    if source.first is not None or source.head.lstrip()[:1] not in (b"{", b"["):
        return
    record = next(json_records(source), None)
    if record is None:
        return
    try:
        msgspec.json.decode(record.raw)
    except UNREADABLE as error:
        problem = record.problem or as_record_error(error, record)
        raise DialensError(message(source.path, record.line, problem)) from error


def tables_of(
    reader: Reader, source: Source, intake: Intake, read: ReadFile | None = None
) -> Iterator[Tables]:
    """What a reader gives; a file whose damage shows only while it is decoded is an error.

    With `read`, a folder's files are taken from there, if its reader can do that.
    """
    try:
        if read is not None and isinstance(reader, FolderReader) and source.is_folder:
            yield from reader.read_joined(source, intake, read)
        else:
            yield from reader.read(source, intake)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as error:
        raise DialensError(
            f"{source.path} cannot be read as {reader.name} ({first_line(error)}). It was probably "
            "damaged while copying: fetch it again, or name its format with --format."
        ) from error


def is_recognised(reader: Reader, source: Source) -> bool:
    """Whether a reader recognises a source; a folder is not, by files in it that are damaged."""
    try:
        return reader.recognises(source)
    except DamagedFile:
        if not source.is_folder:
            raise
        return False


def choose(source: Source, name: str | None, readers: Iterable[Reader]) -> Reader:
    """The reader called `name`, or the first that recognises the content."""
    readers = list(readers)
    if not source.path.exists():
        raise DialensError(f"{source.path} does not exist.")
    if name is not None:
        for reader in readers:
            if reader.name == name:
                return reader
        formats = [reader.name for reader in readers]
        raise DialensError(
            f"There is no format {name!r}. {did_you_mean(name, formats)}"
            f"Known formats: {', '.join(formats)}."
        )
    if not source.is_folder and _NOTHING.fullmatch(source.head):
        raise DialensError(f"{source.path} is empty: there is no conversation in it.")
    for reader in readers:
        if is_recognised(reader, source):
            return reader
    _refuse_broken_json(source)
    raise DialensError(unrecognised(source))
