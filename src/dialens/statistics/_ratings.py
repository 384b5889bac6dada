"""Ratings from wherever they are: a corpus, rated units, or a tidy table; checked, in one shape.

A tidy table (CSV, TSV, JSONL or Parquet, packed or not) needs a column `value` and one that says
what was rated (`dialog`, or `item`). Everything else may be missing: a table without `quality`
holds one quality, a table without `rater` does not know who rated. Columns that are not ours are
factors and stay as they are; the JSON in `factors` becomes columns too. Where a table is delimited
by semicolons or tabs, numbers may have decimal commas.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import polars as pl

from dialens.base import DialensError
from dialens.corpus import (
    RATINGS,
    Corpus,
    Intake,
    OnError,
    Source,
    is_corpus_folder,
    json_records,
    read,
)
from dialens.statistics.rating_files import (
    LAYOUTS,
    NOMINAL,
    NOT_GIVEN,
    ONLY_QUALITY,
    PLACE,
    Place,
    Reading,
    check_mapping,
    foreign,
    from_json,
    header_of,
    is_wrong_table,
    line_of,
    no_rows,
    no_table,
    ragged,
    read_values,
    readable,
    renamed,
    with_participants,
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
_PARQUET = b"PAR1"


def load_ratings(
    path: str | Path,
    *,
    factors: Sequence[str] = (),
    format: str | None = None,
    on_error: str = "stop",
    columns: Mapping[str, str] | None = None,
    scales: Mapping[str, Sequence[str]] | None = None,
    keep_words: bool = True,
    participants: str | Path | None = None,
    say: Callable[[str], None] = lambda _: None,
) -> pl.DataFrame:
    r"""Read ratings from a corpus, any format that `dialens formats` lists, or a table of ratings.

    Args:
        path: A corpus folder, a folder with `ratings.parquet`, Potato's output, or a file.
        factors: Columns the caller wants to group by. Those that are neither columns nor keys of
            `factors` are looked for in the `meta` of the rated turn.
        format: A shape of tables (`long`, `wide`, `matrix`, `qualities`, `qualtrics`,
            `label_studio`, `potato`) or the name of a corpus format; recognised if not given.
        on_error: `stop` at a record or an answer that cannot be read, or `skip` it.
        columns: Columns under other names: `{"value": "Score", "item": "Conversation"}`.
        scales: Words that answers are, the lowest first, by quality; under the empty name those of
            all qualities.
        keep_words: Whether a quality that has nothing but words is kept as categories.
        participants: A table of facts about raters, such as Prolific's demographic export.
        say: Called with each sentence about what was taken for what, or left out.

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
    mapping = dict(columns or {})
    reading = Reading(scales or {}, keep_words=keep_words, skip=str(on_error) == "skip")
    layout = format if format in LAYOUTS else None
    own = format is None or layout is not None  # else the name of a format of conversations
    with readable(source.path):
        table = _table(source, mapping) if format in (None, "long") else None
        if table is None and layout == "long":
            raise DialensError(no_table(source))
        words = [word for order in reading.scales.values() for word in order if word != NOMINAL]
        taken = None
        if own and table is None:
            taken = foreign(source, layout, mapping=mapping, scale=words or None)
        corpus = None
        if table is not None:
            ratings = _checked(table, source, reading, say)
        elif taken is not None:
            for sentence in (f"{source.path.name} is taken as {taken.said}.", *taken.notes):
                say(sentence)
            ratings = _checked(taken.table, source, reading, say)
        else:
            corpus = _corpus(source, None if layout else format, on_error, mapping)
            ratings = corpus.ratings.collect()
    if not ratings.height:
        found = () if table is None or source.is_folder else header_of(source)[1]
        raise DialensError(no_rows(source, found))
    ratings = _with_factors(ratings, factors)
    if participants is not None:
        ratings, notes = with_participants(ratings, participants)
        for sentence in notes:
            say(sentence)
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


def _table(source: Source, mapping: Mapping[str, str]) -> pl.DataFrame | None:
    """The file as a tidy table of ratings; None if it is something else."""
    if source.is_folder:
        inside = source.path / "ratings.parquet"
        if is_corpus_folder(source.path):
            corpus = Corpus.open(source.path)
            return None if corpus.ratings.limit(1).collect().height else RATINGS.to_frame()
        return _table(Source(inside), mapping) if inside.exists() else None
    head = source.head
    if head.startswith(_PARQUET):
        rows = pl.scan_parquet(source.path)
        if not _rates(named_columns(rows.collect_schema().names(), mapping)):
            return None
        return _renamed(rows.collect(), mapping, source)
    if source.first is not None:
        if not _rates(named_columns(list(source.first), mapping)):
            return None
        return _renamed(from_json(source), mapping, source)
    delimiter, columns = header_of(source)
    if not _rates(named_columns(columns, mapping)):
        return None
    content = b"".join(source.chunks())
    try:
        cells = pl.read_csv(content, separator=delimiter, infer_schema=False)
    except pl.exceptions.PolarsError as error:
        raise DialensError(ragged(source, content, delimiter, error)) from error
    cells = _renamed(cells.rename({c: c.strip() for c in cells.columns}), mapping, source)
    if delimiter == ",":
        return cells
    return without_decimal_commas(cells, {c: c for c in cells.columns}, source)


