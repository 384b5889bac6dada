"""Which shape a file of ratings has: asked for by name, or seen from its columns and records."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from dialens.base import DialensError, did_you_mean, listed
from dialens.corpus import RATINGS, Source, json_records
from dialens.statistics.rating_files._delimited import header_of, read_cells
from dialens.statistics.rating_files._label_studio import (
    from_annotations,
    from_tasks,
    is_annotations,
    is_tasks,
)
from dialens.statistics.rating_files._layouts import laid_out
from dialens.statistics.rating_files._participants import is_prolific
from dialens.statistics.rating_files._potato import (
    from_folder,
    from_records,
    from_table,
    is_potato_folder,
    is_potato_record,
    is_potato_table,
)
from dialens.statistics.rating_files._qualtrics import from_qualtrics, is_qualtrics
from dialens.statistics.rating_files._taken import LAYOUTS, Cells, Taken

_MAPPED = ("item", *RATINGS.names(), "choice", "label")
_TURNS = {"role", "speaker", "context", "messages", "conversation", "conversations"}
_NAMES_OR_TURNS = "conversation"
_LONGEST_NAME = 60
_PARQUET = b"PAR1"
_IN_A_ROW = ("wide", "matrix", "qualities")


def foreign(
    source: Source,
    layout: str | None,
    *,
    mapping: Mapping[str, str],
    scale: Sequence[str] | None = None,
) -> Taken | None:
    """Ratings in the shape of another tool; None if the file is none of those.

    Args:
        source: A file or folder.
        layout: One of `LAYOUTS` where somebody said so.
        mapping: Our name and theirs, from `--column`.
        scale: Words that answers may be.
    """
    if source.is_folder:
        if layout not in (None, "potato") or not is_potato_folder(source.path):
            return None
        return from_folder(source.path)
    first = None if source.head.startswith(_PARQUET) else source.first
    if first is not None:
        found = _from_json(source, first, layout, mapping)
        if found is not None:
            return found
        if any(isinstance(value, dict | list) for value in first.values()):
            return None
    columns = list(first) if first is not None else columns_of(source)
    if not any(columns):
        return None
    turns = _TURNS & {column.strip().lower() for column in columns}
    if layout is None and turns and not (turns == {_NAMES_OR_TURNS} and _names_items(source)):
        return None
    if is_prolific(columns):
        raise DialensError(
            f"{source.path} is Prolific’s export about participants and holds no ratings. Give the "
            f"ratings first, and this file with --participants {source.path}."
        )
    return _from_cells(read_cells(source), layout, mapping, scale)


def _names_items(source: Source) -> bool:
    """Whether the column `conversation` holds names of conversations rather than their turns."""
    cells = read_cells(source)
    column = next(c for c in cells.columns if c.strip().lower() == _NAMES_OR_TURNS)
    names = cells.given(column)
    short = (names.str.len_chars() <= _LONGEST_NAME) & ~names.str.contains(r"^[\[{]|\n")
    return len(names) > 0 and bool(short.all())


def columns_of(source: Source) -> list[str]:
    """The columns that a table names."""
    if source.head.startswith(_PARQUET):
        return read_cells(source).columns
    return header_of(source)[1]


def check_mapping(mapping: Mapping[str, str], columns: Sequence[str], name: str) -> None:
    """Refuse a `--column` whose name is none of ours, or whose column is not there.

    Examples:
        >>> check_mapping({"value": "Scor"}, ["Item", "Score"], "r.csv")
        Traceback (most recent call last):
        ...
        dialens.DialensError: --column value=Scor: r.csv has no column 'Scor'. Did you mean ...
    """
    for ours, theirs in mapping.items():
        if ours not in _MAPPED:
            raise DialensError(
                f"--column {ours}={theirs}: there is no {ours!r} to map. "
                f"{did_you_mean(ours, _MAPPED)}Names: item, rater, value, quality, agent, system, "
                "turn, condition, scale."
            )
        for column in theirs.split(",") if ours == "value" and theirs not in columns else [theirs]:
            if column.strip() not in columns:
                raise DialensError(
                    f"--column {ours}={theirs}: {name} has no column {column.strip()!r}. "
                    f"{did_you_mean(column.strip(), columns)}Columns: {listed(list(columns))}."
                )


def _from_json(
    source: Source, first: Mapping[str, Any], layout: str | None, mapping: Mapping[str, str]
) -> Taken | None:
    name = str(source.path)
    if layout in (None, "label_studio") and is_tasks(first):
        return from_tasks(_records(source), name)
    if layout in (None, "label_studio") and is_annotations(list(first)):
        return from_annotations(_records(source), name, mapping=mapping)
    if layout in (None, "potato") and is_potato_record(first):
        return from_records(_records(source), name, _user(source))
    return None


def _user(source: Source) -> str | None:
    """Version 1 of Potato names the user by the folder only."""
    return source.path.resolve().parent.name or None


def _records(source: Source) -> list[dict[str, Any]]:
    records = []
    for record in json_records(source):
        try:
            records.append(msgspec.json.decode(record.raw, type=dict[str, Any]))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise DialensError(
                f"{source.path}, line {record.line} is not JSON: {error}. Mend it or leave it out."
            ) from error
    return records


def _from_cells(
    cells: Cells, layout: str | None, mapping: Mapping[str, str], scale: Sequence[str] | None
) -> Taken | None:
    if layout in (None, "qualtrics") and (layout or is_qualtrics(cells)):
        given = {k: v for k, v in mapping.items() if k not in ("item", "quality")}
        check_mapping(given, cells.columns, cells.name)
        return from_qualtrics(cells, mapping=mapping, scale=scale)
    check_mapping(mapping, cells.columns, cells.name)
    if layout in (None, "label_studio") and is_annotations(cells.columns):
        return from_annotations(cells.frame.to_dicts(), cells.name, mapping=mapping)
    if layout in (None, "potato") and is_potato_table(cells.columns):
        return from_table(cells)
    if layout is None or layout in _IN_A_ROW:
        return laid_out(cells, layout, mapping=mapping, scale=scale)
    raise DialensError(f"{cells.name} is not {LAYOUTS[layout]} (--format {layout}).")
