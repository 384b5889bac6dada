"""Ratings from wherever they are: a corpus, rated units, or a tidy table; checked, in one shape.

A tidy table (CSV, TSV, JSONL or Parquet, packed or not) needs a column `value` and one that says
what was rated (`dialog`, or `item`). Everything else may be missing: a table without `quality`
holds one quality, a table without `rater` does not know who rated. Columns that are not ours are
factors and stay as they are; the JSON in `factors` becomes columns too. Where a table is delimited
by semicolons or tabs, numbers may have decimal commas.
"""

import csv
import io
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

from dialens.base import DialensError
from dialens.corpus import RATINGS, Corpus, Source, is_corpus_folder, json_records, read
from dialens.statistics._rating_files import (
    header_of,
    is_wrong_table,
    no_rows,
    no_table,
    without_decimal_commas,
)

ITEM = ("level", "system", "agent", "dialog", "turn")
"""What names an item: ratings that agree in all of these judge the same thing."""

LABEL = "label"
"""Column that keeps ratings that are words; `value` is null there."""

_ALIASES = {
    "value": ("rating", "score"),
    "dialog": ("item", "unit", "item_id", "unit_id", "dialog_id"),
    "rater": ("annotator", "participant", "worker", "judge"),
    "quality": ("question", "dimension", "criterion"),
}
_NOT_GIVEN = ("", "na", "n/a", "nan", "null", "none", "-")
_ONLY_QUALITY = "rating"
_PARQUET = b"PAR1"


def load_ratings(
    path: str | Path,
    *,
    factors: Sequence[str] = (),
    format: str | None = None,
    on_error: str = "stop",
) -> pl.DataFrame:
    r"""Read ratings from a corpus, any format that `dialens formats` lists, or a tidy table.

    Args:
        path: A corpus folder, a folder with `ratings.parquet`, or a file.
        factors: Columns the caller wants to group by. Those that are neither columns nor keys of
            `factors` are looked for in the `meta` of the rated turn.
        format: Name of the corpus format; sniffed if not given.
        on_error: `stop` at a record that cannot be read, or `skip` it.

    Returns:
        The columns of `RATINGS`, then factors. Where ratings are words, `value` is null and a
        column `label` holds the word. Ratings that were not given have neither.

    Examples:
        >>> import tempfile
        >>> path = Path(tempfile.mkdtemp()) / "ratings.csv"
        >>> _ = path.write_text("item,rater,value,anchored\na,r1,3,yes\na,r2,,no\nb,r1,5,yes\n")
        >>> load_ratings(path).select("dialog", "rater", "quality", "value", "anchored").rows()
        [('a', 'r1', 'rating', 3.0, 'yes'), ('a', 'r2', 'rating', None, 'no'),
         ('b', 'r1', 'rating', 5.0, 'yes')]
    """
    source = Source(Path(path))
    if not source.path.exists():
        raise DialensError(f"{source.path} does not exist.")
    table = _table(source) if format is None else None
    corpus = None
    if table is not None:
        ratings = _checked(table, source)
    else:
        corpus = _corpus(source, format, on_error)
        ratings = corpus.ratings.collect()
    if not ratings.height:
        columns = () if table is None or source.is_folder else table.columns
        raise DialensError(no_rows(source, columns))
    ratings = _with_factors(ratings, factors)
    return _with_meta(ratings, corpus, factors, source)


def rated_items(ratings: pl.DataFrame) -> pl.Series:
    """A name for the item of every rating.

    Examples:
        >>> table = pl.DataFrame({"dialog": ["a", "a", "b"], "turn": [0, 0, None]})
        >>> rated_items(table).to_list()
        ['a / 0', 'a / 0', 'b']
    """
    given = [name for name in ITEM if name in ratings.columns]
    telling = [name for name in given if ratings[name].n_unique() > 1] or given[-1:]
    joined = pl.concat_str([pl.col(name) for name in telling], separator=" / ", ignore_nulls=True)
    return ratings.select(joined.alias("item"))["item"]


def parsed_scale(text: str | None) -> dict[str, Any]:
    """What the column `scale` says: `kind`, `low` and `high`, as far as it does.

    It holds the JSON of an instrument, the two ends as a list, or a word.

    Examples:
        >>> parsed_scale('{"kind": "likert", "low": 1}'), parsed_scale("[1, 5]")
        ({'kind': 'likert', 'low': 1}, {'low': 1, 'high': 5})
        >>> parsed_scale("magnitude"), parsed_scale(None)
        ({'kind': 'magnitude'}, {})
    """
    try:
        scale = json.loads(text or "{}")
    except ValueError:
        scale = text
    if isinstance(scale, dict):
        return scale
    if isinstance(scale, list) and len(scale) == 2:
        return {"low": scale[0], "high": scale[1]}
    return {"kind": str(scale)}


