"""The account of reading: ids that are taken, records that were rejected, what was assumed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import islice
from pathlib import Path

from dialens.base import DialensError, as_text, counted, listed
from dialens.corpus._taken_ids import TakenIds

_SEEN_CHARACTERS = 80
_KEPT = 100_000
_TOLD = 3


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
        self.below = 0
        """How many lines below its first one went with it, whatever stood there."""


class Dependent(Exception):
    """What a file gives depends on the files before it, so that it cannot be read by itself."""


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
    rejected_below: int = 0
    """How many lines below rejected records went with them, whatever stood there."""
    rejects: list[Reject] = field(default_factory=list)
    dialogs: TakenIds = field(default_factory=TakenIds)
    renamed: dict[str, str] = field(default_factory=dict)
    """Ids of the current source that an earlier one has used, and what they become."""
    source: str | None = None
    notes: list[str] = field(default_factory=list)
    """What was taken for granted in reading, in sentences for the user."""
    damaged: list[str] = field(default_factory=list)
    """A sentence on every file that could not be read, or not to its end."""
    renamed_dialogs: int = 0
    """How many dialogues of all sources got the name of their source in front."""
    renamed_example: str = ""
    """What the first of them is called now."""
    names: dict[str, str] = field(default_factory=dict)
    """What the user calls files that were copied here first, such as pipes."""

    def begin(self, source: str) -> None:
        """Turn to the next source, whose name goes before ids that were used already."""
        self.source = source
        self.renamed = {}

    def note(self, sentence: str) -> None:
        """Keep a sentence that the user should read, once."""
        sentence = as_text(sentence)
        if sentence not in self.notes:
            self.notes.append(sentence)

    def shown(self, file: Path) -> str:
        """What the user calls a file."""
        return as_text(self.names.get(str(file), str(file)))

    def tell_damage(self, sentence: str) -> None:
        """Keep a sentence on a file that could not be read, or not to its end."""
        self.damaged.append(as_text(sentence))

    def count_renamed(self, names: Sequence[str]) -> None:
        """Count dialogues that got the name of their source in front, by their new names."""
        if names and not self.renamed_dialogs:
            self.renamed_example = names[0]
        self.renamed_dialogs += len(names)

    def conclude(self) -> None:
        """Note what is known when all is read: damaged files first, then ids that were taken."""
        told = self.damaged[:_TOLD]
        if more := len(self.damaged) - len(told):
            told.append(
                f"{counted(more, 'more file')} could not be read, or not to the end: the list of "
                "rejects names all."
            )
        self.notes[:0] = told
        if self.renamed_dialogs:
            one = self.renamed_dialogs == 1
            self.note(
                f"{counted(self.renamed_dialogs, 'conversation')} had an id that an earlier file "
                f"uses; {'it is' if one else 'they are'} named after {'its' if one else 'their'} "
                f"file: {self.renamed_example}."
            )

    def reject(self, file: Path, line: int, error: RecordError) -> None:
        """Raise, or count the record and keep its reason."""
        if self.on_error is OnError.STOP:
            raise UnreadableRecord(file, line, error)
        self.rejected += 1
        self.rejected_files += error.unit == "file"
        self.rejected_below += error.below
        seen = shorten(error.seen)
        self.keep_rejects([Reject(self.shown(file), line, error.field, as_text(error.what), seen)])

    def keep_rejects(self, rejects: Iterable[Reject]) -> None:
        """Keep the reasons of rejected records, as many as a list should be long."""
        self.rejects += islice(rejects, max(_KEPT - len(self.rejects), 0))

    @property
    def left_out(self) -> str:
        """How many records and files were rejected, and lines with them, in words.

        Examples:
            >>> Intake(rejected=3, rejected_files=1).left_out
            '1 file and 2 records'
            >>> Intake(rejected=2, rejected_below=5).left_out
            '2 records with 5 lines below them'
        """
        records = self.rejected - self.rejected_files
        parts = ((self.rejected_files, "file"), (records, "record"))
        said = listed([counted(count, noun) for count, noun in parts if count])
        if not self.rejected_below:
            return said
        them = "it" if records == 1 else "them"
        return f"{said} with {counted(self.rejected_below, 'line')} below {them}"

    def claim(self, dialog: str, file: Path, line: int) -> None:
        """Take a dialog's id; a second claim in the same file is an error that names the first.

        An id that another file has used is qualified with this one's name (see `renamed`).
        """
        taken = self.dialogs.take(dialog, file, line)
        if taken is None:
            return
        if taken[0] == file:
            raise RecordError(
                "is a duplicate: that dialog already stands in "
                f"{file}" + (f", line {taken[1]}" if taken[1] else ""),
                field="dialog",
                seen=dialog,
                remedy="Give every conversation an id of its own, or leave the later one out "
                "with --on-error skip.",
            )
        name = f"{self.source or file.name.split('.')[0]}/{dialog}"
        while name in self.dialogs:
            name += "'"
        self.renamed[dialog] = name
        self.dialogs.take(name, file, line)

    def known(self, dialogs: Iterable[str]) -> set[str]:
        """Those of some ids that were claimed, by this source or another before it.

        Examples:
            >>> intake = Intake()
            >>> intake.claim("d1", Path("a.csv"), 2)
            >>> intake.known(["d1", "d2"])
            {'d1'}
        """
        return {name for name in dialogs if name in self.dialogs}


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