def _renamed(table: pl.DataFrame, mapping: Mapping[str, str], source: Source) -> pl.DataFrame:
    check_mapping(mapping, table.columns, str(source.path))
    names = named_columns(table.columns, mapping)
    doubled = {ours for ours in names.values() if list(names.values()).count(ours) > 1}
    for ours in doubled:
        theirs = [c for c, name in names.items() if name == ours]
        kept = mapping.get("item" if ours == "dialog" else ours, theirs[0])
        names |= {c: f"{c} (not used)" for c in theirs if c != kept}
    return table.rename(names)


def _corpus(
    source: Source, format: str | None, on_error: str, mapping: Mapping[str, str]
) -> Corpus:
    try:
        return read(source.path, format=format, intake=Intake(OnError(on_error)))
    except DialensError as error:
        if format is None and is_wrong_table(source):
            check_mapping(mapping, header_of(source)[1], str(source.path))
            raise DialensError(no_table(source)) from error
        raise


def named_columns(
    columns: Sequence[str], mapping: Mapping[str, str] = MappingProxyType({})
) -> dict[str, str]:
    """Our name for every column of theirs."""
    asked = renamed([column.strip() for column in columns], mapping)
    plain = {column: asked.get(column.strip(), column.strip().lower()) for column in columns}
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
    turns = "context" in ours or ("text" in ours and bool({"role", "speaker"} & ours))
    return "value" in ours and "dialog" in ours and not turns


def _checked(
    table: pl.DataFrame, source: Source, reading: Reading, say: Callable[[str], None]
) -> pl.DataFrame:
    """A tidy table in our columns and types."""
    nameless = table["dialog"].cast(pl.String).fill_null("").str.strip_chars() == ""
    if nameless.any():
        raise DialensError(
            f"{source.path}, row {_first(nameless)}: field `dialog` is empty: every rating needs "
            "the id of what was rated."
        )
    if "quality" not in table.columns:
        table = table.with_columns(quality=pl.lit(ONLY_QUALITY))
    words = pl.Series(LABEL, [None], pl.String).new_from_index(0, table.height)
    if table["value"].dtype == pl.String:
        read_as = read_values(table, reading, str(source.path), _place(table, source))
        for sentence in read_as.notes:
            say(sentence)
        words = read_as.label.alias(LABEL)
        scale = table["scale"].cast(pl.String) if "scale" in table.columns else None
        if read_as.scale.is_not_null().any():
            table = table.with_columns(scale=pl.coalesce(read_as.scale, scale))
        table = table.with_columns(read_as.value.alias("value"))
    columns = [_typed(table, name, dtype, source) for name, dtype in RATINGS.items()]
    extra = [name for name in table.columns if name not in RATINGS and name not in (LABEL, PLACE)]
    shaped = pl.DataFrame(columns).hstack(table.select(extra))
    if "level" not in table.columns:
        turn = pl.col("turn").is_null()
        level = pl.when(turn).then(pl.lit("dialog")).otherwise(pl.lit("turn"))
        shaped = shaped.with_columns(level=level)
    return shaped.with_columns(words) if words.is_not_null().any() else shaped


def _place(table: pl.DataFrame, source: Source) -> Place:
    """Says on which line of the file a row stands."""
    if PLACE in table.columns:
        return lambda row: str(table[PLACE][row])
    if source.is_folder or source.head.startswith(_PARQUET):
        return lambda row: f"row {row + 1}"
    if source.first is not None:
        return lambda row: (
            f"line {next(r.line for n, r in enumerate(json_records(source)) if n == row)}"
        )
    return lambda row: f"line {line_of(source, row)}"


def _typed(table: pl.DataFrame, name: str, dtype: pl.DataType, source: Source) -> pl.Series:
    if name not in table.columns:
        return pl.Series(name, [None], dtype).new_from_index(0, table.height)
    column = table[name]
    if isinstance(column.dtype, pl.Struct):
        return column.struct.json_encode().alias(name)
    if column.dtype == pl.String:
        plain = column.str.strip_chars()
        missing = plain.str.to_lowercase().is_in(NOT_GIVEN if name == "value" else ("",))
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


def _first(mask: pl.Series) -> int:
    """The first marked row, counted from 1."""
    return int(mask.arg_true()[0]) + 1


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
