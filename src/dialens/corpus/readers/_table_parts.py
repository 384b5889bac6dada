"""One table in many files, as Spark, Hive, DuckDB and data warehouses write it.

    chats/_SUCCESS
    chats/model=v1/part-00000-6f3c….c000.snappy.parquet
    chats/model=v1/part-00001-6f3c….c000.snappy.parquet

What such a program writes is one system, called by its folder, and the values in the names of
folders are columns. In tables with a row a turn, the rows of a conversation may stand in any of the
files, so that they are read as one table. Where each file holds whole conversations, files are read
apart from each other.
"""

import re
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from pathlib import Path
from urllib.parse import unquote

import polars as pl

from dialens.base import DialensError
from dialens.corpus._checks import LINE, MARKS
from dialens.corpus._columns import column_names
from dialens.corpus._damage import DamagedFile, leaving_out
from dialens.corpus._intake import Intake, OnError, RecordError
from dialens.corpus._names import named
from dialens.corpus._read_options import ReadOptions
from dialens.corpus._reading import Reader, ReadFile, choose, tables_of
from dialens.corpus._repeated_hashes import RepeatedHashes
from dialens.corpus._row_places import RowPlaces
from dialens.corpus._source import Source
from dialens.corpus._tables import Tables
from dialens.corpus._tabular import WHOLE_AS_DECIMAL, as_id, gathered, read_rows
from dialens.corpus.readers._cells import note_escapes
from dialens.corpus.readers._dataset_folder import is_beside
from dialens.corpus.readers._delimited import DelimitedReader
from dialens.corpus.readers._parquet import ParquetReader, numbered, rows_in
from dialens.corpus.readers._row_files import DECODING
from dialens.corpus.readers._turn_records import TurnRecordsReader

_UUID = r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
_PART = re.compile(
    r"part[-.](?:[rm]-)?(?P<spark>\d+)\b.*"  # Hadoop, Flink, Dask and Arrow, too
    rf"|data_(?:{_UUID}_)?(?P<duckdb>\d+)(?:_\d+)*\b.*"  # Snowflake, too
    r"|(?:.+_)?\d+_part_(?P<redshift>\d+)\b.*"
    rf"|\d{{8}}_\d{{6}}_(?P<athena>\d{{5}})_[a-z0-9]{{5}}_{_UUID}.*"  # Trino, too
    r"|(?P<split>.+)-(?P<shard>\d{5})-of-\d{5}\..*"  # Hugging Face's
    r"|.+[-_](?P<bigquery>0000\d{8})\..*",  # without zeros it is the time of day of an export
    re.IGNORECASE,
)
_PADDED = 5
_NUMBER = re.compile(r"\d+")
_KEY = re.compile(r"(?P<key>[A-Za-z_]\w*)=(?P<value>.*)")
_NOTHING = "__HIVE_DEFAULT_PARTITION__"
_ENDINGS = (".parquet", ".arrow", ".feather", ".csv", ".tsv", ".json", ".jsonl", ".ndjson")
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".snappy")
_UNIQUE = re.compile(rf"-{_UUID}\b.*")
_FILE = "_file"

_Text = DelimitedReader | TurnRecordsReader
_OfTurns = ParquetReader | _Text


def files_of_table(folder: Path, *, asked: bool = False) -> list[Path]:
    """The files of a table in a folder, or nothing if the folder is no such table.

    Args:
        folder: The folder.
        asked: Whether a user says that it is one, whatever its files are called.

    Examples:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> for name in ("_SUCCESS", "part-00000-6f3c.parquet", "part-00001-6f3c.parquet"):
        ...     _ = (folder / name).write_text("…")
        >>> [path.name for path in files_of_table(folder)]
        ['part-00000-6f3c.parquet', 'part-00001-6f3c.parquet']
        >>> _ = (folder / "monday.parquet").write_text("…")
        >>> files_of_table(folder), len(files_of_table(folder, asked=True))
        ([], 3)
    """
    files = []
    endings, keys, splits = set(), set(), set()
    numbers = []
    for path in sorted(folder.rglob("*"), key=_in_order):
        *above, name = path.relative_to(folder).parts
        if is_beside((*above, name)) or not path.is_file():
            continue
        part = _PART.fullmatch(name)
        groups = part.groupdict() if part is not None else {}
        splits.add(groups.pop("split", None))
        numbers.append(next(filter(None, groups.values()), ""))
        if not path.stat().st_size:
            continue
        endings.add(_ending(name))
        keys.add(tuple(values := keys_in(above)))
        if not asked and (len(values) < len(above) or not (above or part)):
            return []
        files.append(path)
    is_one = len(endings) == len(keys) == 1
    if asked:
        return files if is_one else []
    is_one = is_one and len(splits) == 1 and endings <= {*_ENDINGS, ""}
    return files if is_one and (keys != {()} or _counted_by_program(numbers)) else []


