"""Which rows are a batch, which batches a task, and how Spark finds them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dialens.corpus import batch_ends
from dialens.metrics.cluster._source import ClusterCorpus, starts_of

_ROWS_A_TASK = 200_000
_TASKS_A_CORE = 4


@dataclass(frozen=True)
class Batches:
    """The batches of a corpus: the same that one process would score.

    Attributes:
        starts: The first row of each, and the number of all rows.
        rows: About how many a batch has.
    """

    starts: tuple[int, ...]
    rows: int

    @classmethod
    def of(cls, source: ClusterCorpus, rows: int) -> "Batches":
        """Those of a corpus, of about so many rows each."""
        ends = batch_ends(starts_of(source.corpus.turns), source.turns, rows=rows)
        return cls(tuple(dict.fromkeys([0, *ends, source.turns])), rows)

    def __len__(self) -> int:
        return len(self.starts) - 1

    def height(self, batch: int) -> int:
        """How many rows a batch has."""
        return self.starts[batch + 1] - self.starts[batch]


@dataclass(frozen=True)
class Piece:
    """Rows that belong to one batch, as a row of the table that Spark joins with.

    Attributes:
        bucket: The rows' number divided by the rows of a batch, so that rows are found by equality;
            a range that crosses buckets makes several pieces.
        start: The first row.
        end: The row after the last.
        batch: The number of the batch.
        task: The number of the task that scores it.
    """

    bucket: int
    start: int
    end: int
    batch: int
    task: int


def tasks_of(batches: Batches, wanted: Sequence[int], cores: int) -> dict[int, int]:
    """For each batch that is wanted, the number of its task; neighbours go together.

    Tasks are large, since each costs something, but several a core, so that none waits long for
    the last.

    Examples:
        >>> tasks_of(Batches((0, 10, 20, 30, 40), 10), [0, 1, 3], cores=1)
        {0: 0, 1: 1, 3: 2}
        >>> tasks_of(Batches(tuple(range(0, 90, 10)), 10), list(range(8)), cores=1)
        {0: 0, 1: 0, 2: 1, 3: 1, 4: 2, 5: 2, 6: 3, 7: 3}
    """
    total = sum(batches.height(batch) for batch in wanted)
    most = min(_ROWS_A_TASK, -(-total // (_TASKS_A_CORE * cores)))
    tasks: dict[int, int] = {}
    task = filled = 0
    for batch in wanted:
        if filled and filled + batches.height(batch) > most:
            task, filled = task + 1, 0
        tasks[batch] = task
        filled += batches.height(batch)
    return tasks


def pieces_of(batches: Batches, tasks: dict[int, int]) -> Iterator[Piece]:
    """Where the rows of the batches of some tasks lie.

    Examples:
        >>> [(p.bucket, p.start, p.end) for p in pieces_of(Batches((0, 3, 9), 4), {1: 0})]
        [(0, 3, 4), (1, 4, 8), (2, 8, 9)]
    """
    for batch, task in tasks.items():
        place, end = batches.starts[batch], batches.starts[batch + 1]
        while place < end:
            bucket = place // batches.rows
            stop = min(end, (bucket + 1) * batches.rows)
            yield Piece(bucket, place, stop, batch, task)
            place = stop
