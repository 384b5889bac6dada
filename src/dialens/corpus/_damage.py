"""Files that cannot be read to their end: what of them is kept, and what is told.

With `skip`, records that stand before a damage are kept where a record is a conversation. Where
conversations are spread over records, nobody knows which of them went on after it: such a file is
left out as a whole, and so is one of which nothing can be read.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from dialens.base import DialensError, NoRoom
from dialens.corpus._intake import Intake, OnError, RecordError

Item = TypeVar("Item")


class DamagedFile(DialensError):
    """A file cannot be read to its end."""

    def __init__(self, path: Path, what: str, remedy: str) -> None:
        """`what` is wrong with the file at `path`; `remedy` says what to do."""
        super().__init__(f"{path} {what}. {remedy}")
        self.what = what
        self.remedy = remedy


def until_damage(items: Iterable[Item]) -> Iterator[Item]:
    """What comes before a damage, for those who only look at a file to recognise its format."""
    try:
        yield from items
    except DamagedFile:
        return


def before_damage(
    items: Iterable[Item], path: Path, intake: Intake, *, place: Callable[[Item], int]
) -> Iterator[Item]:
    """Records up to a damage, which is rejected like a record, at the place of the last whole one.

    Raises:
        DamagedFile: There is none before it.
        UnreadableRecord: Records that cannot be read end the run.
    """
    last: Item | None = None
    try:
        for item in items:
            last = item
            yield item
    except DamagedFile as damage:
        if last is None:
            raise
        line = place(last)
        intake.reject(
            path,
            line,
            RecordError(
                f"is the last record that can be read: the file {damage.what}",
                remedy=f"{damage.remedy.rstrip('.')}, or read the records up to here with "
                "--on-error skip.",
            ),
        )
        intake.tell_damage(
            f"Read only in part: {intake.shown(path)} {damage.what}. What could be read up to line "
            f"{line:,} is kept."
        )


@dataclass
class Kept:
    """Whether anything of a file was passed on before it turned out to be unreadable."""

    anything: bool = False


@contextmanager
def leaving_out(path: Path, intake: Intake) -> Iterator[Kept]:
    """With `skip`, leave out and tell a file of a folder that cannot be read; others are read."""
    kept = Kept()
    try:
        yield kept
    except NoRoom:
        raise  # no fault of the file
    except DialensError as error:
        if intake.on_error is OnError.STOP:
            raise
        what = str(error).removeprefix(str(path)).lstrip(",: ")
        intake.reject(path, 0, RecordError(what, unit="line" if kept.anything else "file"))
        begins = what.partition("\n")[0]
        outcome = "Read only in part" if kept.anything else "Not read"
        intake.tell_damage(f"{outcome}: {intake.shown(path)}: {begins}")