def _in_order(path: Path) -> list[str]:
    """Sorts names by the numbers in them: part.10 comes after part.9."""
    return [_NUMBER.sub(lambda number: number[0].zfill(20), name) for name in path.parts]


def _counted_by_program(numbers: Sequence[str]) -> bool:
    """Whether numbers begin with zero or are filled up with zeros, as people's do not."""
    return any(not int(number) or len(number) >= _PADDED for number in numbers if number)


def keys_in(folders: Sequence[str]) -> dict[str, str | None]:
    """What the names of folders say of the rows in them.

    Examples:
        >>> keys_in(["day=2026-10-01", "model=gpt%2F4", "lang=__HIVE_DEFAULT_PARTITION__"])
        {'day': '2026-10-01', 'model': 'gpt/4', 'lang': None}
    """
    found = filter(None, map(_KEY.fullmatch, folders))
    values = {match["key"].lower(): unquote(match["value"]) for match in found}
    return {key: None if value == _NOTHING else value for key, value in values.items()}


def _ending(name: str) -> str:
    """What a file is, however it is packed; nothing if its name does not say."""
    parts = [f".{part}" for part in name.lower().split(".")[1:]]
    return next((part for part in reversed(parts) if part not in _PACKED), "")


@dataclass(frozen=True)
class _Part(Source):
    """A file of a table.

    Attributes:
        table: The folder.
        reader: The name of the reader of all its files.
    """

    table: Source | None = None
    reader: str = ""

    @property
    def keys(self) -> dict[str, str | None]:
        """What the folders above it say of its rows."""
        above = self.path.relative_to(self.table.path).parts[:-1] if self.table else ()
        return keys_in(above)


@dataclass(frozen=True)
class _Table:
    """A table in a folder.

    Attributes:
        folder: Holds it, and names its system.
        parts: Its files.
        reader: Of all of them.
    """

    folder: Source
    parts: Sequence[_Part]
    reader: Reader

    @cached_property
    def has_turns(self) -> bool:
        """Whether a row is a turn, rather than a conversation."""
        return isinstance(self.reader, _OfTurns)

    @cached_property
    def is_joined(self) -> bool:
        """Whether conversations may have rows in several files."""
        if not isinstance(self.reader, _OfTurns):
            return False
        stats = [(part.path, part.path.stat()) for part in self.parts]
        files = tuple((path, stat.st_size, stat.st_mtime_ns) for path, stat in stats)
        return _crosses(files, self.reader, tuple(self.folder.options.columns.items()))

    def rows_of(self, parts: Sequence[_Part], intake: Intake) -> Iterator[Tables]:
        """The dialogues of some files, read as one table."""
        if isinstance(self.reader, _Text):
            yield from _from_text(self.reader, self.folder, parts, intake)
        else:
            yield from _from_columns(self.folder, parts, intake)


