"""Tables in our columns, from whatever file: filled up, sorted, checked, cut at whole dialogues.

A CSV is parsed once, into memory or, if it is large, into a scratch Parquet file; from there on
it is a Parquet file like any other. Rows of a dialogue that stand apart are brought together: in
memory, or, if they are many, by dealing them out to files of whole dialogues first.
"""

import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import polars as pl
from polars.datatypes import DataTypeClass

from dialens.base import DialensError, TableSink, listed, room_on_disk
from dialens.corpus._checks import DIALOGS, FLAW, LINE, ROWS, SEEN, Check, problems
from dialens.corpus._columns import ColumnNames, turn_columns
from dialens.corpus._intake import Intake, RecordError, message
from dialens.corpus._repeated_hashes import RepeatedHashes
from dialens.corpus._roles import UNKNOWN, agent_among
from dialens.corpus._row_places import RowPlaces
from dialens.corpus._source import UNDECODABLE, Source
from dialens.corpus._table_roles import TableRoles, roles_by_word
from dialens.corpus._table_times import RowOrder, time_of, with_times
from dialens.corpus._tables import TURNS, Tables, whole_dialogs
from dialens.corpus._turn_order import OrderNotes, in_order

_BATCH = 65_536
_SHARE = 1_000_000
_SHARE_OF = "share"
_ROWS_DEALT = 2_000_000
_IN_MEMORY_BYTES = 64 * 1024 * 1024
_TEXT = (pl.String, pl.Categorical, pl.Enum, pl.Null)
WHOLE_AS_DECIMAL = r"^(\d+)\.0$"
"""A whole number as pandas writes it where one of its column is missing."""
_NAMES = ("system", "agent", "speaker", "role", "reply_to")
_JSON_OBJECT = msgspec.json.Decoder(dict[str, object])


@contextmanager
def gathered(
    frames: Iterable[pl.DataFrame], schema: pl.Schema, *, size: int
) -> Iterator[pl.LazyFrame]:
    """All frames as one: in memory, or in scratch files if `size` bytes are too many.

    A frame may have more columns than those before it, which then have nothing there.
    """
    if size <= _IN_MEMORY_BYTES:
        yield pl.concat([schema.to_frame(), *frames], how="diagonal").lazy()
        return
    with scratch_folder() as folder:
        yield pl.concat(
            [schema.to_frame().lazy(), *map(pl.scan_parquet, _written(frames, folder))],
            how="diagonal",
        )


def _written(frames: Iterable[pl.DataFrame], folder: Path) -> list[Path]:
    """Files that hold some frames, one for all that have the same columns one after the other."""
    paths: list[Path] = []
    with ExitStack() as stack:
        sink: TableSink | None = None
        columns: list[str] = []
        for frame in frames:
            if sink is None or frame.columns != columns:
                stack.close()  # the one before is complete
                paths.append(folder / f"{len(paths)}.parquet")
                sink, columns = TableSink(paths[-1], frame.schema), frame.columns
                stack.enter_context(sink)
            sink.write(frame)
    return paths


@contextmanager
def scratch_folder() -> Iterator[Path]:
    """A folder for as long as the block takes; a full disk is an error that says so."""
    with tempfile.TemporaryDirectory(prefix="dialens-") as folder, room_on_disk(Path(folder)):
        yield Path(folder)


def read_rows(
    rows: pl.LazyFrame,
    source: Source,
    intake: Intake,
    *,
    unit: str = "line",
    flaws: Mapping[int, RecordError] | None = None,
    by_time: bool = True,
    places: RowPlaces | None = None,
) -> Iterator[Tables]:
    """Turns from rows that carry their line; dialogues that break a rule go to `intake`.

    Args:
        rows: The table as it stands in the file, with a column `checks.LINE`.
        source: The file, or the folder of a table in several.
        intake: Keeps account of what is left out.
        unit: What `checks.LINE` counts.
        flaws: What is wrong with the rows that `checks.FLAW` marks, by line.
        by_time: Whether turns without numbers follow their times rather than their lines.
        places: Where the rows stand, in a table of several files.
    """
    header = [name for name in rows.collect_schema().names() if name not in (LINE, FLAW)]
    columns = turn_columns(header, source, intake)
    rows = _in_our_names(rows, header, columns, source)
    _refuse_types(rows.collect_schema(), source)
    rows = rows.with_columns(as_id("dialog", rows.collect_schema()))
    if places is not None:
        rows = _with_alike_ids(rows)
    if FLAW not in rows.collect_schema():
        rows = rows.with_columns(pl.lit(value=False).alias(FLAW))
    rows, order = with_times(rows, columns, source, intake)
    roles = _roles(rows, columns, source)
    if roles is not None and roles.aside:
        rows = _without(rows, roles.aside, source, intake)
    gate = _Gate(source, intake, unit, flaws or {}, places)
    renumber = columns.foreign or (roles is not None and bool(roles.aside))
    order_notes = OrderNotes(source.path.name, places)
    for batch in _whole(rows):
        turns = gate.let_through(_understood(batch, roles), ROWS)
        turns = _filled(turns, source, order if by_time else RowOrder(), renumber=renumber)
        turns = gate.claim(gate.let_through(turns, DIALOGS))
        order_notes.count(turns)
        if turns.height:
            yield Tables.of(turns.select(TURNS.names()))
    for sentence in order_notes.sentences():
        intake.note(sentence)


