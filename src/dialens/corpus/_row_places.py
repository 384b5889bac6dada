"""Where the rows of a table stand whose files are counted through as one."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl


class RowPlaces:
    """The files of a table and how many rows each has.

    Examples:
        >>> places = RowPlaces([Path("a"), Path("b"), Path("c")], [2, 0, 5])
        >>> [places.of(line) for line in (1, 2, 3)]
        [(PosixPath('a'), 1), (PosixPath('a'), 2), (PosixPath('c'), 1)]
        >>> places.in_several(pl.Series([1, 1, 4]), pl.Series([2, 3, 7]))
        1
    """

    def __init__(self, files: Sequence[Path], rows: Sequence[int]) -> None:
        """Files in their order, with their numbers of rows."""
        self._files = files
        self._ends = np.cumsum(rows)

    def of(self, line: int) -> tuple[Path, int]:
        """The file of a row that is counted through all of them, and its number there."""
        file = int(np.searchsorted(self._ends, line))
        return self._files[file], line - int(self._ends[file - 1] if file else 0)

    def in_several(self, first: pl.Series, last: pl.Series) -> int:
        """How many stretches, from a first to a last line each, begin and end in two files."""
        begin, end = (np.searchsorted(self._ends, line.to_numpy()) for line in (first, last))
        return int((begin != end).sum())