@dataclass(frozen=True)
class TablePartsReader:
    """Reads a folder whose files are one table."""

    readers: Callable[[], Sequence[Reader]]
    name: str = "parts"
    summary: str = (
        "A folder that is one table in parts, as Spark, Hive, DuckDB and warehouses write: "
        "part-00000-….parquet, model=v1/data_0.csv"
    )
    example: str = "chats/\n  _SUCCESS\n  part-00000-6f3c.parquet\n  part-00001-6f3c.parquet\n"

    def recognises(self, source: Source) -> bool:
        """Whether it is a folder with the files of a table in it."""
        return self._table(source) is not None

    def read(self, source: Source, intake: Intake) -> Iterator[Tables]:
        """Whole dialogues in batches."""
        return self.read_joined(source, intake, lambda file, intake: None)

    def files(self, source: Source) -> list[Source]:
        """The files; none where a conversation may have rows in several."""
        table = self._table(source, asked=True)
        return [] if table is None or table.is_joined else [*table.parts]

    def might_be(self, source: Source) -> bool:
        """Whether files could be one table with a row a turn, whatever they are called."""
        table = self._table(source, asked=True)
        return table is not None and table.has_turns and len(table.parts) > 1

    def beside(self, file: Source) -> list[Path]:
        """None: a file of a table is whole."""
        return []

    def read_file(self, file: Source, intake: Intake) -> Iterator[Tables]:
        """What a file holds."""
        if not isinstance(file, _Part) or file.table is None:
            raise TypeError(f"{file} is no part of a table.")
        reader = choose(file, file.reader, self.readers())
        table = _Table(file.table, [file], reader)
        if table.has_turns:
            yield from table.rows_of([file], intake)
        else:
            yield from tables_of(reader, file, intake)

    def read_joined(self, source: Source, intake: Intake, read: ReadFile) -> Iterator[Tables]:
        """Whole dialogues in batches; from one file after the other where that can be."""
        table = self._table(source, asked=True)
        if table is None:
            raise DialensError(
                f"{source.path} is no folder of one table in parts: its files must be of one kind "
                "(Parquet, Arrow, CSV or JSON), with the same folders key=value above each. Leave "
                "--format out, so that its files are looked at."
            )
        if table.is_joined:
            try:
                yield from table.rows_of(table.parts, intake)
            except DamagedFile as damage:
                if intake.on_error is OnError.STOP:
                    raise
                raise DialensError(
                    f"{damage} It cannot be left out: conversations have rows in several files of "
                    f"{source.path.name}, and would have holes."
                ) from damage
            return
        for part in table.parts:
            kept = read(part, intake)
            with leaving_out(part.path, intake) as given:
                tables = self.read_file(part, intake) if kept is None else kept
                if not table.has_turns:  # else its folders are columns of it already
                    tables = named(tables, part, intake)
                for some in tables:
                    given.anything = given.anything or some.turns.height > 0
                    yield some

    def _table(self, source: Source, *, asked: bool = False) -> _Table | None:
        files = files_of_table(source.path, asked=asked) if source.is_folder else []
        for path in files:  # the first that is whole shows what all are
            keys = keys_in(path.relative_to(source.path).parts[:-1])
            theirs = {name.lower() for name in source.options.columns.values()}
            options = _about(source.options, theirs - keys.keys())
            try:
                reader = choose(Source(path, options=options), None, self._of_tables())
            except DialensError:
                continue
            table = _Table(source, [_part(source, one, reader) for one in files], reader)
            is_dataset = not table.has_turns and _is_shard(path.name)
            return table if asked or not is_dataset else None
        return None

    def _of_tables(self) -> list[Reader]:
        """The readers of records and rows."""
        return [one for one in self.readers() if one.name not in (self.name, "transcript")]


def _is_shard(name: str) -> bool:
    """Whether a file is called like those of data sets at hubs, which have splits."""
    part = _PART.fullmatch(name)
    return part is not None and part["shard"] is not None


def _part(table: Source, path: Path, reader: Reader) -> _Part:
    name = path.relative_to(table.path).as_posix()
    label = _UNIQUE.sub("", name)
    keys = keys_in(path.relative_to(table.path).parts[:-1])
    options = _about(table.options, keys)
    ours = {name: keys[key] for key, name in column_names([*keys], options).ours.items()}
    system = ours.get("system") or table.fallback_system
    return _Part(
        path,
        label.split(".")[0] if "=" not in label else label,
        system,
        table.agent or ours.get("agent") or table.options.system or system,
        table.options,
        table=table,
        reader=reader.name,
    )


@lru_cache(maxsize=8)
def _crosses(
    files: tuple[tuple[Path, int, int], ...], reader: _OfTurns, columns: tuple[tuple[str, str], ...]
) -> bool:
    """Whether an id stands in several files, as far as hashes tell: rather yes than no.

    Args:
        files: Paths, with sizes and times, so that a file that has changed is looked at again.
        reader: Of all of them.
        columns: What the user says of them.
    """
    options = ReadOptions(columns=dict(columns))
    hashes = RepeatedHashes()
    for path, *_ in files:
        try:
            ids = [*_ids(Source(path, options=options), reader)]
            if ids and hashes.add(pl.concat(ids).unique().to_numpy()):
                return True
        except _NoIds:
            return True
        except (DialensError, *DECODING):
            continue  # that is told when its turn comes
    return hashes.found()


class _NoIds(Exception):
    """No column tells conversations apart."""


def _ids(part: Source, reader: _OfTurns) -> Iterator[pl.Series]:
    """Hashes of the ids in a file, a few that are the same among them."""
    if isinstance(reader, ParquetReader):
        rows, schema = rows_in(part)
        id_ = as_id(_column_of_ids([*schema], part), schema)
        yield rows.select(id_.hash(0).unique()).collect(engine="streaming").to_series()
        return
    if isinstance(reader, TurnRecordsReader) and part.first:
        columns = reader.column(part, _column_of_ids([*part.first], part))
    else:
        frames = (frame.drop(MARKS.names()) for frame in reader.frames(part, {}))
        columns = (frame[_column_of_ids(frame.columns, part)] for frame in frames)
    for column in columns:
        yield column.str.replace(WHOLE_AS_DECIMAL, "$1").unique().hash(0)


