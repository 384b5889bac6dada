"""What to say when reading stops at a record: mend it, or is the whole file of another shape?"""

import re
from pathlib import Path

from dialens.base import DialensError, counted
from dialens.corpus._intake import Intake, OnError, RecordError, UnreadableRecord
from dialens.corpus._reading import Reader
from dialens.corpus._source import Source

_LOOKED_AT = 20
_NUMBER = re.compile(r"\d+")


class _Seen(Exception):
    """Enough of a source was seen."""


class _Look(Intake):
    """Sees the first records of a source; ends at the first dialogue that can be read."""

    def __init__(self) -> None:
        super().__init__(OnError.SKIP)
        self.readable = False

    def reject(self, file: Path, line: int, error: RecordError) -> None:
        super().reject(file, line, error)
        if self.rejected == _LOOKED_AT:
            raise _Seen

    def claim(self, dialog: str, file: Path, line: int) -> None:
        self.readable = True
        raise _Seen


def explained(stop: UnreadableRecord, source: Source, reader: Reader) -> DialensError:
    """The error itself, or with another remedy where the records of a source are all like this.

    A record that is wrong is mended or skipped; a file of which no record can be read, for the
    same reason each, is in a shape that is not known. Of a single record both may hold.
    """
    if stop.error.remedy or not stop.error.field:
        return stop
    look = _Look()
    try:
        for _ in reader.read(source, look):
            look.readable = True
            break
    except (_Seen, DialensError):
        pass
    reasons = {(_NUMBER.sub("", reject.field), reject.reason) for reject in look.rejects}
    if look.readable or not look.rejected or len(reasons) > 1:
        return stop
    first = (
        f"The first {counted(look.rejected, 'record')} are all like this, so the file is in a "
        f"shape that dialens does not know, though it looks like {reader.name}."
        if look.rejected > 1
        else f"It is the only record, and looks like {reader.name}: `dialens formats "
        f"{reader.name}` shows what that holds. If it is meant to be that, mend it; else the file "
        "is in a shape that dialens does not know."
    )
    stop.error.remedy = (
        f"{first}\n`dialens formats` lists what is read, with examples. Say what holds the "
        "conversation with --format or --column (such as --column text=… --column speaker=…, or "
        "--column prompt=… --column response=…)."
    )
    return UnreadableRecord(stop.file, stop.line, stop.error)
