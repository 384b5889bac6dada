"""JSON with one turn a record: `{"session_id": …, "role": …, "content": …}`, a line each.

The keys are columns of a table, with the names and the rules of a CSV (see `_delimited`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import msgspec
import polars as pl

from dialens.corpus._checks import FLAW, LINE
from dialens.corpus._columns import column_names, turn_columns
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
        header = list(source.first or ())
        turn_columns(header, source, intake)
        schema = pl.Schema({**dict.fromkeys(header, pl.String), LINE: pl.Int64, FLAW: pl.Boolean})
        flaws: dict[int, RecordError] = {}
        frames = _frames(source, header, schema, flaws)
        size = source.path.stat().st_size
        with gathered(frames, schema, size=size) as rows:
            yield from read_rows(rows, source, intake, flaws=flaws)


def _frames(
    source: Source, header: list[str], schema: pl.Schema, flaws: dict[int, RecordError]
) -> Iterator[pl.DataFrame]:
    records = json_records(source)
    while some := list(islice(records, _ROWS)):
        rows = [_cells(record, header, flaws) for record in some]
        yield pl.DataFrame(rows, schema=schema, orient="row")


def _cells(record: Record, header: list[str], flaws: dict[int, RecordError]) -> list[object]:
    try:
        if record.problem:
            raise record.problem
        content = _DECODER.decode(record.raw)
    except UNREADABLE as error:
        flaws[record.line] = as_record_error(error, record)
        content = {}
    cells: list[object] = [_as_text(content.get(name)) for name in header]
    return [*cells, record.line, record.line in flaws]


def _as_text(value: object) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return msgspec.json.encode(value).decode()


TURN_RECORDS = TurnRecordsReader()
