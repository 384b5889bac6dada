"""JSON with one turn a record: `{"session_id": …, "role": …, "content": …}`, a line each.

The keys are columns of a table, with the names and the rules of a CSV (see `_delimited`). A key
need not be in every record: many programs leave out what is nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice

import msgspec
import polars as pl

from dialens.corpus._checks import MARKS
from dialens.corpus._columns import column_names
from dialens.corpus._intake import Intake, RecordError
from dialens.corpus._reading import UNREADABLE, as_record_error
from dialens.corpus._source import Record, Source, json_records
from dialens.corpus._tables import Tables
from dialens.corpus._tabular import gathered, read_rows

_ROWS = 50_000
_DECODER = msgspec.json.Decoder(dict[str, object])


@dataclass(frozen=True)
class TurnRecordsReader:
    """Reads JSON whose records are turns."""

    name: str = "turns"
    summary: str = "JSON or JSONL with one turn a record: session_id, role, content and the like"
    example: str = (
        '{"dialog": "d1", "role": "user", "text": "Hello!"}\n'
        '{"dialog": "d1", "role": "assistant", "text": "Hello, how are you?"}\n'
    )

    def recognises(self, source: Source) -> bool:
        """Whether the first record has a text, and a speaker or role."""
        first = source.first
        if not first or {"prompt", "response"} & source.options.columns.keys():
            return False
        found = column_names(list(first), source.options)
        needed = [name for name, ours in found.ours.items() if ours in ("text", "speaker", "role")]
        return found.is_turns and all(isinstance(first[name], str) for name in needed)

    def read(self, source: Source, intake: Intake) -> Iterator[Tables]:
        """Whole dialogues in batches."""
        flaws: dict[int, RecordError] = {}
        size = source.path.stat().st_size
        with gathered(self.frames(source, flaws), MARKS, size=size) as rows:
            yield from read_rows(rows, source, intake, flaws=flaws)

    def frames(self, source: Source, flaws: dict[int, RecordError]) -> Iterator[pl.DataFrame]:
        """The rows as text with `MARKS`; what is wrong with a row comes into `flaws`, by its line.

        A frame has the columns of those before it, and its own.
        """
        names = dict.fromkeys(source.first or ())
        records = json_records(source)
        while some := list(islice(records, _ROWS)):
            contents = [_content(record, flaws) for record in some]
            names.update(dict.fromkeys(name for content in contents for name in content))
            texts = {
                name: pl.Series(name, [_as_text(one.get(name)) for one in contents], pl.String)
                for name in names
            }
            lines = [record.line for record in some]
            marks = pl.DataFrame([lines, [line in flaws for line in lines]], schema=MARKS)
            yield pl.DataFrame(texts).drop(MARKS.names(), strict=False).hstack(marks)

    def column(self, source: Source, name: str) -> Iterator[pl.Series]:
        """One key of the records as text, without the others, which is several times as fast."""
        read = _reader_of(name)

        def value(record: Record) -> str | None:
            try:
                return _as_text(read(record.raw))
            except UNREADABLE:
                return None  # what is wrong is told when the record is read

        records = json_records(source)
        while some := list(islice(records, _ROWS)):
            yield pl.Series(name, [value(record) for record in some], pl.String)


def _reader_of(name: str) -> Callable[[bytes], object]:
    """What reads one key of a JSON object, passing over the others where its name allows that."""
    try:
        one = msgspec.defstruct("One", [("value", object, None)], rename={"value": name})
    except ValueError:  # it has a quote, a backslash or a control character in it
        return lambda raw: _DECODER.decode(raw).get(name)
    decoder = msgspec.json.Decoder(one)
    return lambda raw: getattr(decoder.decode(raw), "value", None)


def _content(record: Record, flaws: dict[int, RecordError]) -> dict[str, object]:
    try:
        if record.problem:
            raise record.problem
        return _DECODER.decode(record.raw)
    except UNREADABLE as error:
        flaws[record.line] = as_record_error(error, record)
        return {}


def _as_text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


TURN_RECORDS = TurnRecordsReader()
