"""Data frames as pandas writes them to JSON: one object of columns, or of columns and data.

With `orient="table"` it is an object of a schema and rows.
"""

import re
from typing import Any

import msgspec

_BEGINS = re.compile(
    rb'\s*\{\s*"(?:columns"\s*:\s*\[|schema"\s*:\s*\{\s*"fields"|[^"\\]+"\s*:\s*\{\s*"\d+"\s*:)'
)
_SPLIT = {"columns", "data"}
_TABLE = {"schema", "data"}
_INDEX = re.compile(r"index|level_\d+")


def may_be_frame(start: bytes) -> bool:
    """Whether a file begins as `to_json` writes it: columns, or `orient="split"` or `"table"`."""
    return _BEGINS.match(start) is not None


def frame_rows(raw: bytes) -> list[dict[str, Any]] | None:
    """The rows of a data frame in JSON; None if it is something else.

    Examples:
        >>> frame_rows(b'{"prompt": {"0": "Hi"}, "response": {"0": "Hello"}}')
        [{'prompt': 'Hi', 'response': 'Hello'}]
        >>> frame_rows(b'{"columns": ["a", "b"], "index": [0], "data": [[1, 2]]}')
        [{'a': 1, 'b': 2}]
        >>> frame_rows(b'{"schema": {"fields": []}, "data": [{"a": 1, "b": 2}]}')
        [{'a': 1, 'b': 2}]
        >>> frame_rows(b'{"a": {"0": 1}, "b": "no column"}') is None
        True
    """
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    if not isinstance(value, dict) or not value:
        return None
    if value.keys() == _TABLE:
        return _from_table(value)
    return _from_split(value) if value.keys() >= _SPLIT else _from_columns(value)


def _from_split(value: dict[str, Any]) -> list[dict[str, Any]] | None:
    names, data = value["columns"], value["data"]
    if not isinstance(names, list) or not isinstance(data, list):
        return None
    if not all(isinstance(row, list) and len(row) == len(names) for row in data):
        return None
    return [dict(zip(map(str, names), row, strict=True)) for row in data]


def _from_table(value: dict[str, Any]) -> list[dict[str, Any]] | None:
    schema, data = value["schema"], value["data"]
    if not isinstance(schema, dict) or not isinstance(data, list):
        return None
    if "fields" not in schema or not all(isinstance(row, dict) for row in data):
        return None
    named = schema.get("primaryKey", ())  # an index with a name of its own is a column
    numbers = {name for name in named if isinstance(name, str) and _INDEX.fullmatch(name)}
    return [{name: cell for name, cell in row.items() if name not in numbers} for row in data]


def _from_columns(value: dict[str, Any]) -> list[dict[str, Any]] | None:
    columns = list(value.values())
    if not all(isinstance(column, dict) for column in columns):
        return None
    index = columns[0].keys()
    if not all(column.keys() == index for column in columns):
        return None
    return [{name: column[key] for name, column in value.items()} for key in index]