def _refuse_types(schema: pl.Schema, source: Source) -> None:
    """Refuse columns of ours that hold lists, objects or bytes, of which no value can be made."""
    for name, kind in schema.items():
        odd = kind.is_nested() or kind in (pl.Binary, pl.Object)
        if name == "text":
            odd = kind not in _TEXT
        if name == "meta" and isinstance(kind, pl.Struct):
            odd = False
        if odd and name in TURNS:
            wanted = {"turn": "a whole number", "created_at": "a time", "meta": "a JSON object"}
            wrong = RecordError(
                f"is not {wanted.get(name, 'text')}",
                field=name,
                seen=f"a column of type {kind}",
                remedy="Write the column as text, or name another one with --column.",
            )
            raise DialensError(message(source.path, 0, wrong))


def _in_our_names(
    rows: pl.LazyFrame, header: Sequence[str], columns: ColumnNames, source: Source
) -> pl.LazyFrame:
    """The table with our names; a column that is called as one of ours and is not gets another."""
    ours = set(columns.ours.values())
    names = {}
    for name in header:
        plain = name.strip().lower()
        names[name] = columns.ours.get(name) or (f"{plain} (other)" if plain in ours else plain)
    rows = rows.rename(names)
    if "dialog" not in ours:
        return rows.with_columns(pl.lit(source.stem).alias("dialog"))
    return rows


def as_id(name: str, schema: pl.Schema) -> pl.Expr:
    """A column of ids as text: a whole number has no decimals, in whatever type it is stored."""
    value, kind = pl.col(name), schema[name]
    text = value.cast(pl.String)
    return text.str.replace(WHOLE_AS_DECIMAL, "$1") if kind.is_float() else text


def _with_alike_ids(rows: pl.LazyFrame) -> pl.LazyFrame:
    """Ids without decimals where all are whole numbers, of which some files made decimals."""
    id_ = pl.col("dialog")
    decimal = id_.str.contains(WHOLE_AS_DECIMAL)
    other = ~(decimal | id_.str.contains(r"^\d+$"))
    found = rows.select(decimal.any().alias("decimal"), other.any().alias("other")).collect()
    if found["decimal"].item() and not found["other"].item():
        return rows.with_columns(id_.str.replace(WHOLE_AS_DECIMAL, "$1"))
    return rows


def _roles(rows: pl.LazyFrame, columns: ColumnNames, source: Source) -> TableRoles | None:
    """What the table's words for roles mean, or None where each dialogue's names tell."""
    if not columns.has("role") and not columns.foreign and not source.options.roles:
        return None
    words = {
        name: rows.select(
            pl.col(name).cast(pl.String).drop_nulls().unique(maintain_order=True)
        ).collect()[name]
        for name in ("role", "speaker")
        if columns.has(name)
    }
    return roles_by_word(source, roles=words.get("role"), speakers=words.get("speaker", ()))


def _word(name: str) -> pl.Expr:
    return pl.col(name).cast(pl.String).str.strip_chars().str.to_lowercase()


def _without(
    rows: pl.LazyFrame, aside: Sequence[str], source: Source, intake: Intake
) -> pl.LazyFrame:
    """The rows that are turns; how many others there were is noted."""
    no_turns = _word("role").is_in(list(aside)).fill_null(value=False)
    count = rows.select(no_turns.sum()).collect().item()
    intake.note(
        f"{source.path.name}: left out {count:,} rows of the role {listed(aside)}, which are no "
        "turns of the dialogue."
    )
    return rows.filter(~no_turns)


