"""The account of reading: ids that are taken, records that were rejected, what was assumed."""

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path

from dialens.base import DialensError, counted, listed

_SEEN_CHARACTERS = 80
_KEPT = 100_000


class OnError(StrEnum):
    """What happens to a record that cannot be read."""

    STOP = "stop"
    SKIP = "skip"


class RecordError(Exception):
    """One record of a source cannot be read; whoever knows file and line completes the message."""

    def __init__(
        self,
        what: str,
        *,
        field: str = "",
        seen: object = None,
        remedy: str = "",
        unit: str = "line",
    ) -> None:
        """`what` is wrong with `field`, where `seen` was found; `remedy` says what to do.

        `unit` is what the place counts: lines of a text file, rows of a Parquet file; `file` where
        a whole file cannot be read.
        """
        super().__init__(what)
        self.what = what
        self.field = field
        self.seen = seen
        self.remedy = remedy
        self.unit = unit


class UnreadableRecord(DialensError):
    """Reading stopped at a record; `error` says why."""

    def __init__(self, file: Path, line: int, error: RecordError) -> None:
        """The place, and what is wrong there."""
        super().__init__(message(file, line, error))
        self.file = file
        self.line = line
        self.error = error


@dataclass(frozen=True)
class Reject:
    """A record that was left out."""

    file: str
    line: int
    field: str
    reason: str
    seen: str


@dataclass
class Intake:
    """Keeps account while sources are read: which dialogs were met, and what was left out.

    Examples:
        >>> intake = Intake(OnError.SKIP)
        >>> intake.reject(Path("a.jsonl"), 3, RecordError("is not text", field="text", seen=7))
        >>> intake.rejected, intake.rejects[0].reason
        (1, 'is not text')
    """

    on_error: OnError = OnError.STOP
    rejected: int = 0
    rejected_files: int = 0
    """How many of the rejected were whole files of a folder."""
    rejects: list[Reject] = field(default_factory=list)
    dialogs: dict[str, tuple[Path, int]] = field(default_factory=dict)
    renamed: dict[str, str] = field(default_factory=dict)
    """Ids of the current source that an earlier one has used, and what they become."""
    source: str | None = None
    notes: list[str] = field(default_factory=list)
    """What was taken for granted in reading, in sentences for the user."""

    def begin(self, source: str) -> None:
        """Turn to the next source, whose name goes before ids that were used already."""
        self.source = source
        self.renamed = {}

    def note(self, sentence: str) -> None:
        """Keep a sentence that the user should read, once."""
        if sentence not in self.notes:
            self.notes.append(sentence)

    def reject(self, file: Path, line: int, error: RecordError) -> None:
        """Raise, or count the record and keep its reason."""
        if self.on_error is OnError.STOP:
            raise UnreadableRecord(file, line, error)
        self.rejected += 1
        self.rejected_files += error.unit == "file"
        if len(self.rejects) < _KEPT:
            seen = shorten(error.seen)
            self.rejects.append(Reject(str(file), line, error.field, error.what, seen))

    @property
    def left_out(self) -> str:
        """How many records and files were rejected, in words.

        Examples:
            >>> Intake(rejected=3, rejected_files=1).left_out
            '1 file and 2 records'
        """
        records = self.rejected - self.rejected_files
        parts = ((self.rejected_files, "file"), (records, "record"))
        return listed([counted(count, noun) for count, noun in parts if count])

    def claim(self, dialog: str, file: Path, line: int) -> None:
        """Take a dialog's id; a second claim in the same file is an error that names the first.

        An id that another file has used is qualified with this one's name (see `renamed`).
        """
        taken = self.dialogs.get(dialog)
        if taken is not None and taken[0] == file:
            raise RecordError(
                "is a duplicate: that dialog already stands in "
                f"{file}" + (f", line {taken[1]}" if taken[1] else ""),
                field="dialog",
                seen=dialog,
                remedy="Give every conversation an id of its own, or leave the later one out "
                "with --on-error skip.",
            )
        self.dialogs[dialog] = (file, line)
        if taken is not None:
            name = f"{self.source or file.name.split('.')[0]}/{dialog}"
            while name in self.dialogs:
                name += "'"
            self.renamed[dialog] = name
            self.dialogs[name] = (file, line)


def message(file: Path, line: int, error: RecordError) -> str:
    """The whole sentence: file, line, field, what was seen, what to do.

    Examples:
        >>> print(message(Path("a.jsonl"), 3, RecordError("is not text", field="text", seen=7)))
        a.jsonl, line 3: field `text` is not text; seen: 7.
        Mend the record, or leave such records out with --on-error skip.
    """
    place = f"{file}, {error.unit} {line}: " if line else f"{file}: "
    name = f"field `{error.field}` " if error.field else ""
    seen = f"; seen: {shorten(error.seen)}" if error.seen is not None else ""
    remedy = error.remedy or "Mend the record, or leave such records out with --on-error skip."
    return f"{place}{name}{error.what}{seen}.\n{remedy}"


def not_utf8(error: UnicodeDecodeError) -> RecordError:
    """The message about bytes that are not text."""
    return RecordError(
        f"holds bytes that are not UTF-8 at byte {error.start:,} of the record",
        seen=error.object[error.start : error.start + 8],
        remedy="Save the file as UTF-8, or leave such records out with --on-error skip.",
    )


def shorten(value: object) -> str:
    """What was seen, in at most eighty characters."""
    if value is None:
        return ""
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= _SEEN_CHARACTERS else text[:_SEEN_CHARACTERS] + "…"
