"""Conversations that are already in Python: lists, data frames, data sets of `datasets`.

None of the packages that hold them is imported: what an object can do says what it is.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import date
from decimal import Decimal
from itertools import chain, islice
from pathlib import Path
from typing import Any

import polars as pl

from dialens.base import DialensError
from dialens.corpus._checks import LINE
from dialens.corpus._columns import column_names
from dialens.corpus._dialogue import batches
from dialens.corpus._intake import Intake, RecordError
from dialens.corpus._source import Source
from dialens.corpus._tables import Tables
from dialens.corpus._tabular import read_rows
from dialens.corpus.readers import (
    Row,
    RowIntake,
    is_langchain,
    message_of,
    no_conversations,
    plain_columns,
    shape_of,
)

_NAME = "conversations"
_AGENT = "assistant"
_SAMPLED = 20
_BATCH = 1_000
_PLAIN = (str, int, float, bool, date, Decimal)


def source_of(data: object) -> Source:
    """What stands for the file in names and messages, such as `list` or `DataFrame`."""
    return Source(Path(type(data).__name__), _NAME, agent=_AGENT)


def read_in_memory(data: object, source: Source, intake: Intake) -> Iterator[Tables]:
    """Whole dialogues in batches, from whatever holds them.

    Args:
        data: What holds them.
        source: Its name, and what the user says of it.
        intake: Keeps account of what is left out.

    Examples:
        >>> talk = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
        >>> parts = read_in_memory(talk, source_of(talk), Intake())
        >>> [part.turns["text"].to_list() for part in parts]
        [['Hi', 'Hello']]
    """
    if isinstance(data, Mapping) and data and all(map(_is_table, data.values())):
        several = len(data) > 1
        for split, table in data.items():
            yield from _table(table, source, intake, f"{split}/" if several else "")
    elif _is_table(data):
        yield from _table(data, source, intake, "")
    elif isinstance(data, Mapping):
        yield from _rows(iter([_as_row(_plain(data))]), source, intake)
    elif isinstance(data, Iterable) and not isinstance(data, str | bytes):
        yield from _items(data, source, intake)
    else:
        raise DialensError(
            f"Conversations cannot be read from {type(data).__name__}. Give a path, a list of "
            "messages or of conversations, a data frame or a data set."
        )


def _is_table(data: object) -> bool:
    return isinstance(data, pl.DataFrame | pl.LazyFrame) or any(
        all(hasattr(data, name) for name in names)
        for names in (_DATASET, _PANDAS, ("__arrow_c_stream__",))
    )


_DATASET = ("column_names", "with_format", "iter", "__len__")
_PANDAS = ("columns", "itertuples", "to_dict")


def _table(data: Any, source: Source, intake: Intake, prefix: str) -> Iterator[Tables]:
    if not isinstance(data, pl.LazyFrame) and all(hasattr(data, name) for name in _PANDAS):
        records = (_plain(record) for record in data.to_dict("records"))
        return _rows(records, source, intake, prefix, columns=[str(name) for name in data.columns])
    return _frames(_frames_of(data), source, intake, prefix)


def _frames_of(data: Any) -> Callable[[], Iterator[pl.DataFrame]]:
    """A table as frames, from its beginning each time they are asked for."""
    if isinstance(data, pl.LazyFrame):
        return lambda: data.collect_batches(chunk_size=_BATCH, maintain_order=True)
    if all(hasattr(data, name) for name in _DATASET):
        pieces = data.with_format("arrow")
        return lambda: (pl.DataFrame(piece) for piece in pieces.iter(batch_size=_BATCH))
    frame = pl.DataFrame(data)
    return lambda: frame.iter_slices(_BATCH) if frame.height else iter([frame])


def _frames(
    frames: Callable[[], Iterator[pl.DataFrame]], source: Source, intake: Intake, prefix: str
) -> Iterator[Tables]:
    first = next(frames(), pl.DataFrame())
    shape = shape_of(first.columns, first.head(_SAMPLED).to_dicts(), source.options)
    if shape is None and _holds_turns(first.columns, source):
        yield from _turns(pl.concat(frames(), how="diagonal_relaxed"), source, intake)
        return
    if shape is None:
        raise no_conversations(source.path, first.columns)

    def rows() -> Iterator[tuple[int, Row]]:
        parts = (plain_columns(frame, shape.used).iter_rows(named=True) for frame in frames())
        return enumerate(chain.from_iterable(parts), start=1)

    into = RowIntake(source, intake, _AGENT, prefix)
    yield from batches(into.dialogues(rows, shape, source.path))


def _items(data: Iterable[object], source: Source, intake: Intake) -> Iterator[Tables]:
    """Messages, lists of messages, or rows; the first says which."""
    items = map(_plain, data)
    first = next(items, None)
    if isinstance(first, dict) and is_langchain(first):
        messages = _in_our_words([first, *items])
        return _rows(iter([_conversation(messages)]), source, intake)
    every = chain([] if first is None else [first], items)
    if isinstance(first, list):
        return _rows((_conversation(item) for item in every), source, intake)
    if isinstance(first, dict) and _is_message(first, source):
        return _rows(iter([_conversation(list(every))]), source, intake)
    if isinstance(first, dict):
        return _rows((_as_row(item) for item in every), source, intake)
    if first is None:
        raise DialensError(f"The {source.path} is empty: there is no conversation in it.")
    raise DialensError(
        f"A {source.path} of {type(first).__name__} is no conversation. Give messages such as "
        '{"role": "user", "content": "Hello"}, lists of them, or rows.'
    )


def _is_message(item: Row, source: Source) -> bool:
    """Whether it is one message of a conversation, not a row that names its conversation."""
    said = {"role", "content"} <= item.keys() or {"from", "value"} <= item.keys()
    return said and not column_names(list(item), source.options).has("dialog")


def _conversation(messages: object) -> Row:
    """Messages as a row; LangChain's replies name their model."""
    items = messages if isinstance(messages, list) else []
    about = (item.get("response_metadata") for item in items if isinstance(item, dict))
    known = (entry for entry in about if isinstance(entry, dict))
    models = (entry.get("model_name") or entry.get("model") for entry in known)
    model = next(filter(None, models), None)
    return {"messages": messages} if model is None else {"messages": messages, "model": model}


