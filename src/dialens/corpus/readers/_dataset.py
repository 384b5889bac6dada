"""Data sets with one conversation a row, in the files and folders of Hugging Face and beyond.

Parquet, Arrow, CSV, TSV, JSON and JSONL; and folders: what `datasets` saves, a snapshot of the
hub, a folder of shards (`_dataset_folder`). A data set is one system, called by its file or
folder; where no column names the model, its agent is called the same. With several splits, the
ids of dialogues begin with their split.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import msgspec
import polars as pl

from dialens.base import DialensError
from dialens.corpus._damage import DamagedFile, before_damage, leaving_out
from dialens.corpus._dialogue import Dialogue, batches
from dialens.corpus._intake import Dependent, Intake, RecordError, message
from dialens.corpus._reading import ReadFile, check, note_remarks
from dialens.corpus._source import Source
from dialens.corpus._tables import Tables
from dialens.corpus.readers._cells import note_escapes
from dialens.corpus.readers._conversation import LISTS
from dialens.corpus.readers._dataset_folder import dataset_name, splits_of
from dialens.corpus.readers._joined_exchanges import PlacedRow, Threads, grouped, threads_of
from dialens.corpus.readers._row_files import RowFile, row_file
from dialens.corpus.readers._shapes import WANTED, Row, RowParser, Shape, names_rows_apart

Rows = Callable[[], Iterable[tuple[int, Row | RecordError]]]
"""Gives the rows of a table with their places, from the beginning each time."""


@dataclass
class RowIntake:
    """Takes in the rows of a table, or of several that belong together.

    Attributes:
        source: Names the system, and conversations without an id.
        intake: Keeps account of what is left out.
        agent: The agent's name where no column tells it; the source's if not given.
        prefix: Before the id of every dialogue, such as the name of a split.
        count: How many rows were taken in, which numbers those that follow.
    """

    source: Source
    intake: Intake
    agent: str = ""
    prefix: str = ""
    count: int = 0
    _parsers: dict[str, RowParser] = field(default_factory=dict)

    def dialogues(
        self, rows: Rows, shape: Shape, file: Path, unit: str = "row"
    ) -> Iterator[Dialogue]:
        """The dialogues of rows, each with its place in `file`; a bad row goes to the intake.

        Rows of exchanges are looked at twice: first for the conversations they belong to.
        """
        agent = self.agent or self.source.agent or self.source.stem
        parser = self._parsers.setdefault(
            repr(shape), RowParser(shape, self.source, agent, self.prefix)
        )
        table = replace(self.source, path=file)
        threads = None
        if "thread" in shape.columns:
            threads = threads_of(rows(), shape.columns, table, self.intake)
        remarks = Counter[str]()
        begun = self.count
        given: Iterable[tuple[int, Row | RecordError]] = rows()
        if unit == "line":
            given = before_damage(given, file, self.intake, place=lambda one: one[0])
        for group in grouped(given, threads):
            self.count += len(group)
            taken = []
            for number, place, row in group:
                try:
                    if isinstance(row, RecordError):
                        raise row
                    talks = parser.dialogues(row, begun + number + 1)
                    for talk in talks:
                        check(talk)
                except (RecordError, msgspec.ValidationError) as error:
                    self._reject(error, file, place, unit)
                    break
                taken.append((number, talks))
            else:
                for talk in self._claimed(taken, group, threads, file, unit):
                    remarks.update(talk.remarks)
                    yield talk
        if threads is not None:
            threads.note(table, self.intake)
        note_remarks(remarks, table, self.intake)

    def refuse_shared_names(self) -> None:
        """Refuse to go on alone where names were given that other tables may have given, too.

        Raises:
            Dependent: There are such names.
        """
        if any(parser.shares_names for parser in self._parsers.values()):
            raise Dependent

    def _claimed(
        self,
        taken: Sequence[tuple[int, list[Dialogue]]],
        group: Sequence[PlacedRow],
        threads: Threads | None,
        file: Path,
        unit: str,
    ) -> list[Dialogue]:
        """The dialogues of the rows of a conversation, or none if an id is taken."""
        if threads is None or len(taken) == 1:
            talks = [talk for _, some in taken for talk in some]
        else:
            talks = threads.dialogues(taken)
        place = group[0][1]
        try:
            for talk in talks:
                self.intake.claim(talk.dialog, file, place)
        except RecordError as error:
            self._reject(error, file, place, unit)
            return []
        return talks

    def _reject(self, error: Exception, file: Path, place: int, unit: str) -> None:
        problem = error if isinstance(error, RecordError) else RecordError(str(error))
        problem.unit = unit
        self.intake.reject(file, place, problem)


def no_conversations(name: Path, columns: Sequence[str]) -> DialensError:
    """The message about a table whose columns hold no conversation.

    Examples:
        >>> print(no_conversations(Path("a.parquet"), ["x", "y"]))
        a.parquet: no column holds a conversation; seen: x, y.
        Needed is a conversation (messages, conversation, conversations, dialog, turns, chat …), a \
prompt with a response (prompt, question, instruction, query with response, answer, output, \
completion), chosen and rejected responses, or one turn a row with the columns dialog, text, and \
role or speaker.
        Name columns that are called otherwise: --column prompt=… --column response=…, or \