@dataclass(frozen=True)
class _Gate:
    """Passes valid dialogues on, and rejects the others at the intake."""

    source: Source
    intake: Intake
    unit: str
    flaws: Mapping[int, RecordError]
    places: RowPlaces | None

    def let_through(self, turns: pl.DataFrame, checks: tuple[Check, ...]) -> pl.DataFrame:
        failed = problems(turns, checks)
        for problem in failed:
            flaw = self.flaws.get(problem.line) if problem.error.field == FLAW else None
            self._reject(problem.line, flaw or problem.error)
        if not failed:
            return turns
        broken = [problem.dialog for problem in failed if problem.dialog]
        nameless = pl.col("dialog").is_null() | (pl.col("dialog") == "")
        return turns.filter(~nameless & ~pl.col("dialog").is_in(broken))

    def claim(self, turns: pl.DataFrame) -> pl.DataFrame:
        taken = []
        for dialog, line in turns.filter(pl.col("turn") == 0).select("dialog", LINE).iter_rows():
            try:
                self.intake.claim(dialog, *self._place(line))
            except RecordError as error:
                self._reject(line, error)
                taken.append(dialog)
        return turns.filter(~pl.col("dialog").is_in(taken)) if taken else turns

    def _reject(self, line: int, error: RecordError) -> None:
        error.unit = self.unit
        self.intake.reject(*self._place(line), error)

    def _place(self, line: int) -> tuple[Path, int]:
        return (self.source.path, line) if self.places is None else self.places.of(line)