def _as_row(item: object) -> Row | RecordError:
    if isinstance(item, dict):
        return {**_conversation(item["messages"]), **item} if "messages" in item else item
    return RecordError("is wrong: expected an object", seen=item)


def _rows(
    rows: Iterator[Row | RecordError],
    source: Source,
    intake: Intake,
    prefix: str = "",
    columns: Sequence[str] = (),
) -> Iterator[Tables]:
    sample = list(islice(rows, _SAMPLED))
    seen = [row for row in sample if not isinstance(row, RecordError)]
    columns = columns or list(dict.fromkeys(key for row in seen for key in row))
    every = chain(sample, rows)
    shape = shape_of(columns, seen, source.options)
    if shape is None and _holds_turns(columns, source):
        whole = []
        for place, row in enumerate(every, start=1):
            if isinstance(row, RecordError):
                row.unit = "row"
                intake.reject(source.path, place, row)
            else:
                whole.append(row)
        frame = pl.DataFrame(whole, infer_schema_length=None, strict=False)
        yield from _turns(frame, source, intake)
        return
    if shape is None:
        raise no_conversations(source.path, columns)
    used = shape.used
    kept = (row if isinstance(row, RecordError) else _kept(row, used) for row in every)
    again = list(kept) if "thread" in shape.columns else kept
    into = RowIntake(source, intake, _AGENT, prefix)
    yield from batches(into.dialogues(lambda: enumerate(again, start=1), shape, source.path))


def _kept(row: Row, used: Sequence[str]) -> Row:
    """The columns that are read, and plain values: a picture is not carried along."""
    return {key: value for key, value in row.items() if key in used or isinstance(value, _PLAIN)}


def _holds_turns(columns: Sequence[str], source: Source) -> bool:
    return column_names(columns, source.options).is_turns


def _turns(frame: pl.DataFrame, source: Source, intake: Intake) -> Iterator[Tables]:
    """A table with one turn a row."""
    numbered = frame.lazy().with_row_index(LINE, offset=1).with_columns(pl.col(LINE).cast(pl.Int64))
    return read_rows(numbered, source, intake, unit="row")


def _plain(value: Any) -> Any:
    """Python's own lists, objects and values; what pandas and NumPy call missing is None."""
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, float):
        return None if math.isnan(value) else float(value)
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return _in_our_words([_plain(item) for item in value])
    if hasattr(value, "model_dump"):  # a message as the clients of OpenAI and others give it
        return _plain(value.model_dump())
    if hasattr(value, "content") and hasattr(value, "type"):  # one of an older LangChain
        return _plain(vars(value) | {"type": value.type, "content": value.content})
    if hasattr(value, "tolist"):  # NumPy
        return _plain(value.tolist())
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    if hasattr(value, "to_pydatetime"):  # pandas
        return value.to_pydatetime()
    return value


def _in_our_words(items: list[Any]) -> list[Any]:
    """Messages of LangChain as those of OpenAI; other lists as they are."""
    if items and all(isinstance(item, dict) and is_langchain(item) for item in items):
        return [message_of(item, "user") for item in items]
    return items