--column dialog=… --column text=… --column speaker=…
    """
    error = RecordError(
        "no column holds a conversation",
        seen=", ".join(columns) or "no column",
        remedy=f"Needed is {WANTED}.\nName columns that are called otherwise: --column prompt=… "
        "--column response=…, or --column dialog=… --column text=… --column speaker=…",
    )
    return DialensError(message(name, 0, error))


@dataclass(frozen=True)
class DatasetReader:
    """Reads one table, or the tables of a folder."""

    name: str = "dataset"
    summary: str = (
        "A conversation a row, as on Hugging Face: Parquet, Arrow, CSV, JSON, saved data sets; "
        "columns such as conversations, prompt and response, chosen and rejected"
    )
    example: str = (
        '{"id": "d1", "model": "bot-1", "prompt": "Hello!", "response": "Hello, how are you?"}\n'
    )

    def recognises(self, source: Source) -> bool:
        """Whether columns hold conversations, in a file or in the first file of a folder."""
        if source.is_folder:
            files = next(iter(splits_of(source.path).values()), [])
            rows = _first_whole(Source(file, options=source.options) for file in files)
        else:
            rows = row_file(source)
        return rows is not None and rows.shape is not None

    def read(self, source: Source, intake: Intake) -> Iterator[Tables]:
        """Whole dialogues in batches, split after split."""
        if source.is_folder:
            return self.read_joined(source, intake, lambda file, intake: None)
        return batches(_of_file(source, RowIntake(source, intake)))

    def files(self, source: Source) -> list[Source]:
        """The shards; none if what a dialogue is called depends on the shards before it.

        Rows are numbered through all shards of a split, so that those before have to be counted,
        which is quick in Parquet alone.
        """
        shards = list(_shards(source))
        if not all(shard.path.name.endswith(".parquet") for shard in shards):
            return []
        try:
            first = _first_whole(shards)
        except (DialensError, OSError):
            return []  # said when the shard is read
        if first is None or first.shape is None or not names_rows_apart(first.shape):
            return []
        return list(_numbered(shards))

    def beside(self, file: Source) -> list[Path]:
        """None: a shard is whole."""
        return []

    def read_file(self, file: Source, intake: Intake) -> Iterator[Tables]:
        """What a shard holds."""
        if not isinstance(file, _Shard):
            raise TypeError(f"{file} is no shard of a data set.")
        rows = file.row_intake(intake)
        yield from batches(_of_file(Source(file.path, options=file.options), rows))
        rows.refuse_shared_names()

    def read_joined(self, source: Source, intake: Intake, read: ReadFile) -> Iterator[Tables]:
        """Whole dialogues in batches, shard after shard, as they are read now or were before."""
        rows: RowIntake | None = None
        prefix = None
        for shard in _shards(source):
            if rows is None or shard.prefix != prefix:
                rows, prefix = shard.row_intake(intake), shard.prefix
            kept, begun = read(shard, intake), rows.count
            with leaving_out(shard.path, intake) as given:
                file = Source(shard.path, options=shard.options)
                for part in batches(_of_file(file, rows)) if kept is None else kept:
                    given.anything = given.anything or part.turns.height > 0
                    yield part
            if shard.path.name.endswith(".parquet"):
                rows.count = begun + _rows_in(shard.path)


@dataclass(frozen=True)
class _Shard(Source):
    """A file of a data set.

    Attributes:
        dataset: What the data set is called.
        prefix: Before the id of every dialogue: its split, where there are several.
        before: How many rows of its split stand in the shards before it.
    """

    dataset: Source | None = None
    prefix: str = ""
    before: int = 0

    def row_intake(self, intake: Intake) -> RowIntake:
        """Takes in its rows."""
        return RowIntake(self.dataset or self, intake, prefix=self.prefix, count=self.before)


def _shards(source: Source) -> Iterator[_Shard]:
    dataset = replace(source, label=source.label or dataset_name(source.path))
    splits = splits_of(source.path)
    for split, files in splits.items():
        prefix = f"{split}/" if len(splits) > 1 else ""
        for file in files:
            yield _Shard(file, source.stem, options=source.options, dataset=dataset, prefix=prefix)


def _numbered(shards: Iterable[_Shard]) -> Iterator[_Shard]:
    before: Counter[str] = Counter()
    for shard in shards:
        yield replace(shard, before=before[shard.prefix])
        before[shard.prefix] += _rows_in(shard.path)


def _rows_in(path: Path) -> int:
    """How many rows a Parquet file says that it holds; none if it is too damaged to say."""
    try:
        return int(pl.scan_parquet(path).select(pl.len()).collect().item())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError):
        return 0


def _first_whole(shards: Iterable[Source]) -> RowFile | None:
    """The first shard that is not damaged."""
    for shard in shards:
        try:
            return row_file(shard)
        except DamagedFile:
            continue
    return None


def _of_file(source: Source, into: RowIntake) -> Iterator[Dialogue]:
    file = row_file(source)
    shape = file.shape if file is not None else None
    if file is not None and not file.columns:
        shape = Shape("conversation", {"conversation": LISTS[0]})  # no row can be read: say why
    if file is None or shape is None:
        raise no_conversations(source.path, file.columns if file is not None else ())
    rows = partial(file.rows, shape.used)
    yield from into.dialogues(rows, shape, source.path, file.unit)
    note_escapes(source, into.intake, into.source.path.name)


DATASET = DatasetReader()