def _whole(rows: pl.LazyFrame) -> Iterator[pl.DataFrame]:
    """Batches that hold all rows of their dialogues, together and in the order of the lines."""
    dialog = pl.col("dialog").fill_null("")
    if _stand_together(rows.select(dialog.hash(0))):
        ready = rows.collect_batches(chunk_size=_BATCH, maintain_order=True)
        yield from whole_dialogs(ready, rows=_BATCH)
        return
    count = int(rows.select(pl.len()).collect().item())
    shares = -(-count // _SHARE)
    with ExitStack() as stack:
        parts = [rows]
        if shares > 1:
            parts = _dealt_out(rows, shares, stack.enter_context(scratch_folder()))
        for part in parts:
            yield part.collect().sort(pl.col(LINE).min().over(dialog), LINE)


def _stand_together(ids: pl.LazyFrame) -> bool:
    """Whether the rows of each dialogue stand together, by hashes of its id.

    Where two ids share a hash, rows may be sorted without need.
    """
    hashes = RepeatedHashes()
    last = np.empty(0, np.uint64)
    for chunk in ids.collect_batches(chunk_size=_SHARE, maintain_order=True):
        if not chunk.height:
            continue
        found = np.concatenate([last, chunk.to_series().to_numpy()])
        begins = np.append(len(last) == 0, found[1:] != found[:-1])
        if hashes.add(found[begins]):
            return False
        last = found[-1:]
    return not hashes.found()


def _dealt_out(rows: pl.LazyFrame, shares: int, folder: Path) -> list[pl.LazyFrame]:
    """The rows in about so many tables of whole dialogues, none too large for memory."""
    share = (pl.col("dialog").fill_null("").hash(0) % shares).alias(_SHARE_OF)
    rows.sink_parquet(
        pl.PartitionBy(folder, key=share, include_key=False),
        row_group_size=max(1, _ROWS_DEALT // shares),  # so many of each are held in memory
        mkdir=True,
    )
    folders = sorted(path for path in folder.iterdir() if path.is_dir())
    return [pl.scan_parquet(path, hive_partitioning=False) for path in folders]


def _understood(batch: pl.DataFrame, roles: TableRoles | None) -> pl.DataFrame:
    """Every column of the turns in its type, null where the file's value makes no sense."""
    columns = set(batch.columns)
    frame = batch.with_columns(
        pl.col("text").cast(pl.String),
        time_of(batch.schema.get("created_at")),
        _whole_number(batch.schema.get("turn")),
        *(_name(name, columns) for name in _NAMES),
    ).with_columns(_seen(batch, "turn"), _seen(batch, "created_at"))
    frame = _with_roles(frame, roles)
    return _with_meta(frame, columns)


def _name(name: str, columns: set[str]) -> pl.Expr:
    value = pl.col(name).cast(pl.String) if name in columns else pl.lit(None, pl.String)
    return pl.when(value != "").then(value).alias(name)


def _seen(batch: pl.DataFrame, name: str) -> pl.Series:
    if name not in batch.columns:
        return pl.Series(SEEN + name, [None], pl.String).new_from_index(0, batch.height)
    column = batch[name].cast(pl.String, strict=False)
    return column.set(column == "", None).alias(SEEN + name)


def _whole_number(dtype: pl.DataType | None) -> pl.Expr:
    if dtype is None:
        return pl.lit(None, pl.Int32).alias("turn")
    value = pl.col("turn")
    if dtype == pl.String:
        value = value.str.strip_chars().str.strip_suffix(".0")
    elif dtype.is_float():
        value = pl.when(value == value.round()).then(value)
    return value.cast(pl.Int32, strict=False).alias("turn")


def _with_roles(frame: pl.DataFrame, roles: TableRoles | None) -> pl.DataFrame:
    """Roles in our words; where the file has none, from the names of the speakers."""
    kept = pl.col("role").alias(SEEN + "role")
    if roles is not None:
        ours = _word(roles.column).replace_strict(
            dict(roles.roles), default=None, return_dtype=pl.String
        )
        return frame.with_columns(ours.alias("role"), kept)
    speakers = frame.group_by("dialog", maintain_order=True).agg(
        pl.col("speaker").drop_nulls().unique(maintain_order=True)
    )
    agents = {
        dialog: agent_among(names) if names else None for dialog, names in speakers.iter_rows()
    }
    agent = pl.col("dialog").replace_strict(agents, default=None, return_dtype=pl.String)
    role = pl.when(pl.col("speaker") == agent).then(pl.lit("agent")).otherwise(pl.lit("partner"))
    named = pl.col("speaker").is_not_null()
    return frame.with_columns(pl.when(named).then(role).alias("role"), kept)


def _with_meta(frame: pl.DataFrame, columns: set[str]) -> pl.DataFrame:
    """`meta` as JSON: what the file says, and its columns that are not ours."""
    others = columns - {*TURNS, LINE, FLAW}
    extra = [name for name, kind in frame.schema.items() if name in others and _in_json(kind)]
    if "meta" not in columns:
        meta: pl.Expr = pl.lit(None, pl.String)
        if extra:
            some = pl.any_horizontal(pl.col(name).is_not_null() for name in extra)
            meta = pl.when(some).then(pl.struct(extra).struct.json_encode())
        return frame.with_columns(meta.alias("meta"), pl.lit(None, pl.String).alias(SEEN + "meta"))
    raw = frame["meta"]
    raw = raw.struct.json_encode() if isinstance(raw.dtype, pl.Struct) else raw.cast(pl.String)
    raw = raw.set(raw == "", None)
    values = [_is_object(value) for value in raw]
    good = pl.Series(values, dtype=pl.Boolean)
    return frame.with_columns(raw.alias(SEEN + "meta"), raw.set(~good, None).alias("meta"))


def _in_json(kind: pl.DataType | DataTypeClass) -> bool:
    """Whether JSON has such values: pictures and other bytes beside a conversation are left."""
    if isinstance(kind, pl.Struct):
        return all(_in_json(field.dtype) for field in kind.fields)
    if isinstance(kind, pl.List | pl.Array):
        return _in_json(kind.inner)
    return kind not in (pl.Binary, pl.Object)


def _is_object(value: str | None) -> bool:
    if value is None:
        return True
    try:
        _JSON_OBJECT.decode(value)
    except UNDECODABLE:
        return False
    return True


def _filled(
    turns: pl.DataFrame, source: Source, order: RowOrder, *, renumber: bool
) -> pl.DataFrame:
    """Rows in the order of their turns, and every column that the file leaves to us."""
    turns = in_order(turns, order, renumber=renumber)
    agents_speaker = pl.col("speaker").filter(pl.col("role") == "agent").first().over("dialog")
    system = pl.col("system").drop_nulls().first().over("dialog")
    agent = pl.col("agent").drop_nulls().first().over("dialog")
    return turns.with_columns(
        pl.coalesce("system", system, pl.lit(source.stem)).alias("system"),
        pl.coalesce("agent", agent, agents_speaker, pl.lit(UNKNOWN)).alias("agent"),
        pl.coalesce("speaker", "role").alias("speaker"),
        pl.col("turn").fill_null(-1),
    )