def _table(source: Source) -> pl.DataFrame | None:
    """The file as a tidy table of ratings, with line numbers; None if it is something else."""
    if source.is_folder:
        inside = source.path / "ratings.parquet"
        if is_corpus_folder(source.path):
            corpus = Corpus.open(source.path)
            return None if corpus.ratings.limit(1).collect().height else RATINGS.to_frame()
        return _table(Source(inside)) if inside.exists() else None
    head = source.head
    if head.startswith(_PARQUET):
        rows = pl.scan_parquet(source.path)
        if not _rates(_named(rows.collect_schema().names())):
            return None
        return rows.collect()
    if source.first is not None:
        if not _rates(_named(list(source.first))):
            return None
        return _from_json(source)
    delimiter, columns = header_of(source)
    if not _rates(_named(columns)):
        return None
    content = b"".join(source.chunks())
    try:
        cells = pl.read_csv(content, separator=delimiter, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise DialensError(_ragged(source, content, delimiter, error)) from error
    if delimiter == ",":
        return cells
    return without_decimal_commas(cells, _named(cells.columns), source)


def _corpus(source: Source, format: str | None, on_error: str) -> Corpus:
    try:
        return read(source.path, format=format, on_error=on_error)
    except DialensError as error:
        if format is None and is_wrong_table(source):
            raise DialensError(no_table(source)) from error
        raise


def _from_json(source: Source) -> pl.DataFrame:
    content = b"".join(source.chunks())
    read_rows = pl.read_json if content.lstrip()[:1] == b"[" else pl.read_ndjson
    try:
        return read_rows(io.BytesIO(content), infer_schema_length=None)
    except pl.exceptions.PolarsError as error:
        for record in json_records(source):
            try:
                json.loads(record.raw)
            except ValueError:
                line = f"{source.path}, line {record.line} is not JSON"
                seen = record.raw[:80].decode(errors="replace")
                raise DialensError(f"{line}; seen: {seen}. Mend it or leave it out.") from error
        raise DialensError(f"{source.path} is not a whole table of ratings: {error}.") from error


def _named(columns: Sequence[str]) -> dict[str, str]:
    """Our name for every column of theirs."""
    plain = {column: column.strip().lower() for column in columns}
    names = dict(plain)
    for ours, others in _ALIASES.items():
        if ours in plain.values():
            continue
        found = next((c for other in others for c, low in plain.items() if low == other), None)
        if found is not None:
            names[found] = ours
    return names


def _rates(names: Mapping[str, str]) -> bool:
    """Whether columns are those of ratings, and not of turns."""
    ours = set(names.values())
    return "value" in ours and "dialog" in ours and not {"text", "context"} & ours


def _checked(table: pl.DataFrame, source: Source) -> pl.DataFrame:
    """A tidy table in our columns and types."""
    table = table.rename(_named(table.columns))
    nameless = table["dialog"].cast(pl.String).fill_null("").str.strip_chars() == ""
    if nameless.any():
        raise DialensError(
            f"{source.path}, row {_first(nameless)}: field `dialog` is empty: every rating needs "
            "the id of what was rated."
        )
    if "quality" not in table.columns:
        table = table.with_columns(quality=pl.lit(_ONLY_QUALITY))
    columns = [_typed(table, name, dtype, source) for name, dtype in RATINGS.items()]
    words = _words(table["value"])
    extra = [name for name in table.columns if name not in RATINGS and name != LABEL]
    shaped = pl.DataFrame(columns).hstack(table.select(extra))
    if "level" not in table.columns:
        turn = pl.col("turn").is_null()
        level = pl.when(turn).then(pl.lit("dialog")).otherwise(pl.lit("turn"))
        shaped = shaped.with_columns(level=level)
    return shaped.with_columns(words.alias(LABEL)) if words.is_not_null().any() else shaped


def _typed(table: pl.DataFrame, name: str, dtype: pl.DataType, source: Source) -> pl.Series:
    if name not in table.columns:
        return pl.Series(name, [None], dtype).new_from_index(0, table.height)
    column = table[name]
    if isinstance(column.dtype, pl.Struct):
        return column.struct.json_encode().alias(name)
    if column.dtype == pl.String:
        plain = column.str.strip_chars()
        missing = plain.str.to_lowercase().is_in(_NOT_GIVEN if name == "value" else ("",))
        column = plain.set(missing, None)
    if isinstance(dtype, pl.Datetime):
        return _time(column, dtype, name)
    typed = column.cast(dtype, strict=False)
    if name == "value":
        return typed.set(~typed.is_finite(), None)
    wrong = column.is_not_null() & typed.is_null()
    if wrong.any():
        row = _first(wrong)
        raise DialensError(
            f"{source.path}, row {row}: field `{name}` cannot be understood; "
            f"seen: {column[row - 1]!r}."
        )
    return typed


def _time(column: pl.Series, dtype: pl.Datetime, name: str) -> pl.Series:
    if column.dtype == pl.String:
        texts = column.str.replace(r"^(\d{4}-\d\d-\d\d) ", "${1}T").str.replace(r"Z$", "+00:00")
        column = texts.str.to_datetime("%Y-%m-%dT%H:%M:%S%.f%:z", time_unit="us", strict=False)
    elif isinstance(column.dtype, pl.Datetime) and column.dtype.time_zone is None:
        column = column.dt.replace_time_zone("UTC")
    return column.cast(dtype, strict=False).alias(name)


def _words(values: pl.Series) -> pl.Series:
    """Ratings that are words rather than numbers."""
    if values.dtype != pl.String:
        return pl.Series(LABEL, [None], pl.String).new_from_index(0, len(values))
    plain = values.str.strip_chars()
    missing = plain.str.to_lowercase().is_in(_NOT_GIVEN)
    return plain.set(missing | plain.cast(pl.Float64, strict=False).is_not_null(), None)


def _first(mask: pl.Series) -> int:
    """The first marked row, counted from 1."""
    return int(mask.arg_true()[0]) + 1


def _ragged(source: Source, content: bytes, delimiter: str, error: Exception) -> str:
    rows = csv.reader(io.StringIO(content.decode(errors="replace")), delimiter=delimiter)
    width = len(next(rows, []))
    for cells in rows:
        if cells and len(cells) != width:
            return (
                f"{source.path}, line {rows.line_num}: has {len(cells)} cells where the header "
                f"has {width}. Put quotes around cells that hold the delimiter."
            )
    return f"{source.path} cannot be read as a table: {error}."


def _with_factors(ratings: pl.DataFrame, wanted: Sequence[str]) -> pl.DataFrame:
    """The keys of the JSON in `factors` as columns.

    A factor may be called like a column of ours: `anchor` is the value shown there, the level here.
    Whoever asks for it by name means the level.
    """
    texts = ratings["factors"].drop_nulls().unique()
    parsed: dict[str, dict[str, Any]] = {}
    for text in texts:
        try:
            value = json.loads(text)
        except ValueError:
            continue
        parsed[text] = value if isinstance(value, dict) else {}
    keys = dict.fromkeys(key for levels in parsed.values() for key in levels)
    new = [key for key in keys if key not in ratings.columns or key in wanted]
    columns = []
    for key in new:
        values = [parsed.get(text, {}).get(key) for text in ratings["factors"]]
        columns.append(_column(key, values))
    return ratings.with_columns(columns)


def _column(name: str, values: list[Any]) -> pl.Series:
    """Numbers as numbers, everything else as text."""
    present = [value for value in values if value is not None]
    if present and all(isinstance(v, int | float) and not isinstance(v, bool) for v in present):
        return pl.Series(name, values, pl.Float64, strict=False)
    plain = [v if v is None or isinstance(v, str) else json.dumps(v) for v in values]
    return pl.Series(name, plain, pl.String)


def _with_meta(
    ratings: pl.DataFrame, corpus: Corpus | None, factors: Sequence[str], source: Source
) -> pl.DataFrame:
    wanted = [name for name in factors if name not in ratings.columns]
    if not wanted:
        return ratings
    known: set[str] = set()
    if corpus is not None:
        last = corpus.turns.group_by("dialog").agg(pl.col("meta").drop_nulls().last()).collect()
        metas = {d: json.loads(meta) for d, meta in last.iter_rows() if meta}
        known = {key for meta in metas.values() for key in meta}
        found = [name for name in wanted if name in known]
        columns = [
            _column(name, [metas.get(dialog, {}).get(name) for dialog in ratings["dialog"]])
            for name in found
        ]
        ratings = ratings.hstack(columns) if columns else ratings
        wanted = [name for name in wanted if name not in known]
    if wanted:
        present = [n for n in ratings.columns if ratings[n].null_count() < ratings.height]
        raise DialensError(
            f"{source.path} has no column or factor {wanted[0]!r}. There are: "
            f"{', '.join(sorted({*present, *known} - {'value', 'normalised', 'factors'}))}."
        )
    return ratings