def _about(options: ReadOptions, known: Container[str]) -> ReadOptions:
    """What a user says of some columns, by their names in small letters, and not of the others."""
    return replace(
        options,
        columns={n: theirs for n, theirs in options.columns.items() if theirs.lower() in known},
    )


def _names_in(header: Sequence[str], options: ReadOptions) -> Mapping[str, str]:
    """Our names for the columns of a file; a user may have named others, in the folders above."""
    there = {name.strip().lower() for name in header}
    return column_names(header, _about(options, there)).ours


def _column_of_ids(header: Sequence[str], part: Source) -> str:
    names = _names_in(header, part.options)
    found = next((name for name, ours in names.items() if ours == "dialog"), None)
    if found is None:
        raise _NoIds
    return found


def _from_columns(table: Source, parts: Sequence[_Part], intake: Intake) -> Iterator[Tables]:
    """The dialogues of Parquet or Arrow files, as one table."""
    opened = [(part, *rows_in(part)) for part in parts]
    heights = [int(rows.select(pl.len()).collect().item()) for _, rows, _ in opened]
    places = RowPlaces([part.path for part in parts], heights)
    yield from read_rows(numbered(_scanned(opened)), table, intake, unit="row", places=places)


def _scanned(opened: Sequence[tuple[_Part, pl.LazyFrame, pl.Schema]]) -> pl.LazyFrame:
    """The rows of files one after the other, with what their folders say."""
    columns: dict[str, pl.DataType] = {}
    alike = all(part.head.startswith(b"PAR1") for part, _, _ in opened)
    for _, _, schema in opened:
        alike = alike and all(columns.setdefault(n, kind) == kind for n, kind in schema.items())
    if not alike:  # a union of many scans takes more memory than one scan of many files
        return pl.concat(
            [
                rows.with_columns(*_literals(part, schema), *_ids_as_text(part, schema))
                for part, rows, schema in opened
            ],
            how="diagonal_relaxed",
        )
    rows = pl.scan_parquet(
        [part.path for part, _, _ in opened],
        schema=columns,
        missing_columns="insert",
        include_file_paths=_FILE,
        glob=False,
        hive_partitioning=False,
    )
    keys = [key for key in opened[0][0].keys if key not in columns]
    by_file = [
        pl.col(_FILE)
        .replace_strict(
            {str(part.path): part.keys[key] for part, _, _ in opened}, return_dtype=pl.String
        )
        .alias(key)
        for key in keys
    ]
    return rows.with_columns(by_file).drop(_FILE)


def _ids_as_text(part: _Part, schema: pl.Schema) -> list[pl.Expr]:
    """The ids of a file, which may be of another type than those of the other files."""
    names = _names_in([*schema], part.options)
    return [as_id(name, schema) for name, ours in names.items() if ours == "dialog"]


def _literals(part: _Part, columns: Mapping[str, object] | Sequence[str]) -> list[pl.Expr]:
    """What the folders above a file say, but for what its own columns do."""
    return [
        pl.lit(value, pl.String).alias(key)
        for key, value in part.keys.items()
        if key not in columns
    ]


def _from_text(
    reader: _Text, table: Source, parts: Sequence[_Part], intake: Intake
) -> Iterator[Tables]:
    """The dialogues of CSV or JSON files, as one table."""
    flaws: dict[int, RecordError] = {}
    paths: list[Path] = []
    lines: list[int] = []

    def frames() -> Iterator[pl.DataFrame]:
        before = 0
        for part in parts:
            last = 0
            own: dict[int, RecordError] = {}
            for frame in reader.frames(part, own):
                last = int(frame[LINE][-1])
                line = pl.col(LINE) + before
                yield frame.with_columns(line, *_literals(part, frame.columns))
            note_escapes(part, intake, table.path.name)
            flaws.update({line + before: error for line, error in own.items()})
            paths.append(part.path)
            lines.append(last)
            before += last

    size = sum(part.path.stat().st_size for part in parts)
    with gathered(frames(), MARKS, size=size) as rows:
        if not any(lines):
            return
        places = RowPlaces(paths, lines)
        yield from read_rows(rows, table, intake, flaws=flaws, places=places)
