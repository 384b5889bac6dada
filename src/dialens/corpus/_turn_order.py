"""What the turns of a dialogue follow: their numbers, else their times, else the rows.

That is decided for each dialogue by itself, since in a table of several files some rows may have
numbers and others none.
"""

from dataclasses import dataclass

import polars as pl

from dialens.base import counted
from dialens.corpus._checks import LINE
from dialens.corpus._row_places import RowPlaces
from dialens.corpus._table_times import RowOrder

_BY_ROWS = "_by_rows"
_PARTLY = "_partly_numbered"
_NUMBER = "_number_in_file"


def in_order(turns: pl.DataFrame, order: RowOrder, *, renumber: bool) -> pl.DataFrame:
    """Rows in the order of their turns, which are counted where the file does not number them.

    Args:
        turns: Whole dialogues.
        order: What dialogues without numbers follow.
        renumber: Whether numbers give nothing but the order. If not, dialogues of which only some
            turns have numbers keep them, for a check to refuse.
    """
    there = turns["turn"].is_not_null()
    some, every = (pl.lit(value) for value in (bool(there.any()), bool(there.all())))
    if there.any() and not there.all():
        has_number = pl.col("turn").is_not_null()
        some, every = has_number.any().over("dialog"), has_number.all().over("dialog")
    by_number = every if renumber else some
    timed = pl.lit(value=False)
    if order.by_time:
        timed = pl.col("created_at").is_not_null().all().over("dialog")
    turns = turns.with_columns(
        by_number.alias("_by_number"),
        (~by_number & timed).alias("_by_time"),
        (~by_number & ~timed).alias(_BY_ROWS),
        (some & ~every).alias(_PARTLY),
        pl.col("turn").alias(_NUMBER),
    )
    keys = []
    if there.any():
        keys.append(pl.when("_by_number").then("turn"))
    if order.by_time and not there.all():
        row = -pl.col(LINE) if order.newest_first else pl.col(LINE)
        keys += [pl.when("_by_time").then("created_at"), pl.when("_by_time").then(row)]
    if keys:
        turns = turns.sort(pl.col(LINE).min().over("dialog"), *keys, LINE, nulls_last=True)
    if not renumber and there.all():
        return turns
    anew = pl.int_range(pl.len(), dtype=pl.Int32).over("dialog")
    kept = pl.lit(value=False) if renumber else pl.col("_by_number")
    return turns.with_columns(pl.when(kept).then("turn").otherwise(anew).alias("turn"))


@dataclass
class OrderNotes:
    """Counts what a reader should know of the order of the turns.

    Attributes:
        name: What the table is called.
        places: Where its rows stand, if it is in several files.
    """

    name: str
    places: RowPlaces | None
    _dialogs: int = 0
    _joined: int = 0
    _joined_by_rows: int = 0
    _partly_by_time: int = 0
    _partly_by_rows: int = 0
    _twice: int = 0

    def count(self, turns: pl.DataFrame) -> None:
        """Take whole dialogues, as `in_order` has left them."""
        partly = turns.filter(_PARTLY).select("dialog", _BY_ROWS).unique("dialog")
        by_rows = int(partly[_BY_ROWS].sum())
        self._partly_by_rows += by_rows
        self._partly_by_time += partly.height - by_rows
        if self.places is None:
            return
        spans = turns.group_by("dialog").agg(
            first=pl.col(LINE).min(), last=pl.col(LINE).max(), by_rows=pl.col(_BY_ROWS).first()
        )
        unordered = spans.filter("by_rows")
        self._dialogs += spans.height
        self._joined += self.places.in_several(spans["first"], spans["last"])
        self._joined_by_rows += self.places.in_several(unordered["first"], unordered["last"])
        marked = turns.filter(pl.any_horizontal(pl.col(_NUMBER, "created_at").is_not_null()))
        same = ["dialog", _NUMBER, "created_at", "role", "speaker", "text"]
        self._twice += marked.height - marked.select(pl.struct(same).n_unique()).item()

    def sentences(self) -> list[str]:
        """What was found, about the whole table."""
        said = [
            f"{self.name}: {counted(count, 'conversation')} "
            f"{'numbers' if count == 1 else 'number'} only some of "
            f"{'its' if count == 1 else 'their'} turns, so that all follow {what}."
            for count, what in (
                (self._partly_by_time, "their times"),
                (self._partly_by_rows, "the rows, for want of times"),
            )
            if count
        ]
        if self._twice:
            said.append(
                f"{self.name}: {counted(self._twice, 'row')} stand there again, with the same "
                "conversation, number or time, speaker and text. Was a file written twice?"
            )
        return [*said, self._of_files()] if self._joined else said

    def _of_files(self) -> str:
        """How many conversations were put together from several files, and in which order."""
        have = "has" if self._joined == 1 else "have"
        said = (
            f"{self.name}: {self._joined:,} of {counted(self._dialogs, 'conversation')} {have} "
            "rows in several files"
        )
        if not self._joined_by_rows:
            return f"{said}."
        which = "no column numbers or times their turns, so they stand"
        if self._joined_by_rows < self._joined or self._partly_by_rows:
            which = (
                f"{self._joined_by_rows:,} of them without a number or a time for each turn, which "
                f"{'stands' if self._joined_by_rows == 1 else 'stand'}"
            )
        return (
            f"{said}; {which} in the order of the files. If files reuse ids for other "
            "conversations, read them with --format files."
        )
